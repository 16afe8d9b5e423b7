"""Laws of groups: what an average over strengths must equal, and what it may not depend on."""

import copy
import functools
import runpy
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from leaving import weights_without

import bayesgen as bg
from bayesgen.inference import groups as module
from bayesgen.inference.closed_form import ClosedForm
from bayesgen.likelihoods.hyperparameter_mixture import HyperparameterMixture

NAMES = ["a", "b"]
MODELS = Path(__file__).parents[2] / "models"


def sites(kind="numbers", n_sites=4, n=12, seed=0):
    """Return rows of sites whose class means differ, and their classes."""
    rng = np.random.default_rng(seed)
    y = np.tile([0, 1], n_sites * n // 2)
    site = np.repeat(np.arange(n_sites), n)
    mean = rng.normal(size=(n_sites, 2, 2)) + np.array([[-0.7], [0.7]])
    x = mean[site, y] + rng.normal(size=(len(y), 2))
    if kind == "counts":
        x = rng.poisson(np.exp(x / 2))
    X = pd.DataFrame(x, columns=NAMES)
    if kind == "levels":
        X = X.apply(lambda column: pd.cut(column, [-9, -0.5, 0.5, 9], labels=list("lmh")))
    if kind == "binary":
        X = X > 0
    return X.assign(site=np.array(list("pqrstuvw"))[site]), y


CASES = {
    "normal": ("numbers", lambda **o: bg.NaiveBayes(bg.Normal(mean=0.0, variance=1.0), **o)),
    "normal, shared": (
        "numbers",
        lambda **o: bg.NaiveBayes(bg.Normal(mean=0.0, variance=1.0, spread="shared"), **o),
    ),
    "learned": (
        "numbers",
        lambda **o: bg.NaiveBayes(bg.Normal(0.0, mean_rows="learn", variance=1.0), **o),
    ),
    "lda": ("numbers", lambda **o: bg.LDA(mean=0.0, scale=1.0, **o)),
    "qda": ("numbers", lambda **o: bg.QDA(mean=0.0, scale=1.0, **o)),
    "poisson": ("counts", lambda **o: bg.NaiveBayes(bg.Poisson(rate=1.0), **o)),
    "multinomial": (
        "counts",
        lambda **o: bg.GenerativeClassifier(bg.Multinomial(probs=0.5, rows=3.0), **o),
    ),
    "categorical": ("levels", lambda **o: bg.NaiveBayes(bg.Categorical.laplace(1), **o)),
    "bernoulli": ("binary", lambda **o: bg.NaiveBayes(bg.Bernoulli(prob=0.5), **o)),
    "table": ("levels", lambda **o: bg.JointTable(probs="uniform", rows=9.0, **o)),
}


REPRESENTATIVES = pytest.mark.parametrize(
    "case", ["normal", "learned", "qda", "table"], indirect=True
)
"""Of laws of sums and of places, which families cannot break but by their own laws: one whose
spread has its own strengths, one that is averaged already, one of matrices, one of levels."""


class Case:
    """Rows of a case, and its classifiers: tests that update one copy it."""

    def __init__(self, name):
        kind, self.make = CASES[name]
        self.X, self.y = sites(kind)

    @functools.cached_property
    def fitted(self):
        """The classifier with groups."""
        return self.make(groups="site", random_state=0).fit(self.X, self.y)

    @functools.cached_property
    def proba(self):
        """Its probabilities."""
        return self.fitted.predict_proba(self.X)

    @functools.cached_property
    def pooled(self):
        """The classifier without groups."""
        return self.make().fit(self.X[NAMES], self.y)


@functools.cache
def case_of(name):
    """Return the case, whose classifiers are fitted once."""
    return Case(name)


@pytest.fixture(params=CASES)
def case(request):
    """Return rows and the classifiers that are fitted to them."""
    return case_of(request.param)


def only(monkeypatch, member):
    """Leave one of the priors of a group alone: 0, the user's own; -1, one population."""
    learned = module._learned

    def stated(prior, parts):
        out = learned(prior, parts)
        if len(parts) < 2 or not hasattr(out[1], "members"):
            return out
        size = len(module.strengths_of(prior)) + 1
        log_weight = np.where(np.arange(size) == member % size, 0.0, -np.inf)
        if isinstance(out[0], HyperparameterMixture):
            return [one.with_arrays({"log_weight": log_weight}) for one in out]
        return [type(one).of(one.members, log_weight) for one in out]

    monkeypatch.setattr(module, "_learned", stated)


def close(one, other, atol=1e-12):
    """Check that two arrays of probabilities agree."""
    np.testing.assert_allclose(one, other, rtol=0, atol=atol)


def moved(X, distance):
    """Return rows of which those of the first site are moved in the first column."""
    return X.assign(a=X.a + distance * (X.site == "p"))


def prior_of(clf, code):
    """Return the problem of a group, by its code: its prior and its rows."""
    return module.groups_of(clf.state_.problem(clf.class_prior)).problems[code]


def apart(make, X, y):
    """Return the probabilities that a classifier of each site gives its rows."""
    out = np.empty((len(y), 2))
    for site in X.site.unique():
        rows = (X.site == site).to_numpy()
        features = X[rows].drop(columns="site")
        out[rows] = make().fit(features, y[rows]).predict_proba(features)
    return out


@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
class TestLimits:
    """Known answers at the ends of the strengths."""

    @REPRESENTATIVES
    def test_one_group_is_the_pooled_model(self, case):
        X = case.X.assign(site="p")
        one = case.make(groups="site").fit(X, case.y)
        close(one.predict_proba(X), case.pooled.predict_proba(X[NAMES]))

    def test_infinite_strength_is_the_pooled_model(self, case, monkeypatch):
        X, pooled = case.X, case.pooled
        only(monkeypatch, -1)
        clf = case.make(groups="site").fit(X, case.y)
        close(clf.predict_proba(X), pooled.predict_proba(X[NAMES]))
        close(clf.predict_proba(X[NAMES]), pooled.predict_proba(X[NAMES]))
        close(clf.predict_joint_log_proba(X), pooled.predict_joint_log_proba(X[NAMES]), 1e-9)

    def test_strength_zero_is_groups_apart(self, case, monkeypatch):
        X, y = case.X, case.y
        only(monkeypatch, 0)
        clf = case.make(groups="site").fit(X, y)
        close(clf.predict_proba(X), apart(case.make, X, y))

    def test_spread_between_groups_is_no_variance_within_them(self, monkeypatch):
        """If a site moves, guesses of variances stay; a fault that counts its way is caught."""

        def law():
            X, y = sites()
            for one, other in zip(priors(X, y)[:-1], priors(moved(X, 9.0), y)[:-1], strict=True):
                # its distance to the common guess of the means, worth one row, is part of it
                assert (other.variance < 1.5 * one.variance + 0.1).all()

        def priors(X, y):
            clf = bg.NaiveBayes(bg.Normal(mean_rows=1e-3), groups="site").fit(X, y)
            return prior_of(clf, 1).model.blocks["normal"].members

        law()
        monkeypatch.setattr(module, "around_one_mean", lambda parts, like=None: list(parts))
        with pytest.raises(AssertionError):
            law()

    @staticmethod
    def law_weights(clf):
        """Check that groups differ by their guesses, and not by the weights of strengths."""
        fitted = clf.posterior_.components
        for block, family in fitted.population.model.blocks.items():
            for member in fitted.members.values():
                close(member.model.blocks[block].log_weight, family.log_weight, 1e-8)

    def test_every_group_has_the_same_weights_of_strengths(self, case):
        self.law_weights(case.fitted)

    def test_evidence_of_a_group_that_counts_twice_is_caught(self, monkeypatch):
        monkeypatch.setattr(module, "evidence_of_others", lambda each: 0 * each + each.sum(axis=0))
        with pytest.raises(AssertionError):
            self.law_weights(Case("normal").fitted)


@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
class TestStatistics:
    """The laws of statistics that add, group by group."""

    @REPRESENTATIVES
    def test_order_split_and_merge(self, case):
        X, y, make = case.X, case.y, case.make
        order = np.random.default_rng(1).permutation(len(y))
        turned = make(groups="site").fit(X.iloc[order], y[order])
        close(turned.predict_proba(X), case.proba)
        # the second half has sites that the first does not have, and lacks some of its own
        half = (X.site < "r").to_numpy() | (np.arange(len(y)) % 5 == 0)
        first = make(groups="site").partial_fit(X[half], y[half])
        second = make(groups="site").fit(X[~half], y[~half])
        before = first.predict_proba(X)
        close(first.merge(second).predict_proba(X), case.proba, 1e-9)
        close(second.merge(first).predict_proba(X), case.proba, 1e-9)
        parts = first.partial_fit(X[~half], y[~half])
        close(parts.predict_proba(X), case.proba, 1e-9)
        close(parts.forget(X[~half], y[~half]).predict_proba(X), before, 1e-8)

    @REPRESENTATIVES
    def test_weight_two_is_the_row_twice(self, case):
        X, y, make = case.X, case.y, case.make
        weight = 1.0 + (np.arange(len(y)) % 3 == 0)
        twice = np.repeat(np.arange(len(y)), weight.astype(int))
        weighted = make(groups="site").fit(X, y, sample_weight=weight)
        repeated = make(groups="site").fit(X.iloc[twice], y[twice])
        close(weighted.predict_proba(X), repeated.predict_proba(X), 1e-9)

    @REPRESENTATIVES
    def test_saved_and_loaded(self, case, tmp_path):
        X, y, clf = case.X, case.y, copy.deepcopy(case.fitted)
        clf.save(tmp_path / "model.bayesgen")
        loaded = bg.load(tmp_path / "model.bayesgen")
        close(loaded.predict_proba(X), case.proba, 0)
        close(loaded.predict_interval(X), clf.predict_interval(X), 0)
        close(loaded.partial_fit(X, y).predict_proba(X), clf.partial_fit(X, y).predict_proba(X), 0)

    @REPRESENTATIVES
    def test_rows_alone(self, case):
        clf, few = case.fitted, case.X.iloc[[40, 3, 20]]
        proba, interval = clf.predict_proba(few), clf.predict_interval(few)
        for i in range(3):
            close(clf.predict_proba(few.iloc[[i]])[0], proba[i])
            close(clf.predict_interval(few.iloc[[i]])[0], interval[i])


def left_out_by_refit(clf, X, y, i):
    """Return log p of a row's class by its group refitted without it, other groups unchanged."""
    prior = prior_of(clf, clf.state_.group_levels.index(X.site.iloc[i]))
    away = len(y) - weights_without(X, y, np.ones(len(y)), i).sum()
    statistics = copy.deepcopy(clf).forget(X.iloc[[i]], y[[i]], [away]).state_.statistics
    left = prior.reader.take(statistics.groups[X.site.iloc[i]])
    close(left.count.sum(), (X.site == X.site.iloc[i]).sum() - away, 1e-9)
    posterior = ClosedForm(prior.reader, clf.report_, prior.model.posterior(left), 0)
    encoded = clf._read_rows(X.iloc[[i]]).encoded
    joint = posterior.log_joint(encoded, 1)[0]
    return joint - np.logaddexp.reduce(joint)


@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
class TestLeaveOneOut:
    """Rows left out of their groups."""

    def test_equals_a_refit_of_the_group(self, case):
        X, y, clf = case.X, case.y, case.fitted
        scores = clf.loo(X, y).log_proba
        for i in (17, 40):
            expected = left_out_by_refit(clf, X, y, i)[y[i]]
            close(scores.iloc[i], expected, 1e-8)

    def test_strengths_hardly_depend_on_one_row(self):
        """The strengths and the others' guess keep the row: refits of all groups differ little."""
        X, y = sites(n_sites=8, n=20)
        clf = bg.NaiveBayes(groups="site").fit(X, y)
        scores = clf.loo(X, y).log_proba.to_numpy()
        refits = []
        for i in range(0, len(y), 32):
            others = np.delete(np.arange(len(y)), i)
            again = bg.NaiveBayes(groups="site").fit(X.iloc[others], y[others])
            refits.append(again.predict_log_proba(X.iloc[[i]])[0, y[i]])
        assert abs(scores[::32] - refits).max() < 0.01

    def test_a_group_is_no_part_of_its_own_guess(self, monkeypatch):
        """Whatever the rows of a group are, its prior stays; a fault that adds them is caught."""

        def priors(X, y):
            clf = bg.NaiveBayes(bg.Normal(mean=0.0, variance=1.0), groups="site").fit(X, y)
            return prior_of(clf, 0).model.blocks["normal"].members

        def law():
            X, y = sites()
            for one, other in zip(priors(X, y), priors(moved(X, 3.0), y), strict=True):
                close(one.mean, other.mean, 1e-9)

        # origins of columns are their first row, which is of the first group
        monkeypatch.setattr(bg.Normal, "centred", False)
        law()
        monkeypatch.setattr(
            module, "without_each", lambda parts: [module.total(parts)] * len(parts)
        )
        with pytest.raises(AssertionError):
            law()


@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
class TestRows:
    """Answers to rows of known groups, of new ones and without one."""

    @REPRESENTATIVES
    def test_unknown_and_missing_groups_are_new_ones(self, case):
        X, clf = case.X, case.fitted
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            new = clf.predict_proba(X.assign(site="unknown"))
        close(new, clf.predict_proba(X.assign(site=None)), 0)
        close(new, clf.predict_proba(X[NAMES]), 0)
        assert abs(new - case.proba).max() > 1e-3

    @pytest.mark.parametrize(
        ("fitted", "given"),
        [
            ([1, 2], ["1", "2"]),
            (["1", "2"], [1, 2]),
            (["1", "2"], [1.5, 2.0]),
            ([0, 1], [False, True]),
        ],
    )
    def test_groups_of_another_type_are_told(self, fitted, given):
        X, y = sites(n_sites=2)
        clf = bg.NaiveBayes(groups="site").fit(X.assign(site=np.repeat(fitted, 12)), y)
        with pytest.warns(bg.errors.CountsAsMissing, match="of another type"):
            new = clf.predict_proba(X.assign(site=np.repeat(given, 12)))
        close(new, clf.predict_proba(X[NAMES]), 0)

    def test_unseen_error_refuses_new_groups(self):
        X, y = sites()
        clf = bg.NaiveBayes(groups="site", unseen="error").fit(X, y)
        with pytest.raises(bg.errors.InvalidData, match="the level 'new'"):
            clf.predict_proba(X.assign(site="new"))
        close(clf.predict_proba(X.assign(site=None)).sum(axis=1), 1)

    def test_a_new_group_is_wider_than_the_pooled_model(self):
        X, y = sites(n_sites=8, n=20)
        clf = bg.NaiveBayes(groups="site", random_state=0).fit(X, y)
        pooled = bg.NaiveBayes(random_state=0).fit(X[NAMES], y)
        wide, narrow = (
            np.diff(one.predict_interval(X[NAMES]), axis=2).mean() for one in (clf, pooled)
        )
        assert wide > 1.5 * narrow

    def test_intervals_hold_draws_whose_mean_is_the_probability(self):
        X, y = sites()
        clf = bg.NaiveBayes(groups="site", random_state=0, inference=bg.Exact(4000)).fit(X, y)
        rows = pd.concat([X.iloc[[0, 30]], X.iloc[[0, 30]].assign(site="new")])
        draws = clf.predict_draws(rows).mean("draw").to_numpy()
        # 5 standard errors of 4,000 draws, or a quarter as many effective ones
        close(draws, clf.predict_proba(rows), 5 * 0.5 / np.sqrt(1000))

    def test_frames_of_every_kind(self):
        X, y = sites()
        pandas = bg.NaiveBayes(groups="site").fit(X, y)
        polars = bg.NaiveBayes(groups="site").fit(pl.from_pandas(X), y)
        close(pandas.predict_proba(X), polars.predict_proba(pl.from_pandas(X)))
        numbers = X.assign(site=X.site.map({name: i for i, name in enumerate("pqrs")}))
        close(
            bg.NaiveBayes(groups="site").fit(numbers, y).predict_proba(numbers),
            pandas.predict_proba(X),
        )

    @pytest.mark.parametrize("name", ["normal", "qda", "table"])
    def test_missing_cells(self, name):
        kind, make = CASES[name]
        X, y = sites(kind)
        X.loc[::7, "a"] = None
        clf = make(groups="site", random_state=0).fit(X, y)
        proba = clf.predict_proba(X)
        close(proba.sum(axis=1), 1)
        assert np.isfinite(clf.loo(X, y).log_proba).all()
        assert clf.inference_ == ("exact" if name == "normal" else "expected")
        filled = clf.impute(X, random_state=0)
        assert filled.notna().all().all() and (filled.site == X.site).all()

    def test_missing_cells_beside_a_learned_strength(self):
        X, y = sites()
        X.loc[::7, "a"] = None
        clf = bg.LDA(levels="indicators", covariance_rows="learn", groups="site", random_state=0)
        proba = clf.fit(X, y).predict_proba(X)
        close(proba.sum(axis=1), 1)
        assert np.isfinite(clf.loo(X, y).log_proba).all()

    def test_evidence_adds_up_within_the_group(self):
        X, y = sites()
        clf = bg.NaiveBayes(groups="site").fit(X, y)
        parts = clf.evidence(X, 1, 0)
        assert list(parts.columns) == ["(prior)", *NAMES]
        close(parts.sum(axis=1), clf.decision_function(X), 1e-9)

    def test_rows_drawn_from_the_prior_have_groups_of_the_rows(self):
        X, y = sites()
        clf = bg.NaiveBayes(groups="site")
        assert clf.sample_prior(48, X, y, random_state=0).X.site.tolist() == X.site.tolist()
        clf.plot_prior(X, y)

    def test_summary(self):
        X, y = sites()
        summary = bg.NaiveBayes(groups="site", random_state=0).fit(X, y).group_summary()
        assert summary.index.tolist() == list("pqrs")
        assert summary.rows.tolist() == [12.0] * 4
        assert summary["rows of 1"].tolist() == [6.0] * 4
        assert (summary.divergence > 0).all()
        assert set(summary["strength of normal"]) <= {0.0, *module.STRENGTHS}

    def test_other_verbs(self):
        X, y = sites()
        clf = bg.NaiveBayes(groups="site", random_state=0, temper="learn").fit(X, y)
        assert clf.sample(3)[0].shape == (3, 3)
        close(clf.with_class_prior([0.5, 0.5]).predict_proba(X).sum(axis=1), 1)
        prevalence = clf.estimate_prevalence(X[X.site == "p"], random_state=0)
        close(prevalence.mean.sum(), 1, 1e-9)
        close(clf.predict_interval(X).shape, (len(y), 2, 2))
        assert clf.typicality(X).shape == (len(y),)


@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
class TestPrevalence:
    """Prevalence among rows of a group: where groups are apart, that of a fit to the group."""

    @staticmethod
    def fits(monkeypatch, **options):
        """Return rows, those of a site, a fit with groups that are apart, and one of the site."""
        only(monkeypatch, 0)
        X, y = sites(n=60)
        own = (X.site == "q").to_numpy()
        make = CASES["normal"][1]
        clf = make(groups="site", random_state=0, **options).fit(X, y)
        return X, own, clf, make(random_state=0, **options).fit(X[own][NAMES], y[own])

    @pytest.mark.parametrize("temper", [None, 0.5])
    def test_by_densities(self, monkeypatch, temper):
        X, own, clf, alone = self.fits(monkeypatch, temper=temper)
        options = {"method": "density", "draws": 4000, "random_state": 0}
        one = clf.estimate_prevalence(X[own], **options)
        other = alone.estimate_prevalence(X[own][NAMES], **options)
        # sd .1 at most, 4,000 draws: 4 standard errors of a difference
        close(one.mean, other.mean, 0.01)
        close(one.draws.std(axis=0), other.draws.std(axis=0), 0.01)

    def test_densities_are_those_of_the_group_of_each_row(self, monkeypatch):
        X, own, clf, _ = self.fits(monkeypatch)
        options = {"method": "density", "draws": 500, "random_state": 0}
        turned = clf.estimate_prevalence(X[own | (X.site == "p")][::-1], **options).mean
        close(turned, clf.estimate_prevalence(X[own | (X.site == "p")], **options).mean, 0.02)

    def test_left_out_rows_are_those_of_the_group(self, monkeypatch):
        X, own, clf, alone = self.fits(monkeypatch)
        assert clf.estimate_prevalence(X[own], random_state=0).report.method == "left_out"
        one = clf._population_model().left_out_rows(np.array([1]))
        other = alone._population_model().left_out_rows()
        close(one.log_proba, other.log_proba, 1e-9)
        assert one.codes.tolist() == other.codes.tolist()

    @pytest.mark.parametrize("change", [{}, {"site": "new"}])
    def test_rows_of_several_groups_or_of_a_new_one(self, change):
        X, y = sites(n=40)
        clf = bg.NaiveBayes(groups="site", random_state=0).fit(X, y)
        rows = X.assign(**change)
        assert clf.estimate_prevalence(rows, random_state=0).report.method == "density"
        with pytest.raises(bg.errors.UnsupportedOperation, match="method='density'"):
            clf.estimate_prevalence(rows, method="left_out")

    @pytest.mark.parametrize("container", ["frame", "array"])
    def test_label_shift_is_tested_within_the_group(self, container):
        X, y = sites(n=80)
        name = "site"
        if container == "array":
            X = X.assign(site=np.repeat(range(4), 80)).to_numpy()
            name = "x2"
        clf = bg.NaiveBayes(groups=name, random_state=0).fit(X, y)
        own = X[80:160]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert clf.estimate_prevalence(own, random_state=0).rejected == ()
        found = clf.check_label_shift(own)
        assert name not in found.index
        assert (found.p_value > 0.01).all()


class TestStack:
    """Stacks whose members have groups."""

    def test_members_have_groups_and_share_weights(self):
        X, y = sites(n=20)
        members = {"naive": bg.NaiveBayes(), "linear": bg.LDA()}
        stack = bg.StackedClassifier(members, groups="site", random_state=0, progress=False).fit(
            X, y
        )
        assert stack.members_["linear"].groups == "site"
        close(sum(stack.weights_.values()), 1)
        new = stack.predict_proba(X.assign(site="new"))
        assert abs(new - stack.predict_proba(X)).max() > 1e-3
        low, high = np.moveaxis(stack.predict_interval(X), 2, 0)
        assert (low <= high).all()
        assert np.isfinite(stack.loo(X, y).log_proba).all()

    def test_prevalence_of_a_group(self):
        """By densities; of a stack of one member that has no power, near the member's."""
        X, y = sites(n=60)
        own = X[X.site == "q"]
        naive = bg.NaiveBayes(groups="site", random_state=0).fit(X, y)
        stack = bg.StackedClassifier(
            {"naive": bg.NaiveBayes()}, groups="site", random_state=0, progress=False
        ).fit(X, y)
        options = {"method": "density", "random_state": 0}
        found = stack.estimate_prevalence(own, random_state=0)
        assert found.report.method == "density" and found.rejected == ()
        close(found.mean, naive.estimate_prevalence(own, **options).mean, 0.05)
        with pytest.raises(bg.errors.UnsupportedOperation, match="method='density'"):
            stack.estimate_prevalence(own, method="left_out")

    def test_intervals_have_the_class_frequencies_of_the_group(self):
        """Of a stack of one member they are those of the member."""
        X, y = sites(n=20)
        y = np.where((X.site == "p") & (np.arange(len(y)) % 6 > 0), 0, y)
        one = bg.NaiveBayes(groups="site", random_state=0, temper=1.0).fit(X, y)
        plain = bg.NaiveBayes(groups="site", random_state=0).fit(X, y)
        close(one.predict_interval(X), plain.predict_interval(X), 1e-9)

    @pytest.mark.slow
    def test_automatic_members(self):
        X, y = sites(n=20)
        stack = bg.StackedClassifier(groups="site", random_state=0, progress=False).fit(X, y)
        assert not {"kernels", "naive_kernels", "forest"} & set(stack.weights_)
        parts = stack.partial_fit(X[:40], y[:40]).forget(X[:40], y[:40])
        close(parts.predict_proba(X).sum(axis=1), 1)


class TestRefusals:
    """What groups cannot do is said in a sentence."""

    @pytest.mark.parametrize(
        ("clf", "change", "words"),
        [
            (bg.NaiveBayes(groups="hospital"), {}, "which X does not have"),
            (bg.LDA(groups="hospital"), {}, "which X does not have"),
            (bg.NaiveBayes(groups="a"), {}, "holds fractions"),
            (bg.NaiveBayes(groups="row"), {"row": 3}, "47 values in 48 rows"),
            (
                bg.NaiveBayes({"site": bg.Categorical(), ("a", "b"): bg.Normal()}, groups="site"),
                {},
                "named by both groups= and likelihood=",
            ),
            (bg.NaiveBayes(groups="site"), {"site": None}, "is missing in row 2"),
            (bg.NaiveBayes(groups="site", inference="map"), {}, "needs a closed form"),
            (bg.QDA(groups="site", prior="reference"), {}, "this prior has none"),
            (bg.NaiveBayes(bg.KernelDensity(), groups="site"), {}, "this prior has none"),
            (bg.NaiveBayes(groups="site", columns="average"), {}, "columns='average'"),
        ],
    )
    @pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
    def test_in_one_sentence(self, clf, change, words):
        X, y = sites()
        X = X.assign(row=np.arange(len(y))) if "row" in change else X
        for name, value in change.items():
            X.loc[2, name] = value
        with pytest.raises(bg.errors.BayesgenError) as caught:
            clf.fit(X, y)
        assert words in str(caught.value), str(caught.value)

    def test_rows_of_another_group_are_not_forgotten(self):
        X, y = sites()
        clf = bg.NaiveBayes(groups="site").fit(X, y)
        rows = X[:24].assign(site="q")
        with pytest.raises(bg.errors.UnsupportedOperation, match="12 rows here of group 'q'"):
            clf.forget(rows, y[:24])

    def test_rows_of_a_group_are_forgotten_once(self):
        X, y = sites()
        clf = bg.NaiveBayes(groups="site").fit(X, y).forget(X[:12], y[:12])
        with pytest.raises(bg.errors.UnsupportedOperation, match="the level 'p', which the fit"):
            clf.forget(X[:2], y[:2])

    @pytest.mark.parametrize(("fitted", "later"), [("site", None), (None, "site")])
    def test_updates_keep_the_groups_of_the_fit(self, fitted, later):
        X, y = sites()
        clf = bg.NaiveBayes(groups=fitted).fit(X, y).set_params(groups=later)
        with pytest.raises(bg.errors.UnsupportedOperation, match="Fit all rows again"):
            clf.partial_fit(X, y)

    @pytest.mark.parametrize("make", [bg.NaiveBayes, bg.LDA])
    def test_a_column_in_place_of_its_name(self, make):
        X, y = sites()
        for column in (X.site, X.site.to_numpy(), ["site"]):
            with pytest.raises(bg.errors.InvalidArgument, match="the name of a column"):
                make(groups=column).fit(X, y)

    def test_rows_without_a_label(self):
        X, y = sites()
        y = np.where(np.arange(len(y)) % 5 == 0, np.nan, y)
        with pytest.raises(bg.errors.BayesgenError, match="groups="):
            bg.NaiveBayes(groups="site").fit(X, y)

    def test_evidence_of_all_rows(self):
        X, y = sites()
        with pytest.raises(AttributeError, match="guesses of groups"):
            _ = bg.NaiveBayes(groups="site").fit(X, y).log_evidence_

    def test_summary_without_groups(self):
        X, y = sites()
        with pytest.raises(AttributeError, match="has no groups"):
            bg.NaiveBayes().fit(X[NAMES], y).group_summary()


@pytest.mark.nightly
def test_probabilities_are_near_those_of_a_hierarchical_program():
    """Beside models/hierarchical_naive_bayes.py: of each class, whose sites are its relatives."""
    import jax
    from numpyro.infer import MCMC, NUTS
    from scipy.special import logsumexp
    from scipy.stats import norm

    model = runpy.run_path(str(MODELS / "hierarchical_naive_bayes.py"))["model"]
    X, y = sites(n_sites=8, n=40)
    x, site = X[NAMES].to_numpy(), np.unique(X.site, return_inverse=True)[1]
    # a strength of each column, as the program has
    blocks = {name: bg.Normal() for name in NAMES}
    clf = bg.NaiveBayes(blocks, groups="site", class_prior="uniform").fit(X, y)
    new, _ = sites(n_sites=8, n=40, seed=0)
    new[NAMES] += np.random.default_rng(1).normal(size=x.shape)
    cells, logs = new[NAMES].to_numpy(), []
    within = np.mean([x[(site == g) & (y == k)].var() for g in range(8) for k in (0, 1)])
    with jax.enable_x64(True):
        for k in (0, 1):
            rows = {"numbers": x[y == k], "levels": np.zeros((int((y == k).sum()), 0), int)}
            mcmc = MCMC(NUTS(model), num_warmup=400, num_samples=1000, progress_bar=False)
            guesses = {"mean": float(x.mean()), "variance": float(within)}
            mcmc.run(jax.random.key(k), rows, site[y == k], n_classes=8, **guesses)
            draws = {name: np.asarray(value) for name, value in mcmc.get_samples().items()}
            deviation = np.sqrt(draws["numbers.variance"][:, site])
            density = norm.logpdf(cells, draws["numbers.mean"][:, site], deviation).sum(axis=2)
            logs.append(logsumexp(density, axis=0))
    probability = 1 / (1 + np.exp(logs[0] - logs[1]))
    pooled = bg.NaiveBayes(class_prior="uniform").fit(X[NAMES], y).predict_proba(new[NAMES])[:, 1]
    assert abs(clf.predict_proba(new)[:, 1] - probability).mean() < 0.02
    assert abs(pooled - probability).mean() > 0.05


def test_strengths_are_fields_of_every_family():
    """A weaker prior keeps its guesses, of r s / (r + s) rows: none less at infinite s."""
    for name in CASES:
        for likelihood in case_of(name).pooled.posterior_.families.values():
            same = likelihood.weakened(*[np.inf] * len(likelihood.strengths))
            weak = likelihood.weakened(*[1.0] * len(likelihood.strengths))
            for one, changed, less in zip(
                likelihood.components, same.components, weak.components, strict=True
            ):
                for name, array in one.arrays().items():
                    close(array, changed.arrays()[name], 0)
                    if name in one.strengths:
                        close(array / (array + 1), less.arrays()[name], 1e-15)
                    else:
                        close(array, less.arrays()[name], 0)
