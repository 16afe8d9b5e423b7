"""The HTML report: order, counts, rows out of fold, colors of warnings, equal bytes."""

import ast
import datetime
import itertools
import re
import shlex
import shutil
import subprocess
from html import escape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold

import bayesgen as bg
from bayesgen import page as pages
from bayesgen.cli import main
from bayesgen.errors import InvalidArgument, InvalidData
from bayesgen.plots.style import pyplot

pytestmark = pytest.mark.usefixtures("figures_are_drawn_without_layout")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-quic"),
)
DATE = datetime.date(2026, 1, 31)
ORDER = [
    "Verdict",
    "Calibration",
    "What drives the decision",
    "Confusion and costs",
    "Rows to look at",
    "What to measure next",
    "The data",
    "Parameters",
    "Method",
    "Reproduce",
]


class Page(HTMLParser):
    """Words, tables, paragraphs by tone and addresses of a page; its tags must match."""

    VOID = ("meta", "br", "hr", "img", "link", "input", "wbr")

    def __init__(self, text):
        super().__init__()
        self.open, self.fetched, self.tables, self.paragraphs = [], [], [], []
        self.headings, self.summaries, self.code = [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.fetched += [value for name, value in attrs if name in ("src", "href") and value]
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag == "p":
            self.paragraphs.append([dict(attrs).get("class", ""), ""])
        for name, kept in (("h2", self.headings), ("summary", self.summaries), ("pre", self.code)):
            if tag == name:
                kept.append("")

    def handle_startendtag(self, tag, attrs):
        self.fetched += [value for name, value in attrs if name in ("src", "href") and value]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        kept = {"h2": self.headings, "summary": self.summaries, "pre": self.code}
        if "td" in self.open or "th" in self.open:
            self.tables[-1][-1][-1] += data
        elif self.open and self.open[-1] in kept:
            kept[self.open[-1]][-1] += data
        elif self.open and self.open[-1] == "p":
            self.paragraphs[-1][1] += data

    def words(self):
        """Return all that is said outside code."""
        cells = [cell for table in self.tables for row in table for cell in row]
        return " ".join([*self.headings, *self.summaries, *(p for _, p in self.paragraphs), *cells])

    def table(self, *heads):
        """Return the rows of the first table whose heads begin so."""
        found = next(t for t in self.tables if tuple(t[0][: len(heads)]) == heads)
        return [[cell.strip() for cell in row] for row in found[1:]]

    def toned(self, tone):
        """Return the paragraphs of one color."""
        return [text for kind, text in self.paragraphs if kind == tone]


def written(clf, X, y, folder, date=DATE, **options):
    path = folder / "page.html"
    clf.report_html(path, X, y, date=date, **options)
    return path.read_text(encoding="utf-8")


@pytest.fixture
def figures_are_drawn_without_layout(monkeypatch):
    """Layout and SVG are half the time of a page: `html`, which is made before, has them."""

    def drawn(draw, size=()):
        axes = pyplot().figure().add_subplot()
        draw(axes)
        return f"<svg>{escape(axes.get_title(loc='left') or axes.get_title())}</svg>"

    monkeypatch.setattr(pages, "svg", drawn)


@pytest.fixture(scope="module")
def titanic():
    X, y = bg.datasets.load_titanic_passengers()
    X, y = X.iloc[::5].reset_index(drop=True), y.iloc[::5].reset_index(drop=True)
    return bg.NaiveBayes(random_state=0).fit(X, y), X, y


@pytest.fixture(scope="module")
def html(titanic, tmp_path_factory):
    return written(*titanic, tmp_path_factory.mktemp("page"), title="who <survived>")


@pytest.fixture(scope="module")
def out_of_fold(titanic):
    """Probabilities of rows left out, by scikit-learn's folds and a loop."""
    clf, X, y = titanic
    proba = np.empty((len(y), 2))
    for fit, scored in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        one = bg.NaiveBayes(random_state=0).fit(X.iloc[fit], y.iloc[fit])
        proba[scored] = one.predict_proba(X.iloc[scored])
    return proba, np.searchsorted(clf.classes_, y)


def test_sections_stand_in_their_order(html):
    assert Page(html).headings == ORDER


def test_page_fetches_nothing(html):
    assert not [address for address in Page(html).fetched if not address.startswith("#")]
    assert not re.search(r"@import|url\((?!#)|<script|<link|<img", html)
    assert "who &lt;survived&gt;" in html and "<survived>" not in html


def test_page_is_the_same_twice_but_for_its_date(titanic, html, tmp_path, monkeypatch):
    """Blank notes are none: no section asks for them."""
    monkeypatch.undo()
    date = datetime.date(2027, 2, 1)
    text = written(*titanic, tmp_path, date, title="who <survived>", notes=" \n\n ")
    assert text.replace(str(date), str(DATE)) == html


def test_verdict_states_the_scores_of_rows_left_out(html, out_of_fold):
    page, (proba, codes) = Page(html), out_of_fold
    own = dict((row[0], row[1:]) for row in page.table("", "accuracy"))
    loss = -np.log(proba[np.arange(len(codes)), codes]).mean()
    right = (proba.argmax(axis=1) == codes).mean()
    assert own["naive Bayes"][:2] == [f"{right:.1%}", f"{loss:.3f}"]
    frequency = max(np.bincount(codes)) / len(codes)
    assert own["class frequencies"][0] == f"{frequency:.1%}"
    first, second, *_ = page.toned("good")
    assert first.startswith("Better than the class frequencies") and f"{right:.1%}" in first
    assert second.startswith("Calibrated") and f"{proba.max(axis=1).mean():.1%}" in second


def test_rows_to_look_at_are_those_of_an_oracle(html, out_of_fold):
    """Probabilities and order equal those of a loop over scikit-learn's folds."""
    proba, codes = out_of_fold
    page, own = Page(html), proba[np.arange(len(codes)), codes]
    entropy = -(proba * np.log(proba)).sum(axis=1)
    tables = [t for t in page.tables if t[0][:3] == ["row", "label", "P(label)"]]
    for table, score in zip(tables, (own, -entropy), strict=False):
        shown = [int(row[0]) for row in table[1:]]
        # rows of equal scores stand in any order
        np.testing.assert_allclose(score[shown], np.sort(score)[:10])
        assert [row[2] for row in table[1:]] == [f"{own[i]:.3f}" for i in shown]
    assert any(text.startswith("Out of fold") for _, text in page.paragraphs)


def test_typicality_is_that_of_the_fit(titanic, html):
    clf, X, _ = titanic
    typicality, page = clf.typicality(X), Page(html)
    heads, *rows = next(t for t in page.tables if "typicality" in t[0])
    shown, at = [int(row[0]) for row in rows], heads.index("typicality")
    np.testing.assert_array_equal(typicality[shown], np.sort(typicality)[:10])
    assert [row[at] for row in rows] == [f"{typicality[i]:.3f}" for i in shown]
    assert "under the fit to all rows, this one included" in page.words()


def test_abstaining_rows_are_counted(html, out_of_fold):
    proba, codes = out_of_fold
    for row in Page(html).table("cost of leaving undecided"):
        undecided = proba.max(axis=1) < 1 - float(row[0]) - 1e-12
        right = (proba.argmax(axis=1) == codes)[~undecided]
        assert row[1] == f"{undecided.sum():,}"
        assert row[3] == (f"{right.mean():.1%}" if len(right) else "")


def test_costs_are_those_of_the_decisions(titanic, out_of_fold, tmp_path):
    loss = {("yes", "no"): 5, ("no", "yes"): 1}
    page = Page(written(*titanic, tmp_path, loss=loss))
    assert "loss={('no', 'yes'): 1.0, ('yes', 'no'): 5.0}" in page.code[-1]
    rows = page.table("decision", "cost a row")
    proba, codes = out_of_fold
    cost = np.array([[0, 1], [5, 0]])
    best = (proba @ cost).argmin(axis=1)
    assert rows[0][1] == f"{cost[codes, best].mean():.3f}"
    assert rows[1][1] == f"{cost[codes, proba.argmax(axis=1)].mean():.3f}"
    constant = min(cost[codes, 0].mean(), cost[codes, 1].mean())
    assert rows[2][1] == f"{constant:.3f}"


@pytest.mark.parametrize("form", [pd.DataFrame, np.asarray])
def test_costs_of_any_form_are_written_as_a_mapping(titanic, tmp_path, form):
    names = ["no", "yes"]
    costs = [[0, 1], [5, 0]]
    loss = pd.DataFrame(costs, index=names, columns=names) if form is pd.DataFrame else form(costs)
    code = Page(written(*titanic, tmp_path, loss=loss, cv=2)).code[-1]
    assert "loss={('no', 'yes'): 1.0, ('yes', 'no'): 5.0}" in code
    ast.parse(code)


def test_actions_of_the_user_are_decided(titanic, tmp_path):
    loss = {("yes", "treat"): 0, ("yes", "wait"): 50, ("no", "treat"): 10, ("no", "wait"): 0}
    page = Page(written(*titanic, tmp_path, loss=loss, cv=2))
    assert page.table("decision", "cost a row")[1][0] in ("always treat", "always wait")
    said = " ".join(text for _, text in page.paragraphs)
    # waiting can be expected to cost no more than 50/6, so two fifths of it do occur
    assert "costs 3.33, in the unit of the stated costs" in said and "never abstains" not in said
    assert [row[0] for row in page.table("cost of leaving undecided")] == [
        "0.833",
        "1.67",
        "3.33",
        "5",
        "6.67",
    ]


def test_a_cost_of_abstaining_that_never_occurs_is_named(titanic, tmp_path):
    page = Page(written(*titanic, tmp_path, reject=0.6, cv=2))
    (verdict,) = [text for _, text in page.paragraphs if text.startswith("If leaving")]
    assert verdict.endswith(
        "never abstains: the best decision can be expected to cost 0.5 at most."
    )


@pytest.mark.parametrize("actions", [False, True])
def test_verdict_is_about_the_decisions(actions, titanic, out_of_fold, tmp_path):
    """Accuracy of the decisions that are classes, cost of others; undecided rows at every price."""
    names = ("wait", "treat") if actions else ("no", "yes")
    loss = dict(zip(itertools.product(("no", "yes"), names), (0, 1, 50, 0), strict=True))
    page, (proba, codes) = Page(written(*titanic, tmp_path, loss=loss, reject=0.6)), out_of_fold
    cost, rows = np.array([[0, 1], [50, 0]]), np.arange(len(codes))
    best = (proba @ cost).argmin(axis=1)
    decided = (proba @ cost)[rows, best] <= 0.6
    right, paid = (best == codes)[decided].mean(), cost[codes, best][decided].mean()
    (verdict,) = [text for _, text in page.paragraphs if text.startswith("If leaving")]
    said = f"costs {paid:.3f} a row in the others" if actions else f"is right in {right:.1%} of"
    assert f"abstains on {(~decided).sum()} of" in verdict and said in verdict
    table = page.table("cost of leaving undecided")
    assert {row[0]: row[3] for row in table}["0.6"] == (
        f"{paid:.3f}" if actions else f"{right:.1%}"
    )
    assert all(row[1] != "0" for row in table)


def test_other_classes_are_refused(titanic, tmp_path):
    clf, X, y = titanic
    with pytest.raises(InvalidData, match=r"'perhaps'.*the same classes"):
        written(clf, X, y.where(y.index > 3, "perhaps"), tmp_path)
    with pytest.raises(InvalidData, match="no row of y has the class 'yes'"):
        written(clf, X[y == "no"], y[y == "no"], tmp_path)


def test_rows_without_a_label_are_not_scored(titanic, tmp_path):
    _, X, y = titanic
    part = y.where(y.index % 4 > 0, None)
    clf = bg.NaiveBayes(random_state=0).fit(X, part)
    page = Page(written(clf, X, part, tmp_path, cv=2))
    n = int(part.isna().sum())
    assert any(f"{n} rows without a label are not scored" in p for p in page.toned("muted"))
    # the confusion table counts the others
    rows = page.table("true class")
    assert [re.search(r"\((\d+) rows\)", row[0]).group(1) for row in rows] == [
        str((part == label).sum()) for label in ("no", "yes")
    ]


def test_drivers_of_naive_bayes_are_its_weights_of_evidence(titanic, html):
    clf, X, y = titanic
    toward = np.where(y == "yes", 1, -1)
    mean = (clf.evidence(X).drop(columns="(prior)").mul(toward, axis=0)).mean()
    for name, alone, beside, _ in Page(html).table("column", "alone, nats"):
        # independent columns say the same alone and beside the others
        assert float(alone) == pytest.approx(mean[name], abs=0.006)
        assert float(beside) == pytest.approx(mean[name], abs=0.006)


def test_relevance_is_a_picture_with_the_columns_in_its_order(titanic, html):
    clf, X, _ = titanic
    figures = re.findall(r"<figure>.*?</figure>", html, re.DOTALL)
    (drawn,) = [figure for figure in figures if "mean |weight of evidence| (nats)" in figure]
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", drawn)
    names = [text for text in texts if text in X.columns]
    relevance = clf.relevance(X).weight_of_evidence
    assert names == list(relevance.index)
    assert {f"{weight:.2f}" for weight in relevance} <= set(texts)


@pytest.mark.slow
def test_wide_tables_show_relevance_alone(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 220)), np.arange(40) % 2
    X[:, 7] += 3 * y
    text = written(bg.NaiveBayes(columns="average").fit(X, y), X, y, tmp_path, cv=2)
    assert "12 of 220 columns" in text and "beside the others" not in text
    page = Page(text)
    assert page.table("row", "label")[0]
    assert "x7" in text[text.index("Rows to look at") :][:3000]


