"""Hostile tables: hypothesis strategies of frames that nobody would wish to classify.

A table is drawn as a recipe (kinds of columns, names, missing values, labels, weights, one seed),
so that a failure shrinks to few columns and few rows; NumPy fills in the cells. The last NEW rows
are kept from the fit and only predicted. `NAMED` are tables that are hostile in one stated way.
"""

import dataclasses
import datetime
import decimal
from collections.abc import Callable

import numpy as np
import pandas as pd
from hypothesis import strategies as st

NEW = 6
Maker = Callable[[np.random.Generator, np.ndarray], object]
"""(rng, class codes of all rows) -> the cells of one column."""


@dataclasses.dataclass(frozen=True)
class Hostile:
    """A table to fit and to predict.

    frame, y, weight: of the rows to fit. new: other rows, the last of them without any cell.
    codes: class codes behind y. fault: which part is to be refused, if any.
    """

    frame: pd.DataFrame
    y: object
    weight: np.ndarray | None
    new: pd.DataFrame
    codes: np.ndarray
    fault: str | None


def _floats(scale: float, shift: float) -> Maker:
    return lambda rng, k: scale * (rng.standard_normal(len(k)) + k + shift)


def _levels(names: list, unused: int = 0) -> Maker:
    def cells(rng: np.random.Generator, k: np.ndarray) -> pd.Categorical:
        used = names[: len(names) - unused]
        return pd.Categorical([used[(i + j) % len(used)] for i, j in _noisy(rng, k)], names)

    return cells


def _noisy(rng: np.random.Generator, k: np.ndarray) -> list[tuple[int, int]]:
    return [(int(i), int(j)) for i, j in zip(k, rng.geometric(0.7, len(k)) - 1, strict=True)]


def _texts(names: list[str]) -> Maker:
    return lambda rng, k: np.array([names[(i + j) % len(names)] for i, j in _noisy(rng, k)], object)


def _objects(*values: object) -> Maker:
    return lambda rng, k: _column([values[i] for i in rng.integers(0, len(values), len(k))])


def _column(values: list) -> np.ndarray:
    cells = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        cells[i] = value
    return cells


def _with(value: float) -> Maker:
    def cells(rng: np.random.Generator, k: np.ndarray) -> np.ndarray:
        return np.where(rng.random(len(k)) < 0.2, value, rng.standard_normal(len(k)))

    return cells


