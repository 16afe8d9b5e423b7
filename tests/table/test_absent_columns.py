"""Rows that lack columns of the fit, or show them in another order: missing, with one warning."""

import io
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bayesgen as bg
from bayesgen.errors import CountsAsMissing, InvalidData

IRIS, SPECIES = bg.datasets.load_iris()
PEOPLE, SURVIVED = (part[::6] for part in bg.datasets.load_titanic_passengers())
QUICK = [
    bg.GenerativeClassifier(
        {("sepal_length", "petal_width"): bg.MultivariateNormal()}, remainder="auto"
    ),
    bg.NaiveBayes(),
]
NUMERIC = {
    "naive": bg.NaiveBayes(),
    "joint": bg.QDA(),
    "point": bg.LDA(inference="mle"),
    "stack": bg.StackedClassifier(QUICK),
}
ONE, TWO = ["petal_width"], ["petal_length", "sepal_length"]
ALL = ["petal_width", "petal_length", "sepal_width", "sepal_length"]
ROWS = IRIS[::30].reset_index(drop=True)


@pytest.fixture(scope="module")
def fitted():
    return {name: clf.fit(IRIS, SPECIES) for name, clf in NUMERIC.items()}


def recorded(call):
    """Return what a call returns, and the warnings that it issues."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = call()
    return found, caught


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("naive", ONE),
        ("naive", ALL),
        ("joint", TWO),
        ("point", ONE),
        ("stack", TWO),
        ("stack", ALL),
    ],
)
def test_absent_columns_are_missing_values_in_any_number_and_order(fitted, name, names):
    clf = fitted[name]
    empty = ROWS[names].reindex(columns=IRIS.columns)
    found, caught = recorded(lambda: clf.predict_joint_log_proba(ROWS[names]))
    np.testing.assert_array_equal(found, clf.predict_joint_log_proba(empty))
    absent = [column for column in IRIS if column not in names]
    assert [w.category for w in caught] == [CountsAsMissing] * bool(absent)
    for warning in caught:
        text = str(warning.message)
        assert f"X lacks {len(absent)} of the 4 fitted columns" in text
        assert all(repr(column) in text for column in absent)
        assert warning.filename == __file__


@pytest.mark.parametrize("name", NUMERIC)
def test_every_verb_warns_once_and_answers_as_for_missing_values(fitted, name):
    clf, rows = fitted[name], ROWS[["petal_width", "sepal_width"]]
    empty = rows.reindex(columns=IRIS.columns)
    verbs = {
        "predict_proba": lambda X: clf.predict_proba(X),
        "decision_function": lambda X: clf.decision_function(X),
        "score_samples": lambda X: clf.score_samples(X),
        "typicality": lambda X: clf.typicality(X, draws=20),
        "decide": lambda X: clf.decide(X, novelty=0.2).astype(str),
        "score": lambda X: clf.score(X, SPECIES[::30]),
        "evidence": lambda X: clf.evidence(X, random_state=0),
        "impute": lambda X: clf.impute(X, random_state=0)[list(IRIS)],
        "feature_value": lambda X: clf.feature_value(X, draws=20),
    }
    if name != "point":
        verbs["predict_interval"] = lambda X: clf.predict_interval(X)
    for verb, ask in verbs.items():
        found, caught = recorded(lambda ask=ask: ask(rows))
        reported = [w for w in caught if w.category is CountsAsMissing]
        assert len(reported) == 1, verb
        expected, caught = recorded(lambda ask=ask: ask(empty))
        assert CountsAsMissing not in [w.category for w in caught]
        np.testing.assert_array_equal(np.asarray(found), np.asarray(expected), err_msg=verb)


@pytest.mark.parametrize("of", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_absent_columns_in_every_container(of):
    clf = bg.NaiveBayes().fit(of(PEOPLE), SURVIVED)
    rows = PEOPLE[:4][["passengerClass", "sex"]]
    with pytest.warns(CountsAsMissing, match="lacks 1 of the 3 fitted columns, the column 'age'"):
        found = clf.predict_proba(of(rows))
    np.testing.assert_allclose(found, clf.predict_proba(PEOPLE[:4].assign(age=np.nan)), rtol=1e-12)


def test_levels_read_as_indicators_are_named_as_the_columns_they_are():
    clf = bg.LDA(levels="indicators", inference="expected").fit(
        PEOPLE.assign(ship="Titanic"), SURVIVED
    )
    with pytest.warns(CountsAsMissing, match="'passengerClass', 'ship'; they") as caught:
        found = clf.predict_proba(PEOPLE[["age"]])
    assert len(caught) == 1
    rest = {"sex": None, "passengerClass": None, "ship": None}
    np.testing.assert_array_equal(found, clf.predict_proba(PEOPLE[["age"]].assign(**rest)))
    with pytest.raises(InvalidData, match="unseen at fit time:\n- crew\n"):
        clf.predict_proba(PEOPLE.assign(crew=1))


def test_a_later_batch_may_lack_columns():
    first, later = IRIS[::2], IRIS[1::2]
    clf = bg.NaiveBayes().partial_fit(first, SPECIES[::2])
    with pytest.warns(CountsAsMissing, match="the column 'petal_width'; it counts") as caught:
        clf.partial_fit(later[["petal_length", "sepal_width", "sepal_length"]], SPECIES[1::2])
    assert len(caught) == 1
    blank = bg.NaiveBayes().partial_fit(first, SPECIES[::2])
    blank.partial_fit(later.assign(petal_width=np.nan), SPECIES[1::2])
    np.testing.assert_allclose(clf.predict_proba(IRIS), blank.predict_proba(IRIS), rtol=1e-12)


def test_a_stack_of_members_that_read_different_columns_warns_once_of_all():
    members = {
        "petals": bg.NaiveBayes({"petal_width": bg.Normal()}, remainder="drop"),
        "sepals": bg.NaiveBayes({"sepal_width": bg.Normal()}, remainder="drop"),
    }
    clf = bg.StackedClassifier(members).fit(IRIS, SPECIES)
    with pytest.warns(
        CountsAsMissing, match="2 fitted columns, the column 'sepal_width'"
    ) as caught:
        clf.predict_proba(IRIS[["petal_length", "petal_width"]])
    assert len(caught) == 1


def test_cures_of_absent_and_unknown_columns_run_when_typed():
    X = IRIS
    clf = bg.QDA().fit(X, SPECIES)
    with pytest.warns(CountsAsMissing) as caught:
        expected = clf.predict_proba(X[["petal_width"]])
    cure = re.search(r"X\.reindex\(.*?\)", str(caught[0].message))[0]
    X = X[["petal_width"]]
    np.testing.assert_array_equal(clf.predict_proba(eval(cure)), expected)
    for X in (
        IRIS.assign(extra=1),
        IRIS.assign(**dict.fromkeys("abcdef", 1)),
        IRIS.rename(columns={"petal_width": "petalWidth"}),
    ):
        with pytest.raises(InvalidData, match="Feature names unseen at fit time") as refused:
            clf.predict_proba(X)
        for cure in re.findall(r"X\.\w+\(.*?\)(?=[.,])", str(refused.value)):
            found, _ = recorded(lambda X=X, cure=cure: clf.predict_proba(eval(cure)))
            assert found.shape == (150, 3)
    X = IRIS[["petal_width"]].set_axis(["petalWidth"], axis=1)
    with pytest.raises(InvalidData, match="Use the column names of the fit") as refused:
        clf.predict_proba(X)
    assert "drop" not in str(refused.value)


def test_advice_about_rows_that_are_dicts_works_when_typed():
    clf = bg.QDA().fit(IRIS, SPECIES)
    one = IRIS.iloc[0].to_dict()
    expected = clf.predict_proba(one)
    for extra in ({"extra": 1}, dict.fromkeys("abcdef", 1)):
        for X in ({**one, **extra}, [{**one, **extra}]):
            with pytest.raises(InvalidData) as refused:
                clf.predict_proba(X)
            cure = re.search(r"fit did not have, (.*)\.$", str(refused.value))[1]
            found = clf.predict_proba(eval(cure, {"X": X, "clf": clf}))
            np.testing.assert_array_equal(found, expected)
    for many in (False, True):
        X = {"petalWidth": one["petal_width"], **one}
        del X["petal_width"]
        X = [X] if many else X
        with pytest.raises(InvalidData) as refused:
            clf.predict_proba(X)
        exec(re.search(r"names of the fit, (.*)\.$", str(refused.value))[1], {"X": X})
        np.testing.assert_array_equal(clf.predict_proba(X), expected)


def test_a_table_without_any_column_that_is_read_has_the_class_prior():
    clf = bg.NaiveBayes({"petal_width": bg.Normal()}, remainder="drop").fit(IRIS, SPECIES)
    with pytest.warns(CountsAsMissing, match="lacks 1 of the 1 fitted columns"):
        found = clf.predict_proba(IRIS[["sepal_width"]])
    np.testing.assert_allclose(found, 1 / 3, rtol=1e-12)


@pytest.mark.slow
def test_a_story_of_ones_own_meets_absent_columns_as_missing_values():
    jnp = pytest.importorskip("jax.numpy")
    dist = pytest.importorskip("numpyro.distributions")
    import numpyro

    def story(x, y=None, *, n_classes):
        mean = numpyro.sample("mean", dist.Normal(0, 9).expand([n_classes, 2]).to_event(2))
        with numpyro.plate("row", len(x)):
            y = numpyro.sample("y", dist.Categorical(jnp.ones(n_classes) / n_classes), obs=y)
            seen = ~jnp.isnan(x)
            normal = dist.Normal(mean[y], 1.0).mask(seen).to_event(1)
            numpyro.sample("x", normal, obs=jnp.where(seen, x, 0.0))

    X, y = IRIS[["petal_length", "petal_width"]][::10], SPECIES[::10]
    clf = bg.GenerativeClassifier(story=story, inference="map", random_state=0).fit(X, y)
    with pytest.warns(
        CountsAsMissing, match="1 of the 2 fitted columns, the column 'petal_length'"
    ):
        found = clf.predict_proba(X[["petal_width"]])
    np.testing.assert_array_equal(found, clf.predict_proba(X.assign(petal_length=np.nan)))


def test_leaving_out_rows_needs_their_columns():
    clf = bg.NaiveBayes().fit(IRIS, SPECIES)
    with pytest.raises(bg.errors.UnsupportedOperation, match="lacks the column 'petal_width'"):
        clf.loo(IRIS.drop(columns="petal_width"), SPECIES)
    pd.testing.assert_frame_equal(clf.loo(IRIS[IRIS.columns[::-1]], SPECIES), clf.loo())


def test_impute_keeps_the_order_of_the_table():
    clf = bg.NaiveBayes().fit(IRIS, SPECIES)
    rows = ROWS[["petal_width", "sepal_length"]]
    with pytest.warns(CountsAsMissing):
        found = clf.impute(rows, random_state=0)
    assert list(found) == ["petal_width", "sepal_length", "sepal_width", "petal_length"]
    pd.testing.assert_frame_equal(found[list(rows)], rows)


@pytest.mark.filterwarnings("default")
def test_the_command_line_says_it_in_the_same_words(tmp_path, capsys):
    from bayesgen.cli import main

    model, rows = str(tmp_path / "m.bgm"), tmp_path / "rows.csv"
    bg.NaiveBayes().fit(IRIS, SPECIES).save(model)
    ROWS[["petal_width", "sepal_length"]].to_csv(rows, index=False)
    assert main(["predict", model, str(rows)]) == 0
    output = capsys.readouterr()
    reported = [
        line for line in output.err.splitlines() if "lacks 2 of the 4 fitted columns" in line
    ]
    assert len(reported) == 1
    answers = pd.read_csv(io.StringIO(output.out), dtype=str)  # pandas may parse an ulp off
    found = answers.filter(like="probability_").astype(float)
    expected = (
        bg.NaiveBayes()
        .fit(IRIS, SPECIES)
        .predict_proba(ROWS.assign(petal_length=np.nan, sepal_width=np.nan))
    )
    # both read the same fit: log-odds of about 20 differ by some ulp, 4e-15, where rows are chunked
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_arrays_have_no_names_and_need_their_number_of_columns():
    clf = bg.NaiveBayes().fit(IRIS.to_numpy(), SPECIES)
    with pytest.raises(ValueError, match="X has 3 features, but NaiveBayes is expecting 4"):
        clf.predict_proba(IRIS.to_numpy()[:, :3])
