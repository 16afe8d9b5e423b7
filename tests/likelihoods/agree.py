"""How laws compare: a failure names the entry that is furthest off, by row and class."""

from collections.abc import Sequence

import numpy as np

ERRORS = 5.0
"""Standard errors that an average of draws may be off."""
AXES = {1: ("row",), 2: ("row", "class"), 3: ("row", "draw", "class")}
"""What the axes of densities of rows are."""


def agree(
    found: object,
    expected: object,
    *,
    what: str = "",
    axes: Sequence[str] | None = None,
    error: object = None,
    rtol: float = 1e-9,
    atol: float = 1e-9,
) -> None:
    """Raise AssertionError where numbers differ by more than `allowed`.

    Args:
        found: numbers.
        expected: the same, of a shape that broadcasts.
        what: they are, for the message.
        axes: what each axis counts; None: `AXES`.
        error: standard error of their difference, of which ERRORS are allowed, and rounding; None:
            atol + rtol |expected| is allowed.
        rtol: relative difference allowed.
        atol: difference allowed.
    """
    found, expected = (np.asarray(values, float) for values in (found, expected))
    shapes = found.shape, expected.shape
    if 0 not in (found.ndim, expected.ndim) and shapes[0][0] != shapes[1][0]:
        raise AssertionError(f"{what}: expected the shape {shapes[1]}, got {shapes[0]}")
    found, expected = np.broadcast_arrays(found, expected)
    if error is None:
        spread, allowed = None, atol + rtol * np.abs(expected)
    else:
        spread = np.broadcast_to(np.asarray(error, float), found.shape)
        allowed = ERRORS * spread + 1e-12
    with np.errstate(invalid="ignore", divide="ignore"):
        off = np.abs(found - expected)
        # an allowance in proportion to an infinite number is infinite, and allows nothing
        near = np.isfinite(off) & (off <= allowed)
        same = (found == expected) | (np.isnan(found) & np.isnan(expected)) | near
        excess = np.where(same, -1.0, np.where(np.isfinite(off), off / allowed, np.inf))
    if same.all():
        return
    worst = np.unravel_index(np.argmax(excess), excess.shape)
    names = AXES.get(found.ndim, ()) if axes is None else axes
    if len(names) != found.ndim:
        names = [f"axis {i}" for i in range(found.ndim)]
    place = [f"{name} {at}" for name, at in zip(names, worst, strict=True)]
    said = f"expected {expected[worst]:.10g}, got {found[worst]:.10g}"
    said += f" ({allowed[worst]:.2g} off is allowed)" if spread is None else ""
    if spread is not None:
        said += f", standard error {spread[worst]:.2g} ({ERRORS:g} of them are allowed)"
    where = ", ".join([*filter(None, [what]), *place])
    lead = f"{where}: " if where else ""
    raise AssertionError(f"{lead}{said}; {(~same).sum()} of {same.size} differ, the worst is named")


def calibrated(proba: np.ndarray, y: np.ndarray, what: str = "") -> None:
    """Raise AssertionError unless labels are draws from their probabilities.

    The mean of (1[y = k] - P(y = k)) P(y = k)^power is then 0.

    Args:
        proba: of the classes of each row, (row, class).
        y: class codes.
        what: the rows are, for the message.
    """
    hit = y[:, None] == np.arange(proba.shape[1])
    for power in (0, 1):
        off = (hit - proba) * proba**power
        error = off.std(axis=0) / np.sqrt(len(y))
        mean = f"{what}, mean of (1[y = k] - P(k)) P(k)^{power} over {len(y)} rows"
        agree(off.mean(axis=0), 0.0, what=mean.removeprefix(", "), axes=("class",), error=error)
