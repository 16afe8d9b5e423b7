"""Fits and predictions of Dask DataFrames, by its schedulers themselves."""

import os
import signal
import sys

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sources_of_rows import HEAD, SHAPES, as_columns, fitted, small, uneven

import bayesgen as bg
from bayesgen import errors
from bayesgen.estimators.sources import fit
from bayesgen.sources import source_of

# of pandas, to what Dask calls
WRITES = pytest.mark.filterwarnings("ignore:The inplace keyword")


@pytest.fixture(autouse=True)
def few_rows_decide(monkeypatch):
    """Let fewer rows decide on blocks and origins than the first partition has."""
    monkeypatch.setattr(fit, "HEAD_ROWS", HEAD)


@pytest.fixture
def here():
    """Run tasks one after the other in this process."""
    with dask.config.set(scheduler="sync"):
        yield


def partitions(*frames):
    """Return the Dask DataFrame of these partitions, each as it is."""
    read = [dask.delayed(frame) for frame in frames]
    return dd.from_delayed(read, meta=frames[0][:0], verify_meta=False)


def with_empty(frame):
    """Return the rows in partitions, of which the first and a later one are empty."""
    return partitions(frame[:0], frame[:130], frame[130:260], frame[:0], frame[260:])


# -- fits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_empty_partitions_and_weights_count_as_in_the_table(shape, rng, here):
    frame, clf = uneven(shape, rng)
    expected = fitted(clf, frame)
    found = clf.fit(with_empty(frame), y="y", sample_weight="w")
    X = frame.drop(columns=["y", "w"])
    np.testing.assert_allclose(found.predict_proba(X), expected, rtol=0, atol=1e-10)
    assert found.classes_.tolist() == np.unique(frame["y"]).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("inference", ["map", "nuts"])
def test_iterations_start_from_the_merged_statistics(inference, rng, here):
    frame, _ = SHAPES["numbers"](rng)
    X = frame.drop(columns="y")
    clf = bg.NaiveBayes(inference=inference, random_state=0)
    expected = clf.fit(X, frame["y"]).predict_proba(X)
    found = clf.fit(dd.from_pandas(frame, npartitions=3), y="y").predict_proba(X)
    # a chain magnifies how statistics round
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 if inference == "map" else 0.02)


GOOD = pd.DataFrame({"a": [1.0, 2, 3, 4] * 30, "s": list("uvuv") * 30, "y": list("pqpq") * 30})
HEADS = {
    "dtype": {"a": [1, 2, 3, 4] * 30},
    "numbers missing": {"a": np.nan},
    "levels missing": {"s": pd.array([None] * 120, dtype="str")},
    "categories": {"s": pd.Categorical(GOOD["s"])},
    "class absent": {"y": "p"},
    "class without weight": {"w": [1.0, 0.0] * 60},
    "without weight": {"w": 0.0},
}


@pytest.mark.parametrize("name", HEADS)
def test_rows_that_decide_may_lack_what_others_have(name, here):
    rest = GOOD.assign(a=GOOD["a"] + 1e9, w=1.5)
    head = GOOD.assign(w=1.0).assign(**HEADS[name])
    whole = pd.concat([head, rest])
    X = whole[["a", "s"]]
    expected = bg.NaiveBayes().fit(X, whole["y"], whole["w"]).predict_proba(X)
    found = bg.NaiveBayes().fit(partitions(head, rest), y="y", sample_weight="w")
    assert found.classes_.tolist() == ["p", "q"]
    np.testing.assert_allclose(found.predict_proba(X), expected, rtol=0, atol=1e-10)


def test_head_reads_no_more_partitions_than_it_needs(here):
    read = []

    def part(i):
        read.append(i)
        return GOOD[: 0 if i < 2 else 30]

    data = dd.from_map(part, range(9), meta=GOOD[:0])
    head = source_of(data).cluster.head(HEAD)
    assert len(head) == HEAD
    assert max(read) < 7


