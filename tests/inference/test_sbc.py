"""Simulation-based calibration (law 11): a true value is exchangeable with its posterior draws.

Parameters come from the prior, rows from the parameters, draws from the posterior of the rows; the
ranks of the parameters among the draws are then uniform. What is ranked and how stands in
benchmarks/sbc.py, which runs the same on more fits; NUTS is in test_sbc_nuts.py. A right library
fails each test with a probability of 1 %, shared out over its quantities; the seeds are fixed.
"""

import functools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sbc
from cases import CASES
from faults_sbc import FAULTS
from subjects import GROUPS, SUBJECTS

from bayesgen.calibrate import uniformity
from bayesgen.calibrate.simulation import rank
from bayesgen.likelihoods import KernelDiscriminant

EXACT = [name for name, subject in SUBJECTS.items() if "exact" in subject.inferences]
FEW = ("Normal", "MultivariateNormal shared", "Categorical", "Poisson")
FITS, FAULTY = 400, 200
SUBTLE = {"divides_by_n_minus_one": 1000}
"""Fits that show a variance a tenth too large; rows of a class are some ten."""


def least(found: list[sbc.Line]) -> dict[str, float]:
    """Return quantities whose p-value is below the threshold of them all."""
    limit = sbc.threshold(len(found))
    return {
        f"{line.likelihood}: {line.quantity}": line.least for line in found if line.least < limit
    }


def exact(*names: str, fits: int = FITS) -> list[sbc.Line]:
    rng = np.random.default_rng(7)
    return sbc.lines(sbc.exact_ranks({n: SUBJECTS[n] for n in names}, fits, rng), "exact")


@pytest.mark.slow
def test_every_family_is_examined():
    examined = {type(subject.prior()) for subject in SUBJECTS.values()}
    # kernels around the rows themselves have no prior to simulate rows from; see their coverage
    assert {type(case.prior) for case in CASES.values()} - {KernelDiscriminant} <= examined
    sampled = {name for group in GROUPS for name in group}
    assert sampled == {n for n, s in SUBJECTS.items() if "nuts" in s.inferences}
    closed = {name for name, subject in SUBJECTS.items() if subject.prior().conjugate}
    assert closed == set(EXACT)


def test_exact_ranks_are_uniform():
    assert not least(exact(*FEW, fits=200))


@pytest.mark.nightly
def test_exact_ranks_of_every_family_are_uniform():
    assert not least([line for name in EXACT for line in exact(name)])


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(
            fault, id=f"{fault[-1].__name__}, {fault[0]}", marks=[pytest.mark.slow] * (i > 0)
        )
        for i, fault in enumerate(FAULTS)
    ],
)
def test_planted_fault_is_caught(fault, monkeypatch):
    name, owner, attribute, wrong = fault
    monkeypatch.setattr(owner, attribute, wrong(getattr(owner, attribute)))
    assert least(exact(name, fits=SUBTLE.get(wrong.__name__, FAULTY)))


def test_every_closed_form_has_a_fault():
    assert {name for name, *_ in FAULTS} == set(EXACT)


# -- the tests of uniformity ---------------------------------------------------------------------


@functools.cache
def p_values(power: float) -> np.ndarray:
    """Return p-values of 1,000 samples of 200 uniform numbers, raised to a power."""
    rng = np.random.default_rng(0)
    samples = rng.random((1000, 200)) ** power
    return np.array([[uniformity.chi_square(s), uniformity.ecdf(s)] for s in samples])


@pytest.mark.parametrize("level", [0.01, 0.05, 0.2])
def test_uniform_numbers_are_out_as_often_as_stated(level):
    error = np.sqrt(level * (1 - level) / 1000)
    assert (np.abs((p_values(1.0) < level).mean(axis=0) - level) < 4 * error + 0.002).all()


def test_other_numbers_are_out():
    """Numbers whose mean is .55, 2.5 standard errors off: the ECDF sees a slope better."""
    power = (p_values(1 / 1.22) < 0.05).mean(axis=0)
    assert (power > 0.3).all() and power[1] > power[0]


def test_bands_hold_all_of_a_curve():
    z, low, high = uniformity.bands(200, 0.05)
    samples = np.sort(np.random.default_rng(1).random((2000, 200)))
    below = np.array([np.searchsorted(s, z, side="right") for s in samples]) / 200
    out = ((below < low - 1e-9) | (below > high + 1e-9)).any(axis=1).mean()
    assert abs(out - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 2000) + 0.005


def test_ranks_of_ties_fall_at_random(rng):
    ranks = [rank(1.0, np.array([0.0, 1.0, 1.0, 2.0]), rng) for _ in range(2000)]
    assert 0.2 <= min(ranks) < 0.21 and 0.79 < max(ranks) <= 0.8


# -- the script ----------------------------------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.parametrize("script", ["sbc.py", "interval_coverage.py"])
def test_script_prints_a_table_and_keeps_its_figures(script, tmp_path):
    path = Path(sbc.__file__).with_name(script)
    command = [sys.executable, str(path), "Normal", "KernelDensity", "--quick"]
    if script == "sbc.py":
        command += ["--inference", "exact", "--plots", str(tmp_path)]
    done = subprocess.run(
        [*command, "--json", str(tmp_path / "figures.json")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "| Normal | exact |" in done.stdout
    assert "KernelDensity" in (tmp_path / "figures.json").read_text(encoding="utf-8")
    if script == "sbc.py":
        assert (tmp_path / "Normal_exact.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.nightly
@pytest.mark.parametrize("script", ["sbc.py", "interval_coverage.py"])
def test_script_knows_its_likelihoods(script):
    command = [sys.executable, str(Path(sbc.__file__).with_name(script)), "Gauss"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "there are Normal, " in done.stderr
