"""Simulation-based calibration given rows most of which have no label (see test_sbc.py)."""

import numpy as np
import pytest
import sbc
from paces import fast_only
from subjects import SUBJECTS, UNLABELLED
from test_sbc import least

from bayesgen.inference import unlabelled_draws

LEVELS, FEW = ("Categorical",), 80
"""The table whose faults the fewest fits show, and their number."""


def found(names: tuple[str, ...], fits: int) -> list[sbc.Line]:
    subjects, rng = {name: SUBJECTS[name] for name in names}, np.random.default_rng(3)
    return sbc.lines(sbc.unlabelled_ranks(subjects, fits, rng, UNLABELLED[names]), "augmentation")


def hard_labels(right):
    return lambda logs, rng: logs.argmax(axis=1)


def labels_drawn_once(right):
    """The labels that the first sweep of a fit drew, in every sweep of it."""
    fits = {}

    def wrong(logs, rng):
        # a fit has a generator of its own
        kept = fits.setdefault(id(rng), (rng, right(logs, rng)))
        return kept[1]

    return wrong


@pytest.mark.slow
def test_ranks_are_uniform():
    assert not least(found(LEVELS, FEW))


@pytest.mark.parametrize(
    "fault", fast_only([], [hard_labels, labels_drawn_once], slow=[labels_drawn_once])
)
def test_planted_fault_is_caught(fault, monkeypatch):
    monkeypatch.setattr(unlabelled_draws, "_drawn", fault(unlabelled_draws._drawn))
    assert least(found(LEVELS, FEW))


@pytest.mark.nightly
@pytest.mark.parametrize("names", UNLABELLED, ids=", ".join)
def test_ranks_of_more_fits_are_uniform(names):
    assert not least(found(names, 150 if UNLABELLED[names] else 300))


@pytest.mark.nightly
def test_planted_fault_is_caught_where_cells_are_missing(monkeypatch):
    """Six columns leave labels so little doubt that hard ones would not be seen."""
    monkeypatch.setattr(unlabelled_draws, "_drawn", labels_drawn_once(unlabelled_draws._drawn))
    mixed = next(names for names, missing in UNLABELLED.items() if missing)
    assert least(found(mixed, FEW))
