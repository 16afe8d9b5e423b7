"""Estimators as scikit-learn's users meet them: pipelines, searches, weights, copies and files."""

import copy
import pickle

import joblib
import numpy as np
import pytest
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayesgen as bg


def test_pipeline_and_cross_validation(iris):
    X, y = iris
    model = make_pipeline(StandardScaler(), bg.QDA())
    assert cross_val_score(model, X, y, cv=3).min() > 0.9
    # rescaling changes no probability: guesses of None follow the columns
    np.testing.assert_allclose(
        model.fit(X, y).predict_proba(X), bg.QDA().fit(X, y).predict_proba(X), rtol=0, atol=1e-9
    )


def test_grid_search(iris):
    X, y = iris
    grid = {"inference": ["exact", "mle", "map"], "class_prior": [1.0, "uniform"]}
    search = GridSearchCV(bg.QDA(), grid, cv=3, n_jobs=1, scoring="neg_log_loss").fit(X, y)
    assert search.best_params_["inference"] in ("exact", "map")
    assert search.best_estimator_.score(X, y) > 0.95
    rows = GridSearchCV(bg.NaiveBayes(), {"likelihood": [bg.Normal(), bg.Normal(mean_rows=5.0)]})
    assert rows.fit(X, y).best_score_ > 0.9


def test_calibration_wraps(iris):
    X, y = iris
    wrapped = CalibratedClassifierCV(bg.NaiveBayes(), method="temperature", cv=3).fit(X, y)
    assert wrapped.predict_proba(X).shape == (150, 3)


def test_routing_of_weights(iris, rng):
    X, y = iris
    weight = rng.integers(0, 3, len(y)).astype(float)
    with config_context(enable_metadata_routing=True):
        routed = bg.NaiveBayes().set_fit_request(sample_weight=True)
        routed = routed.set_score_request(sample_weight=False)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        model = make_pipeline(scaler, routed).fit(X, y, sample_weight=weight)
        scores = cross_val_score(routed, X, y, params={"sample_weight": weight}, cv=3)
    assert scores.min() > 0.9
    direct = bg.NaiveBayes().fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.predict_proba(X), direct.predict_proba(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_set_output_of_coordinates(iris, container):
    X, y = iris
    lda = bg.LDA().set_output(transform=container).fit(X, y)
    out = lda.transform(X)
    assert list(out.columns) == ["lda0", "lda1"] == lda.get_feature_names_out().tolist()
    assert type(out).__module__.startswith(container)


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (bg.NaiveBayes(), "NaiveBayes()"),
        (bg.QDA(class_prior="uniform"), "QDA(class_prior='uniform')"),
        (bg.LDA(inference=bg.NUTS(draws=5)), "LDA(inference=NUTS(draws=5, "),
        (bg.NaiveBayes(bg.Normal(mean_rows=2)), "NaiveBayes(likelihood=Normal(mean_rows=2))"),
        (bg.NaiveBayes({"a": bg.Bernoulli()}), "NaiveBayes(likelihood={'a': Bernoulli()})"),
    ],
)
def test_repr(built, text):
    assert " ".join(repr(built).split()).startswith(text)


def by_joblib(fitted, path):
    joblib.dump(fitted, path)
    return joblib.load(path)


@pytest.mark.parametrize(
    "carry",
    [
        lambda fitted, path: copy.deepcopy(fitted),
        lambda fitted, path: pickle.loads(pickle.dumps(fitted)),
        by_joblib,
    ],
    ids=["deepcopy", "pickle", "joblib"],
)
def test_copies_answer_alike(carry, passengers, tmp_path):
    X, y = passengers
    fitted = bg.NaiveBayes(random_state=0).fit(X, y)
    before = fitted.predict_proba(X)
    carried = carry(fitted, tmp_path / "model.joblib")
    np.testing.assert_array_equal(carried.predict_proba(X), before)
    np.testing.assert_array_equal(carried.predict_interval(X[:5]), fitted.predict_interval(X[:5]))
    assert carried.log_evidence_ == fitted.log_evidence_
    carried.partial_fit(X, y)
    np.testing.assert_array_equal(fitted.predict_proba(X), before)
