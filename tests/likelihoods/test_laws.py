"""Every law over every likelihood, and for every law wrong programs that it must catch."""

import dataclasses
from collections.abc import Callable

import laws
import laws_answers
import laws_sums
import numpy as np
import pytest
from cases import CASES, CLOSED
from faults import FAULTS

EVERYWHERE = [*laws.EVERYWHERE, *laws_sums.LAWS, laws_answers.law_simulate]
CONJUGATE = [*laws.CONJUGATE, *laws_answers.ANSWERS]
PAIRS = [(law, name) for law in EVERYWHERE for name in CASES]
PAIRS += [(law, name) for law in CONJUGATE for name in CLOSED]
PAIRS = [(law, name) for law, name in PAIRS if law.__name__ not in CASES[name].exempt]
# programs are traced and compiled, and so are densities of a family of numpyro, of which another is
# checked at once
STORIES = [pair for pair in PAIRS if pair[0] is laws.law_story]
SLOW = [pair for pair in STORIES if pair[1] not in ("Normal", "Categorical")]
SLOW += [(law, "Family counts") for law in (laws.law_total, laws.law_marginal)]
KERNELS = [name for name in CLOSED if name.startswith("Kernel")]
SLOW += [(laws_answers.law_typicality, name) for name in KERNELS]
SLOW += [(laws_answers.law_simulate, name) for name in ("Family gamma", "Family counts")]


@pytest.mark.parametrize(
    ("law", "name"),
    [
        pytest.param(
            *pair,
            marks=pytest.mark.slow if pair in SLOW else (),
            id=f"{pair[0].__name__}-{pair[1]}",
        )
        for pair in PAIRS
    ],
)
def test_law(law: Callable, name: str) -> None:
    law(CASES[name], CASES[name].prior)


@pytest.mark.parametrize(("law", "name", "owner", "attribute", "wrong"), FAULTS)
def test_fault_is_caught(law, name, owner, attribute, wrong, monkeypatch):
    monkeypatch.setattr(owner, attribute, wrong(getattr(owner, attribute)))
    case = dataclasses.replace(
        CASES[name]
    )  # another one, which shares no fit with that of the laws
    with pytest.raises(AssertionError):
        law(case, case.prior)


def test_every_law_has_a_fault():
    assert {fault.values[0] for fault in FAULTS} == {*EVERYWHERE, *CONJUGATE}


@pytest.mark.parametrize("name", [name for name in CLOSED if "Discriminant" not in name])
@pytest.mark.parametrize("constant", [False, True])
def test_a_stated_guess_stands_where_a_column_says_nothing(name, constant):
    """A column without a cell, or with one value only: estimates are finite, without warning."""
    case = CASES[name]
    x, y = case.table(np.random.default_rng(1), 30)
    x[:, 1] = x[0, 1] if constant else case.blank
    rows = laws.statistics(case, case.prior, x, y)
    prior = case.prior.complete(rows)
    points = [prior.initial_params(rows)]
    if constant or not prior.joint:
        points += [
            prior.posterior(rows).mode(),
            prior.maximum_likelihood(rows, variance_floor=1e-9)[0],
        ]
    for point in points:
        assert all(np.isfinite(value).all() for value in point.values())
        # 0 for a level that was never seen
        assert not np.isnan(
            prior.log_density_fn(point)(case.table(np.random.default_rng(2), 9)[0])
        ).any()
