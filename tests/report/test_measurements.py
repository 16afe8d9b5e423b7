"""What to measure next: values and intervals out of fold, and what a telephone shows."""

import itertools
import re
import subprocess
from html import escape

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold
from test_report import (
    CHROMIUM,
    QUIET,
    Page,
    figures_are_drawn_without_layout,
    titanic,
    written,
)

import bayesgen as bg
from bayesgen.page import Bar, Grid, Shade
from bayesgen.report import measurements
from bayesgen.report.measurements import Measurements, evenly_spaced, mean_and_error
from bayesgen.report.subject import judged

__all__ = ["figures_are_drawn_without_layout", "titanic"]
pytestmark = pytest.mark.usefixtures("figures_are_drawn_without_layout")
LOSS = {("yes", "no"): 5, ("no", "yes"): 1}


@pytest.fixture(scope="module")
def gaps(titanic):
    """Levels that some rows lack, whose values are sums, without Monte Carlo error."""
    _, X, y = titanic
    X = X[["sex", "passengerClass"]].assign(noise=np.random.default_rng(0).normal(size=len(X)))
    X.loc[X.index % 11 == 3, "sex"] = None
    X.loc[X.index % 13 == 3, "passengerClass"] = None
    return X, y


def fits_without(X, y, make=bg.NaiveBayes):
    """Yield the rows of each fold and a fit to the others, by scikit-learn's folds."""
    for fit, left_out in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        yield left_out, make(random_state=0).fit(X.iloc[fit], y.iloc[fit])


def tables_of_rows(page):
    return [t for t in page.tables if t[0][:3] == ["row", "label", "P(label)"]]


@pytest.mark.parametrize("loss", [None, LOSS])
def test_values_are_those_of_fits_without_the_row(loss, gaps, tmp_path):
    """The mean over all rows that lack a column, and the best cells of single rows."""
    X, y = gaps
    value = pd.concat(
        clf.feature_value(X.iloc[left_out], loss) for left_out, clf in fits_without(X, y)
    ).sort_index()
    page = Page(written(bg.NaiveBayes(random_state=0).fit(X, y), X, y, tmp_path, loss=loss))
    unit = "nats" if loss is None else "costs"
    form = ".3f" if loss is None else ".3g"
    rows = page.table("column", f"mean value, {unit}")
    expected = value.mean().dropna().sort_values(ascending=False)
    assert [row[0] for row in rows] == list(expected.index)
    for name, shown, error, lacking, read in rows:
        assert float(shown) == pytest.approx(expected[name], abs=6e-4)
        assert float(error) == 0 and lacking == read == f"{X[name].isna().sum()}"
    named = 0
    for heads, *lines in tables_of_rows(page):
        for line in lines:
            of_row = value.loc[int(line[0])].dropna().sort_values(ascending=False)
            worth = of_row[of_row >= 0.001 * (np.log(2) if loss is None else 5 / 6)]
            words = ", ".join(f"{name} {cell:{form}}" for name, cell in worth.items())
            words = words or ("nothing" if len(of_row) else "")
            assert dict(zip(heads, line, strict=True)).get("measure next", "").strip() == words
            named += len(worth)
    assert named


def test_values_of_the_fit_to_all_rows_are_others(gaps, tmp_path):
    """What the law above would miss if values were not out of fold."""
    X, y = gaps
    inside = bg.NaiveBayes(random_state=0).fit(X, y).feature_value(X).mean()
    outside = pd.concat(clf.feature_value(X.iloc[rows]) for rows, clf in fits_without(X, y)).mean()
    assert (abs(inside - outside) > 6e-4).any()


def test_intervals_are_those_of_fits_without_the_row(titanic, tmp_path):
    clf, X, y = titanic
    ends = np.empty((len(X), 2, 2))
    for left_out, one in fits_without(X, y):
        ends[left_out] = one.predict_interval(X.iloc[left_out], 0.9)
    page = Page(written(clf, X, y, tmp_path))
    assert len(tables_of_rows(page)) == 3
    for heads, *lines in tables_of_rows(page):
        assert heads[3] == heads[6] == "90% interval"
        for line in lines:
            for at in (1, 4):
                low, high = ends[int(line[0]), clf.classes_.tolist().index(line[at])]
                assert line[at + 2] == f"{low:.3f}\u2013{high:.3f}"
    assert (abs(ends - clf.predict_interval(X, 0.9)) > 6e-4).any()


