"""Posteriors: what inference returns, and every question that the library asks of it.

A posterior is a closed form (`ExactPosterior`) or draws (`DrawsPosterior`); two others wrap these:
`PowerPosterior`, whose likelihood counts to a power, and `MixturePosterior`, a weighted mean of
several. Rows are encoded rows, one array for each block.
"""

import abc
import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from jaxtyping import Bool, Float

from bayesgen.classes import ClassPrior
from bayesgen.errors import UnsupportedInference
from bayesgen.inference.log_space import class_probabilities
from bayesgen.inference.monte_carlo_error import MonteCarloError, batch_starts, monte_carlo_error
from bayesgen.inference.report import Report
from bayesgen.likelihoods import Likelihood
from bayesgen.likelihoods.base import is_missing, row_chunks
from bayesgen.model import Model, Reader
from bayesgen.typing import Encoded, Joint, Labels, Params, Traceable

DENSITY_FLOATS = 1_000_000
"""Log densities held at once: 8 MB, about the size of a third-level cache (measured: larger blocks
run no faster and 1,000 draws x 5 classes then need 200 rows a block)."""


CHAINS = 4
"""Independent draws are dealt to as many chains: arviz's diagnostics want several."""

ClassDraws = tuple[np.ndarray, np.ndarray, np.ndarray]
Imputed = dict[str, Traceable]


@dataclasses.dataclass(frozen=True, eq=False)
class LogJointDraws:
    """Log joints of rows given each of several draws of the parameters.

    score: (encoded rows, their number) -> log p(x, y = k given theta), shape (row, draw, class).
    n_draws: how many. powers: what power the evidence of each draw has, (draw,) or one number.
    """

    score: Callable[[Encoded, int], np.ndarray]
    n_draws: int
    powers: np.ndarray | float = 1.0


