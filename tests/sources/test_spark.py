"""Fits and predictions of Spark DataFrames, by Spark itself, where Java is found."""

import os
import shutil
import signal
import sys

import numpy as np
import pytest
from pages import SPARK, blocks, page, printed
from sources_of_rows import HEAD, SHAPES, arrow, as_columns, fitted, small, uneven

import bayesgen as bg
from bayesgen import errors
from bayesgen.estimators.sources import fit

pyspark = pytest.importorskip("pyspark", reason="Spark is not installed: uv sync --group spark")
JAVA = shutil.which("java") or os.environ.get("JAVA_HOME")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not JAVA, reason="Java is not found: apt-get install default-jre-headless"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    # of jax, if an earlier test of the process has loaded it: the fork starts Java at once
    pytest.mark.filterwarnings(r"ignore:os\.fork\(\) was called"),
]
ROW = "row"


@pytest.fixture(autouse=True)
def few_rows_decide(monkeypatch):
    """Let fewer rows decide on blocks and origins than the first partition has."""
    monkeypatch.setattr(fit, "HEAD_ROWS", HEAD)


@pytest.fixture(scope="module")
def spark():
    """Start two threads on this machine; a task may fail once."""
    from pyspark.sql import SparkSession

    options = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "512m",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master("local[2,2]").config(map=options)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


def partitions(spark, frame, n=4):
    """Return rows in n partitions, in their order."""
    numbered = arrow(frame.assign(**{ROW: np.arange(len(frame))}))
    return spark.createDataFrame(numbered).repartitionByRange(n, ROW)


def with_empty(rows):
    """Return four pieces of the rows by their number, in partitions most of which are empty."""
    return rows.repartition(9, (rows[ROW] / 101).cast("int"))


def in_order(answers, kept):
    """Return the columns of answers in the order of the rows."""
    return answers.toArrow().sort_by(ROW).drop_columns([ROW, *kept]).to_pandas()


@pytest.mark.parametrize("shape", SHAPES)
def test_workers_fit_and_predict(shape, rng, spark, tmp_path):
    frame, clf = uneven(shape, rng)
    X, rows = frame.drop(columns=["y", "w"]), with_empty(partitions(spark, frame))
    expected = fitted(clf, frame)
    found = clf.fit(rows.drop(ROW), y="y", sample_weight="w")
    np.testing.assert_allclose(found.predict_proba(X), expected, rtol=0, atol=1e-10)
    assert found.classes_.tolist() == np.unique(frame["y"]).tolist()
    clf.predict_proba(rows).write.parquet(str(tmp_path / "answers"))
    written = in_order(spark.read.parquet(str(tmp_path / "answers")), frame.columns)
    assert list(written) == [f"probability_{label}" for label in clf.classes_]
    np.testing.assert_allclose(written, clf.predict_proba(X), rtol=0, atol=1e-12)


def test_labels_intervals_and_draws_stand_beside_the_rows(rng, spark):
    frame, clf = small(rng)
    X, rows = frame.drop(columns="y"), partitions(spark, frame, 2)
    labels = in_order(clf.predict(rows), frame.columns)
    assert labels["predicted"].tolist() == clf.predict(X).tolist()
    intervals = in_order(clf.predict_interval(rows, 0.5), frame.columns)
    assert list(intervals) == ["lower_no", "lower_yes", "upper_no", "upper_yes"]
    expected = as_columns(clf.predict_interval(X, 0.5))
    np.testing.assert_allclose(intervals, expected, rtol=0, atol=1e-12)
    draws, found = clf.predict_draws(X), in_order(clf.predict_draws(rows), frame.columns)
    yes = np.stack(found["draws_yes"].to_list())
    np.testing.assert_allclose(yes, draws.sel({"class": "yes"}).values.T, rtol=0, atol=1e-12)


def test_workers_never_load_jax(rng, spark):
    frame, clf = small(rng)
    rows = partitions(spark, frame, 2)
    clf.fit(rows.drop(ROW), y="y").predict_interval(rows).count()

    def loaded(_):
        # as the workers of the fit did
        import bayesgen.estimators.sources.fit

        assert bayesgen
        yield "jaxlib" in sys.modules

    assert (
        spark.sparkContext.parallelize(range(4), 4).mapPartitions(loaded).collect() == [False] * 4
    )


