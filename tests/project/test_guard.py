"""What the guard marks is worse twice; the noise of one measurement is not marked."""

import itertools
import json

import guard
import pytest
from results import Result


def work(*ratios):
    """Return something whose ratios of seconds are those, one after the other."""
    figures = itertools.chain(ratios)
    return guard.Work("fit", lambda: (lambda: next(figures), lambda: 1.0), repeats=1)


KEPT = Result("fit", None, 2.0)


@pytest.mark.parametrize(
    ("ratios", "figure", "met"),
    [
        ([2.4], 2.4, True),
        ([1.0], 1.0, True),
        ([2.6, 2.1], 2.1, True),
        ([2.6, 2.7], 2.6, False),
        ([9.0, 8.0], 8.0, False),
    ],
)
def test_what_is_worse_twice_is_marked(ratios, figure, met):
    found = guard.judged(work(*ratios), KEPT)
    assert (found.measured, found.met) == (figure, met)
    assert ("measured twice" in found.note) == (len(ratios) == 2)


def test_what_was_never_kept_is_not_judged():
    assert guard.judged(work(9.0), None).met is None


def test_kept_figures_are_renewed_one_by_one(tmp_path):
    path = tmp_path / "guard.json"
    guard.keep([KEPT, Result("predict", None, 1.5)], path)
    guard.keep([Result("fit", "<= 2.5", 2.2, note="measured twice")], path)
    assert {name: line.measured for name, line in guard.kept_ratios(path).items()} == {
        "fit": 2.2,
        "predict": 1.5,
    }
    assert guard.kept_ratios(path)["fit"].met is None
    about = json.loads(path.read_text(encoding="utf-8"))
    assert about["date"] and about["machine"]["versions"]["scikit-learn"]


def test_everything_that_is_measured_was_kept():
    assert {work.name for work in guard.works()} == set(guard.kept_ratios())
