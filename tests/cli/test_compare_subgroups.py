"""Scores by subgroup: levels partition the rows, scores are those of their own rows."""

import dataclasses
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

import bayesgen as bg
from bayesgen.cli import main
from bayesgen.errors import InvalidArgument, InvalidData

SCORES = ("log_loss", "brier", "accuracy")


@pytest.fixture(scope="module")
def titanic():
    X, y = bg.datasets.load_titanic_passengers()
    X, y = X.iloc[::4].reset_index(drop=True), y.iloc[::4].reset_index(drop=True)
    rng = np.random.default_rng(0)
    X["deck"] = pd.Series(rng.choice(["A", "B", "<i>C</i>"], len(X))).where(
        rng.random(len(X)) > 0.2
    )
    X["twins"] = rng.integers(0, 3, len(X)).astype(float)
    X.loc[::7, "twins"] = np.nan
    return X, y


CLASSIFIERS = {"exact": bg.NaiveBayes(), "MLE": bg.NaiveBayes(inference="mle", unlabelled=None)}


def compared(X, y, **options):
    return bg.compare(CLASSIFIERS, X, y, cv=3, progress=False, **options)


def violations(found, values, table=None):
    """Return what the subgroups of a comparison by the values of a column in X violate."""
    table, broken = found.subgroups if table is None else table, set()
    for name, lines in table.groupby(level="classifier"):
        weight = lines["rows"] / len(found.y)
        for score in SCORES:
            if not np.isclose((weight * lines[score]).sum(), found.table.loc[name, score]):
                broken.add("the rows of all levels are the rows of the table")
    values = pd.Series(values).reset_index(drop=True).loc[found.rows]
    values = values.astype(object).map(lambda v: "(missing)" if pd.isna(v) else str(v))
    values = values.str.removesuffix(".0").to_numpy()
    for (name, level), line in table.iterrows():
        rows = values == level
        true = found.probabilities[name][rows][np.arange(rows.sum()), found.y[rows]]
        right = found.probabilities[name][rows].argmax(axis=1) == found.y[rows]
        if line["rows"] != rows.sum() or not np.isclose(line["log_loss"], -np.log(true).mean()):
            broken.add("a level has its own rows")
        if not np.isclose(line["log_loss_se"], np.log(true).std(ddof=1) / np.sqrt(len(true))):
            broken.add("errors are over the rows")
        if not np.isclose(line["accuracy"], right.mean()):
            broken.add("a level has its own rows")
    return broken


@pytest.mark.parametrize("column", ["sex", "deck", "twins", "passengerClass"])
def test_subgroups_obey_their_laws(titanic, column):
    X, y = titanic
    if column == "deck":  # rows without a label are not scored
        y = y.where(y.index % 5 > 0, None)
    found = compared(X, y, by=column)
    assert violations(found, X[column]) == set()
    assert found.subgroups.index.names == ["classifier", column]


@pytest.fixture(scope="module")
def by_deck(titanic):
    return compared(*titanic, by="deck")


