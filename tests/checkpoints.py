"""What the tests of checkpoints share: a run that nothing stopped, and runs in other processes."""

import os
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path

import numpy as np
from interrupted import classifier, draws, rows

from bayesgen.errors import NotConverged


@cache
def uninterrupted():
    """Return the draws of a fit that nothing stopped."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        return draws(classifier().fit(*rows()))


def same(found, wanted):
    assert set(found) == set(wanted)
    for name, value in wanted.items():
        np.testing.assert_array_equal(found[name], value)


def apart(folder):
    """Return a function that fits in a process of its own; `folder` keeps what is compiled."""
    compiled = {"JAX_COMPILATION_CACHE_DIR": str(folder)}
    compiled["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    script = str(Path(__file__).with_name("interrupted.py"))

    def run(path, how):
        command = [sys.executable, script, str(path), how]
        return subprocess.run(
            command, env=os.environ | compiled, capture_output=True, check=False, text=True
        )

    return run