NUMBERS: dict[str, Maker] = {
    "normal": _floats(1.0, 0.0),
    "far from zero": _floats(1.0, 1e6),
    "tiny scale": _floats(1e-140, 0.0),
    "huge scale": _floats(1e140, 0.0),
    "float32": lambda rng, k: (rng.standard_normal(len(k)) + k).astype(np.float32),
    "separated": lambda rng, k: 1e3 * k + rng.standard_normal(len(k)),
    "heavy tails": lambda rng, k: rng.standard_cauchy(len(k)) ** 3,
    "constant": lambda rng, k: np.full(len(k), 3.7),
    "constant within classes": lambda rng, k: 1.5 * k,
    "nothing but zeros": lambda rng, k: np.zeros(len(k)),
    "never observed": lambda rng, k: np.full(len(k), np.nan),
    "one value differs": lambda rng, k: (np.arange(len(k)) == 1) * 1.0,
    "integers": lambda rng, k: rng.integers(-5, 5, len(k)) + k,
    "nullable integers": lambda rng, k: pd.array(rng.poisson(2, len(k)) + k, dtype="Int64"),
    "large integers": lambda rng, k: rng.integers(0, 2**53, len(k)).astype(np.uint64),
    "numbers as objects": lambda rng, k: (rng.standard_normal(len(k)) + k).astype(object),
    "decimals": _objects(decimal.Decimal("1.5"), decimal.Decimal(2), decimal.Decimal("2.25")),
}
COUNTS: dict[str, Maker] = {
    "counts": lambda rng, k: rng.poisson(1 + k).astype(float),
    "small integers": lambda rng, k: rng.poisson(2, len(k)) + k,
    "zeros": lambda rng, k: np.zeros(len(k), dtype=np.int8),
    "large counts": lambda rng, k: rng.integers(0, 10**9, len(k)),
    "zeros and ones": lambda rng, k: (rng.random(len(k)) < 0.3 + 0.1 * k) * 1.0,
}
LEVELS: dict[str, Maker] = {
    "booleans": lambda rng, k: rng.random(len(k)) < 0.3 + 0.2 * (k % 3),
    "nullable booleans": lambda rng, k: pd.array(rng.random(len(k)) < 0.5, dtype="boolean"),
    "text": _texts(["red", "green", "blue", "té,al/x", ""]),
    "one level": _texts(["only"]),
    "string dtype": lambda rng, k: pd.array(_texts(["a", "b"])(rng, k), dtype="string"),
    "names of rows": lambda rng, k: np.array([f"row {i}" for i in range(len(k))], object),
    "categories": _levels(["low", "mid", "high"]),
    "categories without rows": _levels(["x", "y", "z", "never", "nor this"], unused=2),
    "categories of numbers": _levels([3, 1, 2]),
    "categories of two types": _levels(["a", 1, 2.5]),
    "booleans as objects": _objects(True, False),
    "whole numbers": lambda rng, k: rng.integers(0, 3, len(k)) + k,
}
FAULTY: dict[str, Maker] = {
    "infinity": _with(np.inf),
    "minus infinity": _with(-np.inf),
    "too large": _with(1e200),
    "too small a spread": lambda rng, k: 1e-300 * rng.standard_normal(len(k)),
    "dates": lambda rng, k: pd.Timestamp("2020-01-01") + pd.to_timedelta(k, unit="D"),
    "durations": lambda rng, k: pd.to_timedelta(k, unit="D"),
    "days": _objects(datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)),
    "text and numbers": _objects("a", 1.5),
    "numbers and booleans": _objects(1.5, True),
    "lists": _objects([1, 2], [3]),
    "complex": lambda rng, k: rng.standard_normal(len(k)) + 1j,
    "bytes": _objects(b"a", b"b"),
    "huge integers": _objects(10**400, 1),
    "periods": lambda rng, k: pd.period_range("2020-01", periods=len(k), freq="M"),
    "intervals": lambda rng, k: pd.cut(rng.random(len(k)), 2) if len(k) else np.zeros(0),
}
NAMES = ["a", "b", "", "class", "normal", "a,b", "a/b", "año 年", "x.y", " ", "row\nname"]
NUMBERED = [0, 1, -7, 12, 2, 3]
LABELS: dict[str, Callable[[np.ndarray], object]] = {
    "text": lambda k: np.array(["no", "yes", "a/b", "ü", "row\nname"])[k],
    "objects": lambda k: pd.Series(np.array(["no", "yes", "a/b", "ü", "row\nname"], object)[k]),
    "integers": lambda k: 7 - 5 * k,
    "list": lambda k: [["no", "yes", "c", "d", "e"][i] for i in k],
    "categories": lambda k: pd.Series(pd.Categorical.from_codes(k, list("zyxwvu"))),
    "booleans": lambda k: k % 2 == 0,
    "floats": lambda k: 2.0 * k - 4,
}
BAD_LABELS: dict[str, Callable[[np.ndarray], object]] = {
    "fractions": lambda k: k + 0.5 * (k > 0),
    "missing": lambda k: [None if i else "a" for i in k],
    "not a number": lambda k: np.where(k > 0, np.nan, 1.0),
    "mixed": lambda k: _column([1 if i else "a" for i in k]),
    "one class": lambda k: np.zeros_like(k),
    "too short": lambda k: k[:-1],
    "two columns": lambda k: np.stack([k, k], axis=1),
    "dates": lambda k: pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(k, unit="D")),
}
WEIGHTS: dict[str, Callable[[np.random.Generator, int], object]] = {
    "none": lambda rng, n: None,
    "whole": lambda rng, n: rng.integers(0, 4, n).astype(float),
    "fractions": lambda rng, n: rng.random(n) + 0.01,
    "zeros": lambda rng, n: (rng.random(n) < 0.7) * 1.5,
    "huge and tiny": lambda rng, n: 10.0 ** rng.integers(-9, 9, n),
}
BAD_WEIGHTS: dict[str, Callable[[np.random.Generator, int], object]] = {
    "negative": lambda rng, n: rng.standard_normal(n),
    "not a number": lambda rng, n: np.where(rng.random(n) < 0.5, np.nan, 1.0),
    "infinite": lambda rng, n: np.full(n, np.inf),
    "all zero": lambda rng, n: np.zeros(n),
    "too many": lambda rng, n: np.ones(n + 1),
}
# squares of both in one covariance, and their inverses, leave no room for rounding
JOINT = NUMBERS | {"tiny scale": _floats(1e-70, 0.0), "huge scale": _floats(1e70, 0.0)}
KINDS = {
    "numbers": NUMBERS,
    "joint numbers": JOINT,
    "levels": LEVELS,
    "counts": COUNTS,
    "any": NUMBERS | COUNTS | LEVELS,
}


