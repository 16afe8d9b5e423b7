"""Columns of text with a level for nearly every row: no features of any classifier, and said so."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bayesgen as bg
from bayesgen.cli import main
from bayesgen.errors import InvalidData, SuspiciousColumn

N = 120
RNG = np.random.default_rng(3)
Y = np.array(["p", "q"])[np.arange(N) % 2]
X = pd.DataFrame({"x": RNG.normal(size=N) + (Y == "p"), "g": RNG.choice(list("abc"), N)})
NAMES = np.array([f"name {i}" for i in range(N)], dtype=object)
TEXTS = np.array([f"number {i} of many short texts" for i in range(N)], dtype=object)
MAKES = {
    "naive Bayes": lambda: bg.NaiveBayes(random_state=0),
    "any likelihood": lambda: bg.GenerativeClassifier(random_state=0),
    "LDA": lambda: bg.LDA(levels="indicators", random_state=0),
    "stack": lambda: bg.StackedClassifier(["naive", "indicators"], random_state=0),
    "stated members": lambda: bg.StackedClassifier(
        {"one": bg.NaiveBayes(), "two": bg.NaiveBayes(columns="average")}, random_state=0
    ),
}


def silently(call, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call(*arguments)


@pytest.mark.parametrize("make", MAKES)
def test_a_fit_with_an_identifier_is_the_fit_without_it(make, tmp_path):
    rows = X.assign(name=NAMES)[["name", "x", "g"]]
    with pytest.warns(SuspiciousColumn, match="'name' has 120 levels in 120 rows; .* ignored") as w:
        clf = MAKES[make]().fit(rows, Y)
    assert len(w) == 1
    wanted = silently(MAKES[make]().fit, X, Y).predict_proba(X)
    assert clf.feature_names_in_.tolist() == ["name", "x", "g"]
    np.testing.assert_array_equal(silently(clf.predict_proba, rows), wanted)
    # new rows have other names, none, or numbers there
    for other in (X, rows.assign(name="one"), rows.assign(name=1.5)):
        np.testing.assert_array_equal(silently(clf.predict_proba, other), wanted)
    clf.save(tmp_path / "m.bgm")
    np.testing.assert_array_equal(bg.load(tmp_path / "m.bgm").predict_proba(rows), wanted)
    more = rows[:30].assign(name=[f"another {i}" for i in range(30)])
    if isinstance(clf, bg.StackedClassifier):  # is fitted anew to all rows
        with pytest.warns(SuspiciousColumn, match="'name' has 150 levels in 150 rows; .* ignored"):
            clf.partial_fit(more, Y[:30])
    else:
        silently(clf.partial_fit, more, Y[:30])
    again = MAKES[make]().fit(X, Y).partial_fit(X[:30], Y[:30])
    np.testing.assert_array_equal(clf.predict_proba(rows), again.predict_proba(X))


@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
@pytest.mark.parametrize("make", ["naive Bayes", "LDA"])
def test_the_law_notices_an_identifier_that_is_read(make, monkeypatch):
    rows = X.assign(name=NAMES)
    monkeypatch.setattr("bayesgen.estimators.estimator.identifiers", lambda *_: [])
    found = MAKES[make]().fit(rows, Y).predict_proba(rows)
    assert not np.allclose(found, MAKES[make]().fit(X, Y).predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("container", [pl.from_pandas, pa.Table.from_pandas])
def test_identifiers_of_every_container(container):
    with pytest.warns(SuspiciousColumn, match="it is taken for an identifier, and ignored"):
        clf = bg.NaiveBayes().fit(container(X.assign(name=NAMES)), Y)
    np.testing.assert_array_equal(clf.predict_proba(X), bg.NaiveBayes().fit(X, Y).predict_proba(X))


IDENTIFIERS = {
    "names": (NAMES, True),
    "nearly a level for every row": (np.where(np.arange(N) < 12, "name", NAMES), True),
    "some missing": (np.where(np.arange(N) % 3 == 0, None, NAMES), True),
    "codes with zeros": (np.array([f"{i:05d}" for i in range(N)], dtype=object), True),
    "dates": (pd.date_range("2020-01-01", periods=N).astype(str).to_numpy(object), True),
    "half of the rows": (np.where(np.arange(N) % 2, "name", NAMES), False),
    "levels of two rows": (np.repeat(NAMES[: N // 2], 2), False),
    "few observed": (np.where(np.arange(N) < 20, NAMES, None), False),
    "declared": (pd.Categorical(NAMES), False),
    "whole numbers": (RNG.permutation(N), False),
    "numbers as text": (RNG.normal(size=N).astype(str).astype(object), False),
    "amounts": (np.array([f"${i},000" for i in range(N)], dtype=object), False),
    "shares": (np.array([f"{i / 7:.2f}%" for i in range(N)], dtype=object), False),
    "units": (np.array([f"{i} kg" for i in range(N)], dtype=object), False),
}


@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
@pytest.mark.parametrize("kind", IDENTIFIERS)
def test_what_is_taken_for_an_identifier(kind):
    cells, ignored = IDENTIFIERS[kind]
    clf = bg.NaiveBayes().fit(X.assign(name=cells), Y)
    assert ("name" not in clf.state_.schema.used()) == ignored


def test_in_few_rows_there_is_none():
    silently(bg.NaiveBayes().fit, X.assign(name=NAMES)[:20], Y[:20])


def test_a_column_with_a_likelihood_of_its_own_is_read():
    likelihood = {"name": bg.Categorical(), "x": bg.Normal()}
    rows = X[["x"]].assign(name=NAMES)
    with pytest.warns(SuspiciousColumn, match="it looks like an identifier"):
        clf = bg.NaiveBayes(likelihood).fit(rows, Y)
    assert clf.state_.schema.used() == {"name", "x"}
    with pytest.warns(SuspiciousColumn, match="it looks like an identifier"):
        silently(bg.NaiveBayes({"x": bg.Normal()}, remainder="drop").fit, rows, Y)
        bg.NaiveBayes(likelihood).fit(rows, Y)


def test_groups_are_no_identifier():
    rows = X.assign(site=np.where(np.arange(N) < 6, "name 6", NAMES))
    with pytest.raises(InvalidData, match="'site', which groups= names, has 114 values"):
        silently(bg.NaiveBayes(groups="site").fit, rows, Y)


def test_rivals_are_compared_without_it_too():
    rows = X.assign(name=NAMES)
    clf = {"Bayes": bg.NaiveBayes()}
    options = {"cv": 3, "rivals": ["logistic", "frequencies"], "progress": False}
    found, wanted = bg.compare(clf, rows, Y, **options), bg.compare(clf, X, Y, **options)
    assert found.table.log_loss.to_dict() == wanted.table.log_loss.to_dict()
    assert any(
        "'name' has 120 levels" in str(note) and "ignored" in str(note) for note in found.noted
    )


def test_texts_have_a_bag_of_words():
    rows = X.assign(text=TEXTS)
    with pytest.warns(SuspiciousColumn, match="'text' holds texts") as caught:
        bg.NaiveBayes().fit(rows, Y)
    (cure,) = re.findall(r"bg\.BagOfWords\(\)\.fit\(.*\)", str(caught[0].message))
    assert eval(cure, {"bg": bg, "X": rows, "y": Y}).predict(TEXTS).shape == (N,)
    with pytest.raises(InvalidData, match=r"'text' holds texts.*no other feature") as refused:
        bg.NaiveBayes().fit(rows[["text"]], Y)
    assert cure in str(refused.value)
    with pytest.raises(InvalidData, match=r"a level for nearly every row.*no other feature"):
        bg.StackedClassifier().fit(pd.DataFrame({"name": NAMES}), Y)


def test_a_column_of_texts_is_read_from_tables_and_files(tmp_path):
    words = RNG.choice(["win", "cash", "now", "home", "love"], (N, 6))
    texts = [" ".join(row) for row in words]
    wanted = bg.BagOfWords().fit(texts, Y)
    frame = pd.DataFrame({"text": texts})
    for rows in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        clf = bg.BagOfWords().fit(rows, Y)
        np.testing.assert_array_equal(clf.predict_proba(rows), wanted.predict_proba(texts))
        np.testing.assert_array_equal(clf.predict_proba(texts), wanted.predict_proba(texts))
    # other columns beside it do not count later
    beside = frame.assign(other=1.0)[["other", "text"]]
    np.testing.assert_array_equal(clf.predict_proba(beside), wanted.predict_proba(texts))
    frame.assign(label=Y).to_csv(tmp_path / "rows.csv", index=False)
    clf = bg.BagOfWords().fit(tmp_path / "rows.csv", y="label")
    clf.save(tmp_path / "m.bgm")
    answers = bg.load(tmp_path / "m.bgm").predict_proba(tmp_path / "rows.csv").read_all()
    np.testing.assert_array_equal(answers["probability_p"], wanted.predict_proba(texts)[:, 0])
    with pytest.raises(InvalidData, match="has no column 'text', which held the texts of the fit"):
        clf.predict(frame.rename(columns={"text": "message"}))
    with pytest.raises(InvalidData, match="holds texts in column 'text', beside other columns"):
        bg.BagOfWords().fit(X.assign(text=TEXTS), Y)


@pytest.mark.filterwarnings("always")
def test_the_command_line_says_it_first_and_its_advice_works(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = RNG.choice(["win", "cash", "now", "home", "love", "you"], (N, 9))
    frame = pd.DataFrame({"msg": [f"{' '.join(w)} {i}" for i, w in enumerate(words)], "label": Y})
    frame.to_csv("texts.csv", index=False)
    fit = ["fit", "texts.csv", "--target", "label", "--out", "m.bgm"]
    assert main(fit) == 1
    assert "Add --model bag-of-words." in capsys.readouterr().err
    assert main([*fit, "--model", "bag-of-words"]) == 0
    assert main(["predict", "m.bgm", "texts.csv", "--out", "p.csv"]) == 0
    assert len(pd.read_csv("p.csv")) == N
    compared = ["compare", "texts.csv", "--target", "label", "--train-rows", "all", "--cv", "2"]
    capsys.readouterr()
    assert main([*compared, "--model", "bag-of-words"]) == 0
    printed = capsys.readouterr()
    assert "logistic" in printed.out and "500 most frequent words" in printed.err
    frame.assign(x=X["x"]).to_csv("texts.csv", index=False)
    assert main([*fit, "--model", "naive-bayes"]) == 0
    printed = capsys.readouterr()
    assert "add --columns msg --model bag-of-words" in printed.err
    assert "Normal for x" in printed.out and "Categorical" not in printed.out
    assert main([*fit, "--columns", "msg", "--model", "bag-of-words"]) == 0


@pytest.mark.filterwarnings("ignore::bayesgen.errors.SuspiciousColumn")
@pytest.mark.parametrize(
    "make", [bg.NaiveBayes, lambda: bg.StackedClassifier(["naive", "bins"], progress=False)]
)
def test_levels_that_the_first_rows_do_not_share_are_levels_in_any_split(make):
    """All of the first rows differ in a column of which later rows share the levels."""
    rng = np.random.default_rng(0)
    ward = np.r_[0:24, rng.integers(24, size=176)]
    y = np.where(rng.random(200) < 0.2 + 0.6 * (ward % 2), "ill", "well")
    X = pd.DataFrame({"ward": [f"w{k}" for k in ward], "dose": rng.normal(size=200)})
    whole, parts = make().fit(X, y), make()
    for rows in (slice(0, 24), slice(24, 90), slice(90, 200)):
        parts.partial_fit(X[rows], y[rows])
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-9)
    alone = make().fit(X[["dose"]], y).predict_proba(X[["dose"]])
    assert np.abs(whole.predict_proba(X) - alone).max() > 0.1