def test_strongest_values_are_conditions_with_the_class_and_its_odds(html):
    strongest = {row[0]: row[3] for row in Page(html).table("column", "alone, nats")}
    assert re.match("sex = female → yes: odds .[0-9.]+; sex = male → no: odds .", strongest["sex"])
    assert re.search("age ≤ [0-9.]+ → (yes|no): odds .", strongest["age"])


def test_numeric_classes_are_not_mistaken_for_values(tmp_path):
    X = pd.DataFrame({"glucose": np.arange(40.0), "other": np.arange(40.0) % 3})
    y = 1 + (X.glucose > 18)
    page = Page(written(bg.NaiveBayes().fit(X, y), X, y, tmp_path, cv=2))
    row = page.table("column", "alone, nats")[0]
    assert re.search("glucose ≥ 26 → class 2: odds .", row[3])
    assert re.search("glucose ≤ 13 → class 1: odds .", row[3])


def test_data_section_counts_missing_cells(titanic, html):
    _, X, _ = titanic
    age = next(row for row in Page(html).table("column", "kind") if row[0] == "age")
    assert age[3] == f"{X.age.isna().sum()}" and age[4] == f"{X.age.isna().mean():.1%}"
    assert f"median {X.age.median():.4g}" in age[2]


def test_noise_has_the_color_of_warnings(tmp_path):
    rng = np.random.default_rng(3)
    X, y = pd.DataFrame(rng.normal(size=(60, 2))), rng.choice(["a", "b"], 60)
    X.columns = ["u", "v"]
    page = Page(written(bg.NaiveBayes().fit(X, y), X, y, tmp_path))
    assert re.match("(No|Not clearly) better than the class frequencies", page.toned("warning")[0])
    assert not any("etter than the class" in text for text in page.toned("good"))


