"""Posteriors: the result of inference, with methods for predictions and parameters.

A posterior is a closed form (`ExactPosterior`) or draws (`DrawsPosterior`); `PowerPosterior`, whose
likelihood is raised to a power, and `MixturePosterior`, a weighted mean of several, wrap these.
Rows are encoded rows, one array for each block.
"""

import abc
import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from jaxtyping import Bool, Float

from bayesgen.classes import ClassPrior
from bayesgen.errors import Cure, UnsupportedOperation
from bayesgen.inference.chain_diagnostics import MonteCarloError, batch_starts, monte_carlo_error
from bayesgen.inference.class_draws import (
    SORTED_FLOATS,
    ClassDraws,
    PartWeights,
    cached_rows,
    exponentials,
    no_logits,
    weighed,
)
from bayesgen.inference.report import Report
from bayesgen.inference.restored_columns import restored, restored_cells
from bayesgen.inference.scores import (
    Scores,
    add_weighed,
    class_probabilities,
    likelihood_of,
    log_class_probabilities,
)
from bayesgen.likelihoods import Likelihood
from bayesgen.likelihoods.base import CellDensities, by_missing_pattern, is_missing, row_chunks
from bayesgen.model import Reader
from bayesgen.typing import Encoded, Joint, Labels, Params, Traceable

DENSITY_FLOATS = 500_000
"""Log densities held at once: 4 MB, a share of a third-level cache (measured: larger blocks run no
faster, and intervals a tenth slower; 1,000 draws x 5 classes need 100 rows a block)."""
CHAINS = 4
"""Chains that independent draws are split into: arviz's diagnostics need several."""

Imputed = dict[str, Traceable]


@dataclasses.dataclass(frozen=True, eq=False)
class LogJointDraws:
    """Log joints of rows given each of several draws of the parameters.

    score: (encoded rows, their number) -> log p(x, y = k given theta), shape (row, draw, class).
    n_draws: their number. parts: (encoded rows, their number) -> log densities of each part (see
    `Scores`), shape (row, draw, part, class). powers: likelihood power of each draw, (draw,) or one
    number.
    """

    score: Callable[[Encoded, int], np.ndarray]
    n_draws: int
    parts: Callable[[Encoded, int], np.ndarray]
    powers: np.ndarray | float = 1.0


