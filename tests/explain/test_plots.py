"""Pictures: what they show is right, labeled with the user's names, drawn without a warning."""

import dataclasses

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bayesgen as bg
from bayesgen.errors import InvalidArgument, InvalidData
from bayesgen.plots import style

pytestmark = pytest.mark.usefixtures("no_screen")


@pytest.fixture
def no_screen():
    import matplotlib.pyplot as plt

    with mpl.rc_context({"backend": "agg"}):
        yield
        plt.close("all")


@pytest.fixture(scope="module")
def iris():
    X, y = bg.datasets.load_iris()
    return bg.QDA(random_state=0).fit(X, y), X, y


@pytest.fixture(scope="module")
def titanic():
    X, y = bg.datasets.load_titanic_passengers()
    return bg.NaiveBayes(random_state=0).fit(X[::2], y[::2]), X[1::2], y[1::2]


SHORT = {"str", "int", "float", "float | None", "bool", "object", "Hashable", "list", "tuple"}
SHORT |= {"list[str]", "list[ColumnDensity]", "tuple[ReliabilityCurve, ...]"}


def test_a_display_is_one_line_without_arrays(iris, titanic):
    """A notebook prints the last value of a cell above its picture."""
    kinds = [getattr(bg.plots, name) for name in dir(bg.plots) if name.endswith("Display")]
    fields = [(kind.__name__, f) for kind in kinds for f in dataclasses.fields(kind) if f.repr]
    assert len({name for name, _ in fields}) > 10
    shown = {(name, f.name): getattr(f.type, "__name__", str(f.type)) for name, f in fields}
    assert {field: kind for field, kind in shown.items() if kind not in SHORT} == {}
    clf, X, y = iris
    displays = clf.plot_regions(X, y, points=10), titanic[0].plot_features(*titanic[1:])
    for display in (*displays, clf.plot_reliability(X, y, resamples=10)):
        assert len(repr(display)) < 300 and "\n" not in repr(display)


def words(axes):
    legend = axes.get_legend() or next(iter(axes.figure.legends), None)
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def test_densities_are_marginals(iris):
    """On the grid they are the densities of the two columns alone, and integrate to about one."""
    clf, X, y = iris
    names = ("petal_length", "sepal_width")
    shown = clf.plot_densities(X, y, names, points=40)
    alone = bg.QDA(random_state=0).fit(X[list(names)], y)
    point = np.array([[shown.across[10], shown.up[20]]])
    joint = alone.predict_joint_log_proba(
        alone.sample(1)[0].assign(**dict(zip(names, point.T, strict=True)))
    )
    np.testing.assert_allclose(shown.log_density[:, 20, 10], joint[0] - np.log(1 / 3), rtol=1e-9)
    assert (shown.ax_.get_xlabel(), shown.ax_.get_ylabel()) == names
    assert words(shown.ax_) == ["setosa", "versicolor", "virginica"]


def test_contours_hold_what_they_say():
    line = np.linspace(-6, 6, 400)
    log_density = stats.norm.logpdf(line)[:, None] + stats.norm.logpdf(line)
    rows, labels = np.zeros((1, 2)), np.array(["k"])
    shown = bg.plots.DensityDisplay(
        line, line, ("a", "b"), ["k"], rows, labels, log_density[None]
    ).plot()
    # of a round normal the contour of share q has log density log(1 - q) under its top
    expected = log_density.max() + np.log(1 - np.array([0.9, 0.5, 0.1]))
    (contours,) = shown.ax_.collections
    np.testing.assert_allclose(contours.levels, expected, atol=0.01)


def test_regions(iris):
    clf, X, y = iris
    shown = clf.plot_regions(X, y, ("petal_length", "petal_width"), points=25, novelty=0.01)
    np.testing.assert_allclose(shown.probability.sum(axis=0), 1.0)
    assert shown.unsure.any() and not shown.unsure.all()
    # unsure stands where probabilities are near each other
    best = np.sort(shown.probability, axis=0)
    gap = best[-1] - best[-2]
    assert gap[shown.unsure].mean() < gap[~shown.unsure].mean()
    assert (shown.typical < 0.01).any() and (shown.typical > 0.01).any()
    assert "typicality < 0.01" in shown.ax_.get_title()


def test_regions_of_a_point_estimate_have_no_doubt():
    X, y = bg.datasets.load_iris()
    shown = bg.LDA(inference="mle").fit(X, y).plot_regions(X, y, points=10)
    assert shown.unsure is None and "hatched" not in shown.ax_.get_title()