@dataclasses.dataclass(frozen=True, eq=False)
class Posterior(abc.ABC):
    """What inference returns: the answers to all questions about rows and parameters.

    reader: how rows reach the likelihoods. report: the account of the fit.
    """

    reader: Reader
    report: Report

    def __getstate__(self) -> dict[str, object]:
        """Return the fields alone: cached scorers are functions, which cannot be pickled."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    # -- what it is ------------------------------------------------------------------------------

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

    @property
    def power(self) -> float:
        """The (geometric mean) power of the likelihood: 1 unless this is a `PowerPosterior`."""
        return 1.0

    @property
    def coherent(self) -> bool:
        """Whether class probabilities are the mean of those given a cell more, over the cell."""
        return True

    @property
    def caveat(self) -> str:
        """What is not answered exactly, in sentences; "" where everything is."""
        return ""

    def point_params(self) -> dict[str, Params] | None:
        """Return the parameters of a point estimate by owner; None of every other posterior."""
        return None

    def normal_centre(self, block: str) -> Params:
        """Return the class means and the shared covariance at the centre of a normal block."""
        hyper = self.families[block].arrays()
        return {"mean": hyper["mean"], "covariance": hyper["scale"][0]}

    # -- probabilities ---------------------------------------------------------------------------

    @abc.abstractmethod
    def log_joint(self, encoded: Encoded, n_rows: int) -> Joint:
        """Return log p(x, y = k given data), shape (row, class)."""

    def log_joint_and_error(
        self, encoded: Encoded, n_rows: int
    ) -> tuple[Joint, MonteCarloError | None]:
        """Return the log joint, and how far off it may be where it is a mean over draws."""
        return self.log_joint(encoded, n_rows), None

    def more_draws(self) -> str:
        """Return what to type where draws are too few."""
        return ""

    def is_marginal(self, encoded: Encoded, n_rows: int) -> Bool[np.ndarray, " row"]:
        """Return for which rows `log_joint` is the integral over their missing values: all."""
        return np.ones(n_rows, dtype=bool)

    @abc.abstractmethod
    def log_classes(self) -> Float[np.ndarray, " class"]:
        """Return log P(y = k given data), shape (class,)."""

    def log_proba(self, log_classes: Float[np.ndarray, "... class"], joint: Joint) -> Joint:
        """Return log P(y = k given x) that log joints of the model itself amount to.

        log_classes: the part of them that is log P(y = k). A row that is impossible under every
        class has these.
        """
        return power_log_proba(log_classes, joint, 1.0)

    def log_joint_from(self, log_classes: Float[np.ndarray, "... class"], joint: Joint) -> Joint:
        """Return the log joint that one of the model itself amounts to: the same, or tempered."""
        return joint

    @abc.abstractmethod
    def with_classes(self, classes: ClassPrior) -> "Posterior":
        """Return the same posterior under another class prior."""

    @abc.abstractmethod
    def shifted(self, origin: dict[str, np.ndarray]) -> "Posterior":
        """Return the posterior of rows plus an origin, which is that of the user's own units."""

    def require_leave_one_out(self, what: str, otherwise: str | None = None) -> None:
        """Refuse to take rows away exactly, which only a closed form can.

        Args:
            what: asks for it.
            otherwise: the cure where the model has no closed form.

        Raises:
            UnsupportedInference: with the cure.
        """
        if otherwise is None:
            otherwise = "Estimate it from the draws: arviz_stats.loo(clf.to_datatree())"
            if self.point:
                otherwise = "Score rows held out by bg.compare({'this': clf}, X, y)"
        raise UnsupportedInference.loses_no_row(
            what, self.report.method, closed=self.closed, otherwise=otherwise
        )

    # -- draws -----------------------------------------------------------------------------------

    @abc.abstractmethod
    def class_draws(self, encoded: Encoded, n_rows: int) -> Iterator[ClassDraws]:
        """Yield (rows, P(y = k given x, theta), weight) chunk by chunk of rows.

        Shapes (row,), (draw, row, class) and (draw, row); the weights of a row sum to one and stand
        for p(theta given data, x).
        """

    @abc.abstractmethod
    def parameters(self, rng: np.random.Generator, n: int) -> dict[str, Params]:
        """Return n draws of all parameters, by owner, each of shape (draw, ...)."""

    def as_draws(self, rng: np.random.Generator, n: int) -> "DrawsPosterior":
        """Return the posterior as draws: its own, or n of a closed form, dealt to CHAINS chains."""
        params = chained(self.parameters(rng, n), n)
        return DrawsPosterior(self.reader, self.report, params, self.families)

    def log_joint_draws(self, rng: np.random.Generator, n: int) -> LogJointDraws:
        """Return the log joint given every draw: n of a closed form, or those of a sampler."""
        draws = self.as_draws(rng, n)
        return LogJointDraws(draws.each_log_joint, int(np.prod(draws.shape)))

    def thinned_log_joint_draws(self, rng: np.random.Generator, n: int) -> LogJointDraws:
        """Return the same of exactly n draws, evenly spread over those there are."""
        return LogJointDraws(self.as_draws(rng, n).thinned(n).each_log_joint, n)

    # -- missing cells ---------------------------------------------------------------------------

    def reads(self, block: str, j: int) -> bool:
        """Return whether the fit kept anything of a column."""
        if block not in self.reader.kept:
            return False
        kept = self.reader.kept[block]
        return kept is None or self.reader.full[block].subset_axis != "feature" or j in kept

    def kept_levels(self, block: str, j: int, n_levels: int, n_columns: int) -> np.ndarray:
        """Return which levels of a column the fit kept, by code; the block has n_columns."""
        kept = self.reader.kept[block]
        codes = np.full((n_levels, n_columns), -1)
        codes[:, j] = np.arange(n_levels)
        seen = codes if kept is None else self.reader.full[block].select(codes, kept)
        return seen[:, j] >= 0

    def dependent_cells(self, block: str) -> object | None:
        """Return a key that the columns share which depend on each other given the class.

        None where the columns of the block are independent given the class.
        """
        family = self.families.get(block)
        return block if family is not None and family.columns_inform_each_other else None

    def require_imputable(self, block: str) -> None:
        """Refuse a block whose cells have no distribution given the others: words of a text."""
        if block in self.families:
            self.families[block].require_fillable()

    @abc.abstractmethod
    def impute(
        self, encoded: Encoded, n_rows: int, rng: np.random.Generator, own: Labels | None = None
    ) -> Imputed:
        """Return encoded rows whose missing cells are drawn given the observed ones.

        The class comes first, from p(y = k given x, data) unless `own` states it, then the cells
        given it, so that draws of cells follow exactly the distribution that `log_joint` is the
        density of. Columns that were left out of the fit stay missing.
        """

    def stratified_imputations(
        self, encoded: Encoded, n_rows: int, draws: int, rng: np.random.Generator
    ) -> tuple[Imputed, np.ndarray]:
        """Return many imputations of each row, stratified by class, and the strata's weights.

        The rows stand stratum by stratum and draw by draw, shape (stratum, draw, row) flattened:
        `draws` of each class. Weights have shape (stratum, row): P(y = k given x).
        """
        weight = class_probabilities(self.log_joint(encoded, n_rows), self.log_classes())
        n_classes = weight.shape[1]
        many = take_rows(encoded, np.tile(np.arange(n_rows), n_classes * draws))
        own = np.repeat(np.arange(n_classes), draws * n_rows)
        return self.impute(many, len(own), rng, own), weight.T

    def _restored(self, encoded: Encoded, parts: dict[str, Traceable]) -> Imputed:
        """Return what likelihoods see among all columns, observed cells as they came."""
        out = dict(encoded)
        for name, part in parts.items():
            kept, x = self.reader.kept[name], encoded[name]
            if kept is not None:
                nothing = np.full_like(x, np.nan if x.dtype.kind == "f" else -1)
                part = self.reader.full[name].restore(part, kept, nothing)
            out[name] = np.where(is_missing(x), part, x)
        return out