def test_odd_columns_are_named(tmp_path):
    X, y = bg.datasets.load_iris()
    X = X.assign(number=np.arange(len(X)), still=1.0, empty=np.nan)
    X["rare"] = np.where(np.arange(len(X)) % 3 > 0, np.nan, 1.0 * (np.arange(len(X)) % 2))
    with pytest.warns(bg.errors.BayesgenWarning):
        clf = bg.NaiveBayes().fit(X, y)
    # scikit-learn scales an empty column before it refuses it
    with np.errstate(invalid="warn"):
        html = written(clf, X, y, tmp_path, cv=2)
    found = " ".join(Page(html).toned("warning"))
    for name in ("number", "still", "empty", "rare"):
        assert f"'{name}'" in found


def test_counts_are_stated_where_parameters_are_cut(tmp_path):
    """30 columns of two classes: 2 class probabilities, 60 means and 60 variances."""
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 40)
    X = pd.DataFrame(rng.normal(size=(80, 30)) + (y == "a")[:, None])
    X.columns = [f"column {j}" for j in range(30)]
    page = Page(written(bg.NaiveBayes().fit(X, y), X, y, tmp_path, cv=2))
    assert any(p.startswith("Shown: 60 of 122 parameters") for p in page.toned("muted"))
    assert "All 122 parameters" in page.summaries
    assert any(p.startswith("Shown: 15 of 30 columns") for p in page.toned("muted"))
    tables = [len(t) - 1 for t in page.tables if t[0][0] == "parameter"]
    assert tables == [60, 122]
    assert not any("r_hat" in head for t in page.tables for head in t[0])