def test_a_class_that_states_a_prior_has_its_probability_in_the_interval(titanic, tmp_path):
    """Both are under the frequencies of the rows of the fit."""
    _, X, y = titanic
    clf = bg.NaiveBayes(class_prior=[0.01, 0.99], random_state=0).fit(X, y)
    for _, *lines in tables_of_rows(Page(written(clf, X, y, tmp_path))):
        for line in lines:
            low, high = map(float, line[3].split("\u2013"))
            assert low <= float(line[2]) <= high


def test_the_section_says_what_was_read(titanic, tmp_path):
    """Ages are simulated, and 30 of the rows that lack one are read."""
    clf, X, y = titanic
    page = Page(written(clf, X, y, tmp_path))
    ((name, value, error, lacking, read),) = page.table("column", "mean value, nats")
    assert (name, lacking, read) == ("age", f"{X.age.isna().sum()}", "30")
    every = clf.feature_value(X, draws=1000)
    assert abs(float(value) - every.age.mean()) < 4 * float(error) + 0.002
    assert 0 < float(error) < every.age.mean()
    assert "At most 30 rows that lack a column are read" in page.words()
    assert "50 cells are simulated for each class" in page.words()


def test_rows_are_chosen_by_content(titanic):
    _, X, y = titanic
    order = np.random.default_rng(0).permutation(len(X))
    chosen = []
    for rows in (np.arange(len(X)), order):
        clf, x, labels = bg.NaiveBayes(random_state=0).fit(X, y), X.iloc[rows], y.iloc[rows]
        subject = judged(clf, x, labels, "python", cv=2)
        (sample,) = Measurements(subject, np.arange(3)).samples.values()
        chosen.append(sorted(map(str, x.iloc[subject.at[sample]].to_numpy().tolist())))
    assert chosen[0] == chosen[1] and len(chosen[0]) == 30


def test_many_missing_cells_are_read_in_few_rows(gaps, tmp_path, monkeypatch):
    monkeypatch.setattr(measurements, "MOST_CELLS", 4)
    X, y = gaps
    clf = bg.NaiveBayes(random_state=0).fit(X, y)
    subject = judged(clf, X, y, "python", cv=2)
    found = Measurements(subject, np.flatnonzero(X.isna().any(axis=1))[:9])
    assert 0 < found.missing[found.read].sum() <= 4
    assert found.best(found.shown) == [""] * 9
    monkeypatch.setattr(measurements, "MOST_CELLS", 1)
    page = Page(written(clf, X, y, tmp_path, cv=2))
    assert [row[4] for row in page.table("column", "mean value, nats")] == ["1"]
    assert "Columns that none of the rows read lacks: 1." in page.words()
    assert not any("measure next" in heads for heads, *_ in page.tables)


def squared_errors(rule, n, size=8, noise=0.5, runs=4000):
    """Return the mean square of the error of a mean, and of the standard error that is stated."""
    rng, found = np.random.default_rng(0), []
    for _ in range(runs):
        every = rng.normal(size=n)
        read = every[:size] + noise * rng.normal(size=size)
        mean, stated = rule(read, np.full(size, noise), n)
        found.append(((mean - every.mean()) ** 2, stated**2))
    return np.mean(found, axis=0)


@pytest.mark.parametrize("n", [8, 12, 1000])
def test_standard_errors_are_those_of_the_mean_of_all_rows(n):
    """Of 4,000 runs the mean square has a relative standard error of 2 %."""
    actual, stated = squared_errors(mean_and_error, n)
    assert stated == pytest.approx(actual, rel=0.1)


def test_a_standard_error_without_the_share_of_rows_read_is_caught():
    def naive(value, _error, _n):
        return value.mean(), value.std(ddof=1) / np.sqrt(len(value))

    actual, stated = squared_errors(naive, 12)
    assert stated != pytest.approx(actual, rel=0.1)


def test_one_row_of_many_has_no_standard_error():
    assert mean_and_error(np.array([0.2]), np.array([0.1]), 5) == (0.2, np.inf)
    assert mean_and_error(np.array([0.2]), np.array([0.1]), 1) == pytest.approx((0.2, 0.1))
    np.testing.assert_array_equal(evenly_spaced(np.arange(10), 3), [0, 3, 6])