@dataclasses.dataclass(frozen=True, eq=False)
class ExactPosterior(Posterior):
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

    def with_classes(self, classes: ClassPrior) -> "ExactPosterior":
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

    def require_leave_one_out(self, what: str, otherwise: str | None = None) -> None:
        """Refuse what was sampled; from a closed form statistics of rows are taken away."""
        if self.report.method not in ("exact", "expected"):
            super().require_leave_one_out(what, otherwise)

    def impute(
        self, encoded: Encoded, n_rows: int, rng: np.random.Generator, own: Labels | None = None
    ) -> Imputed:
        """Draw missing cells given the observed ones and a class, parameters integrated out."""
        if own is None:
            probs = class_probabilities(self.log_joint(encoded, n_rows), self.log_classes())
            own = picked(probs, rng.random((n_rows, 1)))
        rows = self.reader.read(encoded)
        parts = {name: family.fill(rows[name], own, rng) for name, family in self.families.items()}
        return self._restored(encoded, parts)

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

    def shifted(self, origin: dict[str, np.ndarray]) -> "ExactPosterior":
        """Return the posterior in the user's own units."""
        parts = {n: part.shifted(origin[n]) for n, part in self.model.blocks.items()}
        return dataclasses.replace(self, model=Model(self.model.classes, parts))

    def parameters(self, rng: np.random.Generator, n: int) -> dict[str, Params]:
        """Return n independent draws of all parameters."""
        parts = {name: part.draw(rng, n) for name, part in self.model.blocks.items()}
        return {"class": self.model.classes.draw(rng, n), **parts}