def test_program_is_the_text_of_the_classifier(titanic, html):
    (program,) = [code for code in Page(html).code if "InverseGamma" in code]
    assert program == titanic[0].program() and "self" not in program


def test_groups_say_in_one_sentence_that_they_have_no_program(titanic, tmp_path):
    _, X, y = titanic
    clf = bg.NaiveBayes(groups="sex", random_state=0).fit(X, y)
    said = [text for _, text in Page(written(clf, X, y, tmp_path, cv=2)).paragraphs]
    assert (
        "A model with groups has no program as text, because the prior of a group is an average "
        "over strengths."
    ) in said


@pytest.mark.slow
def test_kernels_say_that_they_have_no_program(tmp_path):
    X, y = bg.datasets.load_iris()
    clf = bg.GenerativeClassifier(bg.likelihoods.KernelDiscriminant(centers=30)).fit(X, y)
    page = Page(written(clf, X, y, tmp_path, cv=2))
    assert any("its kernels are the rows of the fit" in text for _, text in page.paragraphs)
    assert not any("def " in code for code in page.code)


def test_rows_of_words_show_the_strongest_first(tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 20)
    rate = np.where((y == "a")[:, None], [1.0] * 9 + [4.0], [1.0] * 9 + [0.5])
    X = pd.DataFrame(rng.poisson(rate), columns=[*"ghijklmno", "told"])
    page = Page(written(bg.BagOfWords().fit(X, y), X, y, tmp_path, cv=2))
    heads = next(t[0] for t in page.tables if t[0][0] == "row")
    assert heads[heads.index("P(predicted)") + 2] == "told"
    assert any("Shown: 8 of 10 columns, those that drive" in text for _, text in page.paragraphs)


