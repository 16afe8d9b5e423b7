"""Names of columns, levels and classes are drawn as they are, whatever characters they have."""

import html
import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text
from paces import fast_only

import bayesgen as bg
from bayesgen.plots import columns, display, two_columns

NAMES = {
    "of every kind": ("_other", "$US and $EUR", "a $x{ $", "C:\\new %s"),
    "dollars": ("$0-$10", "w $US and $EUR", "$HOME\\temp$", "a $x{ $"),
    "underscores": ("_other", "_", "__main__", "_nolegend_"),
    "braces": ("{column}", "{0!r}", "50 % of {x}", "%s"),
    "backslashes": ("\\frac", "C:\\new\\table", "\\$", "a\\"),
    "lines": ("first\nsecond", "tab\there", " blank ", "'\""),
    "right to left": ("\u05e9\u05dc\u05d5\u05dd", "\u0645\u0631\u062d\u0628\u0627", "<b>", "&amp;"),
    "long": ("x" * 80, "y" * 80, "long " * 16, "z_" * 40),
}
N = 60


@pytest.fixture(autouse=True)
def no_screen():
    import matplotlib.pyplot as plt

    with mpl.rc_context({"backend": "agg"}):
        yield
        plt.close("all")


def table(names):
    """Return rows with columns, levels and classes of these names, and labels."""
    rng = np.random.default_rng(0)
    y = np.resize(np.array(names[:3], dtype=object), N)
    shift = np.arange(N) % 3
    columns = {names[0]: rng.normal(size=N) + shift, names[1]: rng.normal(size=N) - shift}
    columns[names[2]] = rng.choice(np.array(names, dtype=object), N)
    return pd.DataFrame(columns), y


def pictures(names):
    """Yield (picture, the names that it must show) of every display."""
    X, y = table(names)
    classes, (first, second) = list(names[:3]), X.columns[:2]
    numbers = X[[first, second]]
    options = {"random_state": 0}
    clf, stack = bg.NaiveBayes(**options), bg.StackedClassifier(["naive", "linear"], **options)
    plane = bg.QDA(**options).fit(numbers, y)
    clf.fit(X, y)
    stack.fit(X, y)
    yield clf.plot_features(X, y), [*classes, *X.columns, *names]
    yield clf.plot_prior(X, y), list(X.columns)
    yield plane.plot_densities(numbers, y, points=20), [*classes, first, second]
    yield plane.plot_regions(numbers, y, points=20), [*classes, first, second]
    yield clf.plot_intervals(X, y), [clf.classes_[-1]]
    yield clf.plot_evidence(X[:1]), []
    yield clf.plot_relevance(), list(X.columns)
    yield clf.plot_reliability(X, y, resamples=10), classes
    yield clf.estimate_prevalence(X, draws=50).plot(), classes
    yield stack.plot_weights(), ["naive"]
    found = bg.compare({names[3]: clf, "other": bg.LDA()}, numbers, y, cv=2, progress=False)
    yield found.plot_confusion(names[3]), classes
    one = bg.compare({names[3]: clf}, numbers, y == classes[0], cv=2, progress=False)
    yield one.plot_roc(), [names[3]]


def shown(picture):
    """Return the text of a picture, and draw it: none is cut from a figure of its own."""
    figure = picture.figure_
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")
        figure.canvas.draw()
    return [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]


def _words(text):
    """Return a text without the blanks at which its lines are broken."""
    return "".join(text.split())


def law(names):
    for picture, wanted in pictures(names):
        texts = shown(picture)
        found = [text.get_text() for text in texts]
        for name in wanted:
            kind = type(picture).__name__
            there = any(_words(name) in _words(text) for text in found)
            assert there, f"{kind} does not show {name!r}: {found}"
        # half a letter may stand out: the width of the axes is known only when they are drawn
        whole = picture.figure_.bbox.expanded(1.02, 1.02)
        for text in (t for t in texts if any(_words(n) in _words(t.get_text()) for n in wanted)):
            box = text.get_window_extent()
            inside = whole.contains(box.x0, box.y0) and whole.contains(box.x1, box.y1)
            assert inside, f"{type(picture).__name__} cuts {text}"
            if "$" in text.get_text():
                assert not text.get_parse_math(), f"{type(picture).__name__}: {text}"


@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
@pytest.mark.parametrize("kind", fast_only(["of every kind"], NAMES))
def test_names_are_drawn_as_they_are(kind):
    law(NAMES[kind])


@pytest.mark.parametrize(
    ("attribute", "wrong"),
    [("as_they_are", lambda ax, earlier=None: None), ("in_legend", str)],
)
@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
def test_fault_names_are_mathematics_or_hidden(attribute, wrong, monkeypatch):
    for module in (display, two_columns, columns):
        monkeypatch.setattr(module, attribute, wrong, raising=False)
    with pytest.raises((AssertionError, ValueError)):
        law(NAMES["dollars" if attribute == "as_they_are" else "underscores"])


def test_what_a_user_wrote_on_axes_stays_and_settings_are_untouched():
    import matplotlib.pyplot as plt

    before = dict(mpl.rcParams)
    _, ax = plt.subplots()
    ax.set_title("$x^2$")
    X, y = table(NAMES["dollars"])
    numbers = X.iloc[:, :2]
    bg.QDA().fit(numbers, y).plot_densities(numbers, y, points=5, ax=ax)
    assert ax.title.get_parse_math() == (ax.get_title() == "$x^2$")
    ax.legend()  # a class with an underscore would be in it as well
    assert dict(mpl.rcParams) == before


def test_powers_of_ten_stay_mathematics():
    curves = bg.datasets.load_iris()
    found = bg.compare(
        {"$a$": bg.LDA()}, *curves, train_sizes=[20, 60], cv=2, progress=False
    ).plot_learning_curves()
    found.figure_.canvas.draw()
    assert [t.get_text() for t in found.ax_.get_legend().get_texts()] == ["$a$"]


def spaced(text):
    return " ".join(text.split())


@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning", "ignore:Glyph")
@pytest.mark.parametrize("kind", fast_only(["of every kind"], NAMES))
def test_pages_tables_and_messages_hold_names_as_they_are(kind, tmp_path):
    names = NAMES[kind]
    X, y = table(names)
    clf = bg.NaiveBayes(random_state=0).fit(X, y)
    clf.report_html(tmp_path / "page.html", X, y)
    page = html.unescape((tmp_path / "page.html").read_text(encoding="utf-8"))
    found = bg.compare({names[3]: clf}, X, y, cv=2, progress=False)
    found.to_html(tmp_path / "compared.html")
    compared = html.unescape((tmp_path / "compared.html").read_text(encoding="utf-8"))
    for name in (*X.columns, *y[:3]):
        assert spaced(name) in spaced(page), name
    assert spaced(names[3]) in spaced(compared)
    assert names[3] in found.table.index and str(found)
    parameters = clf.summary(kind="stats").index
    assert all(any(name in row for row in parameters) for name in X.columns)
    assert set(clf.evidence(X[:1], names[0], names[1]).columns) == {"(prior)", *X.columns}
    # a message with a name in a template
    with pytest.raises(bg.errors.InvalidData) as caught:
        clf.fit(X.assign(**{names[0]: np.inf}), y)
    assert repr(names[0]) in str(caught.value) and caught.value.written("shell")
