"""The comparison against scikit-learn's own cross-validation, and what it does with hard input."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import bayesgen as bg
from bayesgen.cli import main
from bayesgen.compare import compare
from bayesgen.compare.cross_validation import without_bars
from bayesgen.errors import BayesgenError, InvalidArgument
from bayesgen.estimators.compared import default_sizes

CONTAINERS = {"pandas": lambda X: X, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}


class Probe(ClassifierMixin, BaseEstimator):
    """Answers the class fractions; keeps the frames it met, and warns as it is told."""

    met: tuple = ()

    def __init__(self, texts=()):
        self.texts = texts

    def fit(self, X, y):
        Probe.met += (X,)
        for text in self.texts:
            warnings.warn(text, UserWarning, stacklevel=2)
        self.classes_, count = np.unique(y, return_counts=True)
        self.fractions_ = count / count.sum()
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    def predict_proba(self, X):
        return np.tile(self.fractions_, (len(X), 1))


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture
def met():
    """The frames that probes meet during one test."""
    Probe.met = ()
    yield lambda: Probe.met
    Probe.met = ()


def test_scores_are_those_of_scikit_learns_own_cross_validation(iris):
    X, y = iris
    found = compare({"GNB": GaussianNB()}, X, y, cv=5, random_state=3)
    folds = StratifiedKFold(5, shuffle=True, random_state=3)
    theirs = cross_val_predict(GaussianNB(), X, y, cv=folds, method="predict_proba")
    row = found.table.loc["GNB"]
    assert row["log_loss"] == pytest.approx(log_loss(y, theirs), rel=1e-12)
    assert row["accuracy"] == np.mean(theirs.argmax(axis=1) == y)
    assert row["method"] == ""
    assert row["fit_seconds"] > 0
    assert row["predict_seconds"] > 0
    np.testing.assert_allclose(found.probabilities["GNB"], theirs[found.rows])
    np.testing.assert_array_equal(found.y, y[found.rows])


def test_columns_and_counts(iris):
    found = compare({"a": GaussianNB(), "b": DummyClassifier()}, *iris, cv=3)
    parts = ["miscalibration", "discrimination", "uncertainty"]
    scores = ["log_loss", "brier", *parts, "calibration_error", "accuracy", "set_size", "auc"]
    seconds = ["fit_seconds", "predict_seconds"]
    expected = [name for score in scores for name in (score, f"{score}_se")]
    expected += ["log_loss_difference", "log_loss_lower", "log_loss_upper"]
    expected += [name for score in seconds for name in (score, f"{score}_se")]
    assert list(found.table) == [*expected, "method", "prepared_by"]
    assert list(found.table.index) == ["a", "b"]
    assert found.differences.index.to_list() == [("b", score) for score in scores]
    assert len(found.curves) == 0
    assert (found.n_rows, found.n_missing_cells, found.n_rows_with_missing) == (150, 0, 0)
    assert (found.folds, found.notes, found.warnings) == (3, (), {})


def test_standard_error_is_that_of_the_mean_over_equal_folds(iris):
    found = compare({"GNB": GaussianNB()}, *iris, cv=5)
    p, y = found.probabilities["GNB"], found.y
    means = [-np.log(p[found.fold == f, y[found.fold == f]]).mean() for f in range(5)]
    expected = np.std(means, ddof=1) / np.sqrt(5)
    assert found.table.loc["GNB", "log_loss_se"] == pytest.approx(expected, rel=1e-12)


def test_missing_cells_are_counted_and_the_methods_that_ran_named():
    X, y = bg.datasets.load_penguins()
    classifiers = {"MLE": bg.NaiveBayes(inference="mle"), "Bayes": bg.NaiveBayes()}
    found = compare(classifiers, X, y, cv=3)
    assert (found.n_missing_cells, found.n_rows_with_missing) == (19, 11)
    assert found.table["method"].to_dict() == {"MLE": "mle", "Bayes": "exact"}
    assert "\nInference: MLE (mle), Bayes (exact).\n" in repr(found)
    assert not hasattr(classifiers["MLE"], "classes_")


def test_containers_agree():
    X, y = bg.datasets.load_titanic_passengers()
    tables = [
        compare({"Bayes": bg.NaiveBayes()}, of(X), y, cv=3).table["log_loss"].item()
        for of in CONTAINERS.values()
    ]
    assert tables == pytest.approx(tables[:1] * 3, rel=1e-12)


@pytest.mark.parametrize("container", CONTAINERS)
def test_text_columns_know_the_levels_of_the_whole_table_in_every_fold(container, met):
    colour = ["red", None, *["blue"] * 28]
    X = CONTAINERS[container](pd.DataFrame({"colour": colour, "size": np.arange(30)}))
    compare({"probe": Probe()}, X, np.arange(30) % 2, cv=5)
    columns = [bg.table.read_table(frame).columns[0] for frame in met()]
    assert [(c.levels, c.declared) for c in columns] == [(("blue", "red"), True)] * 5
    assert sum((c.values < 0).sum() for c in columns) == 4
    assert bg.table.read_table(X).columns[0].declared is False


def test_integer_column_names_and_odd_indices_are_fine():
    X = pd.DataFrame({3: ["a", "b"] * 10, 1: np.arange(20.0)}, index=[7] * 20)
    found = compare({"Bayes": bg.NaiveBayes()}, X, np.arange(20) % 2, cv=2)
    assert found.table.loc["Bayes", "accuracy"] == 1.0


def test_a_column_that_looks_like_an_identifier_is_noted():
    X = pd.DataFrame({"ticket": [f"t{i}" for i in range(30)], "x": np.arange(30.0)})
    found = compare({"Bayes": bg.NaiveBayes()}, X, np.arange(30) % 2, cv=2)
    assert len(found.notes) == 1
    assert "'ticket'" in found.notes[0]
    assert "identifier" in found.notes[0]


def test_warnings_are_kept_once_and_not_shown(met, iris):
    classifiers = {"loud": Probe(texts=("first", "second")), "quiet": Probe()}
    with warnings.catch_warnings(record=True) as shown:
        found = compare(classifiers, *iris, cv=3)
    assert shown == []
    assert found.warnings == {"loud": ("first", "second")}


def test_too_many_folds_are_lowered_with_a_note(iris):
    X, y = iris
    keep = np.r_[0:3, 50:150]
    found = compare({"GNB": GaussianNB()}, X[keep], y[keep], cv=5)
    assert found.folds == 3
    assert found.notes == (
        "class 0 has only 3 rows, so there are 3 folds instead of 5: every fold scores at least "
        "one row of each class.",
    )


def test_a_train_size_draws_rows_of_each_fold(iris, met):
    found = compare({"probe": Probe()}, *iris, cv=10, train_size=24, random_state=1)
    assert [len(frame) for frame in met()] == [24] * 10
    assert found.train_size == 24 and found.folds == 10
    np.testing.assert_array_equal(np.sort(found.rows), np.arange(150))
    assert found.heading.startswith("10 folds over 150 rows, 24 rows drawn for each fit")
    share = compare({"probe": Probe()}, *iris, cv=10, train_size=24 / 135, random_state=1)
    np.testing.assert_array_equal(share.probabilities["probe"], found.probabilities["probe"])


def test_a_seed_decides_which_rows_are_drawn(iris):
    first, again, other = (
        compare({"a": GaussianNB()}, *iris, cv=StratifiedKFold(3), train_size=24, random_state=seed)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first.probabilities["a"], again.probabilities["a"])
    assert not np.array_equal(first.probabilities["a"], other.probabilities["a"])


def test_all_rows_as_train_size_is_plain_cross_validation(iris):
    plain, drawn = (compare({"GNB": GaussianNB()}, *iris, cv=3, train_size=n) for n in (None, 100))
    assert drawn.table.loc["GNB", "log_loss"] == plain.table.loc["GNB", "log_loss"]


@pytest.mark.parametrize("size", [5, 136, 0.01, 1.5, "24"])
@pytest.mark.usefixtures("no_type_checks")
def test_impossible_train_sizes_are_refused(iris, size):
    with pytest.raises(BayesgenError, match=r"train_size is .*6 to 135 rows.*train_size=135"):
        compare({"GNB": GaussianNB()}, *iris, cv=10, train_size=size)


def test_standard_errors_of_drawn_rows_hold_both_kinds_of_chance():
    """Over 20 seeds, the mean of many draws varies by its standard error."""
    rng = np.random.default_rng(0)
    pool, y = rng.normal(size=(400, 1)), np.arange(400) % 2
    pool += y[:, None]
    means, errors = [], []
    for _ in range(20):
        rows = np.sort(rng.choice(400, 200, replace=False))
        found = compare({"GNB": GaussianNB()}, pool[rows], y[rows], cv=20, train_size=12)
        means.append(found.table["brier"].item())
        errors.append(found.table["brier_se"].item())
    # the rows come from a pool of twice as many, which halves their part of the variance
    assert 0.5 < np.std(means) / np.median(errors) < 1.5


def test_a_splitter_decides_the_folds(iris):
    X, y = iris
    splitter = StratifiedKFold(4, shuffle=True, random_state=1)
    found = compare({"GNB": GaussianNB()}, X, y, cv=splitter)
    assert found.folds == 4
    np.testing.assert_array_equal(found.rows[found.fold == 0], next(splitter.split(X, y))[1])


def test_a_class_that_a_fit_never_saw_gets_probability_zero_and_infinite_log_loss(iris):
    X, y = iris
    fit, scored = np.r_[0:40, 100:140], np.r_[40:60, 140:150]
    found = compare({"GNB": GaussianNB()}, X, y, cv=[(fit, scored)])
    assert (found.probabilities["GNB"][:, 1] == 0).all()
    assert (found.probabilities["GNB"][-1, 2]) > 0.5
    assert found.table.loc["GNB", "log_loss"] == np.inf
    assert np.isnan(found.table.loc["GNB", "log_loss_se"])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"classifiers": {}}, "at least one name to a classifier"),
        ({"classifiers": {"svc": LinearSVC()}}, r"classifiers\['svc'\] .* predict_proba"),
        ({"cv": 1}, "cv is 1; allowed: a whole number of at least 2"),
        ({"y": np.zeros(150)}, "at least two are needed"),
        ({"y": np.r_[0, np.ones(149)]}, r"class 0\.0 has 1 row"),
        ({"y": np.linspace(0, 1, 150)}, "a fraction and not a class"),
        ({"y": np.arange(3)}, "150 rows and y has 3 labels"),
        ({"y": [None, *["a"] * 149]}, "1 class, 'a'; at least two are needed"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_sentence(iris, change, sentence):
    X, y = iris
    arguments = {"classifiers": {"GNB": GaussianNB()}, "X": X, "y": y, **change}
    with pytest.raises(BayesgenError, match=sentence):
        compare(**arguments)


def test_an_error_names_the_classifier_and_the_fold():
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(ValueError, match="var_smoothing") as caught:
        compare({"GNB": GaussianNB(var_smoothing="x")}, X, [0, 1, 0, 1], cv=2)
    assert caught.value.__notes__ == ["classifier 'GNB', fold 1 of 2"]


def test_progress_is_silent_outside_a_terminal_and_can_be_forced(iris, capsys):
    compare({"GNB": GaussianNB()}, *iris, cv=2)
    assert capsys.readouterr() == ("", "")
    compare({"GNB": GaussianNB()}, *iris, cv=2, progress=True)
    output = capsys.readouterr()
    assert output.out == ""
    assert "GNB" in output.err


def test_it_shows_its_table_its_missing_cells_and_its_warnings(met, iris):
    X, y = iris
    X[0, 0] = np.nan
    found = compare({"loud": Probe(texts=("odd <row>",))}, X, y, cv=2)
    assert "2 folds over 150 rows, 1 missing cell in 1 row" in repr(found)
    assert "loud: odd <row>" in repr(found)
    assert "odd &lt;row&gt;" in found._repr_html_()
    assert "log loss" in found._repr_html_()
    assert "15 bins of equal width" in repr(found)


def test_rows_and_labels_alone_are_compared_as_by_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("bayesgen.estimators.compared.DRAWS", 3)
    monkeypatch.setattr("bayesgen.estimators.compared.DRAWS", 3)
    rng = np.random.default_rng(0)
    y = np.repeat(["no", "yes"], 50)
    X = pd.DataFrame({"x": (rng.normal(size=100) + (y == "yes")).round(3)})
    X.assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    assert (
        main(["compare", str(tmp_path / "rows.csv"), "--target", "y", "--cv", "2", "--json"]) == 0
    )
    command = json.loads(capsys.readouterr().out)
    comparison = bg.compare(X, y, cv=2, progress=False)
    few = command["train_rows"]["24"]
    for ours, theirs in ((comparison, command), (comparison.few, few)):
        losses = {line["classifier"]: line["log_loss"] for line in theirs["classifiers"]}
        assert list(losses) == list(ours.table.index)
        np.testing.assert_allclose(ours.table["log_loss"], list(losses.values()), rtol=1e-6)
        assert ours.folds == theirs["folds"]
    assert repr(comparison).startswith("3 folds over 100 rows, 24 rows drawn for each fit")
    assert comparison._repr_html_().count("<table") == 3
    assert bg.compare(X=X[::3], y=y[::3], cv=2, progress=False).few is None  # too few rows for both


@pytest.mark.parametrize(
    ("counts", "sizes"),
    [([94, 2], (24, "all")), ([95, 1], ("all",)), ([50, 45], ("all",)), ([8] * 13, ("all",))],
)
def test_few_rows_are_fitted_where_every_class_has_two_and_folds_have_enough(counts, sizes):
    assert default_sizes(counts) == sizes


@pytest.mark.parametrize("given", [(), ([[1.0], [2.0]],), ({"LDA": bg.LDA()}, [[1.0], [2.0]])])
def test_rows_without_labels_are_not_compared(given):
    with pytest.raises(InvalidArgument, match=r"needs rows and their labels: bg.compare\(X, y\)"):
        bg.compare(*given)


def test_a_comparison_without_a_bar_turns_off_those_of_its_parts(iris):
    stack = bg.StackedClassifier([bg.NaiveBayes(), bg.LDA(inference=bg.NUTS(progress=True))])
    quiet = without_bars(make_pipeline(StandardScaler(), stack))[-1]
    assert quiet.progress is False and quiet.members[1].inference.progress is False
    assert stack.progress == "auto" and stack.members[1].inference.progress is True
    assert without_bars(GaussianNB()).get_params() == GaussianNB().get_params()
    seen = []

    class Watched(bg.StackedClassifier):
        def fit(self, X, y, sample_weight=None):
            seen.append(self.progress)
            return super().fit(X, y, sample_weight)

    for progress in (False, "auto"):
        bg.compare({"stack": Watched(["naive"])}, *iris, cv=2, progress=progress)
    assert seen == [False, False, "auto", "auto"]