def test_point_estimate_has_no_intervals(titanic, tmp_path):
    _, X, y = titanic
    page = Page(written(bg.NaiveBayes(inference="mle").fit(X, y), X, y, tmp_path, cv=2))
    heads = next(t[0] for t in page.tables if t[0][0] == "parameter")
    assert heads == ["parameter", "class", "of", "estimate"]
    assert not any("90% interval" in t[0] for t in page.tables)
    assert "A point estimate has no intervals of probabilities." in page.words()


@pytest.fixture(scope="module")
def stack(titanic):
    _, X, y = titanic
    return bg.StackedClassifier(["naive", "bins", "indicators_power"], random_state=0).fit(X, y)


def test_page_of_a_stack_names_structures_and_weights(stack, titanic, tmp_path):
    _, X, y = titanic
    page = Page(written(stack, X, y, tmp_path, cv=2))
    lines = {row[0]: row[1:] for row in page.table("member", "structure")}
    table = stack.members_table()
    heaviest = table.sort_values("weight", ascending=False, kind="stable")
    assert list(lines) == heaviest.index.tolist()
    for name, (words, loss, weight, _) in lines.items():
        assert loss == f"{table.loc[name, 'leave_one_out_log_loss']:.3f}"
        assert weight == f"{table.loc[name, 'weight']:.2f}"
        assert words.startswith(("generative classifier: ", "linear discriminant analysis: "))
        assert ("normal" in words) == (name != "bins")
        assert ("power-transformed" in words) == bool(stack.members_[name].power_transform)
    counts = dict(
        re.fullmatch(r"(.*): ([\d,]+) parameters", s).groups()
        for s in page.summaries
        if s.endswith("parameters") and ": " in s
    )
    assert set(table.index) == set(counts)
    # no repr: neither calls of constructors nor addresses of objects
    assert not re.search(r"Classifier\(|Normal\(|Categorical\(|0x[0-9a-f]{6}|array\(", page.words())


