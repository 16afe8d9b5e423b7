"""The weighted mean of the members of a stack."""

from collections.abc import Mapping

import numpy as np

from bayesgen.errors import UnsupportedOperation
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.held_out import fitted_posterior
from bayesgen.inference import (
    Mixture,
    Report,
)
from bayesgen.model import Reader


def mixture_of(members: Mapping[str, Classifier], weights: np.ndarray, report: Report) -> Mixture:
    """Return the posterior of fitted members under their weights."""
    densities = with_density(members, dict(zip(members, weights.tolist(), strict=True)))
    parts = {name: fitted_posterior(member) for name, member in members.items()}
    imputers = tuple(
        dense and _imputes(member)
        for dense, member in zip(densities, members.values(), strict=True)
    )
    most = max(parts, key=lambda name: len(parts[name].families))
    split = (most,) if len(parts[most].families) > 1 else ()
    return Mixture(Reader({}, {}), report, parts, weights, densities, imputers, split)


def with_density(
    members: Mapping[str, Classifier], weights: Mapping[str, float]
) -> tuple[bool, ...]:
    """Return which members have a density over the same columns: those of p(x).

    Densities over other columns, over indicators derived from levels, or over counts where other
    members model numbers have different units, so a mean of them is not a density. p(x) is defined
    by the largest set of members that read columns alike, ties being broken by weight; where no
    member reads columns one by one, by all.
    """
    seen = {name: _density_of(member) for name, member in members.items()}
    weight = {key: sum(weights[n] for n in members if seen[n] == key) for key in seen.values()}
    best = max(weight, key=lambda key: (len(key), weight[key]))
    return tuple(seen[name] == best for name in members)


def _density_of(member: Classifier) -> frozenset:
    """Return the columns, with kinds, of a member's density; none if they are derived."""
    if member._derived_columns():
        return frozenset()
    state = member.state_
    places = state.column_positions().items()
    columns = [(name, state.schema.blocks[b][j].kind) for name, (b, j) in places]
    pattern = [(column.name, column.kind) for column, _ in state.pattern_positions().values()]
    return frozenset(columns + pattern)


def _imputes(member: Classifier) -> bool:
    """Return whether a member reads columns directly and can impute the cells of each."""
    if member._derived_columns() or not member.state_.column_positions():
        return False
    posterior = fitted_posterior(member)
    try:
        for block in posterior.families:
            posterior.components.require_imputable(block)
    except UnsupportedOperation:
        return False
    return True
