"""Draws of a user's program, posterior and prior, and densities of rows given them."""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import cast

import numpy as np

from bayesgen.classes import ClassPrior
from bayesgen.errors import InvalidProgram
from bayesgen.inference.components import DENSITY_FLOATS, take_rows
from bayesgen.inference.draws import Draws, flat
from bayesgen.likelihoods.base import is_missing, row_chunks
from bayesgen.typing import Encoded, Labels, Params, Traceable
from bayesgen.user_program.generate import draw_missing
from bayesgen.user_program.program import (
    SINGLE,
    UserProgram,
    evaluated,
    given,
    is_drawn,
    is_joint,
    log_prob,
    reduced,
    split,
)
from bayesgen.user_program.refusals import missing_at

LANES = 4096
"""Densities evaluated at once (draws x rows x classes): the memory that a program needs for each is
unknown, and a thousand numbers for each would be 33 MB."""

OWNER = "program"
"""The owner of the parameters, beside "class"."""

Y = np.zeros(2, dtype=int)
"""Class codes of rows of which only shapes matter."""


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class ProgramDraws(Draws):
    """Parameters of a program with leading (chain, draw) axes; a point estimate is one draw.

    params: {"class": {"probs": ...}, "program": {site: ...}}; where the class probabilities differ
    between rows, those of "class" are the class frequencies at fit. labels_alike: whether all rows
    have the same class probabilities.
    """

    program: UserProgram
    labels_alike: bool

    @property
    def values(self) -> dict[str, np.ndarray]:
        """Return the parameters by site, chains flattened into draws."""
        return {site: flat(value) for site, value in self.params[OWNER].items()}

    def joint_draws(self, encoded: Encoded, n_rows: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield (rows, log p(x, y = k given theta) of shape (row, draw, class)) block by block."""
        n_draws, n_classes = int(np.prod(self.shape)), self.program.n_classes
        most = max(1, min(DENSITY_FLOATS // n_draws, LANES) // n_classes)
        with np.errstate(divide="ignore"):
            classes = np.log(self.params["class"]["probs"].reshape(n_draws, n_classes))
        for rows in row_chunks(n_rows, most):
            at = np.arange(n_rows)[rows]
            # rows are padded to a power of two, so that few shapes are compiled
            size = min(most, 1 << (len(at) - 1).bit_length())
            filled = at[np.minimum(np.arange(size), len(at) - 1)]
            scores = evaluated(_scorer(self.program), self.values, take_rows(encoded, filled))
            labels, data = (part[:, : len(at)] for part in scores)
            joint = np.swapaxes(data + (classes[:, None] if self.labels_alike else labels), 0, 1)
            # numpyro treats NaN as outside every support
            wrong = np.isnan(joint).any(axis=(1, 2))
            wrong |= np.isneginf(joint).all(axis=(1, 2)) & with_nan(take_rows(encoded, at), len(at))
            if wrong.any():
                draw, _, k = np.argwhere(~np.isfinite(labels + data) & wrong[:, None])[0]
                point, rows = {site: v[draw] for site, v in self.values.items()}, at[wrong]
                codes = np.full(len(rows), k)
                raise without_density(self.program, point, take_rows(encoded, rows), codes, rows)
            yield at, joint

    def impute(
        self, encoded: Encoded, n_rows: int, rng: np.random.Generator, own: Labels | None = None
    ) -> dict[str, Traceable]:
        """Return rows whose missing cells, as the program marks them, are drawn given the others.

        A draw of the parameters and a class are selected jointly by p(x, y = k given theta), then
        cells are drawn given both, so that they follow the distribution with density `log_joint`.
        Missing are NaN, and negative codes that the program marks. own: class codes that are given,
        shape (row,).

        Raises:
            UnsupportedOperation: the program marks nothing, or not a missing cell.
            InvalidProgram: the program does not return its input rows.
        """
        gaps = np.zeros(n_rows, bool)
        for array in encoded.values():
            gaps |= is_missing(array).reshape(n_rows, -1).any(axis=1)
        # a program that marks nothing is refused whether or not a cell is missing
        at = np.flatnonzero(gaps) if gaps.any() else np.arange(1)
        x, labels = take_rows(encoded, at), None if own is None else own[at]
        draw, y = self._draws_and_classes(x, len(at), rng, labels)
        values = {site: value[draw] for site, value in self.values.items()}
        drawn = draw_missing(self.program, values, x, y, int(rng.integers(2**31)), at)
        out = {name: array.copy() for name, array in encoded.items()}
        for name, array in drawn.items():
            out[name][at] = array
        return out

    def log_priors(self, x: Encoded, y: np.ndarray) -> dict[str, np.ndarray]:
        """Return the log density of each parameter's prior at the draws, by site, (chain, draw).

        Only the shapes of rows x and labels y matter. Empty where a prior is improper.
        """
        from jax import jit, vmap
        from numpyro import distributions as dist

        def density(point: Mapping, x: Mapping, y: Traceable) -> dict:
            trace = self.program.sites(x, y, given(point))
            if any(isinstance(trace[name]["fn"], dist.ImproperUniform) for name in point):
                return {}
            return {name: log_prob(trace[name]).sum() for name in point}

        every = jit(vmap(density, in_axes=(0, None, None)))
        densities = evaluated(every, self.values, dict(x), y)
        return {site: value.reshape(self.shape) for site, value in densities.items()}

    def with_classes(self, classes: ClassPrior) -> "ProgramDraws":
        """Return the same posterior under other class probabilities, drawn if they are unknown."""
        if not self.labels_alike:
            raise InvalidProgram(
                'the program gives site "y" other probabilities in other rows, so there is no '
                "single set of class probabilities to replace.",
                "Change the program instead.",
            )
        return cast("ProgramDraws", super().with_classes(classes))


def without_density(
    program: UserProgram,
    point: Mapping[str, np.ndarray],
    x: Encoded,
    y: Labels,
    numbers: np.ndarray,
) -> InvalidProgram:
    """Return the error about the site that has no finite density at parameter values.

    x, y: rows and class codes. numbers: of these rows, for the sentence.
    """
    from jax import jit

    joint: dict[str, bool] = {}

    def densities(point: Mapping, x: Mapping, y: Traceable) -> dict[str, Traceable]:
        trace = program.sites(x, y, given(point))
        sites = {n: site for n, site in trace.items() if site["type"] == "sample"}
        # known while it is traced, when no distribution looks at its values
        joint.update({name: is_joint(site["fn"]) for name, site in sites.items()})
        return {name: reduced(site) for name, site in sites.items() if name not in point}

    start = "its priors"
    for site, density in evaluated(jit(densities), dict(point), dict(x), y).items():
        wrong = np.flatnonzero(~np.isfinite(density))
        if not len(wrong):
            continue
        if not density.ndim:
            start = f"site {site!r}"
            continue
        if with_nan(take_rows(x, wrong), len(wrong)).all():
            return missing_at(site, numbers[wrong].tolist(), joint=joint[site])
        return InvalidProgram(
            "site {site!r} gives the log density {density} in {where:named row}.",
            "The row holds a value that the distribution does not allow (its support), or the "
            "priors are centered far from the rows. Choose a distribution whose support holds the "
            "column, or other guesses.",
            site=site,
            where=numbers[wrong].tolist(),
            density="NaN" if np.isnan(density).any() else "-inf",
        )
    return InvalidProgram(
        "the program has no finite density, or no finite gradient, at {where} where the fit "
        "starts.",
        "Look for a negative scale, a division by zero, or a NaN that is masked only after it "
        "was used; apply jnp.where first.",
        where=start,
    )


def with_nan(x: Encoded, n_rows: int) -> np.ndarray:
    """Return which rows hold NaN, as booleans."""
    cells = [array.reshape(n_rows, -1) for array in x.values() if array.dtype.kind == "f"]
    return np.isnan(np.concatenate([np.empty((n_rows, 0)), *cells], axis=1)).any(axis=1)


def prior_draws(
    program: UserProgram, x: Encoded, y: Labels, rng: np.random.Generator, n: int
) -> dict[str, Params]:
    """Return n draws of every parameter from its prior, (draw, ...), by owner.

    Only the shapes of rows x and labels y matter.
    """
    import jax

    seed = int(rng.integers(2**31))

    def draw(x: Mapping, y: Traceable) -> dict[str, Traceable]:
        return _prior(program)(jax.random.split(jax.random.key(seed), n), x, y)

    values = evaluated(draw, dict(x), y)
    return {"class": {"probs": class_probs(program, values, x)}, OWNER: values}


def named_axes(program: UserProgram, n_features: int) -> dict[str, tuple[str | None, ...]]:
    """Return the names of the axes of each parameter, by site: "class", "x.feature" or None.

    An axis is that of the classes, or of the features of a single array x, if there are as many of
    them and it grows by one with them. Empty for a program that runs with one number of them alone.
    """
    import jax

    def shapes(more_classes: int, more_features: int) -> dict[str, tuple[int, ...]]:
        more = dataclasses.replace(program, n_classes=program.n_classes + more_classes)
        rows = {SINGLE: np.zeros((2, n_features + more_features))}
        with jax.enable_x64(True):
            draws = jax.eval_shape(_prior(more), jax.random.split(jax.random.key(0), 1), rows, Y)
        return {site: draw.shape[1:] for site, draw in draws.items()}

    grown, features = {}, f"{SINGLE}.feature"
    number = {"class": program.n_classes, features: n_features}
    for axis, more in {"class": (1, 0), features: (0, 1)}.items():
        # a program of the user's own may stop anyhow
        with contextlib.suppress(Exception):
            grown[axis] = shapes(*more)
    out = {}
    for site, sizes in shapes(0, 0).items():
        names: list[str | None] = [None] * len(sizes)
        for axis, larger in grown.items():
            # K - 1 free parameters grow with the classes too
            steps = zip(sizes, larger[site], strict=False)
            at = [i for i, step in enumerate(steps) if step == (number[axis], number[axis] + 1)]
            # a covariance has the features twice, and no two axes may share a name
            for i, name in zip(at, (axis, f"{axis}_2"), strict=False):
                names[i] = name
        out[site] = tuple(names)
    return out


@functools.lru_cache(maxsize=32)
def _prior(program: UserProgram) -> Callable:
    import jax

    def draw(key: Traceable, x: Mapping, y: Traceable) -> dict[str, Traceable]:
        trace = program.run(x, y, key=key, value_of=given({}))[0]
        return {name: site["value"] for name, site in trace.items() if is_drawn(site)}

    return jax.jit(jax.vmap(draw, in_axes=(0, None, None)))


def class_probs(program: UserProgram, values: Mapping[str, np.ndarray], x: Encoded) -> np.ndarray:
    """Return P(y = k given theta) by site "y" of the first row, shape (draw, class)."""
    labels, _ = evaluated(_scorer(program), dict(values), take_rows(x, slice(1)))
    probs = np.exp(labels[:, 0])
    return probs / probs.sum(axis=1, keepdims=True)


@functools.lru_cache(maxsize=32)
def _scorer(program: UserProgram) -> Callable:
    """Return the compiled (values, x) -> log densities of labels and rows, (draw, row, class)."""
    import jax
    import jax.numpy as jnp

    def score(values: Mapping, x: Mapping) -> tuple[Traceable, ...]:
        n_rows = len(next(iter(x.values())))
        codes = jnp.arange(program.n_classes)[:, None] * jnp.ones(n_rows, int)

        def by_class(point: Mapping) -> tuple[Traceable, ...]:
            densities = jax.vmap(lambda y: split(program.densities(x, y, given(point)))[:2])(codes)
            return tuple(part.T for part in densities)

        at_once = max(1, LANES // (n_rows * program.n_classes))
        return jax.lax.map(by_class, values, batch_size=at_once)

    return jax.jit(score)
