"""Every family describes itself: in words, and its parameters entry by entry."""

import dataclasses
import itertools

import laws
import numpy as np
import pytest
from case import N_CLASSES
from cases import CASES, CLOSED
from paces import fast_only

from bayesgen.likelihoods import Bernoulli, JointCategorical, Normal, Poisson, description
from bayesgen.likelihoods.description import Marginals
from bayesgen.likelihoods.hyperparameter_mixture import resolve_family

COLUMNS = ["a", "b", "c"]
DRAWS = 4000
ERRORS = 4.0


def levels(n_levels):
    return [f"{c}={k}" for c, n in zip(COLUMNS, n_levels, strict=False) for k in range(n)]


def described(name, part, seed=1):
    """Return draws of the parameters, and the same as the family describes them."""
    params = CASES[name].params(part, np.random.default_rng(seed), DRAWS)
    return params, part.marginals(params, COLUMNS, levels(CASES[name].n_levels))


def raw(params):
    """Return the numbers behind every described entry, by its name in words, class and entry."""
    numbers = {}
    for name, draws in params.items():
        if "cholesky" not in name:
            numbers[name] = draws
            continue
        for i, j in itertools.combinations_with_replacement(range(3), 2):
            # an entry of L L' is the product of two rows of L
            product = sum(draws[..., i, k] * draws[..., j, k] for k in range(3))
            kind = "correlation" if "correlation" in name else "covariance"
            numbers[(kind if i < j else "variance", i, j)] = product
    return numbers


def expected(case, one, numbers, k, e):
    """Return the draws of one entry of one class, read off the raw parameters by its name."""
    if ("variance", 0, 0) in numbers and one.name in ("variance", "covariance", "correlation"):
        ends = [COLUMNS.index(column) for column in one.entries[e].split(", ")]
        draws = numbers[(one.name, ends[0], ends[-1])]
        return draws[:, k] if draws.ndim == 2 else draws
    names = {words: name for name, words in case.prior.param_words.items()}
    draws = numbers[names.get(one.name, one.name)]
    shaped = draws.reshape(len(draws), one.values.shape[1], -1)
    positions = next((p for p in (COLUMNS, levels(case.n_levels)) if one.entries[e] in p), None)
    return shaped[:, k, e if positions is None else positions.index(one.entries[e])]


def near(first, second):
    """Compare means and levels of draws with those of others, within Monte Carlo errors."""
    error = np.sqrt((first.var() + second.var()) / DRAWS)
    assert abs(first.mean() - second.mean()) <= ERRORS * error + 1e-12
    for share in (0.05, 0.5, 0.95):
        below = (first <= np.quantile(second, share)).mean()
        # of both samples; values that are drawn often stand below as one
        ties = (first == np.quantile(second, share)).mean()
        assert abs(below - share) <= ERRORS * np.sqrt(2 * share * (1 - share) / DRAWS) + ties


@pytest.mark.parametrize("name", fast_only(CASES.keys() - {"Family counts"}, CASES))
def test_marginals_agree_with_draws(name):
    """Mean and interval of every entry are those of other draws of the same parameter."""
    case = CASES[name]
    part = laws.fitted(case, case.prior)[0]
    numbers, marginals = raw(described(name, part, seed=2)[0]), described(name, part)[1]
    for one in marginals:
        draws, n_classes, n_entries = one.values.shape
        assert draws == DRAWS and n_classes in (1, N_CLASSES) and n_entries == len(one.entries)
        assert len(set(one.entries)) == n_entries
        for k, e in np.ndindex(n_classes, n_entries):
            near(one.values[:, k, e], expected(case, one, numbers, k, e))
    drawn = sum(m.values[0].size for m in marginals)
    assert drawn >= sum(v[0].size for v in numbers.values()) - 3 * N_CLASSES


def test_words_of_parameters_are_those_that_a_family_declares(monkeypatch):
    monkeypatch.setattr(Poisson, "param_words", {"rate": "mean count"})
    test_marginals_agree_with_draws("Poisson")
    part = laws.fitted(CASES["Poisson"], CASES["Poisson"].prior)[0]
    assert [one.name for one in described("Poisson", part)[1]] == ["mean count"]


def test_mixture_over_priors_describes_its_family_and_their_number():
    family = resolve_family(Bernoulli(rows="learn"))
    alone = dataclasses.replace(Bernoulli().describe(), settings="6 priors averaged by evidence")
    assert family.describe() == alone


def test_settings_are_strengths_and_what_is_not_the_default():
    assert Bernoulli(rows=3).describe().settings == "rows 3"
    assert CASES["Normal shared"].vague.describe().settings.endswith("spread shared")


def test_cells_have_the_names_of_their_levels():
    """The largest probability is that of the most frequent combination."""
    case = next(c for c in CLOSED.values() if isinstance(c.prior, JointCategorical))
    part, _, _, x, y = laws.fitted(case, case.vague, n=200)
    rows = laws.statistics(case, part, x, y)
    (one,) = part.posterior(rows).marginals(
        part.posterior(rows).draw(np.random.default_rng(0), 50), COLUMNS, levels(case.n_levels)
    )
    cells, count = np.unique(x[y == 0], axis=0, return_counts=True)
    common = ", ".join(f"{c}={k}" for c, k in zip(COLUMNS, cells[count.argmax()], strict=False))
    assert one.entries[one.values[:, 0].mean(axis=0).argmax()] == common


def transposed(name, draws, axes, labels):
    return Marginals(name, tuple(labels["feature"]), np.swapaxes(draws, 1, 2))


def reversed_columns(self, columns, levels):
    return {"feature": columns[::-1], "level": levels}


@pytest.mark.parametrize(
    ("owner", "attribute", "wrong", "name", "law"),
    [
        (description, "marginals", transposed, "Normal", test_marginals_agree_with_draws),
        (Normal, "axis_labels", reversed_columns, "Normal", test_marginals_agree_with_draws),
    ],
)
def test_planted_fault_is_caught(owner, attribute, wrong, name, law, monkeypatch):
    monkeypatch.setattr(owner, attribute, wrong)
    with pytest.raises(AssertionError):
        law(name)