BAD = {
    "text": ({"a": "w"}, errors.InvalidData, "partition 1, rows 0 to 119: column 'a' holds"),
    "numbers": ({"s": 1}, errors.InvalidData, "partition 1, rows 0 to 119: column 's' holds"),
    "no label": (
        {"y": [*GOOD["y"][:7], None, *GOOD["y"][8:]]},
        errors.InvalidData,
        "partition 1, rows 0 to 119: column 'y' is missing",
    ),
    "other labels": (
        {"y": 1},
        errors.InvalidData,
        "partition 1, .*classes are 'p', 'q' in some rows and 1 ",
    ),
    "weights": ({"w": -1.0}, errors.InvalidData, "partition 1, rows 0 to 119: sample_weight is"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_partition_is_named(name, here):
    columns, kind, sentence = BAD[name]
    clf = bg.NaiveBayes().fit(GOOD, y="y")
    before, good = dict(vars(clf)), GOOD.assign(w=1.0)
    with pytest.raises(kind, match=f"^{sentence}"):
        clf.fit(partitions(good, good.assign(**columns)), y="y", sample_weight="w")
    assert vars(clf) == before


@pytest.mark.parametrize("column", ["a", "y"])
def test_partition_that_lacks_a_column_is_named(column, here):
    with pytest.raises(errors.InvalidData, match=f"^partition 1 has no column '{column}'"):
        bg.NaiveBayes().fit(partitions(GOOD, GOOD.drop(columns=column)), y="y")


def test_rows_that_decide_are_named(here):
    bad = GOOD.assign(a=[*GOOD["a"][:9], np.inf, *GOOD["a"][10:]])
    with pytest.raises(errors.InvalidData, match=r"^the first rows, rows 0 to 49: column 'a'"):
        bg.NaiveBayes().fit(partitions(bad, GOOD), y="y")


def test_data_that_cannot_be_fitted_are_refused(here):
    def refused(kind, sentence, *frames, y="y", **options):
        with pytest.raises(kind, match=sentence):
            bg.NaiveBayes(**options).fit(partitions(*frames), y=y)

    one = GOOD.assign(y="p")
    refused(errors.InvalidData, "^y has 1 class, 'p'", one, one)
    refused(errors.InvalidData, "but no rows", GOOD[:0], GOOD[:0])
    refused(errors.InvalidData, r"no column 'yy' \(did you mean 'y'\?\)", GOOD, y="yy")
    refused(errors.InvalidData, "needs all rows in memory", GOOD, bins=4)
    kernels = {("a",): bg.KernelDensity(), "s": bg.Categorical()}
    refused(errors.InvalidData, "needs all rows in memory", GOOD, likelihood=kernels)
    none = partitions(GOOD.assign(w=0.0))
    with pytest.raises(errors.InvalidData, match="zero in every row"):
        bg.NaiveBayes().fit(none, y="y", sample_weight="w")


def test_errors_of_the_engine_are_its_own(here):
    def unreadable(i):
        raise OSError(f"disk {i} is gone")

    with pytest.raises(OSError, match="disk 0 is gone"):
        bg.NaiveBayes().fit(dd.from_map(unreadable, range(2), meta=GOOD[:0]), y="y")


def test_stack_reads_the_partitions_twice(rng, here):
    frame, _ = SHAPES["numbers"](rng)
    X = frame.drop(columns="y")
    members = [bg.NaiveBayes(), bg.LDA()]
    expected = bg.StackedClassifier(members, random_state=0).fit(X, frame["y"]).predict_proba(X)
    stack = bg.StackedClassifier(members, random_state=0)
    found = stack.fit(dd.from_pandas(frame, npartitions=3), y="y")
    np.testing.assert_allclose(found.predict_proba(X), expected, rtol=0, atol=1e-10)
    answers = stack.predict_proba(dd.from_pandas(X, npartitions=2)).compute()
    np.testing.assert_allclose(answers, found.predict_proba(X), rtol=0, atol=1e-12)


# -- predictions -----------------------------------------------------------------------------------


def test_answers_keep_the_index_of_the_rows(rng, here):
    frame, clf = SHAPES["missing patterns"](rng)
    frame.index = pd.Index([f"row {i:03}" for i in range(len(frame))], name="key")
    X = frame.drop(columns="y")
    expected = clf.fit(X, frame["y"]).predict_proba(X)
    answers = clf.predict_proba(with_empty(frame))
    found = answers.compute()
    assert list(found) == [f"probability_{label}" for label in clf.classes_]
    pd.testing.assert_index_equal(found.index, frame.index)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    pd.testing.assert_frame_equal(answers.partitions[0].compute(), found[:0])
    both = dd.from_pandas(frame, npartitions=3).assign(yes=found["probability_yes"]).compute()
    np.testing.assert_allclose(both["yes"], expected[:, 1], rtol=0, atol=1e-12)


def test_labels_intervals_and_draws(rng, here):
    frame, clf = small(rng)
    X, data = frame.drop(columns="y"), dd.from_pandas(frame, npartitions=3)
    labels = clf.predict(data).compute()
    assert labels["predicted"].tolist() == clf.predict(X).tolist()
    intervals = clf.predict_interval(data, 0.5).compute()
    assert list(intervals) == ["lower_no", "lower_yes", "upper_no", "upper_yes"]
    expected = as_columns(clf.predict_interval(X, 0.5))
    np.testing.assert_allclose(intervals, expected, rtol=0, atol=1e-12)
    draws, found = clf.predict_draws(X), clf.predict_draws(data).compute()
    yes = np.stack(found["draws_yes"].to_list())
    np.testing.assert_allclose(yes, draws.sel({"class": "yes"}).values.T, rtol=0, atol=1e-12)
    weight = np.stack(found["weight"].to_list())
    np.testing.assert_allclose(weight, draws["weight"].values.T, rtol=0, atol=1e-12)


@WRITES
def test_dask_writes_draws(rng, here, tmp_path):
    frame, clf = small(rng)
    answers = clf.predict_draws(dd.from_pandas(frame, npartitions=2))
    # Dask cannot tell the type of lists before it has some
    answers.to_parquet(tmp_path, schema=None)
    written = pd.read_parquet(tmp_path)["draws_no"]
    expected = clf.predict_draws(frame.drop(columns="y")).sel({"class": "no"}).values.T
    np.testing.assert_allclose(np.stack(written.to_list()), expected, rtol=0, atol=1e-12)


# -- workers ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client():
    """Start two processes on this machine."""
    from dask.distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(processes=True, **options) as cluster, Client(cluster) as client:
        yield client


@WRITES
@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_workers_fit_and_predict(shape, rng, client, tmp_path):
    frame, clf = uneven(shape, rng)
    X = frame.drop(columns=["y", "w"])
    expected = fitted(clf, frame)
    found = clf.fit(with_empty(frame), y="y", sample_weight="w")
    np.testing.assert_allclose(found.predict_proba(X), expected, rtol=0, atol=1e-10)
    clf.predict_proba(with_empty(frame)).to_parquet(tmp_path)
    written = dd.read_parquet(tmp_path).compute()
    np.testing.assert_allclose(written, clf.predict_proba(X), rtol=0, atol=1e-12)
    assert written.index.tolist() == X.index.tolist()


@pytest.mark.slow
def test_workers_never_load_jax(rng, client):
    frame, clf = small(rng)
    data = dd.from_pandas(frame, npartitions=4)
    clf.fit(data, y="y").predict_interval(data).compute()

    def loaded():
        return "bayesgen.estimators" in sys.modules, "jaxlib" in sys.modules

    assert set(client.run(loaded).values()) == {(True, False)}


@pytest.mark.slow
def test_workers_report_bad_rows_as_errors_of_ours(rng, client):
    bad = GOOD.assign(a=[1.0, 2, np.inf, 4] * 30)
    with pytest.raises(errors.InvalidData, match=r"^partition 1, rows 0 to 119: column 'a'"):
        bg.NaiveBayes().fit(partitions(GOOD, bad), y="y")
    clf = bg.NaiveBayes().fit(GOOD, y="y")
    with pytest.raises(errors.InvalidData, match=r"^partition 1, rows 0 to 119: column 'a'"):
        clf.predict_proba(partitions(GOOD, bad)).compute()


@pytest.mark.slow
def test_rows_of_a_worker_that_dies_count_once(rng, client, tmp_path):
    frame, clf = SHAPES["missing patterns"](rng)
    X = frame.drop(columns="y")
    expected = clf.fit(X, frame["y"]).predict_proba(X)
    flag = tmp_path / "killed"

    def part(i):
        if i == 6 and not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return frame[50 * i : 50 * i + 50]

    data = dd.from_map(part, range(8), meta=frame[:0])
    found = clf.fit(data, y="y")
    assert flag.exists()
    assert found.state_.statistics.count.sum() == len(frame)
    np.testing.assert_allclose(found.predict_proba(X), expected, rtol=0, atol=1e-10)