def test_a_classifier_that_cannot_tell_has_no_section(titanic, tmp_path):
    _, X, y = titanic
    clf = bg.LDA(levels="indicators", random_state=0).fit(X, y)
    page = Page(written(clf, X, y, tmp_path, cv=2))
    assert "What to measure next" not in page.headings
    (said,) = [p for _, p in page.paragraphs if "They are integrated out" in p]
    assert "What it would be worth to observe one is not known: feature_value()" in said
    assert "indicators" in said
    assert not any("measure next" in heads for heads, *_ in page.tables)


@pytest.mark.parametrize(
    ("temper", "said"),
    [("learn", r"Tempered: log-odds are"), (None, "Not tempered"), (0.5, "2.00")],
)
def test_temperature_is_stated(temper, said, titanic, tmp_path):
    _, X, y = titanic
    clf = bg.NaiveBayes(temper=temper, random_state=0).fit(X, y)
    (words,) = [p for _, p in Page(written(clf, X, y, tmp_path, cv=2)).paragraphs if "empered" in p]
    assert said in words and f"(temperature {clf.temperature_:.2f}".rstrip("0").rstrip(".") in words


def test_powers_of_columns_are_stated(titanic, tmp_path):
    _, X, y = titanic
    clf = bg.NaiveBayes(temper="columns", random_state=0).fit(X, y)
    total = sum(clf.weights_.values())
    words = Page(written(clf, X, y, tmp_path, cv=2)).words()
    assert f"{len(clf.weights_)} columns count as much as {total:.2f} independent ones" in words


# -- telephones ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "records"),
    [
        (["several short words", *["0.123"] * 3], False),
        (["a", *["0.123"] * 8], True),
        (["miscalibration", "0.007", "long " * 20], False),
        (["passengerClass", "long " * 20, "variance_rows=8"], True),
        ([*["long " * 20] * 3], True),
        (["class", "12", Bar(0.5, "50.0%")], False),
        (["", *[Shade(0.5, "1,200 (100%)", right=True)] * 4], True),
    ],
)
def test_tables_too_wide_for_a_telephone_are_records(row, records):
    assert Grid(["head"] * len(row), [row]).records == records
    assert Grid(["head"] * len(row), [[""] * len(row), row]).records == records


def test_every_cell_of_records_follows_its_head(titanic, tmp_path):
    html = written(*titanic, tmp_path, cv=2)
    wide = [part.split("</table>")[0] for part in html.split(' records"')[1:]]
    assert len(wide) > 4
    for table in wide:
        heads = [head.replace("<wbr>", "") for head in table.split("<th")[2:]]
        heads = [head.split(">", 1)[1].split("</th>")[0] for head in heads]
        for line in table.split("<tr>")[2:]:
            cells = line.split("<td")[1:]
            assert len(cells) == len(heads)
            for head, one in itertools.zip_longest(heads, cells):
                assert (f'data-head="{head}"' in one) == bool(head)


WIDTHS = """<iframe id=page width=390 height=800 srcdoc="{page}"></iframe><script>onload = () => {{
const inside = document.getElementById("page").contentDocument;
inside.querySelectorAll("details").forEach(part => part.open = true);
const wide = [...inside.querySelectorAll("body, table, pre, p, figure")].filter(part =>
  part.getBoundingClientRect().right > 391 || part.scrollWidth > part.clientWidth + 1);
const empty = [...inside.querySelectorAll("td")].filter(part =>
  part.textContent.trim() && !part.getBoundingClientRect().width);
document.title = `wide ${{wide.length}} hidden ${{empty.length}}`;
}}</script>"""


def widths(html, tmp_path):
    """Return how many parts of a page a screen of 390 pixels cuts, and how many cells it hides."""
    frame = tmp_path / "frame.html"
    frame.write_text(WIDTHS.format(page=escape(html)), encoding="utf-8")
    command = [CHROMIUM, *QUIET, f"--user-data-dir={tmp_path}/profile", "--dump-dom"]
    found = subprocess.run(
        [*command, frame.as_uri()], check=True, capture_output=True, timeout=120, text=True
    )
    return re.search(r"<title>(.*)</title>", found.stdout).group(1)


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine to show the page")
def test_a_telephone_shows_everything(titanic, tmp_path):
    html = written(*titanic, tmp_path)
    assert widths(html, tmp_path) == "wide 0 hidden 0"
    assert "wide 0" not in widths(html.replace(' records"', '"'), tmp_path)
    assert "hidden 0" not in widths(
        html.replace("</style>", "td { display: none }</style>"), tmp_path
    )
