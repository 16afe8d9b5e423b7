"""The likelihood on the page "Add a likelihood": every law, and everything that estimators do."""

import dataclasses
from typing import ClassVar

import laws
import laws_answers
import laws_program
import laws_sums
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from case import Case, some_classes
from cases_rows import positive_line
from paces import fast_only
from pages import blocks, page

import bayesgen as bg
from bayesgen.inference import NUTS
from bayesgen.likelihoods import columnwise
from bayesgen.likelihoods.columnwise import Columnwise

PAGE = [
    code
    for language, code in blocks(page("docs/how-to/add-a-likelihood.md"))
    if language == "python"
]
SCOPE = {"__name__": "page"}
exec(PAGE[0], SCOPE)
Gamma = SCOPE["Gamma"]

UNITS = np.array([1.0, 20.0, 0.3])
RATE = np.array([[1.0, 0.05, 2.0], [0.5, 0.1, 3.0], [2.0, 0.02, 6.0]])


def some_times(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return three columns of waiting times in different units."""
    y = some_classes(rng, n)
    mean = np.array([[1.0, 0.6, 2.0], [2.0, 1.0, 0.7], [0.5, 2.0, 1.0]]) * UNITS
    return rng.gamma(2.0, mean[y]), y


def in_other_units(x: np.ndarray, prior: object) -> tuple[np.ndarray, object]:
    """Return times, and guesses of their rates, in other units."""
    factor = np.array([60.0, 0.1, 3.0])
    rate = None if prior.rate is None else prior.rate / factor
    return x * factor, dataclasses.replace(prior, rate=rate)


CASE = Case(
    Gamma(
        rate=RATE,
        rows=np.array([[1.5, 2.0, 3.0], [2.5, 1.7, 2.0], [2.0, 3.0, 1.4]]),
        shape=np.array([[2.0, 3.0, 1.5], [1.2, 2.0, 4.0], [3.0, 1.0, 2.0]]),
    ),
    Gamma(),
    some_times,
    np.nan,
    positive_line,
    in_other_units,
)


def table(n: int = 90) -> tuple[pd.DataFrame, pd.Series]:
    """Return times of two columns, a tenth of them missing, and classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    x = rng.gamma(2.0, np.array([[1.0, 9.0], [4.0, 3.0], [0.3, 1.0]])[y])
    x[rng.random(x.shape) < 0.1] = np.nan
    return pd.DataFrame(x, columns=["wait", "stay"]), pd.Series(np.array(list("abc"))[y])


EVERY_LAW = [*laws.EVERYWHERE, *laws.CONJUGATE, *laws_sums.LAWS, laws_answers.law_simulate]
EVERY_LAW += [*laws_answers.ANSWERS, laws_program.law_program]


@pytest.mark.parametrize("law", EVERY_LAW, ids=lambda law: law.__name__)
def test_every_law_holds(law):
    law(CASE, CASE.prior)


def test_a_wrong_evidence_breaks_a_law(monkeypatch):
    right = Gamma.log_evidence_cells
    monkeypatch.setattr(
        Gamma, "log_evidence_cells", lambda self, rows: right(self, rows) + np.log(self.rows)
    )
    with pytest.raises(AssertionError):
        laws.law_bayes(CASE, CASE.prior)


def takes_the_settings_of_the_first_class(right):
    def wrong(self, params, y, rng):
        first = self.with_arrays({"shape": np.broadcast_to(self.shape[:1], self.shape.shape)})
        return right(first, params, y, rng)

    return wrong


def scores_cells_outside(right):
    return lambda part, score, axis=0: np.errstate(all="ignore")(score)


@pytest.mark.parametrize(
    ("law", "owner", "attribute", "wrong"),
    [
        (laws.law_outside, columnwise, "impossible_outside", scores_cells_outside),
        (laws_answers.law_possible, columnwise, "impossible_outside", scores_cells_outside),
        (laws_sums.law_declared, Gamma, "signed", lambda right: ()),
        (laws_sums.law_without, Gamma, "signed", lambda right: ()),
        (laws_answers.law_forget, Gamma, "signed", lambda right: ()),
        (laws_sums.law_declared, Gamma, "sparse", lambda right: True),
        (laws_answers.law_description, Gamma, "distribution_words", lambda right: ""),
        (laws_answers.law_simulate, Columnwise, "simulate", takes_the_settings_of_the_first_class),
        (laws_answers.law_sample, Columnwise, "simulate", takes_the_settings_of_the_first_class),
        (
            laws_program.law_program,
            Gamma,
            "program_cells",
            lambda right: "dist.Gamma(shape[0], rate[y])",
        ),
    ],
)
def test_what_a_stranger_forgets_breaks_a_law(law, owner, attribute, wrong, monkeypatch):
    monkeypatch.setattr(owner, attribute, wrong(getattr(owner, attribute)))
    case = dataclasses.replace(CASE)
    with pytest.raises((AssertionError, bg.errors.BayesgenError)):
        law(case, case.prior)


def test_words_may_be_the_name_of_the_class(monkeypatch):
    monkeypatch.setattr(Gamma, "distribution_words", "Gamma")
    laws_answers.law_description(dataclasses.replace(CASE), CASE.prior)


def test_the_page_is_about_sixty_lines_and_runs():
    for code in PAGE[1:]:
        exec(code, SCOPE)
    assert len([line for line in PAGE[0].splitlines() if line.strip()]) <= 65


def test_draws_of_a_weak_prior_stay_in_the_support():
    drawn = dataclasses.replace(CASE.prior, rows=np.full((3, 3), 1e-3)).draw(
        np.random.default_rng(0), 1000
    )["rate"]
    assert ((drawn > 0) & np.isfinite(np.log(drawn))).all()


def test_guesses_lie_in_the_declared_support():
    class Geometric(Gamma):
        supports: ClassVar = {"rate": "probability"}

    with pytest.raises(bg.errors.InvalidArgument, match=r"Geometric: rate is 1\.5; probabilities"):
        Geometric(rate=1.5)
    assert Geometric(rate=0.5, rows="learn").rate == 0.5


def test_an_incomplete_family_cannot_be_built():
    less = {name: value for name, value in vars(Gamma).items() if name != "draw"}
    with pytest.raises(TypeError, match="draw"):
        type("Incomplete", (Columnwise,), less)()


def test_missing_values_weights_and_partial_fit():
    X, y = table()
    whole = bg.NaiveBayes(Gamma(), random_state=0).fit(X, y)
    parts = bg.NaiveBayes(Gamma(), random_state=0)
    for rows in (slice(0, 30), slice(30, None)):
        parts.partial_fit(X[rows], y[rows], classes=list("abc"))
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), rtol=1e-12)
    twice = bg.NaiveBayes(Gamma()).fit(X, y, sample_weight=np.full(len(y), 2.0))
    double = bg.NaiveBayes(Gamma()).fit(pd.concat([X, X]), pd.concat([y, y]))
    np.testing.assert_allclose(twice.predict_proba(X), double.predict_proba(X), rtol=1e-12)
    only = X.assign(stay=np.nan)
    alone = bg.NaiveBayes(Gamma()).fit(X[["wait"]], y)
    np.testing.assert_allclose(
        whole.predict_proba(only), alone.predict_proba(X[["wait"]]), rtol=1e-12
    )


