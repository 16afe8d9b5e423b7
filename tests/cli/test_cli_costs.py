"""Costs on the command line: decisions are those of `decide`, in every type of class."""

import json
import re
import shlex

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet

import bayesgen as bg
from bayesgen.cli import main, options, stated

CASES = {
    "text": (["no", "yes"], "yes:no=5,no:yes=1", {("yes", "no"): 5, ("no", "yes"): 1}),
    "numbers": ([0, 1], "0:1=1,1:0=4", {(0, 1): 1, (1, 0): 4}),
    "booleans": ([False, True], "False:True=1,True:False=6", {(False, True): 1, (True, False): 6}),
    "actions": (
        [0, 1],
        "0:wait=0,0:treat=1,1:wait=7,1:treat=0",
        {(0, "wait"): 0, (0, "treat"): 1, (1, "wait"): 7, (1, "treat"): 0},
    ),
    "colons and commas": (
        ["a", "a:b,c"],
        "a:a:b,c=1,a:b,c:a=9",
        {("a", "a:b,c"): 1, ("a:b,c", "a"): 9},
    ),
    "gains": (["no", "yes"], "yes:no=5,no:yes=1,yes:yes=-2", None),
    "blanks": (["no", "yes"], "yes : no=5, no: yes = 1", {("yes", "no"): 5, ("no", "yes"): 1}),
    "whole floats": ([1.0, 2.0], "1:2=1,2.0:1.0=4", {(1.0, 2.0): 1, (2.0, 1.0): 4}),
}


@pytest.fixture
def rows():
    rng = np.random.default_rng(1)
    return pd.DataFrame({"x": rng.normal(size=60), "z": rng.normal(size=60)})


def fitted(rows, labels, tmp_path):
    y = np.array(labels, dtype=object)[(rows.x + rows.z / 2 > 0).astype(int)]
    y[::6] = labels[0]
    clf = bg.NaiveBayes().fit(rows, np.array(y.tolist()))
    clf.save(tmp_path / "m.bgm")
    rows.to_csv(tmp_path / "rows.csv", index=False)
    return clf


@pytest.mark.parametrize("case", CASES)
def test_decisions_are_those_of_decide(rows, case, tmp_path, capsys):
    labels, typed, loss = CASES[case]
    clf = fitted(rows, labels, tmp_path)
    loss = loss or {("yes", "no"): 5, ("no", "yes"): 1, ("yes", "yes"): -2}
    out = tmp_path / "a.parquet"
    command = ["predict", str(tmp_path / "m.bgm"), str(tmp_path / "rows.csv"), "--cost", typed]
    assert main([*command, "--out", str(out), "--batch", "25", "--keep", "z", "--json"]) == 0
    answers, expected = parquet.read_table(out), clf.decide(rows, loss)
    assert answers.column_names[:3] == ["z", "predicted", "decision"]
    assert answers["decision"].to_pylist() == expected.tolist()
    facts = json.loads(capsys.readouterr().out)
    assert facts["decided"] == pd.Series(expected).astype(str).value_counts().to_dict()
    assert len(set(expected)) == 2 and (case == "actions" or (expected != clf.predict(rows)).any())


def test_law_catches_costs_that_change_places(rows, tmp_path):
    """The planted fault: the decided class first."""
    clf = fitted(rows, ["no", "yes"], tmp_path)
    right, wrong = {("yes", "no"): 5, ("no", "yes"): 1}, {("no", "yes"): 5, ("yes", "no"): 1}
    assert (clf.decide(rows, right) != clf.decide(rows, wrong)).any()


REFUSED = {
    "yes:no=5": r"no cost for the .* \('no', 'yes'\).* Add no:yes=COST",
    "yes:no=5,no:ye=1": r"--cost names the decision 'ye'.* Did you mean 'yes'\?",
    "maybe:no=5": r"--cost maybe:no: the true class comes first.*Type --cost (\S+)\.",
    "yes:=5": r"the true class comes first",
    "yes:no=inf,no:yes=1": r"--cost: the cost of \('yes', 'no'\) is inf",
}


@pytest.mark.parametrize("typed", REFUSED)
def test_costs_are_refused_with_the_cure(rows, typed, tmp_path, capsys):
    fitted(rows, ["no", "yes"], tmp_path)
    command = ["predict", str(tmp_path / "m.bgm"), str(tmp_path / "rows.csv"), "--cost"]
    assert main([*command, typed]) == 1
    said = capsys.readouterr().err
    assert re.search(REFUSED[typed], said)
    if cure := re.search(r"Type --cost (\S+)\.", said):
        assert main([*command, *shlex.split(cure.group(1))]) == 0
    if cure := re.search(r"Add (\S+) with", said):
        assert main([*command, f"{typed},{cure.group(1).replace('COST', '2')}"]) == 0


def test_costs_of_many_classes_are_cut_short():
    with pytest.raises(options.UnusableOptions, match=r"a:b=1,\S*b:a=1, and so on") as refused:
        stated.losses({"z:a": 1.0}, "abcdef")
    assert "b:d" not in str(refused.value)


@pytest.mark.parametrize(
    "typed", ["yes:no", "yes:no=much", "yes:no=1,yes:no=2", "=3", "yes:no=5;no:yes=1"]
)
def test_what_is_no_pair_is_an_argument_refused(rows, typed, tmp_path, capsys):
    fitted(rows, ["no", "yes"], tmp_path)
    command = ["predict", str(tmp_path / "m.bgm"), str(tmp_path / "rows.csv"), "--cost", typed]
    assert main(command) == 2
    assert ("separated by commas" if ";" in typed else "type them as") in " ".join(
        capsys.readouterr().err.replace("│", "").split()
    )


def test_a_kept_column_of_that_name_is_refused(rows, tmp_path, capsys):
    rows["decision"] = np.tile([1.0, 2.5, 4.0], 20)
    fitted(rows, ["no", "yes"], tmp_path)
    command = ["predict", str(tmp_path / "m.bgm"), str(tmp_path / "rows.csv"), "--keep", "decision"]
    assert main([*command, "--cost", "yes:no=5,no:yes=1"]) == 1
    assert "have a column of this name" in capsys.readouterr().err
    assert main(command) == 0
