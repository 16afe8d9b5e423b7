"""Fixtures that more than one test file uses."""

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import jax
import jaxtyping
import numpy as np
import numpyro  # first of all: arviz leaves a lazy one behind, which loses its submodules
import pandas as pd
import pytest
from hypothesis.internal.conjecture import providers

import bayesgen as bg

assert numpyro.__version__

MOST_MAPPINGS = 16_000

# pytest tests/estimators/test_hostile.py --hypothesis-profile=hostile: 100,000 tables, other ones
# each time; a failing one is printed with a line that repeats it
hypothesis.settings.register_profile(
    "hostile",
    max_examples=3000,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(hypothesis.HealthCheck),
)


@pytest.fixture(autouse=True, scope="session")
def examples_that_are_the_same_everywhere() -> Iterator[None]:
    """Keep hypothesis from drawing constants of whatever modules this worker happens to have.

    They differ from run to run, whatever the seed: a table that fails must fail again.
    """
    with pytest.MonkeyPatch.context() as patch:
        if hypothesis.settings.get_current_profile_name() != "hostile":
            patch.setattr(providers, "_get_local_constants", providers.Constants)
        yield


def pytest_configure(config: pytest.Config) -> None:
    """Compile a program once for all workers, modules, suites and processes that tests start.

    Five modules that compile much take half as long when their programs lie there already. Programs
    lie by what they say, so that a changed one is compiled anew. Tests compile much and compute
    little: XLA's optimisations, a third of the time of a compilation, are left to the nightly
    tests, the notebooks and the examples.

    What commands print is compared as a pipe gets it, without color and 80 columns wide, whatever
    the environment asks for.
    """
    for name in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
        os.environ.pop(name, None)
    if config.getoption("markexpr") != "nightly":
        os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"
        jax.config.update("jax_disable_most_optimizations", True)
    # without pytest's cache (-p no:cacheprovider) every process compiles for itself
    if not hasattr(config, "cache"):
        return
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(config.cache.mkdir("compiled"))
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    jax.config.update("jax_compilation_cache_dir", os.environ["JAX_COMPILATION_CACHE_DIR"])
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)


def pytest_collection_finish() -> None:
    """Leave what is imported out of garbage collection: a twentieth of the processor's time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let long runs of samplers warn of their chains: how short one is depends on the processor.

    A test that a chain converges, or that a warning is given, says so itself.
    """
    for item in items:
        if item.get_closest_marker("slow") or item.get_closest_marker("nightly"):
            for warning in ("NotConverged", "LowSampleSize"):
                mark = pytest.mark.filterwarnings(f"default::bayesgen.errors.{warning}")
                item.add_marker(mark, append=False)


@pytest.fixture(autouse=True, scope="session")
def arithmetic_that_fails_is_an_error(pytestconfig: pytest.Config) -> Iterator[None]:
    """Raise where NumPy would warn of log(0), of NaN made from numbers, and of overflow.

    The library records warnings to issue each once, and the command prints them as notes, so a test
    may not see one. Code that expects such a value says so by `np.errstate` where it computes it.
    The slow suites, of samplers and other people's diagnostics, warn as users see it.
    """
    fails = "warn" if pytestconfig.getoption("markexpr") in ("slow", "nightly") else "raise"
    with np.errstate(divide=fails, invalid=fails, over=fails):
        yield


@pytest.fixture(autouse=True, scope="module")
def compiled_programs_go_before_memory_is_out_of_mappings() -> Iterator[None]:
    """Give back what was compiled once a quarter of the mappings that Linux grants are taken.

    Hundreds of programs in one process take more of them than vm.max_map_count (65,530), and the
    compiler then ends the process. Where mappings cannot be counted each module gives back its own.
    """
    yield
    maps = Path("/proc/self/maps")
    if not maps.exists() or maps.read_bytes().count(b"\n") > MOST_MAPPINGS:
        jax.clear_caches()


@pytest.fixture(autouse=True)
def pictures_are_closed() -> Iterator[None]:
    """Close what a test drew: pyplot warns of more than twenty, whichever test comes then."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture
def no_type_checks() -> Iterator[None]:
    """For tests that pass what no annotation allows: users have no run-time type checker."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator with a fixed seed, fresh for each test."""
    return np.random.default_rng(20261121)


@pytest.fixture(scope="module")
def iris() -> tuple[pd.DataFrame, pd.Series]:
    """The rows of iris and their species."""
    return bg.datasets.load_iris()


@pytest.fixture(scope="module")
def passengers() -> tuple[pd.DataFrame, pd.Series]:
    """Every seventh passenger of the Titanic, and who survived."""
    X, y = bg.datasets.load_titanic_passengers()
    return X.iloc[::7].reset_index(drop=True), y.iloc[::7].reset_index(drop=True)


@pytest.fixture
def ctrl_c_is_heard() -> Iterator[None]:
    """For tests that send SIGINT, which jobs in the background of a script are started to ignore.

    Processes that such a job starts ignore it as well.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
