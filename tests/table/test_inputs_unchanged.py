"""Nothing writes into what it is given: encoded rows, parameters, statistics, priors, tables.

Arrays are made read-only, so that NumPy refuses a write wherever it happens, also one of a value
that was there before. Blocks of one column and tables of one row are contiguous in every order:
what is a copy elsewhere may be the caller's own memory there.
"""

import contextlib
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
import pytest
from case import N_CLASSES, Case
from cases import CASES, CLOSED
from paces import fast_only
from scipy.sparse import csr_array

import bayesgen as bg
from bayesgen.errors import BayesgenError
from bayesgen.likelihoods import Likelihood
from bayesgen.likelihoods.base import Arrays
from bayesgen.likelihoods.protocols import (
    Conjugate,
    Imputation,
    MarginalLikelihood,
    MaximumLikelihood,
    Mode,
    PredictiveImputation,
    Program,
)

ROWS = 24


def read_only(value):
    """Return the same with arrays that refuse to be written to."""
    if isinstance(value, np.ndarray):
        value = value.copy(order="K")
        value.flags.writeable = False
        return value
    if isinstance(value, csr_array):
        parts = (read_only(part) for part in (value.data, value.indices, value.indptr))
        return csr_array(tuple(parts), shape=value.shape, copy=False)
    if isinstance(value, Mapping):
        return {name: read_only(part) for name, part in value.items()}
    if isinstance(value, Arrays):
        return value.with_arrays(read_only(value.arrays()))
    return value


