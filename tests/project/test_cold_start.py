"""An exact fit and its predictions load nothing heavy."""

import subprocess
import sys

FIT = """
import sys
import numpy as np
import bayesgen as bg

rng = np.random.default_rng(0)
y = np.repeat([0, 1], 20)
X = rng.normal(size=(40, 3)) + y[:, None]
bg.NaiveBayes().fit(X, y).predict_proba(X)
heavy = (
    "jax",
    "jaxlib",
    "numpyro",
    "matplotlib",
    "tqdm",
    "cyclopts",
    "sklearn.model_selection",
    "sklearn.metrics",
    "sklearn.feature_extraction",
)
print([name for name in sys.modules if name in heavy or name.startswith("arviz")])
"""


def test_exact_fit_and_predict_load_nothing_heavy():
    run = subprocess.run([sys.executable, "-c", FIT], capture_output=True, text=True, check=False)
    assert run.stderr == ""
    assert run.stdout.strip() == "[]"