@st.composite
def tables(draw: st.DrawFn, suits: str) -> Hostile:
    """Draw a table whose columns suit a model of one of KINDS, incomplete unless "complete".

    One table in four has a fault: a column, names, labels, weights or a shape to refuse.
    """
    fault = draw(st.sampled_from([None] * 15 + ["column", "names", "labels", "weight", "shape"]))
    complete, suits = suits.startswith("complete"), suits.removeprefix("complete ")
    makers = KINDS[suits] if fault != "column" else KINDS["any"] | FAULTY
    kinds = draw(st.lists(st.sampled_from(sorted(makers)), min_size=1, max_size=5))
    n = draw(st.one_of(st.integers(2, 12), st.integers(2, 200)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = _codes(draw, rng, n)
    every = np.concatenate([codes, rng.choice(codes, NEW)])
    cells = [pd.Series(makers[kind](rng, every)) for kind in kinds]
    cells += [cells[0]] * draw(st.integers(0, 1))  # a column twice
    if not complete:
        cells = [_with_missing(rng, c, draw(st.sampled_from([0, 0, 0, 0.2, 0.9]))) for c in cells]
    names = draw(st.permutations(draw(st.sampled_from([NAMES, NAMES, NUMBERED]))))
    if fault == "names":
        cells = cells * 2
        names = draw(st.sampled_from([names[:1] * 12, [1.5, None, (1, 2)] * 4, [*range(11), "a"]]))
    frame = pd.concat(cells, axis=1, ignore_index=True)
    frame.columns = pd.Index(names[: len(cells)], dtype=object)
    labels = BAD_LABELS if fault == "labels" else LABELS
    weights = BAD_WEIGHTS if fault == "weight" else WEIGHTS
    y = labels[draw(st.sampled_from(sorted(labels)))](codes)
    weight = weights[draw(st.sampled_from(sorted(weights)))](rng, n)
    if weight is not None and fault != "weight":
        weight[np.unique(codes, return_index=True)[1]] += 1  # no class is lost
    rows = frame.iloc[:n]
    if fault == "shape":
        rows = draw(st.sampled_from([rows.iloc[:0], rows.iloc[:, :0], rows.iloc[:-1]]))
    if fault is None and rows.isna().all().any():
        fault = "nothing observed"  # what such a column holds shows in the new rows only
    new = frame.iloc[n:].reset_index(drop=True).reindex(range(NEW + 1))
    return Hostile(rows, y, weight, new, codes, fault)


def _codes(draw: st.DrawFn, rng: np.random.Generator, n: int) -> np.ndarray:
    """Return class codes of n rows: two to five classes, even ones or all but one rare."""
    size = min(draw(st.integers(2, 5)), n)
    rare = draw(st.booleans())
    rest = np.zeros(n - size, dtype=int) if rare else rng.integers(0, size, n - size)
    return rng.permutation(np.concatenate([np.arange(size), rest]))


def _with_missing(rng: np.random.Generator, column: pd.Series, share: float) -> pd.Series:
    """Return a column that misses a share of its cells, in whatever way its dtype says so."""
    return column.mask(rng.random(len(column)) < share) if share else column


# --- tables that are hostile in one way -------------------------------------------------------


def _numbers(n: int, p: int, k: np.ndarray | int = 0) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n, p)) + np.reshape(k, (-1, 1))


def _named(cells: object, k: np.ndarray, weight: np.ndarray | None = None) -> Hostile:
    """Return a table; the rows to predict are six of its own, with gaps, and one without a cell."""
    frame = pd.DataFrame(cells)
    frame.columns = [f"c{j}" for j in range(frame.shape[1])]
    new = frame.iloc[:NEW].reset_index(drop=True).reindex(range(NEW + 1))
    for row, name in enumerate(frame.columns[: NEW - 1]):
        new[name] = new[name].where(new.index != row)
    return Hostile(frame, k, weight, new, k, None)


def _in_classes(rows: np.ndarray, k: np.ndarray, which: int, column: object) -> np.ndarray:
    """Return rows without the cells of some columns in one class."""
    rows = rows.copy()
    rows[k == which, column] = np.nan
    return rows


