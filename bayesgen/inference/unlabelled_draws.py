"""Data augmentation of labels: Gibbs draws of the posterior given unlabeled rows.

A sweep draws the label of each row given theta, y_i ~ a_ik / sum_k a_ik, and theta given all
labels. A row of weight w, a whole number, stands for w rows, each with a label of its own. Missing
cells of joint blocks are drawn between labels and theta.

Source: Tanner and Wong (1987); Diebolt and Robert (1994), Journal of the Royal Statistical Society
B 56, 363-375.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from itertools import islice

import numpy as np
from jaxtyping import Float

from bayesgen.errors import Cure
from bayesgen.inference.chain_diagnostics import chain_diagnostics
from bayesgen.inference.components import picked
from bayesgen.inference.data_augmentation import Augmentation, collected
from bayesgen.inference.draws import Draws
from bayesgen.inference.missing import expected_statistics, missing_cells
from bayesgen.inference.scores import class_probabilities
from bayesgen.inference.unlabelled_rows import ROWS, Inferred, UnlabelledRows, log_joint
from bayesgen.likelihoods.protocols import Conjugate, required
from bayesgen.model import ModelStatistics
from bayesgen.problem import Problem
from bayesgen.typing import Joint, Params

WATCHED = 100
"""Parameters whose chains are compared: 2 s of diagnostics for 4,000 draws."""
TOO_FEW = Cure(".", "use --inference expected.")

ByChain = Float[np.ndarray, "row chain class"]


def sampled(method: Augmentation, problem: Problem, rows: UnlabelledRows, seed: int) -> Inferred:
    """Return draws of every parameter, and the mean over draws of P(y = k given x_i, theta).

    Args:
        method: numbers of draws and chains.
        problem: of the labeled rows.
        rows: those without a label; their weights are whole numbers.
        seed: of draws.
    """
    chain = _Chain(problem, rows, np.random.default_rng(seed))
    labels = np.zeros((rows.n_rows, rows.n_classes))

    def kept() -> Iterator[dict[str, Params]]:
        steps = chain.steps(method.chains)
        for params, joint in islice(steps, method.warmup + 1, method.warmup + 1 + method.draws):
            labels[:] += _shares(joint).sum(axis=1)
            yield params

    draws = collected(kept(), method.draws)
    details = chain_diagnostics(_compared(draws)) | {ROWS: float(rows.n_rows)}
    report = method.report(details, TOO_FEW)
    labels /= labels.sum(axis=1, keepdims=True)
    return Inferred(Draws(problem.reader, report, draws, problem.model.blocks), labels)


@dataclasses.dataclass(frozen=True, eq=False)
class _Chain:
    """Sweeps over labels and parameters of all chains."""

    problem: Problem
    rows: UnlabelledRows
    rng: np.random.Generator

    def steps(self, chains: int) -> Iterator[tuple[dict[str, Params], ByChain]]:
        """Yield the parameters of all chains and log a_ik given them, the start first.

        Chains start at draws given the labeled rows alone.
        """
        model, statistics = self.problem.model, self.problem.statistics
        posterior = model.posterior(expected_statistics(model, statistics)[0])
        params: dict[str, Params] = {"class": posterior.classes.draw(self.rng, chains)}
        params |= {n: part.draw(self.rng, chains) for n, part in posterior.closed_forms.items()}
        encoded = self.problem.reader.read(self.rows.encoded)
        while True:
            joint = log_joint(model, params, encoded, self.rows.n_rows)
            yield params, joint
            params = self.swept(params, joint)

    def swept(self, params: dict[str, Params], joint: ByChain) -> dict[str, Params]:
        """Return the parameters after a sweep; joint: log a_ik before it."""
        chains = [self._step(params, joint, c) for c in range(joint.shape[1])]
        return {
            owner: {
                name: np.concatenate([chain[owner][name] for chain in chains]) for name in values
            }
            for owner, values in params.items()
        }

    def _step(self, params: dict[str, Params], joint: ByChain, c: int) -> dict[str, Params]:
        """Return parameters of one chain, given labels that are drawn given those before."""
        statistics = self.problem.plus(self._labelled(joint[:, c])).statistics
        out = {"class": self.problem.model.classes.posterior(statistics.count).draw(self.rng, 1)}
        for name, part in self.problem.model.blocks.items():
            incomplete = missing_cells(part, statistics.blocks[name])
            if incomplete is None:
                posterior = required(part, Conjugate).posterior(statistics.blocks[name])
                out[name] = posterior.draw(self.rng, 1)
            else:
                before = {key: value[c : c + 1] for key, value in params[name].items()}
                out[name] = incomplete.step(before, self.rng)
        return out

    def _labelled(self, joint: Joint) -> ModelStatistics:
        """Return the statistics of the rows with labels drawn given log a_ik."""
        likelihoods, weight = self.problem.model.blocks, self.rows.weight
        if (weight <= 1).all():
            # one label each
            return self.rows.labelled(likelihoods, _drawn(joint, self.rng))
        count = self.rng.multinomial(weight.astype(int), _shares(joint))
        return self.rows.statistics(likelihoods, count / weight[:, None])


def _shares(joint: ByChain) -> ByChain:
    """Return a_ik / sum_k a_ik; a row impossible in every class is as likely in each."""
    logs = joint.reshape(-1, joint.shape[-1])
    return class_probabilities(logs, np.zeros(logs.shape[1])).reshape(joint.shape)


def _drawn(logs: Joint, rng: np.random.Generator) -> np.ndarray:
    """Return a class for each row, drawn in proportion to exp(logs)."""
    return picked(_shares(logs), rng.random((len(logs), 1)))


def _compared(draws: Mapping[str, Params]) -> Float[np.ndarray, "chain draw value"]:
    """Return the scalars whose chains are compared: those that vary, at most WATCHED of them."""
    values = [v.reshape(*v.shape[:2], -1) for owner in draws.values() for v in owner.values()]
    scalars = np.concatenate(values, axis=2)
    varied = np.flatnonzero(np.ptp(scalars, axis=(0, 1)) > 0)
    places = np.linspace(0, len(varied) - 1, min(len(varied), WATCHED)).astype(int)
    return scalars[..., varied[places]]
