"""`bayesgen predict`: columns that are absent, new, nameless, or of another type."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from cli_runs import passengers, run, saved_iris
from pyarrow import csv, parquet

import bayesgen as bg
from bayesgen.cli import streams
from bayesgen.errors.merged import merged_texts


@pytest.fixture
def iris(tmp_path):
    return saved_iris(tmp_path)


@pytest.mark.filterwarnings("default")
def test_absent_columns_are_missing_and_others_are_ignored(iris, tmp_path, capsys):
    X, _ = bg.datasets.load_iris()
    X.drop(columns="petal_width").assign(extra="x").to_csv(tmp_path / "rows.csv", index=False)
    capsys.readouterr()
    assert run("predict", iris, tmp_path / "rows.csv", "--out", tmp_path / "p.parquet") == 0
    output = capsys.readouterr()
    told = [line for line in output.err.splitlines() if line.startswith("note: X lacks")]
    assert len(told) == 1 and "the column 'petal_width'; it counts as missing" in told[0]
    found = parquet.read_table(tmp_path / "p.parquet").to_pandas()
    expected = bg.load(iris).predict_proba(X.assign(petal_width=np.nan))
    np.testing.assert_array_equal(found.filter(like="probability_"), expected)


@pytest.mark.parametrize("container", ["array", "frame of numbers"])
def test_models_of_arrays_and_of_columns_without_text_names(container, tmp_path, rng, capsys):
    X = rng.normal(size=(40, 3))
    frame = X if container == "array" else pd.DataFrame(X)
    clf = bg.NaiveBayes().fit(frame, np.arange(40) % 2)
    clf.save(tmp_path / "m.nc")
    names = ["p", "q", "r"] if container == "array" else ["0", "1", "2"]
    pd.DataFrame(X, columns=names).to_csv(tmp_path / "rows.csv", index=False)
    assert (
        run("predict", tmp_path / "m.nc", tmp_path / "rows.csv", "--out", tmp_path / "p.csv") == 0
    )
    found = csv.read_csv(tmp_path / "p.csv").to_pandas()
    np.testing.assert_allclose(found["probability_1"], clf.predict_proba(frame)[:, 1], rtol=1e-12)


def test_types_hold_for_the_whole_file(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "BLOCK_BYTES", 64)
    path = tmp_path / "rows.csv"
    rows = ["1,x,,true", "NA,y,,false"] * 10 + ["1.5,NA,,true", "2,z,4,false", "2,z,0.5,x"]
    path.write_text("\n".join(["a,b,c,d", *rows]) + "\n")
    types = streams.column_types(path)
    assert {k: str(v) for k, v in types.items()} == {
        "a": "double",
        "b": "string",
        "c": "double",
        "d": "string",
    }
    parts = list(streams.batches(path, ["d", "a"], types, rows=3))
    assert max(map(len, parts)) == 3
    whole = pa.concat_tables(parts).to_pydict()
    assert whole["a"] == [1.0, None] * 10 + [1.5, 2.0, 2.0]
    assert set(whole["d"]) == {"true", "false", "x"}


def test_repeated_notes_are_told_once():
    notes = [f"column 'c{c}' has 'q' in {n} of 99 rows" for c, n in ((1, 3), (1, 20), (2, 3))]
    assert merged_texts(notes) == [f"{notes[0]} (and 2 more like it: 2 columns)"]


@pytest.mark.filterwarnings("default")
def test_new_levels_are_noted(tmp_path, rng, capsys):
    frame = passengers(rng).drop(columns="key")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    out = tmp_path / "m.nc"
    assert run("fit", tmp_path / "rows.csv", "--target", "class", "--out", out) == 0
    frame.assign(deck="new").to_csv(tmp_path / "new.csv", index=False)
    capsys.readouterr()
    arguments = ("--out", tmp_path / "p.csv", "--batch", 100)
    assert run("predict", out, tmp_path / "new.csv", *arguments) == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if "'deck'" in line]
    assert len(notes) == 1
    assert "'new'" in notes[0]
