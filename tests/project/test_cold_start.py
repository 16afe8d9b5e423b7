"""An exact fit and its predictions load nothing heavy."""

import subprocess
import sys

import pytest

FIT = """
import sys
import numpy as np
import bayesgen as bg

rng = np.random.default_rng(0)
y = np.repeat([0, 1], 20)
X = rng.normal(size=(40, 3)) + y[:, None]
clf = bg.{}
clf.fit(X, y).predict_proba(X)
clf.predict(X)
print(*sys.modules)
"""
SAMPLERS_AND_PICTURES = {"jax", "jaxlib", "numpyro", "matplotlib"}
COMMAND_AND_FORESTS = {
    "tqdm",
    "cyclopts",
    "sklearn.model_selection",
    "sklearn.metrics",
    "sklearn.feature_extraction",
}


@pytest.mark.parametrize(
    ("classifier", "light"),
    [
        ("NaiveBayes()", True),
        ("LDA()", True),
        ("QDA()", True),
        ("StackedClassifier(random_state=0)", False),
    ],
)
def test_exact_fit_and_predict_load_nothing_heavy(classifier, light):
    code = FIT.format(classifier)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stderr == ""
    loaded = set(run.stdout.split())
    heavy = SAMPLERS_AND_PICTURES | (COMMAND_AND_FORESTS if light else set())
    assert not loaded & heavy
    assert not [name for name in loaded if name.startswith("arviz")]