def test_features_are_predictive_densities(titanic):
    clf, X, y = titanic
    shown = clf.plot_features(X, y)
    by_name = {column.name: column for column in shown.columns}
    assert list(by_name) == list(X.columns)
    levels = by_name["passengerClass"]
    np.testing.assert_allclose(levels.density.sum(axis=0), 1.0)
    assert levels.ticks == ("1st", "2nd", "3rd")
    probs = clf.posterior_.components.model.blocks["categorical"].probs
    np.testing.assert_allclose(by_name["sex"].density.T, probs[:, :2], rtol=1e-9)
    age = by_name["age"]
    area = np.trapezoid(age.density, age.at, axis=0)
    assert (area > 0.95).all() and (area < 1).all()
    assert [axes.get_xlabel() for axes in shown.axes_] == list(X.columns)
    assert words(shown.axes_[0]) == ["no", "yes"]


def test_columns_that_are_not_drawn_are_counted():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 30)), np.repeat([0, 1], 10)
    clf = bg.NaiveBayes().fit(X, y)
    for shown in (clf.plot_features(X, y), bg.NaiveBayes().plot_prior(X, y)):
        assert len(shown.axes_) == 12
        assert shown.figure_.get_suptitle().startswith("12 of 30 columns")
    whole = clf.plot_features(X, y, features=[0, 29])
    assert len(whole.axes_) == 2 and whole.figure_.get_suptitle() == ""


def test_counts_are_looked_at_where_they_can_lie():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.poisson(3 + 4 * y)[:, None].astype(float)
    clf = bg.NaiveBayes(bg.Poisson(), random_state=0).fit(X, y)
    (column,) = clf.plot_features(X, y).columns
    assert (column.at == np.arange(X.min(), X.max() + 1)).all()


def test_reliability_counts_every_row(titanic):
    clf, X, y = titanic
    shown = clf.plot_reliability(X, y, resamples=50)
    assert [curve.name for curve in shown.curves] == ["yes", "top label"]
    for curve in shown.curves:
        assert curve.histogram["rows"].sum() == len(y) == curve.blocks["rows"].sum()
    assert "654 rows" in shown.axes_[0].get_title()
    assert any("90% band" in text for text in words(shown.axes_[0]))


def test_reliability_of_anything_that_states_probabilities(iris):
    y = iris[2]
    probability = np.random.default_rng(0).dirichlet([1, 1, 1], 150)
    labels = ["setosa", "versicolor", "virginica"]
    shown = bg.plots.ReliabilityDisplay.from_predictions(y, probability, labels, resamples=20)
    assert len(shown.axes_) == 4


def test_intervals_are_sorted_and_hold_their_level(titanic):
    clf, X, y = titanic
    shown = clf.plot_intervals(X, y)
    assert len(shown.probability) == 80 and (np.diff(shown.probability) >= 0).all()
    one = X.iloc[[int(shown.positions[40])]]
    np.testing.assert_allclose(shown.interval[40], clf.predict_interval(one)[0, 1])
    assert "P(yes) with 90% intervals" in shown.ax_.get_ylabel()
    assert words(shown.ax_) == ["is yes", "is not"]
    other = clf.plot_intervals(X.iloc[:9], target="no")
    assert len(other.probability) == 9 and "P(no)" in other.ax_.get_ylabel()


@pytest.mark.parametrize("container", ["numpy", "polars"])
def test_other_containers(container):
    X, y = bg.datasets.load_iris()
    X = X[["petal_length", "petal_width"]]
    if container == "polars":
        import polars as pl

        X = pl.from_pandas(X)
    else:
        X = X.to_numpy()
    clf = bg.LDA(random_state=0).fit(X, y)
    assert clf.plot_regions(X, y, (0, 1), points=8).probability.shape == (3, 8, 8)
    assert len(clf.plot_features(X, y).columns) == 2


def test_given_axes_are_used(iris):
    import matplotlib.pyplot as plt

    clf, X, y = iris
    figure, axes = plt.subplots(1, 2)
    assert clf.plot_densities(X, y, ax=axes[0], points=20).figure_ is figure
    with pytest.raises(ValueError, match="4 panels"):
        clf.plot_features(X, y, ax=axes)


def test_a_picture_of_two_columns_needs_numbers(titanic):
    clf, X, y = titanic
    with pytest.raises(InvalidData, match="two numeric columns; X has 'age'"):
        clf.plot_regions(X, y, ("age", "sex"))
    with pytest.raises(InvalidData, match="no column 'name'"):
        clf.plot_features(X, y, features=["name"])


def test_classes_differ_in_color_marker_and_line():
    for kind in (style.color, style.marker, style.line):
        assert len({str(kind(k)) for k in range(8)}) == 8


def test_drawing_changes_no_setting(iris):
    clf, X, y = iris
    before = dict(mpl.rcParams)
    clf.plot_densities(X, y, points=10)
    assert dict(mpl.rcParams) == before