def test_rows_of_a_task_that_dies_count_once(rng, spark, tmp_path):
    frame, clf = SHAPES["missing patterns"](rng)
    X, flag, pid = frame.drop(columns="y"), tmp_path / "killed", os.getpid()
    expected = clf.fit(X, frame["y"]).predict_proba(X)

    def dying(batches):
        from pyspark import TaskContext

        yield from batches
        if TaskContext.get().partitionId() == 2 and not flag.exists():
            assert os.getpid() != pid
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    rows = partitions(spark, frame).drop(ROW)
    found = clf.fit(rows.mapInArrow(dying, rows.schema), y="y")
    assert flag.exists()
    assert found.state_.statistics.count.sum() == len(frame)
    np.testing.assert_allclose(found.predict_proba(X), expected, rtol=0, atol=1e-10)


def test_bad_rows_are_errors_of_ours(rng, spark):
    frame, clf = small(rng, 200)
    frame.iloc[160, 0] = np.inf
    rows = partitions(spark, frame)
    with pytest.raises(errors.InvalidData, match=r"^partition 3, rows 0 to 49: column 'a' holds"):
        clf.fit(rows.drop(ROW), y="y")
    # Spark wraps it, with its own words around
    with pytest.raises(
        pyspark.errors.PythonException, match=r"partition 3, rows 0 to 49: column 'a'"
    ):
        clf.predict_proba(rows).collect()


def test_data_that_cannot_be_fitted_are_refused(rng, spark):
    frame, clf = small(rng)
    rows = partitions(spark, frame, 2).drop(ROW)
    with pytest.raises(errors.InvalidData, match=r"the Spark DataFrame.* no column 'yy'"):
        clf.fit(rows, y="yy")
    with pytest.raises(errors.InvalidData, match=r"^y has 1 class, 'no'"):
        clf.fit(rows.filter("y = 'no'"), y="y")
    with pytest.raises(errors.InvalidData, match="but no rows"):
        clf.fit(rows.filter("y = 'none'"), y="y")


def test_answers_do_not_stand_beside_columns_of_their_name(rng, spark):
    frame, clf = small(rng)
    X = clf.predict_proba(partitions(spark, frame, 2))
    with pytest.raises(errors.InvalidData, match=r"X\.drop\('probability_no', 'probability_yes'\)"):
        clf.predict_proba(X)
    again = clf.predict_proba(X.drop("probability_no", "probability_yes"))
    assert again.columns == X.columns


def test_weights_may_begin_with_zeros(rng, spark):
    frame, clf = SHAPES["numbers"](rng)
    frame["w"] = np.repeat([0.0, 1.5], 200)
    expected = fitted(clf, frame)
    found = clf.fit(partitions(spark, frame).drop(ROW), y="y", sample_weight="w")
    X = frame.drop(columns=["y", "w"])
    np.testing.assert_allclose(found.predict_proba(X), expected, rtol=0, atol=1e-10)


def test_stack_reads_the_rows_twice(rng, spark):
    frame, _ = SHAPES["numbers"](rng)
    X = frame.drop(columns="y")
    members = [bg.NaiveBayes(), bg.LDA()]
    expected = bg.StackedClassifier(members, random_state=0).fit(X, frame["y"]).predict_proba(X)
    stack = bg.StackedClassifier(members, random_state=0)
    rows = partitions(spark, frame)
    found = stack.fit(rows.drop(ROW), y="y").predict_proba(X)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    answers = in_order(stack.predict_proba(rows.drop("y")), X.columns)
    np.testing.assert_allclose(answers, found, rtol=0, atol=1e-12)


def test_page_prints_what_it_shows(spark):
    text, namespace = page("docs/how-to/more-rows-than-memory.md"), {}
    printed(next(code for language, code in blocks(text) if language == "python"), namespace)
    (_, code), (_, shown) = SPARK.findall(text)
    assert printed(code, namespace) == shown
