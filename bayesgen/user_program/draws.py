"""Posterior of a user's program: draws, row densities, simulated rows, prior draws."""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import cast

import numpy as np
from jaxtyping import Bool

from bayesgen.classes import ClassPrior
from bayesgen.errors import InvalidProgram, UnsupportedOperation
from bayesgen.errors.wording import to_type
from bayesgen.inference.components import DENSITY_FLOATS
from bayesgen.inference.draws import Draws
from bayesgen.likelihoods.base import row_chunks
from bayesgen.typing import Encoded, Labels, Params, Traceable
from bayesgen.user_program.impute import draw_missing, is_missing, require_masks
from bayesgen.user_program.program import (
    LABEL,
    SINGLE,
    UserProgram,
    evaluated,
    given,
    is_drawn,
    log_prob,
    row_of,
)
from bayesgen.user_program.refusals import OBSERVED, wrong_simulation

LANES = 4096
"""Densities evaluated at once (draws x rows x classes): the memory that a program needs for each is
unknown, and a thousand numbers for each would be 33 MB."""

OWNER = "program"
"""The owner of the parameters, beside "class"."""


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
        values = self.params[OWNER]
        return {site: value.reshape(-1, *value.shape[2:]) for site, value in values.items()}

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
            x = {name: array[filled] for name, array in encoded.items()}
            scores = evaluated(_scorer(self.program), self.values, x)
            labels, data = (part[:, : len(at)] for part in scores)
            joint = np.swapaxes(data + (classes[:, None] if self.labels_alike else labels), 0, 1)
            # numpyro treats NaN as outside every support
            wrong = np.isnan(joint).any(axis=(1, 2))
            wrong |= np.isneginf(joint).all(axis=(1, 2)) & with_nan(encoded, at)
            if wrong.any():
                raise self._not_finite(encoded, at[wrong])
            yield at, joint

    def _not_finite(self, encoded: Encoded, rows: np.ndarray) -> InvalidProgram:
        point = {site: value[0] for site, value in self.values.items()}
        x = {name: array[rows] for name, array in encoded.items()}
        found = site_densities(self.program, point, x, np.zeros(len(rows), int))
        wrong = (n for n, density in found.items() if not np.isfinite(density).all())
        return not_finite(next(wrong, SINGLE), rows.tolist(), encoded, np.array(np.nan))

    def simulate(
        self, n: int, rng: np.random.Generator, sizes: Mapping[str, int], own: int | None = None
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Return n rows and class codes, each from its own draw.

        sizes: keywords of the program for sizes that x would have shown. own: the class of all
        rows, by code; None: the program draws it.
        """
        params = self.parameters(rng, n)[OWNER]
        if own is not None:
            params = params | {LABEL: np.full((n, 1), own)}
        seed = int(rng.integers(2**31))
        return simulate(self.program, params, seed, sizes)

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
        require_masks(self.program, {site: v[0] for site, v in self.values.items()}, encoded)
        flat = (is_missing(array).reshape(n_rows, -1) for array in encoded.values())
        at = np.flatnonzero(sum(gaps.any(axis=1) for gaps in flat))
        if not len(at):
            return dict(encoded)
        x = {name: array[at] for name, array in encoded.items()}
        labels = None if own is None else own[at]
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

        found = evaluated(jit(vmap(density, in_axes=(0, None, None))), self.values, dict(x), y)
        return {site: value.reshape(self.shape) for site, value in found.items()}

    def require_loo(self) -> None:
        """Raise for a point estimate, which has no draws to reweight."""
        if self.point:
            raise UnsupportedOperation(
                "loo() of a program of your own reweights draws of its parameters, but "
                "inference={method!r} has a single one.",
                "Pass inference='nuts', or score held-out rows with bg.compare({{'this': "
                "clf}}, X, y).",
                method=self.report.method,
            )

    def with_classes(self, classes: ClassPrior) -> "ProgramDraws":
        """Return the same posterior under other class probabilities, drawn if they are unknown."""
        if not self.labels_alike:
            raise InvalidProgram(
                'the program gives site "y" other probabilities in other rows, so there is no '
                "single set of class probabilities to replace.",
                "Change the program instead.",
            )
        return cast("ProgramDraws", super().with_classes(classes))

    def shifted(self, origin: dict[str, np.ndarray]) -> "ProgramDraws":
        """Return itself: a program reads columns in the user's own units."""
        return self


def site_densities(
    program: UserProgram, point: Mapping[str, np.ndarray], x: Encoded, y: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the log density of each observed site, to name the one at fault."""
    from jax import jit

    return evaluated(jit(program.densities), dict(point), dict(x), y)


def class_probs(program: UserProgram, values: Mapping[str, np.ndarray], x: Encoded) -> np.ndarray:
    """Return P(y = k given theta) by site "y" of the first row, shape (draw, class)."""
    first = {name: array[:1] for name, array in x.items()}
    probs = np.exp(evaluated(_scorer(program), dict(values), first)[0][:, 0])
    return probs / probs.sum(axis=1, keepdims=True)


def not_finite(site: str, rows: list[int], x: Encoded, density: np.ndarray) -> InvalidProgram:
    """Return the error about rows without a density: with missing values, or with invalid ones."""
    if with_nan(x, np.array(rows)).all():
        return InvalidProgram(
            "site {site!r} gives no density to row {where:listed}, where cells are missing (NaN).",
            "The program must handle them: omit their factors, "
            "dist.Normal(...).mask(observed), after{code}",
            site=site,
            where=rows,
            code=to_type(*OBSERVED),
        )
    return InvalidProgram(
        "site {site!r} gives the log density {found} in row {where:listed}.",
        "The row holds a value that the distribution does not allow (its support), or the "
        "priors are centered far from the rows. Choose a distribution whose support holds the "
        "column, or other guesses.",
        site=site,
        where=rows,
        found="NaN" if np.isnan(density).any() else "-inf",
    )


def with_nan(x: Encoded, rows: np.ndarray) -> Bool[np.ndarray, " row"]:
    """Return which rows hold NaN."""
    floats = (array[rows] for array in x.values() if array.dtype.kind == "f")
    found = (np.isnan(array).reshape(len(rows), -1).any(axis=1) for array in floats)
    return functools.reduce(np.logical_or, found, np.zeros(len(rows), bool))


@functools.lru_cache(maxsize=32)
def _scorer(program: UserProgram) -> Callable:
    """Return the compiled (values, x) -> log densities of labels and rows, (draw, row, class)."""
    import jax
    import jax.numpy as jnp

    def score(values: Mapping, x: Mapping) -> tuple[Traceable, ...]:
        n_rows = len(next(iter(x.values())))
        codes = jnp.arange(program.n_classes)[:, None] * jnp.ones(n_rows, int)

        def by_class(point: Mapping) -> tuple[Traceable, ...]:
            densities = jax.vmap(lambda y: program.scores(point, x, y)[:2])(codes)
            return tuple(part.T for part in densities)

        at_once = max(1, LANES // (n_rows * program.n_classes))
        return jax.lax.map(by_class, values, batch_size=at_once)

    return jax.jit(score)


# -- rows simulated by a program, and draws from its priors ----------------------------------------


def simulate(
    program: UserProgram, values: Mapping[str, np.ndarray], seed: int, sizes: Mapping[str, int]
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return one row and its class for each set of parameters, values having a leading draw axis.

    Raises:
        InvalidProgram: the program does not run without rows, or does not return (x, y).
    """
    import jax

    with jax.enable_x64(True):
        n = len(next(iter(values.values())))
        keys = jax.random.split(jax.random.key(seed), n)
        try:
            rows, y = jax.device_get(_simulator(program, tuple(sizes.items()))(values, keys))
        except InvalidProgram:
            raise
        # a program of the user's own may stop in any way
        except Exception as error:
            raise InvalidProgram(
                "the program cannot simulate rows: {problem}.",
                "It is called as model(None, n_classes=..., n_rows=1) and returns (x, y); bind "
                "the sizes that it would read from x, functools.partial(model, n_features=...).",
                problem=f"{type(type(error).__name__).__name__}: {type(error).__name__}",
            ) from error
    return rows, y


def prior_draws(
    program: UserProgram, x: Encoded, y: np.ndarray, rng: np.random.Generator, n: int
) -> dict[str, Params]:
    """Return n draws of every parameter from its prior, (draw, ...), by owner.

    Only the shapes of rows x and labels y matter.
    """
    import jax

    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(int(rng.integers(2**31))), n)
    values = evaluated(_prior(program), keys, dict(x), y)
    return {"class": {"probs": class_probs(program, values, x)}, OWNER: values}


@functools.lru_cache(maxsize=32)
def _prior(program: UserProgram) -> Callable:
    import jax

    def draw(key: Traceable, x: Mapping, y: Traceable) -> dict:
        trace = program.run(x, y, key=key, value_of=given({}))[0]
        return {name: site["value"] for name, site in trace.items() if is_drawn(site)}

    return jax.jit(jax.vmap(draw, in_axes=(0, None, None)))


@functools.lru_cache(maxsize=32)
def _simulator(program: UserProgram, sizes: tuple[tuple[str, int], ...]) -> Callable:
    import jax

    def one(values: Mapping, key: Traceable) -> tuple[dict, Traceable]:
        options = {"key": key, "value_of": given(values)}
        _, returned = program.run(None, None, **options, n_rows=1, **dict(sizes))
        rows, y = row_of(program, returned, wrong_simulation)
        return rows, y[0]

    return jax.jit(jax.vmap(one))


def size_keywords(program: UserProgram, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """Return keywords for the sizes that the program leaves open, from the shapes of a row."""
    wanted = inspect.signature(program.model).parameters.get("n_features")
    bound = wanted is None or (wanted.default is not wanted.empty and wanted.default is not None)
    if bound or not program.single or len(shapes[SINGLE]) != 1:
        return {}
    return {"n_features": shapes[SINGLE][0]}
