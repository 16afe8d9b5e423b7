"""What asks for numbers beside a fit takes those that are text: reports, plots, comparisons."""

import re

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen import prevalence
from bayesgen.cli import facts
from bayesgen.compare.subgroups import Subgroups
from bayesgen.schema import in_numbers
from bayesgen.table import read_table

rng = np.random.default_rng(3)
Y = pd.Series(np.where(np.arange(60) % 2, "no", "yes"), name="y")
X = pd.DataFrame(
    {
        "share": np.round(40 + 10 * rng.normal(size=60) + 12 * (Y == "yes"), 1),
        "dose": rng.choice([5.0, 10.0, 20.0], 60),
        "sex": rng.choice(["f", "m"], 60),
    }
)
T = X.assign(share=[f"{x:g} %" for x in X["share"]], dose=[f"{x:g} %" for x in X["dose"]])


pytestmark = pytest.mark.filterwarnings("ignore:column '(share|dose)' is read as")


def test_numbers_are_numbers_and_words_are_words():
    found = in_numbers(read_table(T))
    assert [column.kind for column in found.columns] == ["number", "number", "level"]
    np.testing.assert_array_equal(found.columns[0].values, X["share"])
    assert facts.kinds_of_columns(read_table(T)) == {"numeric": 2, "categorical": 1}
    assert in_numbers(read_table(X.to_numpy()[:, :2].astype(float))).matrix is not None


def test_a_report_shows_the_range_and_the_cells_as_they_are_written(tmp_path):
    path = tmp_path / "report.html"
    bg.NaiveBayes().fit(T, Y).report_html(path, T, Y, cv=2, random_state=0)
    text = re.sub(r"<[^>]*>", " ", path.read_text())
    text = " ".join(text.split())
    assert "dose number 5 to 20, median 10" in text
    assert "sex 2 levels" in text
    assert len(re.findall(r"[\d.]+ % (?:5|10|20) % [fm]", text)) >= 20  # in tables of rows


def test_a_comparison_fits_every_classifier_to_the_numbers():
    from sklearn.linear_model import LogisticRegression

    rivals = {"bayes": bg.NaiveBayes(), "logistic": LogisticRegression()}
    found, expected = (bg.compare(rivals, rows, Y, cv=3, random_state=0) for rows in (T, X))
    pd.testing.assert_series_equal(found.table["log_loss"], expected.table["log_loss"], rtol=1e-9)
    assert [note.split(":")[0] for note in found.notes] == [
        f"column {name!r} is read as numbers such as {text!r}"
        for name, text in (("share", "12.5 %"), ("dose", "12 %"))
    ]


def test_subgroups_are_in_the_order_of_the_numbers():
    groups = Subgroups.read("dose", read_table(T), T)
    assert groups.labels == ("5 %", "10 %", "20 %", "(missing)")
    expected = Subgroups.read("dose", read_table(X), X)
    np.testing.assert_array_equal(groups.codes, expected.codes)


def test_columns_are_drawn_over_the_numbers():
    pytest.importorskip("matplotlib").use("agg")
    clf, plain = bg.NaiveBayes().fit(T, Y), bg.NaiveBayes().fit(X, Y)
    pair = ("share", "dose")
    found, expected = (
        bg.plots.DensityDisplay.from_estimator(c, rows, Y, features=pair, points=8)
        for c, rows in ((clf, T), (plain, X))
    )
    np.testing.assert_allclose(found.log_density, expected.log_density, rtol=1e-9)
    one, other = (
        bg.plots.FeatureDisplay.from_estimator(c, rows, Y).columns
        for c, rows in ((clf, T), (plain, X))
    )
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a.density, b.density, rtol=1e-9)
        np.testing.assert_array_equal(a.at, b.at)


def test_label_shift_compares_the_numbers():
    found = prevalence.cells.cells_by_column(read_table(T), read_table(T[:20]))
    expected = prevalence.cells.cells_by_column(read_table(X), read_table(X[:20]))
    mixed = prevalence.cells.cells_by_column(read_table(T), read_table(X[:20]))
    for name in X:
        for cells, others, same in zip(found[name], mixed[name], expected[name], strict=True):
            np.testing.assert_array_equal(cells, same)
            np.testing.assert_array_equal(others, same)