def test_reproduction_states_the_call_the_hash_and_the_versions(titanic, html, tmp_path):
    clf, X, y = titanic
    page = Page(html)
    assert page.code[-1].startswith(
        "clf = NaiveBayes(random_state=0)\nclf.fit(X, y)\nclf.report_html("
    )
    digest = re.search(r"\b[0-9a-f]{64}\b", page.words()).group()
    changed = X.assign(age=X.age.where(X.index != 3, 99.0))
    other = Page(written(clf, changed, y, tmp_path, cv=2)).words()
    assert digest not in other and f"bayesgen {bg.__version__}" in other


def test_command(tmp_path, capsys):
    rows, html = tmp_path / "rows.csv", tmp_path / "iris.html"
    X, y = bg.datasets.load_iris()
    X.assign(species=y).to_csv(rows, index=False)
    command = ["report", str(rows), "--target", "species", "--model", "lda", "--html", str(html)]
    assert main([*command, "--cv", "3"]) == 0
    page = Page(html.read_text(encoding="utf-8"))
    # no cell is missing
    assert page.headings == [head for head in ORDER if head != "What to measure next"]
    typed = f"bayesgen report {shlex.quote(str(rows))} --target species --model lda"
    assert typed in page.code[-1]
    assert "page" in capsys.readouterr().out


def test_columns_that_the_fit_did_not_have_are_left_out(tmp_path, titanic, capsys):
    """The page is that of a table without them, and --by still names one of them."""
    _, X, y = titanic
    used = X[["age", "passengerClass"]]
    clf = bg.NaiveBayes(random_state=0).fit(used, y)
    page = written(clf, X, y, tmp_path, by="sex", title="t", cv=2)
    same = written(clf, used, y, tmp_path, by=X.sex, title="t", cv=2)
    assert page.replace("by=&#39;sex&#39;", "by=by") == same
    rows, model, html = (tmp_path / name for name in ("rows.csv", "m.bgm", "m.html"))
    clf.save(model)
    X.assign(survived=y).to_csv(rows, index=False)
    command = ["report", str(rows), "--target", "survived", "--fitted", str(model), "--by", "sex"]
    assert main([*command, "--html", str(html), "--cv", "2"]) == 0
    assert "sex" not in capsys.readouterr().out
    scores, by_command = ("", "accuracy"), Page(html.read_text(encoding="utf-8"))
    assert by_command.table(*scores) == Page(page).table(*scores)
    assert f"--fitted {shlex.quote(str(model))}" in by_command.code[-1]


