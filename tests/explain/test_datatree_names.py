"""to_datatree() and summary() whatever columns, classes, levels, blocks and sites are called."""

import arviz_base as base
import numpy as np
import pandas as pd
import pytest

import bayesgen as bg

TABLES = ("observed_data", "posterior_predictive", "prior_predictive")


def table(names):
    """Return rows of numbers under every name, and a column of levels that have these names."""
    rng = np.random.default_rng(0)
    n = 4 * len(names)
    X = pd.DataFrame(rng.normal(size=(n, len(names))), columns=names)
    X["levels of these names"] = np.resize(np.array(names, dtype=object), n)
    return X, np.resize(np.array(names[:2], dtype=object), n)


def tree_of(clf, X, y):
    """Return the tree, in which every column is checked against the table it came from."""
    tree = clf.fit(X, y).to_datatree(draws=16, replicates=2)
    for group in TABLES:
        # one variable for each column: nothing was dropped or took the place of something else
        assert len(tree[group].data_vars) == X.shape[1]
        dims = ("row",) if group == "observed_data" else ("chain", "draw", "row")
        assert all(variable.dims == dims for variable in tree[group].data_vars.values())
        assert list(tree[group].data_vars) == list(tree["observed_data"].data_vars)
    for name, variable in zip(X, tree["observed_data"].data_vars.values(), strict=True):
        if X[name].dtype.kind == "f":
            # centring takes the first cell off and back: two roundings of numbers below 10
            np.testing.assert_allclose(variable.values, X[name], rtol=0, atol=4e-15)
    assert len(clf.summary(draws=16, kind="stats")) == clf.summary(draws=16)["mean"].notna().sum()
    return tree


@pytest.fixture(scope="module")
def taken():
    """Return every dim, coordinate, variable and group that a tree has, and what arviz adds."""
    X, y = bg.datasets.load_iris()
    X = X.assign(colour=np.resize(["red", "green"], 150))
    names = {"sample", "replicate", "feature", "level", "normal", "categorical", "posterior"}
    for clf in (bg.NaiveBayes(), bg.GenerativeClassifier({("sepal_length",): bg.Normal()})):
        clf.set_params(remainder="auto")
        tree = clf.fit(X, y).to_datatree(draws=16, replicates=2)
        for group in tree.children.values():
            names |= {*map(str, group.dims), *map(str, group.coords), *map(str, group.data_vars)}
        names |= set(tree.children)
    assert {"chain", "draw", "row", "class", "normal.feature", "normal.mean", "y", "xy"} <= names
    return sorted(names)


@pytest.mark.slow
@pytest.mark.parametrize("make", [bg.NaiveBayes, bg.GenerativeClassifier])
def test_to_datatree_takes_columns_levels_and_classes_named_like_its_own(make, taken):
    tree = tree_of(make(), *table(taken))
    # parameters keep their axes, whatever columns are called
    assert tree["posterior"]["normal.mean"].dims == ("chain", "draw", "class", "normal.feature")
    assert tree["posterior"]["normal.feature"].values.tolist() == taken
    assert tree["posterior"]["class"].values.tolist() == taken[:2]
    for group in tree.children:
        if "data" not in group:
            base.extract(tree, group=group)


@pytest.mark.slow
def test_to_datatree_keeps_names_that_are_free():
    names = ["row", "row_", "class", "y", "normal.mean", "normal.feature", "a b"]
    observed = tree_of(bg.NaiveBayes(), *table(names))["observed_data"]
    expected = ["row__", "row_", *names[2:], "levels of these names"]
    assert list(observed.data_vars) == expected


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesgen.errors.SuspiciousColumn")  # for the name ""
@pytest.mark.filterwarnings("ignore::bayesgen.errors.CountsAsMissing")  # for the level ""
def test_to_datatree_takes_names_that_are_no_names_of_variables():
    names = ["km/h", "km_h", "", "/"]
    observed = tree_of(bg.NaiveBayes(), *table(names))["observed_data"]
    expected = ["km_h_", "km_h", "_", "__", "levels of these names"]
    assert sorted(observed.data_vars) == sorted(expected)


@pytest.mark.slow
def test_to_datatree_takes_blocks_named_like_its_own():
    """A block is named after its columns."""
    names = ["row", "chain", "class", "class.probs", "row.feature", "row.mean", "km/h", "km_h"]
    X, y = table(names)
    spec = dict.fromkeys(names, bg.Normal())
    tree = tree_of(bg.GenerativeClassifier(spec, remainder="auto"), X, y)
    means = [v for v in tree["posterior"].data_vars if v.endswith(".mean")]
    assert len(means) == len(names)
    assert {tree["posterior"][v].dims[-1] for v in means} == {
        f"{v.removesuffix('.mean')}.feature" for v in means
    }


@pytest.mark.slow
def test_to_datatree_of_a_stack_takes_members_of_any_name():
    X, y = table(["row", "chain"])
    X = X.iloc[:, :2]
    names = ["weight", "member", "a/b", "a_b", "sample"]
    stack = bg.StackedClassifier(dict.fromkeys(names, bg.LDA()), temper=None).fit(X, y)
    tree = stack.to_datatree(draws=16, replicates=2)
    assert len(tree.children) == len(names)
    assert tree["member"].values.tolist() == names
    assert all("posterior" in child.children for child in tree.children.values())


@pytest.mark.slow
def test_to_datatree_of_a_program_takes_sites_and_arrays_of_any_name():
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    sites = ("chain", "draw", "class", "sample", "class.probs", "y_dim_0", "chain_dim_0")

    def program(x, y=None, *, n_classes):
        probs = numpyro.sample("probs", dist.Dirichlet(jnp.ones(n_classes)))
        with numpyro.plate("classes", n_classes):
            middle = sum(numpyro.sample(site, dist.Normal(0.0, 1.0)) for site in sites)
        with numpyro.plate("row", len(x["row"])):
            y = numpyro.sample("y", dist.Categorical(probs), obs=y)
            numpyro.sample("x", dist.Normal(middle[y], 1.0), obs=x["row"] + x["chain"])

    X, y = table(["row", "chain"])
    arrays = {"row": X["row"].to_numpy(), "chain": X["chain"].to_numpy()}
    clf = bg.GenerativeClassifier(story=program, inference="map").fit(arrays, y)
    tree = clf.to_datatree(draws=16, replicates=2)
    # one name in every group: "chain" is also a site
    assert set(tree["observed_data"].data_vars) == {"row_", "chain_"}
    for group in ("posterior", "prior"):
        # class.probs of the program beside that of its site "y"
        assert len(tree[group].data_vars) == len(sites) + 2
        assert all(v.dims[:2] == ("chain", "draw") for v in tree[group].data_vars.values())
    assert len(clf.summary(kind="stats")) == 2 * (len(sites) + 2)


def test_tables_of_kernels_are_simulated_before_and_after_the_rows():
    X, y = bg.datasets.load_iris()
    clf = bg.GenerativeClassifier(bg.KernelDiscriminant(centers=30)).fit(X, y)
    tree = clf.to_datatree(draws=8, replicates=2)
    for group in ("prior_predictive", "posterior_predictive"):
        assert np.isfinite(tree[group]["petal_length"]).all()
