"""Fits to sources: parts with other columns, rows or labels, and fits that need all rows."""

import numpy as np
import pandas as pd
import pytest
from pyarrow import dataset
from sources_of_rows import arrow

import bayesgen as bg
from bayesgen import errors
from bayesgen.estimators.sources import fit

GOOD = pd.DataFrame({"a": [1.0, 2, 3, 4], "s": list("uvuv"), "y": list("pqpq")})
BAD = {
    "infinity": (
        {"a": [1, 2, np.inf, 4]},
        errors.InvalidData,
        "part 1, rows 0 to 3: column 'a' holds",
    ),
    "text": ({"a": list("wxyz")}, errors.InvalidData, "part 1, rows 0 to 3: column 'a' holds"),
    "numbers": ({"s": [1, 2, 3, 4]}, errors.InvalidData, "part 1, rows 0 to 3: column 's' holds"),
    "another column": (
        {"z": 1},
        errors.InvalidData,
        "part 1, rows 0 to 3: The feature names should match",
    ),
    "no label": (
        {"y": ["p", None, "q", "q"]},
        errors.InvalidData,
        "part 1, rows 0 to 3: column 'y'",
    ),
    "other labels": (
        {"y": [1, 2, 1, 2]},
        errors.InvalidData,
        "part 1, .*classes are 'p', 'q' in some rows and 1, 2",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_rows_are_named_by_part_and_column(name):
    columns, kind, sentence = BAD[name]
    clf = bg.NaiveBayes().fit(GOOD, y="y")
    before = dict(vars(clf))
    with pytest.raises(kind, match=f"^{sentence}"):
        clf.fit([GOOD, GOOD.assign(**columns)], y="y")
    assert vars(clf) == before


@pytest.mark.filterwarnings("ignore::bayesgen.errors.CountsAsMissing")
def test_parts_may_lack_columns_rows_classes_and_weight():
    parts = [GOOD[:0], GOOD[::2], GOOD.drop(columns="a"), GOOD[:0], GOOD[1::2]]
    whole = pd.concat(parts)
    expected = bg.NaiveBayes().fit(whole, y="y").predict_proba(GOOD[["a", "s"]])
    found = bg.NaiveBayes().fit(parts, y="y").predict_proba(GOOD[["a", "s"]])
    np.testing.assert_allclose(found, expected, atol=1e-12)
    weighted = [GOOD.assign(w=0), GOOD.assign(w=[1, 1, 0, 2])]
    found = bg.NaiveBayes().fit(weighted, y="y", sample_weight="w")
    assert found.state_.statistics.count.tolist() == [1, 3]
    with pytest.raises(errors.InvalidData, match="zero in every row"):
        bg.NaiveBayes().fit(weighted[:1], y="y", sample_weight="w")


def test_interrupted_fit_leaves_the_classifier_as_it_was():
    def frames():
        yield GOOD
        raise KeyboardInterrupt

    clf = bg.NaiveBayes().fit(GOOD, y="y")
    before = dict(vars(clf))
    with pytest.raises(KeyboardInterrupt):
        clf.fit(frames(), y="y")
    assert vars(clf) == before


@pytest.mark.parametrize(
    "clf",
    [
        bg.NaiveBayes(temper="learn"),
        bg.NaiveBayes(bins=4),
        bg.NaiveBayes({"a": bg.KernelDensity(), "s": bg.Categorical()}),
        bg.GenerativeClassifier(story=print),
    ],
)
def test_fits_that_need_all_rows_say_so(clf):
    with pytest.raises(errors.InvalidData, match="needs all rows in memory"):
        clf.fit([GOOD], y="y")


def test_progress_bar_counts_rows(capsys, monkeypatch):
    shown = {}

    def bar(total, progress, **options):
        shown.update(total=total, progress=progress, **options)
        return progress_bar(total, False, **options)

    progress_bar = fit.progress_bar
    monkeypatch.setattr(fit, "progress_bar", bar)
    bg.NaiveBayes().fit(dataset.dataset(arrow(GOOD)), y="y")
    assert (shown["total"], shown["progress"], shown["unit"]) == (4, "auto", "row")
    assert capsys.readouterr().err == ""