def layouts(case: Case, part: Likelihood, x: np.ndarray) -> Iterator[tuple[str, object]]:
    """Yield rows as they may lie in memory: all, in either order, one of them, and sparse."""
    yield "in rows", np.ascontiguousarray(x)
    yield "in columns", np.asfortranarray(x)
    yield "one row", x[ROWS // 2 : ROWS // 2 + 1]
    yield "one row more", x[:1]
    if part.sparse:
        yield "sparse", csr_array(np.nan_to_num(x))


def updated(
    case: Case, width: int
) -> tuple[Likelihood, Likelihood, object, np.ndarray, np.ndarray]:
    """Return completed prior, posterior, statistics, rows with missing cells and labels."""
    rng = np.random.default_rng(5)
    complete, y = case.rows(rng, ROWS, gaps=False)
    x, y = case.rows(np.random.default_rng(5), ROWS, gaps=True)
    given = case.prior if width == x.shape[1] else case.vague
    n_levels, weight = case.n_levels[:width], np.ones(ROWS)
    fitted = read_only((complete if given.joint else x)[:, :width])
    y, weight = read_only(y), read_only(weight)
    rows = read_only(given.statistics(fitted, y, weight, n_classes=N_CLASSES, n_levels=n_levels))
    assert (rows + rows) is not None
    prior = read_only(given.complete(rows))
    after = read_only(prior.posterior(rows)) if prior.conjugate else prior
    return prior, after, rows, x[:, :width], y


def asked_of_statistics(case: Case, prior: Likelihood, after: Likelihood, rows: object) -> None:
    rng = np.random.default_rng(6)
    asked = [
        (prior, MarginalLikelihood, lambda: prior.log_evidence(rows)),
        (prior, MaximumLikelihood, lambda: prior.maximum_likelihood(rows, variance_floor=1e-9)),
        (after, Mode, lambda: after.mode()),
        (prior, Program, lambda: prior.initial_params(rows)),
        (after, Conjugate, lambda: after.draw(rng, 3)),
        (prior, Likelihood, lambda: rows - rows),
        (prior, Likelihood, prior.uninformative),
    ]
    for likelihood, ability, ask in asked:
        if isinstance(likelihood, ability):
            with contextlib.suppress(BayesgenError):
                ask()


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("name", fast_only(CLOSED, CASES))
def test_a_likelihood_writes_into_nothing_that_it_is_given(name, width):
    case, rng = CASES[name], np.random.default_rng(7)
    prior, after, rows, x, y = updated(case, width)
    asked_of_statistics(case, prior, after, rows)
    # kernels at rows have draws, and no estimate to begin with
    drawn = "story" not in case.exempt and not name.startswith("KernelDiscriminant")
    start = prior.initial_params(rows) if drawn else after.draw(rng, 1)
    draws = [{k: np.concatenate([v[None] if drawn else v] * 2) for k, v in start.items()}]
    if width == 3 and drawn:
        draws.append(case.params(after, rng, 2))
    for layout, block in layouts(case, prior, x):
        block, own = read_only(block), read_only(y[: block.shape[0]])
        for params in map(read_only, draws):
            score = (prior if drawn else after).log_density_fn(params)
            again = score(block)
            np.testing.assert_array_equal(score(block), again, err_msg=layout)
        if prior.conjugate:
            score = after.predictive()
            again = score(block)
            np.testing.assert_array_equal(score(block), again, err_msg=layout)
            after.log_density_draws_given_row(rng, 2)(block, read_only(np.tile(own, (2, 1))))
        if layout == "sparse":
            continue
        one = read_only({k: v[0] for k, v in draws[0].items()})
        (prior if drawn else after).simulate(one, own, rng)
        prior.out_of_support(block)
        if isinstance(prior, Imputation):
            prior.fill_given(one, block, own, rng)
        if prior.conjugate and isinstance(after, PredictiveImputation):
            after.fill(block, own, rng)


# -- through public names ----------------------------------------------------------------------

ASKED = {
    "predict": {},
    "predict_proba": {},
    "predict_log_proba": {},
    "predict_joint_log_proba": {},
    "decision_function": {},
    "score_samples": {},
    "predict_interval": {},
    "predict_draws": {},
    "decide": {},
    "typicality": {"draws": 20},
    "impute": {},
    "evidence": {},
    "feature_value": {"draws": 4},
}
"""Methods that take rows, and how much they simulate."""

WAYS = {"exact": "exact", "draws": bg.Augmentation(draws=5, warmup=5, chains=2), "mle": "mle"}


def numbers(width: int) -> np.ndarray:
    """Return 20 rows of numbers, the first of them 0: encoding then subtracts nothing."""
    x = np.random.default_rng(8).standard_normal((20, width))
    x[0] = 0.0
    return x


def answers(clf, X) -> dict[str, np.ndarray]:
    """Return what every method says of X, those left out that the classifier lacks."""
    out = {}
    for name, options in ASKED.items():
        with contextlib.suppress(BayesgenError):
            out[name] = np.asarray(getattr(clf, name)(X, **options))
    return out


@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
@pytest.mark.parametrize("inference", WAYS)
@pytest.mark.parametrize(("make", "width"), [(bg.NaiveBayes, 1), (bg.LDA, 2), (bg.QDA, 1)])
def test_a_classifier_writes_into_no_array(make, width, inference):
    """Missing cells too: they are told apart from numbers, not overwritten."""
    x, y = read_only(numbers(width)), read_only(np.arange(20) % 2)
    weight = read_only(np.ones(20))
    clf = make(inference=WAYS[inference], random_state=0).fit(x, y, weight)
    clf.partial_fit(x, y, sample_weight=weight)
    some = numbers(width)
    some[1, 0] = np.nan
    some[2] = np.nan
    for rows in (some, some[:1], some[1:2], np.asfortranarray(some)):
        rows = read_only(rows)
        first, again = answers(clf, rows), answers(clf, rows)
        assert len(first) >= 10 - 2 * (inference == "mle")
        for name in set(first) - {"impute"}:
            np.testing.assert_array_equal(first[name], again[name], err_msg=name)
    if inference == "exact":
        clf.loo(np.concatenate([x, x]), np.concatenate([y, y]))


@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
@pytest.mark.parametrize("make", [bg.NaiveBayes, bg.JointTable, bg.GenerativeClassifier])
def test_a_classifier_leaves_a_frame_as_it_was(make):
    X = pd.DataFrame({"a": ["u", "v", None, "u"] * 6, "b": pd.array([1, 2, 3, None] * 6, "Int64")})
    if make is not bg.JointTable:
        X["c"] = np.linspace(0, 1, 24)
        X.loc[3, "c"] = np.nan
    y = pd.Series(["s", "t"] * 12)
    before, labels = X.copy(deep=True), y.copy(deep=True)
    clf = make(random_state=0).fit(X, y)
    assert len(answers(clf, X)) >= 10
    assert len(answers(clf, X[2:3])) >= 10
    pd.testing.assert_frame_equal(X, before)
    pd.testing.assert_series_equal(y, labels)


@pytest.mark.parametrize("inference", ["exact", "mle"])
def test_word_counts_are_left_as_they_were(inference):
    counts = read_only(csr_array(np.random.default_rng(9).poisson(0.7, (20, 5)).astype(float)))
    y = read_only(np.arange(20) % 2)
    clf = bg.NaiveBayes(bg.Multinomial(), inference=inference, random_state=0).fit(counts, y)
    first, again = answers(clf, counts), answers(clf, counts)
    for name, found in first.items():
        np.testing.assert_array_equal(found, again[name], err_msg=name)
