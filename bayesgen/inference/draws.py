"""Draws of the parameters: of a sampler, or the one draw of a point estimate."""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from bayesgen.classes import ClassPrior
from bayesgen.errors import Cure
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
from bayesgen.inference.components import (
    DENSITY_FLOATS,
    Components,
    Imputed,
    LogJointDraws,
    picked,
    take_rows,
)
from bayesgen.inference.report import Report
from bayesgen.inference.scores import add_weighed, class_probabilities
from bayesgen.likelihoods import Likelihood
from bayesgen.likelihoods.base import CellDensities, by_missing_pattern, is_missing, row_chunks
from bayesgen.likelihoods.protocols import CellDistribution, Imputation, required
from bayesgen.model import Reader
from bayesgen.typing import Encoded, Joint, Labels, Params

CHAINS = 4
"""Chains that independent draws are split into: arviz's diagnostics need several."""


@dataclasses.dataclass(frozen=True, eq=False)
class Draws(Components):
    """Draws of the parameters, with leading axes (chain, draw); a point estimate is one draw.

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
    def reweighable(self) -> bool:
        """Whether these are draws of NUTS; where joint blocks miss cells `Expected` is used."""
        return self.report.method == "nuts"

    def point_params(self) -> dict[str, Params] | None:
        """Return the one draw by owner; None of several."""
        if not self.point:
            return None
        return {o: {k: v[0, 0] for k, v in draws.items()} for o, draws in self.params.items()}

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
                errors = monte_carlo_error(sums, top, proba, n_draws)
                error.probability[rows], error.sample_size[rows] = errors
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
            full = joint.shape == (len(at), *classes.shape)
            joint = np.add(joint, classes, out=joint if full else None)
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
                    no_sums = no_logits(len(rows[part]), prior.shape[1])
                    yield weighed(rows[part], joint[part], prior, no_sums)
            return
        data, part_weights = self.reader.read(encoded), weights(len(prior))
        order = by_missing_pattern(data, n_rows)
        with np.errstate(divide="ignore"):
            classes = np.log(flat(self.params["class"]["probs"])).T
        log_probs = np.broadcast_to(classes, (n_rows, *classes.shape))
        # part by part, all while they stay in a second-level cache
        for part in cached_rows(log_probs):
            rows, joint = order[part], log_probs[part].copy()
            logits = np.zeros(joint.shape)
            for (name, score), weight in zip(self._densities.items(), part_weights.T, strict=True):
                density = score(data[name][rows]).reshape(len(rows), -1, len(classes))
                density = np.broadcast_to(np.swapaxes(density, 1, 2), joint.shape)
                joint += density
                add_weighed(logits, density, weight)
            yield weighed(rows, np.swapaxes(joint, 1, 2), prior, np.moveaxis(logits, -1, 0))

    def shifted(self, origin: dict[str, np.ndarray]) -> "Draws":
        """Return the posterior in the user's own units."""
        params = {n: f.shift_params(self.params[n], origin[n]) for n, f in self.families.items()}
        families = {n: f.shifted(origin[n]) for n, f in self.families.items()}
        return dataclasses.replace(self, params=self.params | params, blocks=families)

    def parameters(self, rng: np.random.Generator, n: int) -> dict[str, Params]:
        """Return n of the draws, picked at random (a point estimate repeats itself)."""
        picks = rng.integers(np.prod(self.shape), size=n)
        return {o: {k: flat(v)[picks] for k, v in p.items()} for o, p in self.params.items()}

    def log_joint_draws(
        self, rng: np.random.Generator, n: int, *, exactly: bool = False
    ) -> LogJointDraws:
        """Return the log joint given every draw, or n evenly spaced ones."""
        draws = self.thinned(n) if exactly else self
        size = int(np.prod(draws.shape))
        return LogJointDraws(draws.each_log_joint, size, draws.each_part)

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
            density = score(rows[name]).reshape(n_rows, -1, n_classes)
            out[:, i] = np.swapaxes(density, 1, 2)
        return np.moveaxis(out, -1, 1)

    def thinned(self, n: int, part: slice = slice(None)) -> "Draws":
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
                parts[name][at] = required(family, Imputation).fill_given(
                    params, rows[name][at], own[at], rng
                )
        return self.reader.imputed(encoded, parts)

    def conditional(self, block: str, encoded: Encoded, own: Labels) -> CellDensities | None:
        """Return the distribution of missing cells under a point estimate; None under draws."""
        params = (self.point_params() or {}).get(block)
        if params is None:
            return None
        family, rows = self.blocks[block], self.reader.read(encoded)[block]
        if not isinstance(family, CellDistribution):
            return None
        cells = family.conditional_given(params, rows, own)
        return self.reader.restored_cells(block, cells, encoded[block].shape[1])

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
                    impossible = np.arange(n_classes) != own[part][at][:, None, None]
                    joint = np.where(impossible, -np.inf, joint)
                flat_joint = joint.reshape(len(at), -1)
                top = flat_joint.max(axis=1, keepdims=True)
                finite = np.exp(flat_joint - np.where(top > -np.inf, top, 0))
                weight = np.where(np.isneginf(top), 1.0, finite)
                place = picked(weight, rng.random((len(at), 1)))
                draw[part.start + at], classes[part.start + at] = np.divmod(place, n_classes)
        return draw, classes if own is None else own


def point_estimate(
    params: dict[str, dict[str, np.ndarray]],
    families: dict[str, Likelihood],
    reader: Reader,
    report: Report,
) -> Draws:
    """Return one draw in one chain."""
    single = {n: {k: np.asarray(v)[None, None] for k, v in p.items()} for n, p in params.items()}
    return Draws(reader, report, single, families)


def flat(draws: np.ndarray) -> np.ndarray:
    """Return draws of one parameter without the axis of chains, (draw, ...)."""
    # not -1: a block whose columns have no level at all has parameters of size 0
    return draws.reshape(draws.shape[0] * draws.shape[1], *draws.shape[2:])


def as_draws(components: Components, rng: np.random.Generator, n: int) -> Draws:
    """Return components as draws: their own, or n of a closed form, in CHAINS chains."""
    if isinstance(components, Draws):
        return components
    params = chained(components.parameters(rng, n), n)
    return Draws(components.reader, components.report, params, components.families)


def some_draws(components: Components, rng: np.random.Generator, n: int, part: slice) -> Draws:
    """Return a part of n draws: new ones of a closed form, evenly spaced ones of a sampler."""
    if isinstance(components, Draws):
        return components.thinned(n, part)
    return as_draws(components, rng, part.stop - part.start)


def chained(params: Mapping[str, Params], n: int) -> dict[str, Params]:
    """Return n independent draws (draw, ...) as (chain, draw, ...); one chain if n does not fit.

    arviz warns of more chains than draws.
    """
    chains = CHAINS if n % CHAINS == 0 and n >= CHAINS**2 else 1
    return by_chain(params, (chains, n // chains))


def by_chain(params: Mapping[str, Params], shape: tuple[int, int]) -> dict[str, Params]:
    """Return independent draws (draw, ...), by owner, as (chain, draw, ...)."""
    return mapped(lambda draws: draws.reshape(*shape, *draws.shape[1:]), params)


def mapped(
    function: Callable[[np.ndarray], np.ndarray], params: Mapping[str, Mapping[str, np.ndarray]]
) -> dict[str, Params]:
    """Return what a function makes of the draws of every parameter, by owner and name."""
    return {
        owner: {name: function(draws) for name, draws in values.items()}
        for owner, values in params.items()
    }
