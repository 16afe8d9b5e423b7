"""Relevance of columns: laws over every family and kind of posterior, and a law of large tables."""

import importlib
import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from cases import CASES
from explained import FITS, cells, fitted
from paces import fast_only
from scipy.sparse import csr_array

import bayesgen as bg
from bayesgen import explain
from bayesgen.errors import BayesgenWarning, InvalidData, UnsupportedOperation

# the modules, whose functions are planted with faults
relevance_module = importlib.import_module("bayesgen.explain.relevance")
evidence_module = importlib.import_module("bayesgen.explain.evidence")

FEW = [fit for fit in FITS if fit[0] in ("Normal", "MultivariateNormal", "Categorical")]
WEIGHT = "weight_of_evidence"


def quiet(call, *arguments, **options):
    """Return what a call returns; few draws, and counts of 0, have their own tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesgenWarning)
        return call(*arguments, **options)


def rows_of(name, n=14):
    """Return rows of a case of which a fifth of the cells are missing."""
    X = cells(CASES[name], n, seed=5)[0]
    return np.where(np.random.default_rng(6).random(X.shape) < 0.2, np.nan, X)


# -- laws ------------------------------------------------------------------------------------------


def law_pairs(clf, X):
    """Relevance is the mean over rows and classes of |the mean weight against each other class|."""
    classes = clf.classes_.tolist()
    against = {
        pair: quiet(clf.evidence, X, *pair, order="shapley").iloc[:, 1:].to_numpy()
        for pair in itertools.permutations(classes, 2)
    }
    means = [np.mean([against[k, b] for b in classes if b != k], axis=0) for k in classes]
    expected = np.abs(means).mean(axis=(0, 1))
    relevance = quiet(clf.relevance, X)[WEIGHT]
    assert relevance.is_monotonic_decreasing
    columns = quiet(clf.evidence, X).columns.get_level_values(1).drop_duplicates()[1:]
    np.testing.assert_allclose(relevance[columns], expected, rtol=1e-9, atol=1e-12)


def law_additivity(clf, X):
    """A base value and the values of a row sum to log p(x, y = k) minus its mean over classes."""
    table = quiet(clf.evidence_table, X)
    joint = quiet(clf.predict_joint_log_proba, X)
    total = table["base_values"] + table["values"].sum(axis=1)
    with np.errstate(invalid="ignore"):
        expected = joint - joint.mean(axis=1, keepdims=True)
    possible = np.isfinite(joint).all(axis=1)
    np.testing.assert_allclose(total[possible], expected[possible], rtol=1e-9, atol=1e-9)
    assert table["output_names"] == clf.classes_.tolist()
    assert (table["values"][pd.isna(table["data"])] == 0).all()


def law_order(make, X, y):
    """Neither the order of the columns nor that of the rows matters, where all orders are used."""
    forward = make().fit(X, y).relevance()
    backward = make().fit(X.iloc[::-1, ::-1], y[::-1]).relevance()
    np.testing.assert_allclose(backward.loc[forward.index], forward, rtol=1e-8, atol=1e-10)


def law_weight(make, X, y):
    """A row of weight 2 is that row twice; one of weight 0 is none."""
    weight = np.arange(len(y)) % 3
    weighted = make().fit(X, y, sample_weight=weight).relevance()
    rows = np.repeat(np.arange(len(y)), weight)
    repeated = make().fit(X.iloc[rows], y[rows]).relevance()
    np.testing.assert_allclose(repeated.loc[weighted.index], weighted, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("law", [law_pairs, law_additivity], ids=lambda law: law.__name__)
@pytest.mark.parametrize("fit", fast_only(FEW, FITS), ids="-".join)
def test_law(law, fit):
    law(fitted(*fit), rows_of(fit[0]))


@pytest.fixture(scope="module")
def correlated():
    """Return four columns, two of which repeat each other, and labels of two classes."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    x = rng.standard_normal((60, 4))
    x[:, 0] += 1.5 * y
    x[:, 1] = x[:, 0] + 0.3 * rng.standard_normal(60)
    return pd.DataFrame(x, columns=list("abcd")), y


MAKERS = {
    "lda": bg.LDA,
    "average": lambda: bg.NaiveBayes(columns="average"),
    "stack": lambda: bg.StackedClassifier([bg.LDA(), bg.NaiveBayes()], random_state=0),
}


