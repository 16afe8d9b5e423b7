"""The two kinds of answer: a closed form, or draws. Both answer one question: the joint."""

import abc
import dataclasses
import functools
from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Bool, Float

from bayesgen.classes import ClassPrior
from bayesgen.inference.log_space import class_probabilities
from bayesgen.inference.missing_patterns import by_missing_pattern
from bayesgen.inference.monte_carlo_error import MonteCarloError, batch_starts, monte_carlo_error
from bayesgen.inference.report import Report
from bayesgen.likelihoods import Likelihood
from bayesgen.likelihoods.normal_statistics import row_chunks
from bayesgen.model import Model, Reader
from bayesgen.typing import Encoded, Joint

DENSITY_FLOATS = 1_000_000
"""Log densities held at once: 8 MB, about the size of a third-level cache (measured: larger blocks
run no faster and 1,000 draws x 5 classes then need 200 rows a block)."""


ClassDraws = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclasses.dataclass(frozen=True, eq=False)
class Posterior(abc.ABC):
    """What inference returns. Rows are encoded rows, one array for each block.

    reader: how rows reach the likelihoods. report: the account of the fit.
    """

    reader: Reader
    report: Report

    def __getstate__(self) -> dict[str, object]:
        """Return the fields alone: cached scorers are functions, which cannot be pickled."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @property
    @abc.abstractmethod
    def point(self) -> bool:
        """Whether this is a point estimate, which has no uncertainty to show."""

    @property
    @abc.abstractmethod
    def families(self) -> dict[str, Likelihood]:
        """The likelihood of each block."""

    @property
    def closed(self) -> bool:
        """Whether the model has a closed form, be this posterior one or not."""
        families = self.families.values()
        return bool(families) and all(family.conjugate for family in families)

    @abc.abstractmethod
    def log_joint(self, encoded: Encoded, n_rows: int) -> Joint:
        """Return log p(x, y = k given data), shape (row, class)."""

    def is_marginal(self, encoded: Encoded, n_rows: int) -> Bool[np.ndarray, " row"]:
        """Return for which rows `log_joint` is the integral over their missing values: all."""
        return np.ones(n_rows, dtype=bool)

    @property
    def caveat(self) -> str:
        """What is not answered exactly, in sentences; "" where everything is."""
        return ""

    @abc.abstractmethod
    def log_classes(self) -> Float[np.ndarray, " class"]:
        """Return log P(y = k given data), shape (class,)."""

    @abc.abstractmethod
    def with_classes(self, classes: ClassPrior) -> "Posterior":
        """Return the same posterior under another class prior."""

    @abc.abstractmethod
    def class_draws(self, encoded: Encoded, n_rows: int) -> Iterator[ClassDraws]:
        """Yield (rows, P(y = k given x, theta), weight) block by block of rows.

        Shapes (row,), (draw, row, class) and (draw, row); the weights of a row sum to one and stand
        for p(theta given data, x).
        """

    @abc.abstractmethod
    def shifted(self, origin: dict[str, np.ndarray]) -> "Posterior":
        """Return the posterior of rows plus an origin, which is that of the user's own units."""

    @abc.abstractmethod
    def parameters(self, rng: np.random.Generator, n: int) -> dict[str, dict[str, np.ndarray]]:
        """Return n draws of all parameters, by owner, each of shape (draw, ...)."""