@dataclasses.dataclass(frozen=True, eq=False)
class DrawsPosterior(Posterior):
    """Parameters with leading (chain, draw) axes, by block; a point estimate is one draw.

    params: {"class": {"probs": ...}, block: {parameter: ...}}.
    sample_stats: what the sampler reports of each draw, (chain, draw), by arviz's names.
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

    def point_params(self) -> dict[str, Params] | None:
        """Return the one draw by owner; None of several."""
        if not self.point:
            return None
        return {o: {k: v[0, 0] for k, v in own.items()} for o, own in self.params.items()}

    def normal_centre(self, block: str) -> Params:
        """Return the means over draws."""
        params = self.params[block]
        factors = params["cholesky"].reshape(-1, *params["cholesky"].shape[-3:])[:, 0]
        covariance = np.einsum("dij,dkj->ik", factors, factors) / len(factors)
        return {"mean": params["mean"].mean(axis=(0, 1)), "covariance": covariance}

    def log_joint(self, encoded: Encoded, n_rows: int) -> Joint:
        """Return the log of the mean over draws of the joint density."""
        out = np.empty((n_rows, self.params["class"]["probs"].shape[-1]))
        for rows, sums, top in self._batch_sums(encoded, n_rows):
            out[rows] = self._log_mean(sums, top)
        return out + self.reader.log_abs_det_jacobian(encoded)

    def log_joint_and_error(
        self, encoded: Encoded, n_rows: int
    ) -> tuple[Joint, MonteCarloError | None]:
        """Return the log joint of several draws, and how far off the mean over them may be."""
        if self.point:
            return self.log_joint(encoded, n_rows), None
        out = np.empty((n_rows, self.params["class"]["probs"].shape[-1]))
        error = MonteCarloError(np.empty(n_rows), np.empty(n_rows))
        log_classes, n_draws = self.log_classes(), int(np.prod(self.shape))
        for rows, sums, top in self._batch_sums(encoded, n_rows):
            out[rows] = self._log_mean(sums, top)
            error.probability[rows], error.sample_size[rows] = monte_carlo_error(
                sums, top, log_classes, n_draws
            )
        return out + self.reader.log_abs_det_jacobian(encoded), error

    def more_draws(self) -> str:
        """Return what to type where draws are too few: a closed form, or four times as many."""
        chains, draws = self.shape
        name = "Augmentation" if self.report.method == "augmentation" else "NUTS"
        more = f"inference=bg.{name}(draws={4 * draws}, chains={chains})"
        if not self.closed:
            return f"Pass {more}."
        if any(family.joint for family in self.families.values()):
            return (
                "Pass inference='exact' if no fitted row lacks a cell of a block of dependent "
                f"columns, else {more}."
            )
        return "Pass inference='exact'."

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
        order, data = _by_missing_pattern(self.reader.read(encoded), n_rows)
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

    def with_classes(self, classes: ClassPrior) -> "DrawsPosterior":
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

    def shifted(self, origin: dict[str, np.ndarray]) -> "DrawsPosterior":
        """Return the posterior in the user's own units."""
        params = {n: f.shift_params(self.params[n], origin[n]) for n, f in self.families.items()}
        families = {n: f.shifted(origin[n]) for n, f in self.families.items()}
        params = {"class": self.params["class"], **params}
        return dataclasses.replace(self, params=params, blocks=families)

    def parameters(self, rng: np.random.Generator, n: int) -> dict[str, Params]:
        """Return n of the draws, picked at random (a point estimate repeats itself)."""
        some = rng.integers(np.prod(self.shape), size=n)
        return {o: {k: flat(v)[some] for k, v in p.items()} for o, p in self.params.items()}

    def as_draws(self, rng: np.random.Generator, n: int) -> "DrawsPosterior":
        """Return itself."""
        return self

    def each_log_joint(self, encoded: Encoded, n_rows: int) -> np.ndarray:
        """Return log p(x, y = k given theta) of all rows, shape (row, draw, class)."""
        parts = list(self.joint_draws(encoded, n_rows))
        order = np.argsort(np.concatenate([rows for rows, _ in parts]))
        return np.concatenate([joint for _, joint in parts])[order]

    def thinned(self, n: int) -> "DrawsPosterior":
        """Return n draws, evenly spread over those there are; a point estimate n times."""
        size = int(np.prod(self.shape))
        if size == n:
            return self
        at = np.arange(n) * size // n
        params = {o: {k: flat(v)[at][None] for k, v in p.items()} for o, p in self.params.items()}
        return dataclasses.replace(self, params=params, sample_stats={})

    def impute(
        self, encoded: Encoded, n_rows: int, rng: np.random.Generator, own: Labels | None = None
    ) -> Imputed:
        """Draw missing cells given a draw, picked with the class by p(x, y = k given theta)."""
        draw, own = self._draws_and_classes(encoded, n_rows, rng, own)
        rows = self.reader.read(encoded)
        parts = {name: rows[name].copy() for name in self.families}
        order = np.argsort(draw, kind="stable")
        firsts = np.flatnonzero(np.diff(draw[order], prepend=-1))
        for at in np.split(order, firsts[1:]) if len(order) else []:
            for name, family in self.families.items():
                if not is_missing(parts[name][at]).any():
                    continue
                params = {k: flat(v)[draw[at[0]]] for k, v in self.params.get(name, {}).items()}
                parts[name][at] = family.fill_given(params, rows[name][at], own[at], rng)
        return self._restored(encoded, parts)

    def _draws_and_classes(
        self, encoded: Encoded, n_rows: int, rng: np.random.Generator, own: Labels | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return one draw of the parameters and one class for each row, given what it shows."""
        n_draws, n_classes = int(np.prod(self.shape)), len(self.log_classes())
        draw, classes = np.zeros(n_rows, dtype=int), np.zeros(n_rows, dtype=int)
        for part in row_chunks(n_rows, max(1, DENSITY_FLOATS // (n_draws * n_classes))):
            size = len(range(*part.indices(n_rows)))
            for at, joint in self.joint_draws(take_rows(encoded, part), size):
                if own is not None:
                    other = np.arange(n_classes) != own[part][at][:, None, None]
                    joint = np.where(other, -np.inf, joint)
                each = joint.reshape(len(at), -1)
                top = each.max(axis=1, keepdims=True)
                finite = np.exp(each - np.where(top > -np.inf, top, 0))
                weight = np.where(np.isneginf(top), 1.0, finite)
                one = picked(weight, rng.random((len(at), 1)))
                draw[part.start + at], classes[part.start + at] = np.divmod(one, n_classes)
        return draw, classes if own is None else own


def point_estimate(
    params: dict[str, dict[str, np.ndarray]],
    families: dict[str, Likelihood],
    reader: Reader,
    report: Report,
) -> DrawsPosterior:
    """Return a posterior of one draw in one chain."""
    single = {n: {k: np.asarray(v)[None, None] for k, v in p.items()} for n, p in params.items()}
    return DrawsPosterior(reader, report, single, families)


def flat(draws: np.ndarray) -> np.ndarray:
    """Return draws of one parameter without the axis of chains, (draw, ...)."""
    # not -1: a block whose columns have no level at all has parameters of size 0
    return draws.reshape(draws.shape[0] * draws.shape[1], *draws.shape[2:])


def chained(params: Mapping[str, Params], n: int) -> dict[str, Params]:
    """Return n independent draws (draw, ...) as (chain, draw, ...); one chain if n does not fit.

    arviz warns of more chains than draws.
    """
    chains = CHAINS if n % CHAINS == 0 and n >= CHAINS**2 else 1
    return {
        owner: {name: v.reshape(chains, n // chains, *v.shape[1:]) for name, v in values.items()}
        for owner, values in params.items()
    }


def take_rows(encoded: Encoded, rows: np.ndarray | slice) -> dict[str, Traceable]:
    """Return some of the encoded rows."""
    return {name: x[rows] for name, x in encoded.items()}


def picked(weight: np.ndarray, place: Float[np.ndarray, "row 1"]) -> np.ndarray:
    """Return for each row the position, of as many as weights, that a place in [0, 1) falls on."""
    steps = weight.cumsum(axis=1)
    return np.minimum((place * steps[:, -1:] >= steps).sum(axis=1), weight.shape[1] - 1)


def power_log_proba(
    log_classes: Float[np.ndarray, "... class"], log_joint: Joint, power: float
) -> Joint:
    """Return log P(y = k given x), proportional to P(k) p(x given k)^power.

    A row impossible under every class has the class prior.
    """
    possible = np.isfinite(log_joint)
    ratio = np.where(possible, log_joint, 0.0) - np.where(possible, log_classes, 0.0)
    out = np.where(possible, log_classes + power * ratio, -np.inf)
    out = np.where(possible.any(axis=1, keepdims=True), out, log_classes)
    out = out - out.max(axis=1, keepdims=True)
    return out - np.logaddexp.reduce(out, axis=1, keepdims=True)


def _by_missing_pattern(
    rows: dict[str, Traceable], n_rows: int
) -> tuple[np.ndarray, dict[str, Traceable]]:
    """Return an order that puts rows with the same missing cells together, and the rows."""
    dense = (x for x in rows.values() if isinstance(x, np.ndarray))
    missing = [is_missing(x) for x in dense]
    if not missing or not any(m.any() for m in missing):
        return np.arange(n_rows), rows
    packed = np.packbits(np.concatenate(missing, axis=1), axis=1)
    return np.lexsort(packed.T), rows