@pytest.mark.parametrize("law", [law_order, law_weight], ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", MAKERS)
def test_law_of_rows(law, name, correlated):
    law(MAKERS[name], *correlated)


# -- planted faults --------------------------------------------------------------------------------


def signed(rows, weight, rng):
    """Evidence for and against cancels."""
    (parts,) = explain.weights_of_evidence(rows, evidence_module.centred, "shapley", rng)
    return np.average(parts[1:, :, -1], axis=1, weights=weight)


def against_the_first(logs):
    """All classes are compared with the first, whichever that is."""
    return logs - logs[..., :1]


def in_the_tables_order(rows, contrast, order, rng, **options):
    """Dependent columns do not share: the first has all."""
    return explain.weights_of_evidence(rows, contrast, "columns", rng, **options)


def unweighted(rows, weight, rng):
    """Every row counts once."""
    return MEAN_WEIGHTS(rows, np.ones(rows.n_rows), rng)


def without_the_prior(rows, parts, names):
    """The base value is that of even classes."""
    return AS_ARRAYS(rows, np.concatenate([0 * parts[:1], parts[1:]]), names)


MEAN_WEIGHTS, AS_ARRAYS = explain.mean_weights, explain.as_arrays
FAULTS = [
    (law_pairs, explain, "mean_weights", signed),
    (law_pairs, relevance_module, "centred", against_the_first),
    (law_order, relevance_module, "weights_of_evidence", in_the_tables_order),
    (law_weight, explain, "mean_weights", unweighted),
    (law_additivity, explain, "as_arrays", without_the_prior),
]


@pytest.mark.parametrize(
    ("law", "module", "name", "fault"), FAULTS, ids=lambda part: getattr(part, "__name__", part)
)
def test_a_fault_is_caught(law, module, name, fault, correlated, monkeypatch):
    if law in (law_pairs, law_additivity):
        arguments = fitted("MultivariateNormal", "exact"), rows_of("MultivariateNormal")
    else:
        arguments = bg.LDA, *correlated
    law(*arguments)
    monkeypatch.setattr(module, name, fault)
    with pytest.raises(AssertionError):
        law(*arguments)


# -- answers that are known ------------------------------------------------------------------------


def test_relevance_of_known_normals_is_their_mean_absolute_log_odds():
    """Unit variances and means at -d/2 and d/2: a cell of x has the weight d x."""
    difference = np.array([2.0, 0.5, 0.0])
    x = np.random.default_rng(0).standard_normal((20, 3))
    truth = {
        "class.probs": [0.5, 0.5],
        "normal.mean": np.outer([-0.5, 0.5], difference),
        "normal.variance": np.ones((2, 3)),
    }
    clf = bg.NaiveBayes().fit(x, np.arange(20) % 2).with_parameters(truth)
    expected = np.abs(x).mean(axis=0) * difference
    np.testing.assert_allclose(clf.relevance(x)[WEIGHT], expected, rtol=1e-9, atol=1e-12)


def test_a_column_that_repeats_another_halves_its_evidence(correlated):
    """Two columns that say the same have the same relevance, under LDA as under naive Bayes."""
    X, y = correlated
    both = bg.LDA().fit(X.assign(b=X.a + 1e-6 * X.c), y).relevance()[WEIGHT]
    assert both["a"] == pytest.approx(both["b"], rel=0.05)
    alone = bg.LDA().fit(X.drop(columns="b"), y).relevance()[WEIGHT]
    assert both["a"] + both["b"] == pytest.approx(alone["a"], rel=0.2)


def test_more_than_eight_dependent_columns_take_sampled_orders(monkeypatch):
    """One pair of orders is near the mean of 64, in which each value errs by its own error."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    x = rng.standard_normal((60, 10)) + np.outer(y, np.linspace(0, 1.5, 10))
    clf = bg.LDA().fit(x, y)
    many = clf.relevance()[WEIGHT]
    np.testing.assert_allclose(many, clf.evidence(x, order="shapley").abs().mean()[many.index])
    monkeypatch.setattr(relevance_module, "CELLS", 1)
    few = clf.relevance()[WEIGHT]
    assert few.corr(many) > 0.95 and not np.allclose(few[many.index], many)


# -- the frame -------------------------------------------------------------------------------------


def test_rows_of_the_fit_are_thinned_and_rows_that_are_passed_are_not(monkeypatch, correlated):
    X, y = correlated
    clf = bg.LDA().fit(X, y)
    pd.testing.assert_frame_equal(clf.relevance(), clf.relevance(X))
    monkeypatch.setattr(relevance_module, "ROWS", 20)
    pd.testing.assert_frame_equal(clf.relevance(), clf.relevance(X[::3]))
    assert not clf.relevance(X).equals(clf.relevance(X[::3]))


def test_rows_that_were_not_kept_are_asked_for(tmp_path, correlated):
    X, y = correlated
    clf = bg.LDA().fit(X, y)
    clf.save(tmp_path / "model.bgm")
    loaded = bg.load(tmp_path / "model.bgm")
    with pytest.raises(UnsupportedOperation, match=r"loaded keeps none. Pass rows: relevance\(X\)"):
        loaded.relevance()
    pd.testing.assert_frame_equal(loaded.relevance(X), clf.relevance())


def test_a_stack_has_the_probabilities_of_its_member(correlated):
    X, y = correlated
    members = {"average": bg.NaiveBayes(columns="average"), "lda": bg.LDA()}
    stack = bg.StackedClassifier(members, random_state=0).fit(X, y)
    frame, member = stack.relevance(), stack.members_["average"].relevance(X)
    shared = ["probability", "log_bayes_factor"]
    pd.testing.assert_frame_equal(frame[shared].sort_index(), member[shared].sort_index())
    assert list(bg.StackedClassifier([bg.LDA()]).fit(X, y).relevance()) == [WEIGHT]


def test_missing_patterns_have_relevance_of_their_own():
    X, y = bg.datasets.load_titanic_passengers()
    members = [bg.NaiveBayes(missing="informative"), bg.LDA(missing="informative")]
    rows = X[["age"]]
    for clf in (members[0], bg.StackedClassifier(members, random_state=0)):
        frame = clf.fit(rows, y).relevance(rows[10:20])
        assert set(frame.index) == {"age", "age missing"}
        table = clf.evidence_table(rows[10:20])
        indicator = table["data"][:, table["feature_names"].index("age missing")]
        assert indicator.tolist() == rows["age"][10:20].isna().tolist()


# -- evidence in the shape of shap -----------------------------------------------------------------


def test_the_table_of_two_classes_has_no_axis_of_classes():
    X, y = bg.datasets.load_titanic_passengers()
    clf, rows = bg.NaiveBayes(missing="informative").fit(X, y), X[10:20]
    table = clf.evidence_table(rows)
    assert list(table) == ["values", "base_values", "data", "feature_names"]
    assert table["feature_names"] == ["sex", "age", "age missing", "passengerClass"]
    total = table["base_values"] + table["values"].sum(axis=1)
    np.testing.assert_allclose(total, clf.decision_function(rows), atol=1e-9)
    data = pd.DataFrame(table["data"], columns=table["feature_names"])
    assert data["sex"].tolist() == rows["sex"].tolist()
    np.testing.assert_array_equal(data["age"].astype(float), rows["age"])
    assert data["age missing"].tolist() == rows["age"].isna().tolist()


def test_the_data_of_frames_and_arrays_are_the_cells(correlated):
    X, y = correlated
    clf = bg.StackedClassifier([bg.LDA(), bg.NaiveBayes()], random_state=0).fit(X, y)
    np.testing.assert_array_equal(clf.evidence_table(X.iloc[:5, ::-1])["data"], X[:5])
    of_arrays = bg.LDA().fit(X.to_numpy(), y).evidence_table(X[:5].to_numpy())
    np.testing.assert_array_equal(of_arrays["data"], X[:5])
    assert of_arrays["feature_names"] == ["x0", "x1", "x2", "x3"]
    with pytest.warns(BayesgenWarning, match="lacks"):
        table = clf.evidence_table(X[:5].drop(columns="b"))
    assert np.isnan(table["data"][:, 1]).all() and (table["values"][:, 1] == 0).all()


@pytest.mark.parametrize("binary", [False, True])
def test_words_of_texts_are_columns(binary):
    texts = ["cheap pills", "win money", "meeting at noon", "see you at noon"]
    clf = bg.BagOfWords(binary=binary).fit(pd.Series(texts), y := ["s", "s", "h", "h"])
    words = clf.vectorizer_.get_feature_names_out()
    X = pd.DataFrame(clf.vectorizer_.transform(texts).toarray(), columns=words)
    counts = bg.BagOfWords(binary=binary).fit(X, y)
    pd.testing.assert_frame_equal(clf.relevance(), counts.relevance())
    pd.testing.assert_frame_equal(clf.evidence(texts), counts.evidence(X))
    assert (clf.evidence_table(texts)["data"] == counts.evidence_table(X)["data"]).all()


def test_cells_of_sparse_rows_are_not_imputed():
    X = csr_array(np.eye(4))
    with pytest.raises(InvalidData, match="sparse"):
        bg.NaiveBayes(bg.Poisson()).fit(X, [0, 1, 0, 1]).impute(X)