def test_leave_one_out_is_the_fit_without_the_row():
    X, y = table(40)
    prior = Gamma(rate=0.5)
    clf = bg.NaiveBayes(prior, class_prior="uniform").fit(X, y)
    found = clf.loo().to_numpy()
    for i in (0, 7, 19):
        rest = bg.NaiveBayes(prior, class_prior="uniform").fit(X.drop(index=i), y.drop(index=i))
        k = list(clf.classes_).index(y[i])
        wanted = rest.predict_log_proba(X.loc[[i]])[0, k]
        assert found[i, 0] == pytest.approx(wanted, rel=1e-9)


@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
def test_answers_of_a_closed_form(tmp_path):
    X, y = table()
    clf = bg.NaiveBayes(Gamma(), random_state=0).fit(X, y)
    assert np.isfinite(clf.log_evidence_)
    interval, proba = clf.predict_interval(X), clf.predict_proba(X)
    assert (interval[..., 0] <= interval[..., 1]).all()
    assert ((interval[..., 0] <= proba) & (proba <= interval[..., 1])).mean() > 0.95
    assert clf.sample(5, random_state=0)[0].shape == (5, 2)
    filled = clf.impute(X, random_state=0)
    assert not pd.isna(np.asarray(filled, dtype=float)).any()
    assert clf.evidence(X[:2]) is not None
    assert clf.summary() is not None
    clf.save(tmp_path / "times.bgm")
    loaded = bg.load(tmp_path / "times.bgm", classes=[Gamma])
    np.testing.assert_array_equal(loaded.predict_proba(X), proba)
    stack = bg.StackedClassifier([clf, bg.NaiveBayes()], random_state=0).fit(X, y)
    assert stack.predict_proba(X).shape == proba.shape
    learned = bg.NaiveBayes(Gamma(rows="learn"), random_state=0).fit(X, y)
    assert learned.log_evidence_ > -np.inf


