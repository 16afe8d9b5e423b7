"""What the tests of `bayesgen fit` and `bayesgen predict` share: a run, a model, a table."""

import numpy as np
import pandas as pd

import bayesgen as bg
from bayesgen.cli import main


def run(*arguments):
    """Return the exit code of the command line."""
    return main([str(argument) for argument in arguments])


def saved_iris(folder):
    """Return the path of a model of iris."""
    path = folder / "iris.nc"
    X, y = bg.datasets.load_iris()
    bg.NaiveBayes(inference="map", random_state=0).fit(X, y).save(path)
    return path


def passengers(rng, n=300):
    """Return rows of text, booleans, whole numbers and numbers, with holes, and a key."""
    frame = pd.DataFrame(
        {
            "key": [f"{i:05d}" for i in range(n)],
            "fare": rng.normal(30.0, 5.0, n).round(2),
            "berths": rng.integers(1, 4, n),
            "deck": rng.choice(["a", "b", "c"], n),
            "insured": rng.choice([True, False], n),
            "class": rng.choice(["1st", "2nd"], n),
        }
    )
    frame.loc[frame.index[::7], "fare"] = np.nan
    frame.loc[frame.index[::11], "deck"] = None
    return frame