@dataclasses.dataclass(frozen=True, eq=False)
class Posterior(abc.ABC):
    """The result of inference: predictions, draws and imputations from one interface.

    reader: passes encoded rows to the likelihoods. report: of the inference run.
    """

    reader: Reader
    report: Report

    def __getstate__(self) -> dict[str, object]:
        """Return the fields alone: cached scorers are functions, which cannot be pickled."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    # -- properties -----------------------------------------------------------------------------

    @property
    @abc.abstractmethod
    def point(self) -> bool:
        """Whether this is a point estimate, without posterior uncertainty."""

    @property
    @abc.abstractmethod
    def families(self) -> dict[str, Likelihood]:
        """The likelihood of each block."""

    @property
    def closed(self) -> bool:
        """Whether the model has a closed form, regardless of the inference used."""
        families = self.families.values()
        return bool(families) and all(family.conjugate for family in families)

    @property
    def power(self) -> float:
        """The (geometric mean) power of the likelihood: 1 unless this is a `PowerPosterior`."""
        return 1.0

    @property
    def coherent(self) -> bool:
        """Whether class probabilities are the expectation of those given one more cell."""
        return True

    @property
    def caveat(self) -> str:
        """The approximations made, in sentences; "" if predictions are exact."""
        return ""

    def point_params(self) -> dict[str, Params] | None:
        """Return the parameters of a point estimate by owner; None for other posteriors."""
        return None

    def normal_centre(self, block: str) -> Params:
        """Return the class means and the shared covariance at the center of a normal block."""
        hyper = self.families[block].arrays()
        return {"mean": hyper["mean"], "covariance": hyper["scale"][0]}

    # -- probabilities ---------------------------------------------------------------------------

    @abc.abstractmethod
    def log_joint(self, encoded: Encoded, n_rows: int) -> Joint:
        """Return log p(x, y = k given data), shape (row, class)."""

    def log_joint_and_error(
        self, encoded: Encoded, n_rows: int
    ) -> tuple[Joint, MonteCarloError | None]:
        """Return the log joint and, where it is a mean over draws, its Monte Carlo error."""
        return self.log_joint(encoded, n_rows), None

    def more_draws(self) -> Cure:
        """Return the argument to suggest if there are too few draws."""
        return Cure("")

    def is_marginal(self, encoded: Encoded, n_rows: int) -> Bool[np.ndarray, " row"]:
        """Return the rows whose missing values `log_joint` integrates out, as booleans: all."""
        return np.ones(n_rows, dtype=bool)

    @abc.abstractmethod
    def log_classes(self) -> Float[np.ndarray, " class"]:
        """Return log P(y = k given data), shape (class,)."""

    def scores(self, encoded: Encoded, n_rows: int) -> Scores:
        """Return the log joint before calibration, and its parts: here a single one."""
        joint, log_classes = self.log_joint(encoded, n_rows), self.log_classes()
        return Scores(joint, log_classes, likelihood_of(joint, log_classes)[:, None])

    def log_proba(self, scores: Scores) -> Joint:
        """Return log P(y = k given x); rows impossible under every class have the class prior."""
        return log_class_probabilities(scores.joint, scores.log_classes)

    def log_joint_from(self, scores: Scores) -> Joint:
        """Return the calibrated log joint: here as it was."""
        return scores.joint

    @abc.abstractmethod
    def with_classes(self, classes: ClassPrior) -> "Posterior":
        """Return the same posterior under another class prior."""

    @abc.abstractmethod
    def shifted(self, origin: dict[str, np.ndarray]) -> "Posterior":
        """Return the posterior for rows shifted by the origin, in the user's units."""

    @property
    def reweighable(self) -> "DrawsPosterior | None":
        """The draws that importance sampling can reweight to leave a row out, if any."""
        return None

    def require_leave_one_out(self, what: str, otherwise: str | None = None) -> None:
        """Raise unless rows can be left out exactly, which requires a closed form.

        Args:
            what: the method or argument that needs it.
            otherwise: the remedy if the model has no closed form.

        Raises:
            UnsupportedOperation: with the remedy.
        """
        if otherwise is None:
            otherwise = "Estimate it from the draws: arviz_stats.loo(clf.to_datatree())"
            if self.point:
                otherwise = "Score rows held out by bg.compare({'this': clf}, X, y)"
        if self.closed:
            otherwise = (
                "Pass inference='expected': it is exact where no cell of a joint block is missing, "
                "and close where some are"
            )
        raise UnsupportedOperation(
            "{what} needs a closed-form posterior, from which rows can be removed, but inference_ "
            "is {method!r}.",
            "{cure}.",
            what=what,
            method=self.report.method,
            cure=otherwise,
        )

    def require_loo(self) -> None:
        """Raise unless rows can be left out, exactly or by reweighting draws."""
        if self.reweighable is None:
            self.require_leave_one_out("loo()")

    # -- draws -----------------------------------------------------------------------------------

    @abc.abstractmethod
    def class_draws(
        self, encoded: Encoded, n_rows: int, *, weights: PartWeights | None = None
    ) -> Iterator[ClassDraws]:
        """Yield draws of P(y = k given x, theta) chunk by chunk of rows.

        weights: of the parts, those of `scores`, whose weighted sums come with them; None: no sums.
        """

    def with_draws(self, n: int) -> "Posterior":
        """Return the posterior with at most n draws behind intervals, if their number is free."""
        return self

    @abc.abstractmethod
    def parameters(self, rng: np.random.Generator, n: int) -> dict[str, Params]:
        """Return n draws of all parameters, by owner, each of shape (draw, ...)."""

    def as_draws(self, rng: np.random.Generator, n: int) -> "DrawsPosterior":
        """Return the posterior as draws: its own, or n of a closed form, in CHAINS chains."""
        params = chained(self.parameters(rng, n), n)
        return DrawsPosterior(self.reader, self.report, params, self.families)

    def draws_part(self, rng: np.random.Generator, n: int, part: slice) -> "DrawsPosterior":
        """Return a part of n draws: new ones of a closed form, evenly spaced ones of a sampler."""
        return self.as_draws(rng, part.stop - part.start)

    def part_powers(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "n part"] | None:
        """Return powers of the parts of the likelihood under n draws; (n, 1): those of the whole.

        None if parameters are not drawn, of point estimates, or not of one model, of stacks.
        """
        return None if self.point else np.ones((n, 1))

    def log_joint_draws(
        self, rng: np.random.Generator, n: int, *, exactly: bool = False
    ) -> LogJointDraws:
        """Return the log joint given every draw: n of a closed form, or those of a sampler.

        exactly: whether a sampler's draws are thinned to n as well.
        """
        draws = self.as_draws(rng, n)
        draws = draws.thinned(n) if exactly else draws
        size = int(np.prod(draws.shape))
        return LogJointDraws(draws.each_log_joint, size, draws.each_part)

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
        """Return a key shared by the columns that are dependent given the class.

        None where the columns of the block are independent given the class.
        """
        family = self.families.get(block)
        return block if family is not None and family.columns_inform_each_other else None

    def require_imputable(self, block: str) -> None:
        """Raise for a block whose cells cannot be imputed: words of a text."""
        if block in self.families:
            self.families[block].require_fillable()

    @abc.abstractmethod
    def impute(
        self, encoded: Encoded, n_rows: int, rng: np.random.Generator, own: Labels | None = None
    ) -> Imputed:
        """Return encoded rows whose missing cells are drawn given the observed ones.

        The class is drawn first, from p(y = k given x, data) unless `own` gives it, then the cells
        given the class, so cells follow the distribution with density `log_joint`. Columns excluded
        from the fit stay missing.
        """

    def class_weights(self, encoded: Encoded, n_rows: int) -> Joint:
        """Return the probability of each class by which missing cells are imputed."""
        return class_probabilities(self.log_joint(encoded, n_rows), self.log_classes())

    def conditional(self, block: str, encoded: Encoded, own: Labels) -> CellDensities | None:
        """Return location, scale and degrees of freedom of missing cells given the observed ones.

        Of Student-t distributions, normal where the degrees are infinite, given class `own` of each
        row; (row, feature), NaN for observed cells. None: the cells have no such closed form.
        """
        return None

    def stratified_imputations(
        self, encoded: Encoded, n_rows: int, draws: int, rng: np.random.Generator
    ) -> tuple[Imputed, np.ndarray]:
        """Return many imputations of each row, stratified by class, and the strata's weights.

        The rows stand stratum by stratum and draw by draw, shape (stratum, draw, row) flattened:
        `draws` of each class. Weights have shape (stratum, row): P(y = k given x).
        """
        weight = self.class_weights(encoded, n_rows)
        n_classes = weight.shape[1]
        many = take_rows(encoded, np.tile(np.arange(n_rows), n_classes * draws))
        own = np.repeat(np.arange(n_classes), draws * n_rows)
        return self.impute(many, len(own), rng, own), weight.T


