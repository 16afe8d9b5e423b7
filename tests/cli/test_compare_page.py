"""The HTML page of a comparison: whole, self-contained, the same twice, and its figures right."""

import re

import pytest
from sklearn.linear_model import LogisticRegression

import bayesgen as bg
from bayesgen.errors import InvalidFile


@pytest.fixture(scope="module")
def comparison():
    X, y = bg.datasets.load_titanic_passengers()
    X, y = X.iloc[::6], y.iloc[::6]
    rivals = {"Bayes <exact>": bg.NaiveBayes(), "logistic": LogisticRegression(max_iter=500)}
    return bg.compare(rivals, X, y, cv=3, train_sizes=[0.5, 1.0])


@pytest.fixture(scope="module")
def page(comparison, tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "page.html"
    comparison.to_html(path, title="who <survived>")
    return path.read_text(encoding="utf-8")


def test_sections_stand_in_their_order(page):
    headings = re.findall(r"<h2>(.*?)</h2>", page)
    assert headings == [
        "Scores",
        "Difference in log loss to Bayes &lt;exact&gt;",
        "Calibration",
        "ROC curves",
        "Learning curves",
    ]
    assert "who &lt;survived&gt;" in page and "<survived>" not in page


def test_page_fetches_nothing(page):
    assert not re.search(r"<script|<link|<img|@import|url\((?!#)", page)
    assert {a for a in re.findall(r'(?:src|href)="([^"]*)"', page) if a[0] != "#"} == set()


def test_page_states_the_scores(comparison, page):
    for name, loss in comparison.table["log_loss"].items():
        error = comparison.table.loc[name, "log_loss_se"]
        assert f"{loss:.3f}±{error:.3f}".replace("±0.", "±.") in page
    best = comparison.table["log_loss"].idxmin()
    assert f"{best} has the lowest log loss".replace("<", "&lt;").replace(">", "&gt;") in page


def test_page_says_for_whom_the_table_was_prepared(page):
    assert re.search(r"Prepared: logistic \([^;<]*Imputer", page)
    assert "<th>prepared" not in page


def test_page_is_the_same_twice(comparison, page, tmp_path):
    comparison.to_html(tmp_path / "again.html", title="who <survived>")
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == page


def test_missing_folder_is_refused(comparison, tmp_path):
    with pytest.raises(InvalidFile, match="nowhere"):
        comparison.to_html(tmp_path / "nowhere" / "page.html")
