"""Table of the groups of a fit: their rows, what they share, and how far each is from others."""

from typing import cast

import numpy as np

from bayesgen import diagnose, predict
from bayesgen.errors import NoAttribute
from bayesgen.estimators.fitted import Fitted
from bayesgen.estimators.state import TrainingState
from bayesgen.inference import ByGroup, ClosedForm, Mixture, Posterior
from bayesgen.inference.groups import strength
from bayesgen.typing import DataFrame

DRAWS = 1000
"""Rows drawn from each group, on which it is compared with a new one."""


def table(fitted: Fitted, seed: int) -> DataFrame:
    """Return what was learned of each group, by group (see `Classifier.group_summary`).

    Args:
        fitted: the model.
        seed: of the rows that are drawn.

    Raises:
        NoAttribute: there are no groups, or the model is a stack, whose members have them.
    """
    state, components = fitted.state, fitted.posterior.components
    if not components.groups:
        raise NoAttribute(
            "group_summary: the classifier has no groups.",
            "Fit bg.NaiveBayes(groups='site').",
        )
    if not isinstance(components, ByGroup):
        raise NoAttribute(
            "group_summary: each member of a stack has its own.",
            "Ask a member: stack.members_[{name!r}].group_summary().",
            name=next(iter(cast(Mixture, components).members)),
        )
    names = list(state.statistics.groups)
    counts = np.stack([part.count for part in state.statistics.groups.values()])
    columns: dict[str, object] = {"rows": counts.sum(axis=1)}
    columns |= {f"rows of {k}": n for k, n in zip(state.classes.tolist(), counts.T, strict=True)}
    members = [components.members[state.group_levels.index(name)] for name in names]
    for block in components.families:
        columns[f"strength of {block}"] = [strength(m.model.blocks[block]) for m in members]
    columns["strength of class"] = [strength(m.model.classes) for m in members]
    columns["divergence"] = [_divergence(state, m, components.population, seed) for m in members]
    frame = diagnose.frame(columns, names)
    return frame.rename_axis("group")


def _divergence(
    state: TrainingState, group: ClosedForm, population: ClosedForm, seed: int
) -> float:
    """Return the mean of log p(x, y) in a group less that in a new one, over rows of the group."""
    simulated, y = predict.simulate(Posterior(group), DRAWS, np.random.default_rng(seed))
    encoded = state.restored(group.reader, simulated, DRAWS)
    ratio = group.log_joint(encoded, DRAWS) - population.log_joint(encoded, DRAWS)
    return float(ratio[np.arange(DRAWS), y].mean())
