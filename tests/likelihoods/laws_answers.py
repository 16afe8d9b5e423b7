"""The laws of what a classifier of one family answers, and of the draws that it answers from.

Every verb that calls a method of a family is called here, so that a family whose density is right
and whose `simulate_cell` is not breaks a law. See laws.py.
"""

import contextlib
import functools
import warnings

import numpy as np
import pandas as pd
import pytest
from agree import agree, calibrated
from case import N_CLASSES, Case
from laws import ODD, fitted, softmax

import bayesgen as bg
from bayesgen.errors import BayesgenError, BayesgenWarning, UnsupportedOperation
from bayesgen.likelihoods import Likelihood
from bayesgen.likelihoods.protocols import (
    Imputation,
    MarginalLikelihood,
    PredictiveImputation,
)
from bayesgen.report.method import descriptions

N_ROWS, N_DRAWN, N_SAMPLED, CLASS_ROWS = 30, 600, 200, 2.0
LABELS = np.array(list("abc"))
COLUMNS = ["u", "v", "w"]


# -- simulated rows --------------------------------------------------------------------------------


def law_simulate(case: Case, likelihood: Likelihood) -> None:
    """Simulated rows have the density given the same parameters, alone and column by column."""
    _, after, *_ = fitted(case, likelihood)
    rng, y = np.random.default_rng(21), np.arange(N_DRAWN) % N_CLASSES
    one = {k: v[0] for k, v in case.params(after, rng, 1).items()}
    x = after.simulate(one, y, rng)
    in_support(after, x)
    score = after.log_density_fn(one)
    by_columns(case, x, y, score, "simulated rows")
    if not isinstance(after, Imputation):
        return
    holed = x.copy()
    holed[:, 1] = case.blank
    filled = after.fill_given(one, holed, y, rng)
    agree(filled[:, ::2], x[:, ::2], what="observed cells", axes=("row", "column"), atol=0.0)
    by_columns(case, filled, y, score, "rows of fill_given")


def law_fill(case: Case, likelihood: Likelihood) -> None:
    """Cells drawn with the parameters integrated out have the predictive density."""
    _, after, *_ = fitted(case, likelihood)
    if not isinstance(after, PredictiveImputation):
        return
    rng, y = np.random.default_rng(22), np.arange(N_DRAWN) % N_CLASSES
    nothing = np.full((N_DRAWN, 3), case.blank, dtype=case.table(rng, 6)[0].dtype)
    x = after.fill(nothing, y, rng)
    in_support(after, x)
    by_columns(case, x, y, after.predictive(), "rows of fill")
    holed = x.copy()
    holed[:, 1] = case.blank
    filled = after.fill(holed, y, rng)
    agree(filled[:, ::2], x[:, ::2], what="observed cells", axes=("row", "column"), atol=0.0)
    by_columns(case, filled, y, after.predictive(), "rows of fill")


def in_support(part: Likelihood, x: np.ndarray) -> None:
    outside = part.out_of_support(x)
    assert outside is None or not outside.any(), (
        f"{type(part).__name__}: simulated cells are no {part.support}; the first is "
        f"{x[outside][0]}, in row {np.argwhere(outside)[0][0]}"
    )


def by_columns(case: Case, x: np.ndarray, y: np.ndarray, score: object, what: str) -> None:
    """Rows, and each of their columns alone, have labels that are draws from softmax(score)."""
    calibrated(softmax(score(x)), y, what)
    for j in () if "law_marginal" in case.exempt else range(3):
        alone = np.full_like(x, case.blank)
        alone[:, j] = x[:, j]
        calibrated(softmax(score(alone)), y, f"{what}, column {j} alone")


# -- a fitted classifier ---------------------------------------------------------------------------