def test_arrays_of_another_width_are_refused(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    with pytest.raises(InvalidData, match="X has 3 features, but NaiveBayes is expecting 2"):
        written(bg.NaiveBayes().fit(X[:, :2], y), X, y, tmp_path)


@pytest.mark.filterwarnings("ignore::bayesgen.errors.SuspiciousColumn")
def test_page_of_the_command_names_options_to_type(tmp_path):
    X, y = bg.datasets.load_iris()
    X = X.assign(visit=np.arange(len(X)))
    rows, html = tmp_path / "rows.csv", tmp_path / "iris.html"
    X.assign(species=y).to_csv(rows, index=False)
    command = ["report", str(rows), "--target", "species", "--model", "naive-bayes", "--cv", "2"]
    assert main([*command, "--html", str(html)]) == 0
    words = Page(html.read_text(encoding="utf-8")).words()
    assert "--drop visit" in words and "X.drop" not in words
    words = Page(written(bg.NaiveBayes().fit(X, y), X, y, tmp_path, cv=2)).words()
    assert "X.drop" in words and "--drop" not in words


HOSTILE = """# Use <b>here</b>
For {{ 7 * 7 }} & "study" of
adults only.
- no <script>alert(1)</script>
- not for children,
  nor crew

Written by A.\r\n\r\n- last
"""


def test_notes_are_headings_items_and_paragraphs_escaped(titanic, tmp_path):
    html = written(*titanic, tmp_path, notes=HOSTILE, cv=2)
    page = Page(html)
    assert page.headings == [ORDER[0], "Intended use and limits", *ORDER[1:]]
    section = html.split("<h2>Intended use and limits</h2>")[1].split("</section>")[0]
    assert re.findall(r"<h3>(.*?)</h3>", section) == ["Use &lt;b&gt;here&lt;/b&gt;"]
    items = re.findall(r'<p class="item">(.*?)</p>', section, re.DOTALL)
    assert [" ".join(item.split()) for item in items] == [
        "no &lt;script&gt;alert(1)&lt;/script&gt;",
        "not for children, nor crew",
        "last",
    ]
    texts = re.findall(r"<p>(.*?)</p>", section, re.DOTALL)
    assert [" ".join(text.split()) for text in texts] == [
        "For {{ 7 * 7 }} &amp; &#34;study&#34; of adults only.",
        "Written by A.",
    ]


@pytest.mark.usefixtures("no_type_checks")
def test_notes_that_are_no_text_are_refused(titanic, tmp_path):
    with pytest.raises(InvalidArgument, match=r"read_text\(encoding='utf-8'\)"):
        written(*titanic, tmp_path, notes=tmp_path)


def test_subgroups_stand_beside_the_class_frequencies(titanic, html, out_of_fold, tmp_path):
    _, X, y = titanic
    X = X.rename(columns={"sex": "<u>sex</u>"})
    html = written(bg.NaiveBayes(random_state=0).fit(X, y), X, y, tmp_path, by="<u>sex</u>")
    page, (proba, codes) = Page(html), out_of_fold
    assert page.headings[2] == "Scores by <u>sex</u>" and "<u>sex" not in html
    assert "by='<u>sex</u>'" in page.code[-1]
    lines = {tuple(row[:2]): row[2:] for row in page.table("classifier", "<u>sex</u>")}
    assert {name for name, _ in lines} >= {"naive Bayes", "class frequencies"}
    for level in ("female", "male"):
        rows = X["<u>sex</u>"] == level
        loss = -np.log(proba[rows, codes[rows]]).mean()
        count, text, *_, right, expected, _ = lines["naive Bayes", level]
        assert (count, text.split("±")[0]) == (str(rows.sum()), f"{loss:.3f}")
        assert float(right) == pytest.approx((proba.argmax(1) == codes)[rows].mean(), abs=6e-4)
        assert float(expected) == pytest.approx(proba[rows].max(axis=1).mean(), abs=6e-4)


def test_command_states_costs_levels_and_notes(titanic, tmp_path):
    _, X, y = titanic
    (folder := tmp_path / "in <here>").mkdir()
    notes, html, rows = folder / "notes.md", tmp_path / "page.html", folder / "a <b>.csv"
    notes.write_text("Not for triage.", encoding="utf-8")
    X.assign(survived=y).to_csv(rows, index=False)
    command = ["report", str(rows), "--target", "survived", "--model", "naive-bayes"]
    command += ["--html", str(html), "--by", "sex", "--drop", "sex", "--notes", str(notes)]
    assert main([*command, "--cost", "yes:no=5,no:yes=1", "--cv", "2"]) == 0
    text = html.read_text(encoding="utf-8")
    page = Page(text)
    assert {"Intended use and limits", "Scores by sex"} <= set(page.headings)
    assert "<title>a &lt;b&gt;.csv: survived</title>" in text
    assert "Not for triage." in page.words() and "Costs as stated" in page.words()
    X = X.drop(columns="sex")
    loss = {("yes", "no"): 5, ("no", "yes"): 1}
    clf = bg.NaiveBayes(random_state=0).fit(X, y)
    expected = Page(written(clf, X, y, tmp_path, loss=loss, cv=2))
    decisions = ("decision", "cost a row")
    assert page.table(*decisions) == expected.table(*decisions)


LISTS = "* star\n1. first\n2) second,\n   on\n  - within\n\n  - last\n* 3 of 4"


def test_items_of_lists_are_numbered_or_nested(titanic, tmp_path):
    section = written(*titanic, tmp_path, notes=LISTS, cv=2)
    section = section.split("limits</h2>")[1].split("<h2>")[0]
    found = re.findall(r'<p class="(.*?)">(.*?)</p>', section, re.DOTALL)
    assert [(kind, " ".join(text.split())) for kind, text in found] == [
        ("item", "star"),
        ("numbered", "1. first"),
        ("numbered", "2) second, on"),
        ("inner item", "within"),
        ("inner item", "last"),
        ("item", "3 of 4"),
    ]


def test_the_name_of_a_file_is_not_its_text(titanic, tmp_path):
    there = tmp_path / "note"
    there.write_text("adults only")
    for name in ("absent.md", str(there)):
        with pytest.raises(InvalidArgument, match="the text itself") as refused:
            written(*titanic, tmp_path, notes=name)
        assert f"notes=pathlib.Path({name!r}).read_text(" in str(refused.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--cost", "yes:no=5"], "Add no:yes=COST"),
        (["--by", "age"], "column 'age' has"),
        (["--by", "deck"], "no column 'deck'"),
    ],
)
def test_command_refuses_before_anything_is_fitted(options, said, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(bg.NaiveBayes, "fit", None)
    command = ["report", "titanic_passengers", "--model", "naive-bayes"]
    assert main([*command, "--html", str(tmp_path / "p.html"), *options]) == 1
    assert said in capsys.readouterr().err


def test_notes_that_cannot_be_read_are_refused(tmp_path, capsys):
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    (tmp_path / "blank").write_text(" \n")
    refused = ("absent", "No such file"), ("latin", "not text in UTF-8"), ("blank", "is empty")
    for name, said in refused:
        command = ["report", "iris", "--html", str(tmp_path / "p.html")]
        assert main([*command, "--notes", str(tmp_path / name)]) == 2
        assert said in " ".join(capsys.readouterr().err.replace("│", "").split())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesgen.errors.NotConverged")
@pytest.mark.filterwarnings("ignore::bayesgen.errors.LowSampleSize")
def test_page_of_a_sampler_shows_its_diagnostics(tmp_path):
    X, y = bg.datasets.load_iris()
    nuts = bg.NUTS(draws=200, warmup=200, chains=2, progress=False)
    clf = bg.NaiveBayes(inference=nuts, random_state=0).fit(X, y)
    page = Page(written(clf, X, y, tmp_path, cv=2))
    heads = next(t[0] for t in page.tables if t[0][0] == "parameter")
    assert heads[3:] == ["mean", "sd", "5%", "95%", "ess_bulk", "r_hat"]
    # as arviz computes them
    table = clf.summary(round_to="none", ci_prob=0.9)
    lines = {tuple(row[:3]): row[3:] for row in page.table("parameter")}
    expected = table.loc["normal.mean[setosa, petal_length]"]
    wanted = [expected[head] for head in ("mean", "sd", "ess_bulk", "r_hat")]
    shown = np.array(lines["mean", "setosa", "petal_length"], float)[[0, 1, 4, 5]]
    np.testing.assert_allclose(shown, wanted, rtol=2e-3)


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine to show the page")
def test_a_browser_shows_it(html, tmp_path):
    from matplotlib.image import imread

    path, picture = tmp_path / "page.html", tmp_path / "page.png"
    path.write_text(html, encoding="utf-8")
    options = (f"--user-data-dir={tmp_path}/profile", "--window-size=1100,3000")
    command = [CHROMIUM, *QUIET, *options, f"--screenshot={picture}", path.as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    shade = imread(picture)[..., :3]
    # ink in every fifth of the page, in more than one color
    assert all(part.std() > 0.02 for part in np.array_split(shade, 5))
    assert np.abs(shade[..., 0] - shade[..., 2]).max() > 0.3
