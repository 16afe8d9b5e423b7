"""pandas, polars, pyarrow and NumPy give the same answers, and sample gives the same kind back."""

from contextlib import nullcontext

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import bayesgen as bg


@pytest.mark.parametrize("make", [bg.NaiveBayes, bg.QDA])
def test_containers_of_numbers_agree(make, iris):
    X, y = iris
    expected = make().fit(X, y).predict_proba(X)
    for rows, labels in [
        (pl.from_pandas(X), pl.from_pandas(y)),
        (pa.Table.from_pandas(X), pa.array(y)),
        (X.to_numpy(), y.to_numpy()),
        (X.to_numpy(dtype="float32").astype(float), y.tolist()),
    ]:
        fitted = make().fit(rows, labels)
        np.testing.assert_allclose(fitted.predict_proba(rows), expected, rtol=0, atol=1e-5)
        assert list(fitted.classes_) == sorted(set(y))
    np.testing.assert_allclose(fitted.predict_proba(X.to_numpy()), expected, rtol=0, atol=1e-5)


def test_rows_as_dicts_are_rows(passengers):
    """One as a dict of single values, several as a list of them, for every question about rows."""
    X, y = passengers
    fitted = bg.NaiveBayes().fit(X, y)
    rows, labels = X.iloc[:9], y.iloc[:9]
    dicts, one = rows.to_dict("records"), rows.iloc[0].to_dict()
    assert bg.NaiveBayes().fit(dicts, labels).classes_.tolist() == ["no", "yes"]
    questions = (
        fitted.predict_proba,
        fitted.predict,
        fitted.predict_interval,
        fitted.score_samples,
        fitted.evidence,
        fitted.feature_value,
        lambda X: fitted.impute(X, random_state=0),
        lambda X: fitted.conditional(X, random_state=0),
    )
    for question in questions:
        for asked, frame in ((dicts, rows), (one, rows[:1])):
            answer, expected = question(asked), question(frame)
            np.testing.assert_array_equal(np.asarray(answer), np.asarray(expected))
    table = X.iloc[:90].assign(survived=y)
    from_dicts = bg.LDA(levels="indicators", random_state=0).fit(
        table.to_dict("records"), "survived"
    )
    expected = (
        bg.LDA(levels="indicators", random_state=0).fit(table, "survived").predict_proba(rows)
    )
    np.testing.assert_array_equal(from_dicts.predict_proba(dicts), expected)
    np.testing.assert_array_equal(
        bg.StackedClassifier([bg.NaiveBayes()], progress=False).fit(X, y).predict_proba(dicts),
        bg.StackedClassifier([bg.NaiveBayes()], progress=False).fit(X, y).predict_proba(rows),
    )


def test_cells_that_a_dict_omits_are_missing(passengers):
    X, y = passengers
    fitted = bg.NaiveBayes().fit(X, y)
    unknown = dict.fromkeys(X.columns)
    expected = fitted.predict_proba(X[:1].assign(**{n: None for n in X if n != "sex"}))
    np.testing.assert_array_equal(fitted.predict_proba(unknown | {"sex": X.sex[0]}), expected)
    with pytest.warns(bg.errors.CountsAsMissing, match="as None for each of them does in a dict"):
        np.testing.assert_array_equal(fitted.predict_proba({"sex": X.sex[0]}), expected)
    # no warning, because another row has the other columns
    two = fitted.predict_proba([X.iloc[1].to_dict(), {"sex": X.sex[0]}])
    np.testing.assert_array_equal(two[1:], expected)


def test_advice_about_a_series_works_for_a_row_and_a_column(passengers):
    X, y = passengers
    fitted = bg.NaiveBayes().fit(X, y)
    with pytest.raises(bg.errors.InvalidData, match=r"X\.to_frame\(\)\.T if it is a row"):
        fitted.predict_proba(X.iloc[0])
    expected = fitted.predict_proba(X.iloc[[0]])
    np.testing.assert_array_equal(fitted.predict_proba(X.iloc[0].to_frame().T), expected)


def test_containers_of_mixed_columns_agree(passengers):
    X, y = passengers
    fitted = bg.NaiveBayes().fit(X, y)
    expected = fitted.predict_proba(X)
    for rows in (pl.from_pandas(X), pa.Table.from_pandas(X), X.to_numpy(dtype=object)):
        again = bg.NaiveBayes().fit(rows, y)
        np.testing.assert_allclose(again.predict_proba(rows), expected, rtol=0, atol=1e-12)
        # fitted on one container, asked about another
        nameless = isinstance(rows, np.ndarray)
        with pytest.warns(UserWarning, match="valid feature names") if nameless else nullcontext():
            np.testing.assert_allclose(fitted.predict_proba(rows), expected, rtol=0, atol=1e-12)
    assert fitted.feature_names_in_.tolist() == ["sex", "age", "passengerClass"]
    assert fitted.n_features_in_ == 3


def test_sample_gives_the_container_back(passengers):
    X, y = passengers
    rows = {
        "pandas": X,
        "polars": pl.from_pandas(X),
        "pyarrow": pa.Table.from_pandas(X, preserve_index=False),
        "numpy": X.to_numpy(dtype=object),
    }
    for container, table in rows.items():
        clf = bg.NaiveBayes().fit(table, y)
        drawn, labels = clf.sample(40, random_state=1)
        assert type(drawn) is type(table), container
        assert drawn.shape == (40, 3)
        assert set(labels) <= set(clf.classes_)
        again, _ = clf.sample(40, random_state=1)
        clf.predict_proba(drawn)
        np.testing.assert_array_equal(
            clf.predict_proba(drawn), clf.predict_proba(again), err_msg=container
        )


def test_sample_follows_the_model(iris):
    X, y = iris
    X, labels = bg.QDA().fit(X, y).sample(3000, random_state=0)
    assert list(X) == list(bg.datasets.load_iris()[0])
    real, target = bg.datasets.load_iris()
    for name in set(labels):
        # within 5 standard errors of the mean (false alarm: 12 x 6e-7)
        error = 5 * X[labels == name].std() / np.sqrt((labels == name).sum())
        off = X[labels == name].mean() - real[target == name].mean()
        assert (off.abs() < error + 0.1 * real[target == name].std()).all()
    assert (bg.QDA().fit(X, labels).predict(real) == target).mean() > 0.95