@dataclasses.dataclass(frozen=True, eq=False)
class Exact(Posterior):
    """A closed-form posterior: the model itself, updated."""

    model: Model
    seed: int
    draws: int = 1000

    @property
    def point(self) -> bool:
        """Whether this is a point estimate: no."""
        return False

    @property
    def families(self) -> dict[str, Likelihood]:
        """The updated likelihood of each block."""
        return self.model.blocks

    def log_joint(self, encoded: Encoded, n_rows: int) -> Joint:
        """Return log P(y = k) + sum of the blocks' log predictives."""
        out = np.tile(self.model.classes.log_predictive(), (n_rows, 1))
        out += self.reader.log_abs_det_jacobian(encoded)
        rows = self.reader.read(encoded)
        for name, score in self.predictives.items():
            out += score(rows[name])
        return out

    @functools.cached_property
    def predictives(self) -> dict[str, Callable]:
        """What each block says of any row: x -> log density, shape (row, class)."""
        return {name: part.predictive() for name, part in self.model.blocks.items()}

    def is_marginal(self, encoded: Encoded, n_rows: int) -> Bool[np.ndarray, " row"]:
        """Return for which rows every block's predictive is the integral over missing values."""
        rows = self.reader.read(encoded)
        out = np.ones(n_rows, dtype=bool)
        for name, part in self.model.blocks.items():
            out &= part.is_marginal(rows[name])
        return out

    @property
    def caveat(self) -> str:
        """What some block does not answer exactly."""
        return " ".join(sorted({part.caveat for part in self.families.values()} - {""}))

    def log_classes(self) -> np.ndarray:
        """Return log P(y = k given data)."""
        return self.model.classes.log_predictive()

    def with_classes(self, classes: ClassPrior) -> "Exact":
        """Return the same posterior under another class prior."""
        return dataclasses.replace(self, model=Model(classes, self.model.blocks))

    def class_draws(self, encoded: Encoded, n_rows: int) -> Iterator[ClassDraws]:
        """Draw theta given data and the row itself: first its class, then theta updated by the row.

        These are draws of p(theta given data, x) themselves, so they need no weights, and their
        mean is the predictive probability. The same random numbers serve every row.
        """
        probs = class_probabilities(self.log_joint(encoded, n_rows), self.log_classes())
        rows = self.reader.read(encoded)
        strata, classes, scores = self._updated
        width = sum(x.shape[1] for x in rows.values()) + probs.shape[1]
        for part in row_chunks(n_rows, max(1, DENSITY_FLOATS // (self.draws * width))):
            own = (strata[:, None, None] > probs[part].cumsum(axis=1)[:, :-1]).sum(axis=2)
            prior = classes(own)
            joint = prior + sum(score(rows[name][part], own) for name, score in scores.items())
            # a row impossible under every class says nothing of it
            np.copyto(joint, prior, where=np.isneginf(joint).all(axis=2, keepdims=True))
            joint -= np.logaddexp.reduce(joint, axis=2, keepdims=True)
            even = np.full(own.shape, 1 / self.draws)
            yield np.arange(part.start, part.stop), np.exp(joint), even

    @functools.cached_property
    def _updated(self) -> tuple[np.ndarray, Callable, dict[str, Callable]]:
        rng = np.random.default_rng(self.seed)
        strata = (np.arange(self.draws) + rng.random(self.draws)) / self.draws
        classes = self.model.classes.log_density_draws_given_row(rng, self.draws)
        blocks = self.model.blocks.items()
        return (
            strata,
            classes,
            {n: part.log_density_draws_given_row(rng, self.draws) for n, part in blocks},
        )

    def shifted(self, origin: dict[str, np.ndarray]) -> "Exact":
        """Return the posterior in the user's own units."""
        parts = {n: part.shifted(origin[n]) for n, part in self.model.blocks.items()}
        return dataclasses.replace(self, model=Model(self.model.classes, parts))

    def parameters(self, rng: np.random.Generator, n: int) -> dict[str, dict[str, np.ndarray]]:
        """Return n independent draws of all parameters."""
        parts = {name: part.draw(rng, n) for name, part in self.model.blocks.items()}
        return {"class": self.model.classes.draw(rng, n), **parts}


@dataclasses.dataclass(frozen=True, eq=False)
class Draws(Posterior):
    """Parameters with leading (chain, draw) axes, by block; a point estimate is one draw.

    params: {"class": {"probs": ...}, block: {parameter: ...}}.
    sample_stats: what the sampler said of each draw, (chain, draw), by arviz's names.
    """

    params: dict[str, dict[str, np.ndarray]]
    blocks: dict[str, Likelihood]
    sample_stats: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)

    @property
    def families(self) -> dict[str, Likelihood]:
        """The likelihood of each block."""
        return self.blocks

    @property
    def shape(self) -> tuple[int, int]:
        """Return the number of chains and of draws in each."""
        return self.params["class"]["probs"].shape[:2]

    @property
    def point(self) -> bool:
        """Whether this is a point estimate: one draw."""
        return self.shape == (1, 1)

    def log_joint(self, encoded: Encoded, n_rows: int) -> Joint:
        """Return the log of the mean over draws of the joint density."""
        out = np.empty((n_rows, self.params["class"]["probs"].shape[-1]))
        for rows, sums, top in self._batch_sums(encoded, n_rows):
            out[rows] = self._log_mean(sums, top)
        return out + self.reader.log_abs_det_jacobian(encoded)

    def log_joint_and_error(self, encoded: Encoded, n_rows: int) -> tuple[Joint, MonteCarloError]:
        """Return the log joint of several draws, and how far off the mean over them may be."""
        out = np.empty((n_rows, self.params["class"]["probs"].shape[-1]))
        error = MonteCarloError(np.empty(n_rows), np.empty(n_rows))
        log_classes, n_draws = self.log_classes(), int(np.prod(self.shape))
        for rows, sums, top in self._batch_sums(encoded, n_rows):
            out[rows] = self._log_mean(sums, top)
            error.probability[rows], error.sample_size[rows] = monte_carlo_error(
                sums, top, log_classes, n_draws
            )
        return out + self.reader.log_abs_det_jacobian(encoded), error

    def _log_mean(self, sums: np.ndarray, top: Joint) -> Joint:
        with np.errstate(divide="ignore"):
            return np.log(sums.sum(axis=2) / np.prod(self.shape)) + top

    def _batch_sums(self, encoded: Encoded, n_rows: int) -> Iterator[tuple[np.ndarray, ...]]:
        """Yield (rows, sums over batches of draws of joint densities / exp(top), top)."""
        for rows, joint in self.joint_draws(encoded, n_rows):
            # draws last: NumPy reduces along a long last axis 15 times as fast (measured)
            joint = np.ascontiguousarray(np.swapaxes(joint, 1, 2))
            # each class from its own top: far out one lies 1e-300 and more below the other
            top = joint.max(axis=2)
            top = np.where(np.isneginf(top), 0.0, top)
            np.subtract(joint, top[:, :, None], out=joint)
            np.exp(joint, out=joint)
            yield rows, np.add.reduceat(joint, batch_starts(joint.shape[2]), axis=2), top

    def joint_draws(self, encoded: Encoded, n_rows: int):
        """Yield (rows, log p(x, y = k, given theta) of shape (row, draw, class)) block by block."""
        order, data = by_missing_pattern(self.reader.read(encoded), n_rows)
        with np.errstate(divide="ignore"):
            # laid out as densities are, draws side by side: adding is 12 times as fast (measured)
            classes = np.asfortranarray(np.log(flat(self.params["class"]["probs"])))
        for rows in row_chunks(n_rows, max(1, DENSITY_FLOATS // classes.size)):
            at = order[rows]
            # a family without parameters says the same under every draw: (row, 1, class)
            shape = (len(at), -1, classes.shape[1])
            parts = (f(data[name][at]).reshape(shape) for name, f in self._densities.items())
            joint = next(parts, np.zeros((len(at), 1, classes.shape[1])))
            whole = joint.shape == (len(at), *classes.shape)
            joint = np.add(joint, classes, out=joint if whole else None)
            for part in parts:
                joint += part
            yield at, joint

    @functools.cached_property
    def _densities(self) -> dict[str, Callable]:
        return {
            name: family.log_density_fn({k: flat(v) for k, v in self.params[name].items()})
            for name, family in self.families.items()
        }

    def log_classes(self) -> np.ndarray:
        """Return the log of the mean class probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(flat(self.params["class"]["probs"]).mean(axis=0))

    def with_classes(self, classes: ClassPrior) -> "Draws":
        """Return the same posterior under another class prior, which must be known."""
        probs = np.broadcast_to(classes.probs, (*self.shape, len(classes.probs)))
        return dataclasses.replace(self, params={**self.params, "class": {"probs": probs}})

    def class_draws(self, encoded: Encoded, n_rows: int) -> Iterator[ClassDraws]:
        """Weigh every draw by p(x given theta), which turns p(theta given data) into the wanted."""
        prior = np.log(np.maximum(flat(self.params["class"]["probs"]), np.finfo(float).tiny))
        for rows, joint in self.joint_draws(encoded, n_rows):
            # a row impossible under every class and draw says nothing of them
            joint[np.isneginf(joint).all(axis=(1, 2))] = prior
            evidence = np.logaddexp.reduce(joint, axis=2)
            top = evidence.max(axis=1, keepdims=True)
            weight = np.exp(evidence - np.where(np.isneginf(top), 0.0, top))
            weight /= np.maximum(weight.sum(axis=1, keepdims=True), np.finfo(float).tiny)
            probs = np.exp(joint - np.where(np.isneginf(evidence), 0.0, evidence)[..., None])
            yield rows, np.swapaxes(probs, 0, 1), weight.T

    def shifted(self, origin: dict[str, np.ndarray]) -> "Draws":
        """Return the posterior in the user's own units."""
        params = {n: f.shift_params(self.params[n], origin[n]) for n, f in self.families.items()}
        families = {n: f.shifted(origin[n]) for n, f in self.families.items()}
        params = {"class": self.params["class"], **params}
        return dataclasses.replace(self, params=params, blocks=families)

    def parameters(self, rng: np.random.Generator, n: int) -> dict[str, dict[str, np.ndarray]]:
        """Return n of the draws, picked at random (a point estimate repeats itself)."""
        picked = rng.integers(np.prod(self.shape), size=n)
        return {o: {k: flat(v)[picked] for k, v in p.items()} for o, p in self.params.items()}


def point_estimate(
    params: dict[str, dict[str, np.ndarray]],
    families: dict[str, Likelihood],
    reader: Reader,
    report: Report,
) -> Draws:
    """Return a posterior of one draw in one chain."""
    single = {n: {k: np.asarray(v)[None, None] for k, v in p.items()} for n, p in params.items()}
    return Draws(reader, report, single, families)


def flat(draws: np.ndarray) -> np.ndarray:
    """Return draws of one parameter without the axis of chains, (draw, ...)."""
    # not -1: a block whose columns have no level at all has parameters of size 0
    return draws.reshape(draws.shape[0] * draws.shape[1], *draws.shape[2:])