def table(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Return rows as a user passes them, and labels."""
    x, y = case.rows(np.random.default_rng(1), N_ROWS, gaps=not case.prior.joint)
    return as_passed(case, x), LABELS[y]


def as_passed(case: Case, x: np.ndarray) -> np.ndarray:
    return np.where(case.missing(x), np.nan, x).astype(float)


def unfitted(case: Case, **options: object) -> bg.GenerativeClassifier:
    return bg.GenerativeClassifier(case.prior, class_prior=CLASS_ROWS, random_state=0, **options)


@functools.cache
def classifier(case: Case) -> bg.GenerativeClassifier:
    """Return a fitted classifier, which all laws of a case share."""
    return unfitted(case).fit(*table(case))


def complete_rows(case: Case, n: int) -> np.ndarray:
    return as_passed(case, case.rows(np.random.default_rng(23), n)[0])


def law_sample(case: Case, likelihood: Likelihood) -> None:
    """Labels of sampled rows are draws from the probabilities that are predicted of these rows."""
    clf = classifier(case)
    x, y = clf.sample(N_SAMPLED, random_state=1)
    calibrated(clf.predict_proba(x), np.searchsorted(LABELS, y), "sampled rows")


def law_impute(case: Case, likelihood: Likelihood) -> None:
    """Imputed cells are possible ones and observed cells stay, or the family says why not."""
    clf, x = classifier(case), complete_rows(case, 9)
    holed = x.copy()
    holed[np.arange(9), np.arange(9) % 3] = np.nan
    if not isinstance(likelihood, PredictiveImputation):
        for verb in (clf.impute, clf.conditional):
            with pytest.raises(UnsupportedOperation, match="missing cells cannot be drawn"):
                verb(holed)
        return
    filled = clf.impute(holed, random_state=1)
    here = ~np.isnan(holed)
    agree(filled[here], x[here], what="observed cells", axes=("cell",), atol=0.0)
    assert not np.isnan(filled).any(), "impute() leaves missing cells"
    in_support(likelihood, filled)


def law_conditional(case: Case, likelihood: Likelihood) -> None:
    """The distribution of a missing cell is proportional to the density of the completed row."""
    if not isinstance(likelihood, PredictiveImputation):
        return
    clf, x = classifier(case), complete_rows(case, 4)[2:3]
    values, weight = case.line(case.rows(np.random.default_rng(1), N_ROWS)[0], 0)
    completed = np.repeat(x, len(values), axis=0)
    completed[:, 0] = values
    share = weight * np.exp(clf.score_samples(completed))
    share /= share.sum()
    found = clf.conditional(np.where(np.arange(3) == 0, np.nan, x), draws=4000)
    if "probability" in found:
        agree(found["probability"], share, what="probability", axes=("level",))
        return
    mean = share @ values
    spread = np.sqrt(share @ (values - mean) ** 2)
    # the quadrature of heavy tails is good to a thousandth
    error = found["error"].to_numpy() + 2e-3 * spread
    agree(found["mean"], mean, what="mean of the missing cell", axes=("row",), error=error)


def law_possible(case: Case, likelihood: Likelihood) -> None:
    """A cell that no row may hold is refused, or its row has the class prior: nothing is NaN."""
    clf, x = classifier(case), complete_rows(case, len(ODD))
    prior = np.exp(clf.fitted_.posterior.log_classes())
    few = likelihood.kind in ("counts", "binary")
    for i, value in enumerate(ODD):
        row, j = x[i : i + 1].copy(), i % 3
        row[0, j] = value
        possible = not few or value in case.line(x, j)[0]
        with warnings.catch_warnings(), contextlib.suppress(BayesgenError):
            warnings.simplefilter("ignore", BayesgenWarning)
            joint = clf.predict_joint_log_proba(row)[0]
            assert not np.isnan(joint).any(), f"the log joint of the row {row[0]} is {joint}"
            assert possible or np.isneginf(joint).all(), f"{value} is read in the row {row[0]}"
            if np.isneginf(joint).all():
                agree(clf.predict_proba(row)[0], prior, what="P(y = k)", axes=("class",))
                low, high = np.moveaxis(clf.predict_interval(row)[0], -1, 0)
                assert ((low < prior) & (prior < high)).all(), f"intervals of the row {row[0]}"


def law_typicality(case: Case, likelihood: Likelihood) -> None:
    """Typicality is the share of sampled rows that are no denser than a row."""
    clf, x = classifier(case), complete_rows(case, 5)
    found = clf.typicality(x, draws=N_SAMPLED)
    sampled = clf.score_samples(clf.sample(N_SAMPLED, random_state=2)[0])
    own = clf.score_samples(x)
    share = (sampled[:, None] <= own + 1e-9 * np.abs(own)).mean(axis=0)
    both = (share + found) / 2
    error = np.sqrt((both * (1 - both) + 1 / N_SAMPLED) * 2 / N_SAMPLED)
    agree(found, share, what="typicality", error=error)


def law_forget(case: Case, likelihood: Likelihood) -> None:
    """A fit that forgets rows predicts as the fit of the others."""
    x, y = table(case)
    away = np.arange(N_ROWS) % 4 == 0
    found = unfitted(case).fit(x, y).forget(x[away], y[away])
    rest = unfitted(case).fit(x[~away], y[~away])
    # open guesses, such as those of Laplace, are of all rows
    agree(found.predict_proba(x), rest.predict_proba(x), what="P(y = k)", atol=1e-8)


def law_sample_prior(case: Case, likelihood: Likelihood) -> None:
    """Rows of the prior have the prior predictive, or a sentence says that there is none."""
    x, y = table(case)
    if not isinstance(likelihood, MarginalLikelihood):
        with pytest.raises(UnsupportedOperation, match="without rows there is nothing to draw"):
            unfitted(case).sample_prior(9, x, y)
        return
    drawn = unfitted(case).sample_prior(N_DRAWN, x, y, random_state=3)
    rows = np.where(np.isnan(drawn.X), case.blank, drawn.X)
    rows = rows.astype(case.rows(np.random.default_rng(1), N_ROWS)[0].dtype)
    # classes have equal guesses of their probabilities
    score = fitted(case, likelihood, gaps=True)[0].log_predictive(rows)
    calibrated(softmax(score), np.searchsorted(LABELS, drawn.y), "rows of the prior")


def law_groups(case: Case, likelihood: Likelihood) -> None:
    """Groups with other names have the same probabilities, or a sentence says why not."""
    x, y = table(case)
    group = np.resize(["p", "p", "q"], N_ROWS)
    proba = []
    for names in ("pq", "ts"):
        own = np.where(group == "p", *names)
        X = pd.DataFrame(x, columns=COLUMNS).assign(site=own)
        clf = bg.GenerativeClassifier(
            {tuple(COLUMNS): case.prior}, class_prior=CLASS_ROWS, groups="site", random_state=0
        )
        if not isinstance(likelihood, MarginalLikelihood):
            with pytest.raises(UnsupportedOperation, match="learned by evidence"):
                clf.fit(X, y)
            return
        proba.append(clf.fit(X, y).predict_proba(X))
    agree(proba[0].sum(axis=1), 1.0, what="sum of P(y = k)")
    agree(*proba, what="P(y = k)", atol=1e-8)


def law_description(case: Case, likelihood: Likelihood) -> None:
    """A report says the distribution in the words that a family declares."""
    ((words, names),) = descriptions(classifier(case))
    family, declared = type(case.prior).__name__, case.prior.distribution_words
    assert declared, (
        f"{family}.distribution_words is missing: what report_html() calls the distribution of a "
        'row, such as "Poisson counts"'
    )
    for part in (words, case.vague.describe()):
        assert part.distribution == declared, (
            f"{family} declares {declared!r} and is described as {part.distribution!r}"
        )
        assert part.dependence.startswith(("columns", "given")), f"{family}.dependence_words"
    assert len(names) == len(COLUMNS)


SIMULATED = [law_simulate]
ANSWERS = [
    *(law_fill, law_sample, law_impute, law_conditional, law_possible, law_typicality, law_forget),
    *(law_sample_prior, law_groups, law_description),
]
