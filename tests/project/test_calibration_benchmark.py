"""The calibration benchmark: its splits and scores are checked, its figures are for people."""

import subprocess
import sys
from pathlib import Path

import calibration_cache
import numpy as np
import pandas as pd
import pytest
from calibration_cache import Answers, Cache, fill
from calibration_pictures import critical_difference
from calibration_regimes import REGIMES
from calibration_report import Results, markdown
from calibration_rivals import Rival
from calibration_scores import best_temperature, calibration, difference, losses
from calibration_tables import Benchmark, load
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from bayesgen.calibrate import calibration_error

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "calibration.py"


def answers(rows: list[int], y: list[int], p: list[list[float]]) -> Answers:
    with np.errstate(divide="ignore"):
        log_p = np.log(np.array(p))
    return Answers(np.array(rows), np.array(y), log_p, 0.0, "", "open")


def of_many_rows(n: int = 4000) -> Benchmark:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 5)), columns=list("abcde"))
    return Benchmark("many", X, rng.integers(2, size=n), np.array(["0", "1"]))


@pytest.mark.parametrize("regime", REGIMES)
def test_every_classifier_sees_the_same_rows_and_cells(regime):
    first, second = (load(None, ["iris"])[0] for _ in range(2))
    about = REGIMES[regime]
    pd.testing.assert_frame_equal(about.cells(first), about.cells(second))
    for one, two in zip(about.splits(first), about.splits(second), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
        assert not np.intersect1d(*one).size


def test_shares_of_cells_are_removed_and_smaller_ones_are_among_larger_ones():
    table, removed = of_many_rows(), {}
    for share in (0, 20, 40, 60):
        removed[share] = REGIMES[f"missing-{share}"].cells(table).isna().to_numpy()
        # 20,000 cells: four standard errors of a share are at most .014
        assert removed[share].mean() == pytest.approx(share / 100, abs=0.014)
    assert not (removed[20] & ~removed[40]).any()
    assert not (removed[40] & ~removed[60]).any()


def test_removal_at_random_depends_on_the_first_column_alone():
    table = of_many_rows()
    X = REGIMES["missing-mar"].cells(table)
    assert X["a"].notna().all()
    high = table.X["a"] > table.X["a"].median()
    for column in "bcde":
        # the mean of 2 * .4 * rank over half of the ranks is .6 or .2; four se of 2,000 rows: .044
        shares = sorted(X[column].isna().groupby(high).mean())
        assert shares == pytest.approx([0.2, 0.6], abs=0.044)
        # given the column that decides, the column's own values play no part
        own = table.X[column] > 0
        assert X[column].isna()[own].mean() == pytest.approx(0.4, abs=0.044)


def test_losses_are_means_over_rows_or_splits_and_clipped():
    splits = {
        0: answers([0, 1], [0, 1], [[0.5, 0.5], [1.0, 0.0]]),
        1: answers([0, 2], [0, 0], [[0.25, 0.75], [1.0, 0.0]]),
    }
    log2, clipped = np.log(2), -np.log(1e-15)
    assert losses(splits, by_row=True) == pytest.approx([1.5 * log2, clipped, 0.0])
    assert losses(splits, by_row=False) == pytest.approx([(log2 + clipped) / 2, log2])


def test_differences_are_over_the_splits_that_both_have():
    ours = {s: answers([s], [0], [[0.5, 0.5]]) for s in range(3)}
    theirs = {s: answers([s], [0], [[0.25, 0.75]]) for s in (1, 2, 3)}
    found = difference(ours, theirs, by_row=False)
    assert found.mean == pytest.approx(-np.log(2))
    assert found.error == pytest.approx(0, abs=1e-15)
    assert difference(ours, {9: theirs[1]}, by_row=False) is None


def test_true_probabilities_are_at_their_noise_floor_and_overconfident_ones_are_not():
    rng = np.random.default_rng(0)
    true = rng.dirichlet([1.0, 1.0, 1.0], size=2000)
    y = (rng.random((2000, 1)) > true.cumsum(axis=1)).sum(axis=1)
    sharp = true**2 / (true**2).sum(axis=1, keepdims=True)
    right, over = ({0: answers(range(2000), y, p)} for p in (true, sharp))
    found = calibration(right)
    assert found.error == pytest.approx(calibration_error(y, true, range(true.shape[1])))
    assert found.floor < found.limit
    assert found.error < found.limit
    assert calibration(over).error > calibration(over).limit
    # the information in 2,000 rows: a standard error of the log temperature of about .03
    assert best_temperature(right) == pytest.approx(1, abs=0.12)
    assert best_temperature(over) == pytest.approx(2, abs=0.24)


def test_the_critical_difference_is_that_of_demsar():
    # Demsar (2006), table 5: q of 2, 5 and 10 classifiers at .05, two digits after the comma
    for ranks, q in ((2, 1.960), (5, 2.728), (10, 3.164)):
        scale = np.sqrt(ranks * (ranks + 1) / (6 * 14))
        assert critical_difference(ranks, 14) / scale == pytest.approx(q, abs=6e-4)


def test_answers_are_kept(tmp_path):
    found = answers([3, 4], [0, 1], [[0.5, 0.5], [1.0, 0.0]])
    cache = Cache(tmp_path)
    found.write(cache.path("small", "iris", "stack", "1", 7))
    ((table, column, split, kept),) = cache.answers("small", {"ours": ("stack", "1")})
    assert (table, column, split) == ("iris", "ours", 7)
    assert np.array_equal(kept.log_p, found.log_p)
    assert (kept.failed, kept.origin) == ("", "open")


def test_only_what_the_cache_lacks_is_fitted_and_failures_are_reported(tmp_path, monkeypatch):
    cache, calls = Cache(tmp_path), []

    def frequencies(table: Benchmark) -> DummyClassifier:
        calls.append(table.name)
        return DummyClassifier(strategy="prior")

    # an unknown solver raises in fit
    wrong = Rival(lambda table: LogisticRegression(solver="none"))
    rivals = {"frequencies": Rival(frequencies), "wrong": wrong}
    tables = load(None, ["iris"])
    fill(cache, tables, ["small", "full"], rivals, "now", most=2)
    assert len(calls) == 4
    # a slow rival has one seed of ten folds
    monkeypatch.setattr(calibration_cache, "SLOW", -1.0)
    fill(cache, tables, ["full"], rivals, "now")
    assert len(calls) == 4 + 8
    columns = {name: (name, rival.version("now")) for name, rival in rivals.items()}
    results = Results.read(cache, "full", columns)
    # ten folds of 150 rows: the frequencies of three classes are those of the held-out rows
    assert results.loss.loc["iris", "frequencies"] == pytest.approx(np.log(3))
    report = markdown([results], "frequencies", [])
    assert "| iris     | 1.099       | fails |" in report


def run(*arguments: str) -> str:
    command = [sys.executable, str(SCRIPT), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.nightly
def test_it_scores_classifiers_and_reports_from_the_cache_alone(tmp_path):
    names = ["class frequencies", "logistic", "boosting", "NB MLE", "NB Bayes"]
    arguments = ["--only", "iris", "penguins", "--classifiers", *names, "--quick"]
    arguments += ["--cache", str(tmp_path), "--against", "NB Bayes", "--version", "now"]
    report = run(*arguments)
    assert "### NB Bayes against each" in report
    assert "| penguins " in report
    assert "fails" not in report.split("## Means", 1)[1]
    files = list(tmp_path.rglob("*.npz"))
    # nothing is fitted again
    assert run(*arguments, "--report", "--pictures", str(tmp_path / "pictures")) == report
    assert sorted(tmp_path.rglob("*.npz")) == sorted(files)
    assert {path.parent.name for path in files if path.parent.parent.name == "NB MLE"} == {"now"}


@pytest.mark.nightly
def test_it_scans_strengths():
    report = run(
        "--only", "iris", "penguins", "crabs", "--strengths", "lda", "categorical", "--quick"
    )
    assert "lda: 3 tables" in report
    assert "categorical: 1 tables" in report
    assert "(default)" in report
