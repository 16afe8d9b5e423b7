"""Tables and class probabilities that were computed outside this library.

oracles/SOURCES.md and data/SOURCES.md say where each file comes from.
"""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

ORACLES = Path(__file__).parents[1] / "oracles"
DATA = Path(__file__).parents[1] / "data"


@cache
def table(name):
    """Return rows and labels of a table of tests/data; lengths of crabs as logarithms."""
    frame = pd.read_csv(DATA / f"{name}.csv")
    y = frame.pop("Class" if name == "housevotes84" else "class")
    return (np.log(frame) if name == "crabs4class" else frame), y


TABLES = {"crabs4": "crabs4class", "biopsy": "biopsy_complete", "fgl5": "fgl5"}


def reference(name, classes):
    """Return the class probabilities of a reference file, columns in the order of `classes`."""
    frame = pd.read_csv(ORACLES / f"{name}.csv")
    return frame[[str(c) for c in classes]].to_numpy()


def assert_meets(clf, X, name, atol):
    np.testing.assert_allclose(
        clf.predict_proba(X), reference(name, clf.classes_), rtol=0, atol=atol
    )


@cache
def standardised_crabs():
    """Return scaled log lengths, labels and the training rows of the small set-up."""
    X, y = table("crabs4class")
    setup = json.loads((ORACLES / "crabs4_niw_setup.json").read_text(encoding="utf-8"))
    X = (X - pd.Series(setup["center"])) / pd.Series(setup["scale"])
    return X, y, np.array(setup["small_train_rows_1based"]) - 1


# Psi = identity and nu = p + 2 are a guess of I/3 worth 3 rows
INVERSE_WISHART = {"mean": 0.0, "mean_rows": 0.5, "scale": 1 / 3, "covariance_rows": 3}
