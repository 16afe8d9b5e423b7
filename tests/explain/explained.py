"""Classifiers of every case, fitted as users fit them, for the tests of explanations."""

import copy
import dataclasses
import functools
import warnings

import numpy as np
from case import Case
from cases import CASES

import bayesgen as bg
from bayesgen import diagnose
from bayesgen.errors import BayesgenWarning
from bayesgen.inference import Posterior

WORDS = [name for name in CASES if name.startswith("Multinomial")]
"""Counts of words share their total: no cell can be filled in by itself."""


def cells(case: Case, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return complete rows as users have them, NaN to be put where a cell is missing."""
    x, y = case.table(np.random.default_rng(seed), n)
    return x.astype(float), y


@functools.cache
def fitted(name: str, method: str) -> bg.GenerativeClassifier:
    """Return a classifier of one case; "draws" are those of the exact posterior."""
    case = CASES[name]
    X, y = cells(case, 40, seed=3)
    inference = "exact" if method == "draws" else method
    clf = bg.GenerativeClassifier(case.vague, inference=inference, random_state=0)
    with warnings.catch_warnings():
        # some optimizers stop early on so few rows, which does not matter here
        warnings.simplefilter("ignore", BayesgenWarning)
        clf.fit(X, y)
    if method == "draws":
        clf = copy.copy(clf)
        drawn = diagnose.draws_of(clf.fitted_.posterior, np.random.default_rng(0), 40)
        clf.fitted_ = dataclasses.replace(clf.fitted_, inferred=Posterior(drawn))
    return clf


def methods(name: str) -> list[str]:
    """Return the kinds of posterior that a case has."""
    if not CASES[name].prior.conjugate:
        return ["map"]
    if name.startswith("KernelDiscriminant"):
        return ["exact", "draws"]
    return ["exact", "mle"] if name.startswith("KernelDensity") else ["exact", "mle", "draws"]


FITS = [(name, method) for name in CASES for method in methods(name)]
