"""What ArviZ estimates by leaving rows out agrees with what is exact, or is left to what is."""

import warnings

import arviz_plots as azp
import arviz_stats as az
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from agree import agree
from scipy import stats

import bayesgen as bg
from bayesgen import diagnose
from bayesgen.errors import InvalidArgument, InvalidData, UnsupportedOperation


@pytest.fixture(autouse=True)
def no_screen():
    import matplotlib.pyplot as plt

    with mpl.rc_context({"backend": "agg"}):
        yield
        plt.close("all")


def rows(n=40):
    rng = np.random.default_rng(0)
    y = np.resize(["ill", "well"], n)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(3, 2, n), "k": rng.poisson(3, n)})
    return X, y


X, Y = rows()
COUNTS = {("a", "b"): bg.Normal(), "k": bg.Poisson()}


@pytest.mark.parametrize(
    "clf", [bg.LDA(), bg.QDA(), bg.NaiveBayes(), bg.StackedClassifier(["naive", "linear"])], ids=str
)
@pytest.mark.filterwarnings("ignore:the weights and powers of a stack")
def test_arviz_does_not_alarm_where_rows_are_left_out_exactly(clf):
    clf.set_params(random_state=0).fit(X, Y)
    exact, tree = clf.loo(kind="elpd"), clf.to_datatree(draws=100, replicates=2)
    assert not exact.warning and exact.pareto_k is None
    trees = [tree] if "posterior" in tree.children else [tree[name] for name in clf.members_]
    for each in trees:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(TypeError, match="log likelihood not found"):
                az.loo(each)
        assert "clf.loo(kind='elpd') is exact" in each.attrs["leave_one_out"]
        assert np.isfinite(each["log_likelihood_conditional"]["y"]).all()


@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
def test_arviz_estimates_what_is_not_exact():
    clf = bg.LDA(inference=bg.Augmentation(draws=50, warmup=20), random_state=0)
    gaps = X[["a", "b"]].mask(np.arange(40)[:, None] % 9 == [3, 5])
    tree = clf.fit(gaps, Y).to_datatree(replicates=2)
    assert "leave_one_out" not in tree.attrs and tree["log_likelihood"]["y"].shape[-1] == 40


def law_pit(draws=4000):
    """P(new cell of the class <= cell given the other rows) is that of fits without each row."""
    prior = bg.Normal(mean=0.0, mean_rows=1.0, variance=2.0, variance_rows=4.0)
    numbers = X[["a", "b"]]
    clf = bg.NaiveBayes(prior, random_state=0).fit(numbers, Y)
    tree = clf.to_datatree(draws=draws, replicates="draws")
    found = az.loo_pit(tree)
    for i in (0, 7, 16):
        rest = np.arange(40) != i
        part = bg.NaiveBayes(prior).fit(numbers[rest], Y[rest]).posterior_
        after = part.components.model.blocks["normal"]
        k = int(Y[i] == "well")
        scale = np.sqrt(after.variance * (1 + 1 / after.mean_rows))[k]
        exact = stats.t.cdf((numbers.iloc[i] - after.mean[k]) / scale, after.variance_rows[k])
        own = np.array([float(found[column][i]) for column in "ab"])
        # importance weights cost some of the draws
        error = np.sqrt(exact * (1 - exact) / (draws / 4))
        agree(own, exact, what=f"P(cell <= x) of row {i}", axes=("column",), error=error)


def test_the_pit_of_arviz_is_that_of_fits_without_the_row():
    law_pit()


def test_fault_tables_of_other_draws(monkeypatch):
    right = diagnose.replicated

    def wrong(params, families, y, rng, n):
        simulated, shape = right(params, families, y, rng, n)
        return {name: x + 1.0 for name, x in simulated.items()}, shape

    monkeypatch.setattr(diagnose, "replicated", wrong)
    with pytest.raises(AssertionError):
        law_pit(400)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("clf", "columns"),
    [(bg.LDA(), ["a", "b"]), (bg.GenerativeClassifier(COUNTS), ["a", "b", "k"])],
    ids=["LDA", "numbers and counts"],
)
def test_plot_loo_pit_works(clf, columns):
    tree = (
        clf.set_params(random_state=0).fit(X[columns], Y).to_datatree(draws=200, replicates="draws")
    )
    assert tree["posterior_predictive"]["a"].shape == (4, 50, 40)
    assert tree["prior_predictive"]["a"].shape[:2] == (1, 100)
    assert azp.plot_loo_pit(tree) is not None


def test_rows_with_gaps_are_refused_and_the_others_read():
    gaps = X[["a", "b"]].mask(np.arange(40)[:, None] % 9 == [3, 5])
    clf = bg.NaiveBayes(random_state=0).fit(gaps, Y)
    with pytest.raises(InvalidData, match=r"column 'a' is missing in 5 rows.*plot_loo_pit"):
        clf.to_datatree(replicates="draws")
    keep = gaps.notna().all(axis=1)
    clf.to_datatree(gaps[keep], Y[keep], draws=40, replicates="draws")
    with pytest.raises(InvalidArgument, match="replicates is 'all'"):
        clf.to_datatree(replicates="all")


@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
def test_plots_of_columns_leave_out_identifiers():
    rows = pd.DataFrame(X).add_prefix("x")
    rows.insert(0, "key", [f"row {i}" for i in range(len(rows))])
    for clf in (bg.NaiveBayes(), bg.StackedClassifier(["naive", "linear"])):
        drawn = clf.fit(rows, Y).plot_features(rows, Y)
        assert [ax.get_xlabel() for ax in drawn.axes_] == list(rows)[1:]
    drawn = bg.NaiveBayes().plot_prior(rows, Y, n=50)
    assert [ax.get_xlabel() for ax in drawn.axes_] == list(rows)[1:]
    with pytest.raises(InvalidData, match=r"Pass features=\('xa', 'xb'\)"):
        clf.plot_densities(rows, Y)


def test_plot_prior_draws_the_rows_of_the_fit():
    clf = bg.NaiveBayes(random_state=0).fit(X, Y)
    own, given = clf.plot_prior(n=50), clf.plot_prior(X, Y, n=50)
    for one, other in zip(own.axes_, given.axes_, strict=True):
        assert [p.get_height() for p in one.patches] == [p.get_height() for p in other.patches]
    parts = bg.NaiveBayes().partial_fit(X, Y)
    with pytest.raises(UnsupportedOperation, match=r"Pass them: plot_prior\(X, y\)"):
        parts.plot_prior()