FAULTS = {
    "missing cells are dropped": lambda by, rows: dataclasses.replace(
        by, codes=np.where(by.codes == len(by.labels) - 1, -9, by.codes)
    ),
    "rows stand in the order of X": lambda by, rows: dataclasses.replace(
        by, codes=by.codes[np.argsort(rows)]
    ),
    "two levels change places": lambda by, rows: dataclasses.replace(
        by, codes=np.where(by.codes < 2, 1 - by.codes, by.codes)
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_laws_catch_planted_faults(titanic, by_deck, fault, monkeypatch):
    by = FAULTS[fault](by_deck.by, by_deck.rows)
    monkeypatch.setattr(
        type(by), "__iter__", lambda self: ((k, self.codes == i) for i, k in enumerate(self.labels))
    )
    if fault == "missing cells are dropped":
        by = dataclasses.replace(by, labels=by.labels[:-1])
    assert violations(dataclasses.replace(by_deck, by=by), titanic[0]["deck"])


def test_law_catches_errors_of_another_number_of_rows(titanic, by_deck):
    table = by_deck.subgroups
    table = table.assign(
        log_loss_se=table["log_loss_se"] * np.sqrt(table["rows"] / len(titanic[0]))
    )
    assert violations(by_deck, titanic[0]["deck"], table) == {"errors are over the rows"}


def test_classes_are_no_groups(capsys):
    assert main(["compare", "titanic_passengers", "--groups", "survived"]) == 1
    assert "--groups survived: this column holds the classes" in capsys.readouterr().err


def test_classes_are_no_subgroups(titanic, capsys):
    """In the rows of one class, calibrated probabilities of it look overconfident or timid."""
    X, y = titanic
    for classes in (y, y.map({"no": 7, "yes": 3}), y.where(y.index % 5 > 0, None)):
        with pytest.raises(InvalidArgument, match=r"holds the classes.*confusion table"):
            compared(X, classes, by=y)
    for command in (["compare"], ["report", "--html", "never.html"]):
        assert main([command[0], "titanic_passengers", *command[1:], "--by", "survived"]) == 1
        assert "--by survived: this column holds the classes" in capsys.readouterr().err


def test_values_go_by_their_index(titanic, by_deck):
    X, y = titanic
    found = compared(X, y, by=X["deck"].sample(frac=1, random_state=0)).subgroups
    pd.testing.assert_frame_equal(
        found.rename_axis(index=["classifier", "deck"]), by_deck.subgroups
    )
    other = X["deck"].set_axis(range(1, len(X) + 1))
    with pytest.raises(InvalidArgument, match=r"another index.* Pass by=by.to_numpy\(\)"):
        compared(X, y, by=other)
    assert compared(X, y, by=other.to_numpy()).subgroups.equals(
        found.rename_axis(index=["classifier", "subgroup"])
    )


@pytest.mark.parametrize(
    "of",
    [
        lambda x: x,
        list,
        np.asarray,
        pl.Series,
        lambda x: x.astype("category"),
        lambda x: x.astype("string"),
    ],
)
def test_values_in_any_container_are_the_column(titanic, by_deck, of):
    X, y = titanic
    found = compared(X, y, by=of(X["deck"])).subgroups
    pd.testing.assert_frame_equal(
        found.rename_axis(index=["classifier", "deck"]), by_deck.subgroups
    )


def test_a_level_that_is_called_missing_stays_apart(titanic):
    X, y = titanic
    levels = X["deck"].replace("A", "(missing)")
    rows = compared(X, y, by=levels).subgroups.loc["exact", "rows"]
    assert rows["(missing)"] == (X.deck == "A").sum()
    assert rows["((missing))"] == X.deck.isna().sum()


def test_texts_of_numbers_are_levels_as_they_are(titanic):
    X, y = titanic
    levels = X["deck"].replace({"A": "1", "B": "1.0"})
    rows = compared(X, y, by=levels).subgroups.loc["exact", "rows"]
    assert rows["1"] == (X.deck == "A").sum() and rows["1.0"] == (X.deck == "B").sum()


def test_numbers_of_many_values_are_refused_with_a_cure_that_works(titanic):
    X, y = titanic
    with pytest.raises(InvalidArgument, match=r"'age' has .* Pass by=pandas.cut\(X\['age'\], 4\)"):
        compared(X, y, by="age")
    found = compared(X, y, by=pd.cut(X["age"], 4)).subgroups
    assert len(found.loc["exact"]) == 5 and found.index[-1][1] == "(missing)"
    with pytest.raises(InvalidArgument, match="Merge its levels"):
        compared(X, y, by=[f"row {i}" for i in range(len(X))])
    with pytest.raises(InvalidArgument, match=r"shape \(2,\)"):
        compared(X, y, by=[1, 2])
    with pytest.raises(InvalidData, match="dates"):
        compared(X, y, by=pd.Series(pd.Timestamp("2020-01-01"), index=X.index))


def test_scores_of_one_row_have_no_error(titanic):
    X, y = titanic
    found = compared(X, y, by=np.where(X.index == 3, "one", "others"))
    assert np.isnan(found.subgroups.loc[("exact", "one"), "log_loss_se"])
    assert "nan" not in repr(found).lower()


def test_without_by_nothing_changes(titanic, by_deck):
    found = compared(*titanic)
    assert found.by is None and len(found.subgroups) == 0
    assert "Subgroups" not in repr(found)
    for name, proba in found.probabilities.items():
        np.testing.assert_array_equal(proba, by_deck.probabilities[name])


def test_text_and_page_show_the_scores_escaped(by_deck, tmp_path):
    assert "Scores by deck" in repr(by_deck) and "Subgroups: " in repr(by_deck)
    by_deck.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h2>Scores by deck</h2>" in page
    assert "&lt;i&gt;C&lt;/i&gt;" in page and "<i>C</i>" not in page
    line = by_deck.subgroups.loc[("exact", "A")]
    assert f"{line['overconfidence']:+.1f}" in page


def test_command_scores_a_column_that_is_no_feature(titanic, tmp_path, capsys):
    X, y = titanic
    X.assign(survived=y).to_csv(tmp_path / "rows.csv", index=False)
    command = ["compare", str(tmp_path / "rows.csv"), "--target", "survived", "--cv", "3"]
    command += ["--methods", "exact", "--rivals", "none", "--train-rows", "all", "--json"]
    assert main([*command, "--by", "deck", "--drop", "deck"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["columns"]["categorical"] == 2
    found = bg.compare(
        {"exact Bayes": bg.NaiveBayes(random_state=0)}, X.drop(columns="deck"), y, cv=3, by=X.deck
    )
    lines = found.subgroups.reset_index()
    for line, expected in zip(facts["subgroups"], lines.to_dict("records"), strict=True):
        assert line["deck"] == expected["deck"] and line["rows"] == expected["rows"]
        assert line["log_loss"] == pytest.approx(expected["log_loss"])
    assert main([*command, "--by", "dek"]) == 1
    assert "no column 'dek' (did you mean 'deck'?)" in capsys.readouterr().err
    assert main([*command, "--by", "age"]) == 1
    assert "Write a coarser column into the file" in capsys.readouterr().err


@pytest.mark.slow
def test_intervals_of_a_small_subgroup_cover():
    """Log loss of 40 rows under true probabilities: 95 % of the intervals of 2 errors, 4,000 times.

    The standard error of the share is .0034; losses are skewed, so that a little is lost.
    """
    from bayesgen.compare.subgroups import Subgroups

    rng, repeats, n = np.random.default_rng(0), 4000, 40
    p = rng.uniform(0.1, 0.9, (repeats, n))
    y = (rng.random(p.shape) < p).astype(int)
    by = Subgroups("run", tuple(map(str, range(repeats))), np.repeat(np.arange(repeats), n))
    proba = np.column_stack([1 - p.ravel(), p.ravel()])
    table = by.scores(y.ravel(), {"true": proba})
    entropy = -(p * np.log(p) + (1 - p) * np.log(1 - p)).mean(axis=1)
    z = (table["log_loss"].to_numpy() - entropy) / table["log_loss_se"].to_numpy()
    assert abs((np.abs(z) < 2).mean() - 0.95) < 0.02
    assert abs((np.abs(table["overconfidence"]) < 1.96).mean() - 0.95) < 3 * 0.0034