@dataclasses.dataclass(frozen=True, eq=False)
class DrawsPosterior(Posterior):
    """A posterior given by draws, with leading axes (chain, draw); a point estimate is one draw.

    params: {"class": {"probs": ...}, block: {parameter: ...}}.
    sample_stats: sampler statistics of each draw, (chain, draw), under arviz's names.
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

    @property
    def reweighable(self) -> "DrawsPosterior | None":
        """The draws of NUTS; where joint blocks miss cells `Expected` is used instead."""
        return self if self.report.method == "nuts" else None

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
        return self._log_mean(encoded, n_rows, None)

    def log_joint_and_error(
        self, encoded: Encoded, n_rows: int
    ) -> tuple[Joint, MonteCarloError | None]:
        """Return the log joint and, for several draws, its Monte Carlo error."""
        error = None if self.point else MonteCarloError(np.empty(n_rows), np.empty(n_rows))
        return self._log_mean(encoded, n_rows, error), error

    def _log_mean(self, encoded: Encoded, n_rows: int, error: MonteCarloError | None) -> Joint:
        """Return the log of the mean over draws; store its error if one is given."""
        out = np.empty((n_rows, self.params["class"]["probs"].shape[-1]))
        log_classes, n_draws = self.log_classes(), int(np.prod(self.shape))
        for rows, sums, top in self._batch_sums(encoded, n_rows):
            with np.errstate(divide="ignore"):
                out[rows] = np.log(sums.sum(axis=2) / n_draws) + top
            if error is not None:
                proba = class_probabilities(out[rows], log_classes)
                found = monte_carlo_error(sums, top, proba, n_draws)
                error.probability[rows], error.sample_size[rows] = found
        return out + self.reader.log_abs_det_jacobian(encoded)

    def more_draws(self) -> Cure:
        """Return the argument to suggest: a closed form, or four times as many draws."""
        chains, draws = self.shape
        nuts = self.report.method == "nuts"
        more = f"inference=bg.{'NUTS' if nuts else 'Augmentation'}(draws={4 * draws}, "
        more += f"chains={chains})"
        options = f"--inference nuts --draws {4 * draws} --chains {chains}"
        options = options if nuts else "--inference auto"
        if not self.closed or "unlabelled.rows" in self.report.details:
            return Cure(f"Pass {more}.", f"Add {options}.")
        if any(family.joint for family in self.families.values()):
            complete = "if no fitted row lacks a cell of a block of dependent columns, else"
            return Cure(
                f"Pass inference='exact' {complete} {more}.",
                f"Add --inference exact {complete} {options}.",
            )
        return Cure("Pass inference='exact'.", "Add --inference exact.")

    def _batch_sums(self, encoded: Encoded, n_rows: int) -> Iterator[tuple[np.ndarray, ...]]:
        """Yield (rows, sums over batches of draws of joint densities / exp(top), top)."""
        for rows, joint in self.joint_draws(encoded, n_rows):
            # draws last: NumPy reduces along a long last axis 15 times as fast (measured)
            joint = np.ascontiguousarray(np.swapaxes(joint, 1, 2))
            # each class relative to its own maximum: far out they differ by 1e-300 and more
            top = joint.max(axis=2)
            top = exponentials(joint, np.where(np.isneginf(top), 0.0, top)[:, :, None])[:, :, 0]
            yield rows, np.add.reduceat(joint, batch_starts(joint.shape[2]), axis=2), top

    def joint_draws(self, encoded: Encoded, n_rows: int):
        """Yield (rows, log p(x, y = k, given theta) of shape (row, draw, class)) block by block."""
        data = self.reader.read(encoded)
        order = by_missing_pattern(data, n_rows)
        with np.errstate(divide="ignore"):
            # laid out as densities are, draws side by side: adding is 12 times as fast (measured)
            classes = np.asfortranarray(np.log(flat(self.params["class"]["probs"])))
        for rows in row_chunks(n_rows, max(1, DENSITY_FLOATS // classes.size)):
            at = order[rows]
            # a family without parameters has one density for all draws: (row, 1, class)
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
        """Return the same posterior under other class probabilities, drawn if they are unknown.

        A point estimate takes their mean.
        """
        size, rng = int(np.prod(self.shape)), np.random.default_rng(0)
        drawn = classes.probs if self.point else classes.draw(rng, size)["probs"]
        probs = drawn.reshape(*self.shape, len(classes.probs))
        return dataclasses.replace(self, params={**self.params, "class": {"probs": probs}})

    def class_draws(
        self, encoded: Encoded, n_rows: int, *, weights: PartWeights | None = None
    ) -> Iterator[ClassDraws]:
        """Yield every draw with the weight p(x given theta), for p(theta given data, x)."""
        prior = np.log(np.maximum(flat(self.params["class"]["probs"]), np.finfo(float).tiny))
        if weights is None:
            for rows, joint in self.joint_draws(encoded, n_rows):
                for part in cached_rows(joint, SORTED_FLOATS):
                    none = no_logits(len(rows[part]), prior.shape[1])
                    yield weighed(rows[part], joint[part], prior, none)
            return
        data, each = self.reader.read(encoded), weights(len(prior))
        order = by_missing_pattern(data, n_rows)
        with np.errstate(divide="ignore"):
            classes = np.log(flat(self.params["class"]["probs"])).T
        whole = np.broadcast_to(classes, (n_rows, *classes.shape))
        # part by part, all while they stay in a second-level cache
        for part in cached_rows(whole):
            rows, joint = order[part], whole[part].copy()
            logits = np.zeros(joint.shape)
            for (name, score), weight in zip(self._densities.items(), each.T, strict=True):
                found = score(data[name][rows]).reshape(len(rows), -1, len(classes))
                found = np.broadcast_to(np.swapaxes(found, 1, 2), joint.shape)
                joint += found
                add_weighed(logits, found, weight)
            yield weighed(rows, np.swapaxes(joint, 1, 2), prior, np.moveaxis(logits, -1, 0))

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

    def each_part(self, encoded: Encoded, n_rows: int) -> np.ndarray:
        """Return log densities of the blocks given theta, shape (row, draw, block, class)."""
        rows, n_classes = self.reader.read(encoded), len(self.log_classes())
        out = np.empty((n_rows, len(self._densities), n_classes, int(np.prod(self.shape))))
        for i, (name, score) in enumerate(self._densities.items()):
            found = score(rows[name]).reshape(n_rows, -1, n_classes)
            out[:, i] = np.swapaxes(found, 1, 2)
        return np.moveaxis(out, -1, 1)

    def draws_part(self, rng: np.random.Generator, n: int, part: slice) -> "DrawsPosterior":
        """Return a part of n evenly spaced draws."""
        return self.thinned(n, part)

    def thinned(self, n: int, part: slice = slice(None)) -> "DrawsPosterior":
        """Return n evenly spaced draws or a part of them; a point estimate is repeated n times."""
        size = int(np.prod(self.shape))
        if size == n and part == slice(None):
            return self
        at = (np.arange(n) * size // n)[part]
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
        return restored(self.reader, encoded, parts)

    def conditional(self, block: str, encoded: Encoded, own: Labels) -> CellDensities | None:
        """Return the distribution of missing cells under a point estimate; None under draws."""
        params = (self.point_params() or {}).get(block)
        if params is None:
            return None
        rows = self.reader.read(encoded)[block]
        found = self.blocks[block].conditional_given(params, rows, own)
        return restored_cells(self.reader, block, found)

    def _draws_and_classes(
        self, encoded: Encoded, n_rows: int, rng: np.random.Generator, own: Labels | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return one parameter draw and one class for each row, given its observed cells."""
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
    """Return for each row the index whose cumulative weight interval contains its number."""
    steps = weight.cumsum(axis=1)
    return np.minimum((place * steps[:, -1:] >= steps).sum(axis=1), weight.shape[1] - 1)
