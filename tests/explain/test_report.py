"""The HTML report: self-contained, about the user's names, and a browser shows it."""

import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest

import bayesgen as bg
from bayesgen.cli import main
from bayesgen.report import report_html

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-quic"),
)


class Page(HTMLParser):
    """The headings, the words and the addresses of a page, and whether its tags match."""

    VOID = ("meta", "br", "hr", "img", "link", "input")

    def __init__(self, text):
        super().__init__()
        self.open, self.words, self.fetched = [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.fetched += [value for name, value in attrs if name in ("src", "href") and value]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.fetched += [value for name, value in attrs if name in ("src", "href") and value]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def titanic():
    X, y = bg.datasets.load_titanic_passengers()
    X, y = X.iloc[::5].reset_index(drop=True), y.iloc[::5].reset_index(drop=True)
    return bg.NaiveBayes(random_state=0).fit(X, y), X, y


@pytest.fixture(scope="module")
def page(titanic):
    clf, X, y = titanic
    return report_html(clf, X, y, title="who <survived>")


def test_page_is_whole_and_fetches_nothing(page):
    found = Page(page)
    assert not [address for address in found.fetched if not address.startswith("#")]
    assert not re.search(r"@import|url\(http|<script", page)
    text = " ".join(found.words)
    for heading in (
        *("Data and missing values", "The model", "The posterior"),
        *(
            "Diagnostics",
            "Uncertainty of the probabilities",
            "Least certain rows",
            "Least typical rows",
        ),
    ):
        assert heading in text
    assert "who <survived>" in text and "<survived>" not in page
    assert "Closed form: nothing approximated." in text
    assert "normal.mean[no, age]" in text and "dist.InverseGamma" in text


def test_page_shows_missing_values_and_odd_rows(titanic, page):
    clf, X, _ = titanic
    assert f"{X.age.isna().mean():.1%}".replace("%", " %") in page
    assert f"median {X.age.median():.5g}" in page
    assert f"{X.sex.mode()[0]} ({X.sex.value_counts().max()})" in page
    proba = clf.predict_proba(X)
    least = int(np.abs(proba[:, 0] - 0.5).argmin())
    assert re.search(rf"<th>{least}</th>", page)
    strangest = int(np.argsort(clf.typicality(X), kind="stable")[0])
    assert re.search(rf"<th>{strangest}</th>", page)


def test_page_is_the_same_twice(titanic, page):
    clf, X, y = titanic
    again = report_html(clf, X, y, title="who <survived>")
    seconds = re.compile(r"Inference took .* seconds")
    assert seconds.sub("", again) == seconds.sub("", page)


def test_page_of_a_point_estimate(titanic):
    _, X, y = titanic
    clf = bg.NaiveBayes(inference="mle").fit(X, y)
    found = " ".join(Page(report_html(clf, X, y, title="point")).words)
    assert "A point estimate" in found and "Uncertainty of the prob" not in found


@pytest.fixture(scope="module")
def stack_page(titanic):
    _, X, y = titanic
    stack = bg.StackedClassifier(random_state=0).fit(X, y)
    return stack, " ".join(" ".join(Page(report_html(stack, X, y, title="stack")).words).split())


def test_page_of_a_stack(stack_page):
    """The pools, the table of members, and blocks of one likelihood together."""
    stack, text = stack_page
    assert f"has {100 * stack.pool_share_:.0f} % of the weight" in text
    assert "Weights of the members" in text and "Members of a stack: log loss" in text
    for name, loss in stack.members_table()["leave_one_out_log_loss"].items():
        assert f"{name} {loss:.3f}" in text
    assert "naive: sex, passengerClass" in text and "6 priors averaged by evidence" in text
    assert "linear over indicators: age missing" in text and "sex missing" not in text
    assert "rows judged 262" in text and "leave-one-out log loss of" not in text


def test_page_of_weighed_columns(titanic):
    _, X, y = titanic
    clf = bg.NaiveBayes(temper="columns").fit(X, y)
    text = " ".join(Page(report_html(clf, X, y, title="columns")).words)
    assert "Weights of the columns" in text and "The posterior" in text
    assert "This is a stack" not in text and "age.mean[no, age]" in text


def test_command(tmp_path, capsys):
    html = tmp_path / "iris.html"
    assert main(["report", "iris", "--model", "lda", "--html", str(html), "--cv", "3"]) == 0
    text = " ".join(Page(html.read_text(encoding="utf-8")).words)
    assert "Comparison with other classifiers" in text and "logistic regression" in text
    assert "Reliability of exact Bayes, out of fold" in text
    assert "page" in capsys.readouterr().out


def test_command_takes_a_fitted_model(tmp_path, titanic):
    clf, X, y = titanic
    model, html, rows = (tmp_path / name for name in ("m.bgm", "m.html", "rows.csv"))
    clf.save(model)
    X.assign(survived=y).to_csv(rows, index=False)
    command = ["report", str(rows), "--target", "survived", "--fitted", str(model)]
    assert main([*command, "--html", str(html)]) == 0
    assert "Comparison with other classifiers" not in html.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine to show the page")
def test_a_browser_shows_it(page, tmp_path):
    from matplotlib.image import imread

    html, picture = tmp_path / "page.html", tmp_path / "page.png"
    html.write_text(page, encoding="utf-8")
    options = (f"--user-data-dir={tmp_path}/profile", "--window-size=1100,3000")
    command = [CHROMIUM, *QUIET, *options, f"--screenshot={picture}", html.as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    shade = imread(picture)[..., :3]
    # ink in every fifth of the page, in more than one color
    assert all(part.std() > 0.02 for part in np.array_split(shade, 5))
    assert np.abs(shade[..., 0] - shade[..., 2]).max() > 0.3