def test_maximum_likelihood_is_the_shape_over_the_mean():
    X, y = table()
    clf = bg.NaiveBayes(Gamma(), inference="mle").fit(X, y)
    rates, x = 2 / X.groupby(y).mean(), X.loc[[0]].to_numpy()
    density = [2 * np.log(r) - r * x + np.log(x) for r in rates.to_numpy()]
    joint = clf.predict_joint_log_proba(X[:1])[0] - np.log(
        y.value_counts(normalize=True)[list("abc")]
    )
    np.testing.assert_allclose(joint, np.nansum(density, axis=-1).ravel(), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
def test_map_and_svi_land_on_the_mode():
    X, y = table()
    proba = [
        bg.NaiveBayes(Gamma(), inference=method, random_state=0).fit(X, y).predict_proba(X)
        for method in ("map", bg.MAP(solver="svi"))
    ]
    np.testing.assert_allclose(proba[0], proba[1], atol=1e-6)


@pytest.mark.parametrize("rows", fast_only([], [1.0, "learn"], slow=[1.0]))
def test_nuts_agrees_with_the_closed_form(rows):
    X, y = table()
    sampler = NUTS(draws=1000, warmup=500, chains=4, progress=False)
    drawn = bg.NaiveBayes(Gamma(rows=rows), inference=sampler, random_state=0).fit(X, y)
    exact = bg.NaiveBayes(Gamma(rows=rows), random_state=0).fit(X, y)
    assert drawn.inference_ == "nuts"
    np.testing.assert_allclose(drawn.predict_proba(X), exact.predict_proba(X), atol=0.03)


def test_sparse_rows_are_refused_where_no_cell_may_be_zero():
    X, y = table()
    with pytest.raises(bg.errors.BayesgenError, match="Gamma"):
        bg.NaiveBayes(Gamma()).fit(sp.csr_array(X.fillna(1.0)), y)


AVERAGES = {"rows": (Gamma(rows="learn"), {}), "columns": (Gamma(), {"columns": "average"})}


@pytest.mark.parametrize(
    ("prior", "options"), [(Gamma(), {}), *AVERAGES.values()], ids=["one prior", *AVERAGES]
)
@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
def test_values_out_of_the_support_are_named_and_new_ones_impossible(prior, options):
    X, y = table()
    clf = bg.NaiveBayes(prior, class_prior="uniform", random_state=0, **options)
    with pytest.raises(bg.errors.BayesgenError, match=r"wait.*above 0"):
        clf.fit(X.assign(wait=-X.wait), y)
    new = X[:3].assign(wait=[-1.0, 0.0, 2.0])
    clf.fit(X, y)
    assert np.isneginf(clf.score_samples(new)).tolist() == [True, True, False]
    np.testing.assert_allclose(clf.predict_proba(new)[:2], 1 / 3)
    part = clf.posterior_.components.model.blocks["gamma"]
    draws = part.log_density_draws_given_row(np.random.default_rng(0), 5)
    found = draws(new.to_numpy(), np.ones((5, 3), dtype=int))
    assert np.isneginf(found).all(axis=(0, 2)).tolist() == [True, True, False]
