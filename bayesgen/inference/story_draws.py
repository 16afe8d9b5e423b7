"""Draws of the parameters of a user's program: the answer that programs give."""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from jaxtyping import Bool

from bayesgen.classes import ClassPrior
from bayesgen.errors import InvalidStory, StoryNotFinite
from bayesgen.inference.posterior import DENSITY_FLOATS, Draws
from bayesgen.likelihoods.normal_statistics import row_chunks
from bayesgen.typing import Encoded, Traceable
from bayesgen.user_story import SINGLE, UserStory, log_priors, prior, simulate

LANES = 4096
"""Densities evaluated at once (draws x rows x classes): what a program needs for each of them is
not known, and a thousand numbers for each would be 33 MB."""

OWNER = "story"
"""The owner of the parameters, beside "class"."""


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class StoryDraws(Draws):
    """Parameters of a program with leading (chain, draw) axes; a point estimate is one draw.

    params: {"class": {"probs": ...}, "story": {site: ...}}; where the class probabilities differ
    between rows, those of "class" are the shares of the classes at fit. labels_alike: whether they
    do not.
    """

    story: UserStory
    labels_alike: bool

    @property
    def values(self) -> dict[str, np.ndarray]:
        """Return the parameters by site, chains flattened into draws."""
        values = self.params[OWNER]
        return {site: value.reshape(-1, *value.shape[2:]) for site, value in values.items()}

    def joint_draws(self, encoded: Encoded, n_rows: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield (rows, log p(x, y = k given theta) of shape (row, draw, class)) block by block."""
        n_draws, n_classes = int(np.prod(self.shape)), self.story.n_classes
        most = max(1, min(DENSITY_FLOATS // n_draws, LANES) // n_classes)
        with np.errstate(divide="ignore"):
            classes = np.log(self.params["class"]["probs"].reshape(n_draws, n_classes))
        for rows in row_chunks(n_rows, most):
            at = np.arange(n_rows)[rows]
            # rows are filled up to a power of two: few shapes are compiled
            size = min(most, 1 << (len(at) - 1).bit_length())
            filled = at[np.minimum(np.arange(size), len(at) - 1)]
            x = {name: array[filled] for name, array in encoded.items()}
            labels, data = (part[:, : len(at)] for part in self._scores(x))
            joint = np.swapaxes(data + (classes[:, None] if self.labels_alike else labels), 0, 1)
            # numpyro holds NaN to be outside every support
            wrong = np.isnan(joint).any(axis=(1, 2))
            wrong |= np.isneginf(joint).all(axis=(1, 2)) & missing(encoded, at)
            if wrong.any():
                raise self._not_finite(encoded, at[wrong])
            yield at, joint

    def _scores(self, x: Encoded) -> tuple[np.ndarray, np.ndarray]:
        """Return log densities of labels and of rows given labels, each (draw, row, class)."""
        import jax

        with jax.enable_x64(True):
            return jax.device_get(_scorer(self.story)(self.values, dict(x)))

    def _not_finite(self, encoded: Encoded, rows: np.ndarray) -> StoryNotFinite:
        point = {site: value[0] for site, value in self.values.items()}
        x = {name: array[rows] for name, array in encoded.items()}
        found = site_densities(self.story, point, x, np.zeros(len(rows), int))
        wrong = (n for n, density in found.items() if not np.isfinite(density).all())
        return not_finite(next(wrong, SINGLE), rows.tolist(), encoded, np.array(np.nan))

    def simulate(
        self, n: int, rng: np.random.Generator, sizes: Mapping[str, int]
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Return n rows and class codes, each from a draw of its own.

        sizes: keywords of the program for what x would have shown.
        """
        params = self.parameters(rng, n)[OWNER]
        seed = int(rng.integers(2**31))
        return simulate(self.story, params, seed, sizes)

    def prior(
        self, n: int, rng: np.random.Generator, x: Encoded, y: np.ndarray
    ) -> dict[str, dict[str, np.ndarray]]:
        """Return n draws of every parameter from its prior, (draw, ...), by owner.

        Rows x and labels y say how large everything is; what they hold does not count.
        """
        values = prior(self.story, tuple(self.params[OWNER]), x, y, int(rng.integers(2**31)), n)
        return {"class": {"probs": class_probs(self.story, values, x)}, OWNER: values}

    def log_priors(self, x: Encoded, y: np.ndarray) -> dict[str, np.ndarray]:
        """Return the log density of each parameter's prior at the draws, by site, (chain, draw).

        Rows x and labels y say how large everything is. Empty where a prior is improper.
        """
        found = log_priors(self.story, self.values, x, y)
        return {site: density.reshape(self.shape) for site, density in found.items()}

    def with_classes(self, classes: ClassPrior) -> "StoryDraws":
        """Return the same posterior under another class prior, which must be known."""
        if not self.labels_alike:
            raise InvalidStory.labels_vary()
        probs = np.broadcast_to(classes.probs, (*self.shape, len(classes.probs)))
        return dataclasses.replace(self, params={**self.params, "class": {"probs": probs}})

    def shifted(self, origin: dict[str, np.ndarray]) -> "StoryDraws":
        """Return itself: a program reads columns in the user's own units."""
        return self


def site_densities(
    story: UserStory, point: Mapping[str, np.ndarray], x: Encoded, y: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the log density of each observed site, to say which of them is at fault."""
    import jax

    with jax.enable_x64(True):
        return jax.device_get(jax.jit(story.densities)(dict(point), dict(x), y))


def class_probs(story: UserStory, values: Mapping[str, np.ndarray], x: Encoded) -> np.ndarray:
    """Return P(y = k given theta) by site "y" of the first row, shape (draw, class)."""
    import jax

    with jax.enable_x64(True):
        one = {name: array[:1] for name, array in x.items()}
        labels = jax.device_get(_scorer(story, labels_only=True)(dict(values), one)[0])
    probs = np.exp(labels[:, 0])
    return probs / probs.sum(axis=1, keepdims=True)


def not_finite(site: str, rows: list[int], x: Encoded, density: np.ndarray) -> StoryNotFinite:
    """Return the error about rows without a density: they hold missing cells, or wrong ones."""
    if missing(x, np.array(rows)).all():
        return StoryNotFinite.missing(site, rows)
    return StoryNotFinite.invalid(site, rows, "NaN" if np.isnan(density).any() else "-inf")


def missing(x: Encoded, rows: np.ndarray) -> Bool[np.ndarray, " row"]:
    """Return whether rows hold NaN."""
    floats = (array[rows] for array in x.values() if array.dtype.kind == "f")
    missing_cells = (np.isnan(array).reshape(len(rows), -1).any(axis=1) for array in floats)
    return functools.reduce(np.logical_or, missing_cells, np.zeros(len(rows), bool))


@functools.lru_cache(maxsize=32)
def _scorer(story: UserStory, *, labels_only: bool = False) -> Callable:
    """Return the compiled (values, x) -> log densities of labels and rows, (draw, row, class)."""
    import jax
    import jax.numpy as jnp

    def score(values: Mapping, x: Mapping) -> tuple[Traceable, ...]:
        n_rows = len(next(iter(x.values())))
        codes = jnp.arange(story.n_classes)[:, None] * jnp.ones(n_rows, int)

        def one(point: Mapping) -> tuple[Traceable, ...]:
            found = jax.vmap(lambda y: story.scores(point, x, y)[: 1 if labels_only else 2])(codes)
            return tuple(part.T for part in found)

        at_once = max(1, LANES // (n_rows * story.n_classes))
        return jax.lax.map(one, values, batch_size=at_once)

    return jax.jit(score)