def test_pictures_of_a_comparison(titanic):
    _, X, y = titanic
    rivals = {"Bayes": bg.NaiveBayes(), "MLE": bg.NaiveBayes(inference="mle")}
    found = bg.compare(rivals, X, y, cv=3, train_sizes=[30, 200], progress=False)
    assert len(found.plot_reliability("Bayes").axes_) == 2
    shown = found.plot_roc()
    points = shown.curves["Bayes"]
    area = np.trapezoid(points["true_positive_rate"], points["false_positive_rate"])
    assert f"Bayes, area {area:.3f}" in words(shown.ax_)
    table = found.plot_confusion("MLE").table
    assert table.to_numpy().sum() == len(y)
    curve = found.plot_learning_curves("accuracy")
    assert words(curve.ax_) == ["Bayes", "MLE"] and "accuracy" in curve.ax_.get_ylabel()
    without = bg.compare(rivals, X, y, cv=3, progress=False)
    with pytest.raises(bg.errors.InvalidArgument, match="train_sizes is None"):
        without.plot_learning_curves()


def test_evidence_is_a_waterfall(titanic):
    clf, X, _ = titanic
    row = X.iloc[[1]]
    shown = clf.plot_evidence(row, interval=0.9)
    parts = clf.evidence(row).iloc[0]
    assert shown.total == pytest.approx(clf.decision_function(row)[0])
    assert (np.abs(np.diff(np.abs(shown.weights))) >= 0).all() and shown.ends.shape == (3, 2)
    assert sorted(shown.weights) == pytest.approx(sorted(parts.iloc[1:]))
    ticks = [text.get_text() for text in shown.ax_.get_yticklabels()]
    assert ticks[0] == "prior" and ticks[-1] == "all" and "sex = " in " ".join(ticks)
    assert "log-odds of yes against no" in shown.ax_.get_xlabel()
    assert f"P(yes) = {clf.predict_proba(row)[0, 1]:.3g}" in shown.ax_.get_title(loc="left")
    # bars for and against differ in more than color
    hatched = [bar.get_hatch() for bar in shown.ax_.patches[1:]]
    assert [hatch is None for hatch in hatched] == [weight >= 0 for weight in shown.weights]


def test_evidence_of_many_cells_and_classes(iris):
    clf, X, _ = iris
    row = X.iloc[[77]].assign(sepal_width=np.nan)
    shown = clf.plot_evidence(row, most=2, order="shapley")
    assert {shown.target, shown.against} == {"versicolor", "virginica"}
    assert len(shown.names) == 2 and shown.names[1] == "2 others"
    joint = clf.predict_joint_log_proba(row)[0]
    t, a = (clf.classes_.tolist().index(k) for k in (shown.target, shown.against))
    assert shown.total == pytest.approx(joint[t] - joint[a])
    assert clf.plot_evidence(row, "setosa").target == "setosa"
    with pytest.raises(InvalidArgument, match="a table of 150 rows"):
        clf.plot_evidence(X)


def test_relevance_is_drawn_with_the_names_of_columns(titanic):
    clf, X, y = titanic
    shown, frame = clf.plot_relevance(X), clf.relevance(X)
    assert [text.get_text() for text in shown.ax_.get_yticklabels()] == list(frame.index)
    assert [bar.get_width() for bar in shown.ax_.patches] == list(frame.weight_of_evidence)
    assert shown.ax_.get_title(loc="left") == ""
    averaged = bg.NaiveBayes(columns="average").fit(X, y)
    few = averaged.plot_relevance(most=2)
    assert few.ax_.get_title(loc="left") == "2 of 3 columns"
    assert all(", P = " in text.get_text() for text in few.ax_.texts)
    with pytest.raises(InvalidArgument, match="most"):
        clf.plot_relevance(most=0)


def test_long_names_leave_room_and_missing_patterns_are_no_columns():
    names = ["m" * 80, "b" * 12 + " of the " + "c" * 30, "q", "q missing", *"efgh"]
    import matplotlib.pyplot as plt

    relevance = pd.DataFrame({"weight_of_evidence": 2.0, "probability": 0.5}, index=names)
    with mpl.rc_context({"font.size": 9.0}):
        figure, ax = plt.subplots(figsize=(6.0, 3.6), layout="constrained")
        shown = bg.plots.RelevanceDisplay(relevance, 4).plot(ax)
        figure.draw_without_rendering()
    assert shown.ax_.get_title(loc="left") == "4 of 8: 7 columns,\nand whether 1 is missing"
    first, second, third, _ = shown.ax_.get_yticklabels()
    drawn = ["".join(label.get_text().split()) for label in (first, second, third)]
    assert drawn == [name.replace(" ", "") for name in names[:3]]
    written = [first, second, *shown.ax_.texts, shown.ax_.xaxis.label]
    boxes = [text.get_window_extent() for text in written]
    assert all(figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 for box in boxes)


def test_infinite_evidence_has_a_bar_and_its_number():
    relevance = pd.DataFrame({"weight_of_evidence": [np.inf, 2.0]}, index=["a", "b"])
    never = bg.plots.RelevanceDisplay(relevance).plot()
    assert [text.get_text() for text in never.ax_.texts] == ["inf", "2.00"]
    first, second = (bar.get_width() for bar in never.ax_.patches)
    assert second < first < np.inf