TWO = np.arange(40) % 2
SCALES = 10.0 ** np.array([-140, -70, 0, 70, 140])
NAMED: dict[str, Callable[[], Hostile]] = {
    "wide": lambda: _named(_numbers(60, 200, np.arange(60) % 3), np.arange(60) % 3),
    "tiny classes": lambda: _named(_numbers(60, 4), np.repeat([0, 1, 2], [55, 2, 3])),
    "one-row classes": lambda: _named(_numbers(40, 3), np.repeat([0, 1, 2, 3], [20, 18, 1, 1])),
    "a row of each class": lambda: _named(_numbers(4, 3), np.arange(4)),
    "two rows": lambda: _named(_numbers(2, 3), np.arange(2)),
    "thirty classes": lambda: _named(_numbers(120, 4, np.arange(120) % 5), np.arange(120) % 30),
    "one class 99.9 %": lambda: _named(
        _numbers(2000, 3, np.arange(2000) % 1000 == 7), (np.arange(2000) % 1000 == 7).astype(int)
    ),
    "columns and rows twice": lambda: _named(np.tile(_numbers(20, 2), (2, 2)), np.arange(40) // 20),
    "identical rows in both classes": lambda: _named(np.repeat(_numbers(20, 3), 2, axis=0), TWO),
    "one row repeated": lambda: _named(np.ones((40, 3)), TWO),
    "constant columns": lambda: _named(
        np.column_stack([np.full(40, 3.7), _numbers(40, 1, TWO), 1.5 * TWO, np.full(40, np.nan)]),
        TWO,
    ),
    "a column missing in one class": lambda: _named(_in_classes(_numbers(40, 3), TWO, 1, 1), TWO),
    "a class without a cell": lambda: _named(_in_classes(_numbers(40, 3), TWO, 1, slice(3)), TWO),
    "the pattern tells all": lambda: _named(
        _in_classes(_in_classes(_numbers(40, 2), TWO, 1, 0), TWO, 0, 1), TWO
    ),
    "rows without a cell": lambda: _named(
        np.where(np.arange(40)[:, None] % 3 > 0, _numbers(40, 3), np.nan), TWO
    ),
    "one cell": lambda: _named(np.where(np.arange(120).reshape(40, 3) > 0, np.nan, 1.0), TWO),
    "units from 1e-140 to 1e140": lambda: _named(SCALES * _numbers(40, 5, TWO), TWO),
    "units from 1e-300 to 1e300": lambda: _named(SCALES**2 * _numbers(40, 5, TWO) * 1e20, TWO),
    "magnitudes from 1e-100 to 1e100": lambda: _named(
        _numbers(40, 1) * 10.0 ** np.random.default_rng(1).uniform(-100, 100, (40, 3)), TWO
    ),
    "separated": lambda: _named(_numbers(40, 3) + 1e6 * TWO[:, None], TWO),
    "separated by all digits": lambda: _named(1e-9 * _numbers(40, 3) + 1e6 * TWO[:, None], TWO),
    "integers beyond 2^53": lambda: _named(
        {
            "a": 2**60 + np.arange(40) * 7 % 50,
            "b": np.arange(40, dtype=np.uint64) + 2**63,
            "c": np.random.default_rng(0).integers(-(2**62), 2**62, 40),
        },
        TWO,
    ),
    "weights of 0": lambda: _named(_numbers(40, 3, TWO), TWO, np.arange(40) % 3 / 2),
    "whole weights": lambda: _named(_numbers(40, 3, TWO), TWO, 1.0 + np.arange(40) % 3),
    "fractional weights": lambda: _named(_numbers(40, 3, TWO), TWO, 0.01 + np.arange(40) / 41),
    "weights from 1e-9 to 1e9": lambda: _named(
        _numbers(40, 3, TWO), TWO, 10.0 ** (np.arange(40) * 7 % 19 - 9)
    ),
    "four rows with weight": lambda: _named(
        _numbers(40, 3, TWO), TWO, (np.arange(40) < 4).astype(float)
    ),
    "levels": lambda: _named(
        {
            "a": _numbers(40, 1, TWO)[:, 0],
            "b": np.array(["u", "v", "w"])[np.arange(40) * 7 % 3],
            "c": [f"row {i % 30}" for i in range(40)],
            "d": ["only"] * 40,
            "e": pd.Categorical(np.array(["x", "y"])[TWO], ["x", "y", "never"]),
        },
        TWO,
    ),
    "levels missing in one class": lambda: _named(
        {
            "a": np.where(np.arange(40) % 5 > 0, _numbers(40, 1)[:, 0], np.nan),
            "b": np.where(TWO == 1, None, np.array(["u", "v"], object)[np.arange(40) // 3 % 2]),
        },
        TWO,
    ),
    "names of rows": lambda: _named({"a": [f"row {i}" for i in range(40)]}, TWO),
}
