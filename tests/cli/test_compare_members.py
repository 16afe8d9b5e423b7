"""A comparison shows the members of stacks: their scores and weights, as means over folds."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB

import bayesgen as bg
from bayesgen.cli import main

MEMBERS = {"naive": bg.NaiveBayes(), "straight": bg.LDA()}


def iris(step=3):
    X, y = bg.datasets.load_iris()
    return X[::step].reset_index(drop=True), y[::step].reset_index(drop=True)


@pytest.mark.parametrize("pool", ["learn", None])
def test_members_are_means_over_the_folds(pool):
    X, y = iris()
    stack = bg.StackedClassifier(MEMBERS, pool=pool)
    found = bg.compare({"naive": bg.NaiveBayes(), "stack": stack}, X, y, cv=3)
    folds = StratifiedKFold(3, shuffle=True, random_state=0).split(X, y)
    tables = [stack.fit(X.iloc[fit], y.iloc[fit]).members_table() for fit, _ in folds]
    wanted = pd.concat({"stack": sum(tables) / 3}, names=["classifier"])
    pd.testing.assert_frame_equal(found.members, wanted, rtol=1e-9)
    for text in (repr(found), found._repr_html_()):
        assert "straight" in text and "log-lin." in text and "Members of a stack" in text
    assert "nan" not in repr(found).lower()


@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
def test_a_member_that_is_left_out_of_a_fold_has_no_weight_there():
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) // 5 > 0
    # a reference prior of 2 columns needs 4 rows of each class; folds have 3 or 4 of one
    stack = bg.StackedClassifier({"curved": bg.QDA(prior="reference"), "straight": bg.LDA()})
    found = bg.compare({"stack": stack}, X, y, cv=3)
    folds = StratifiedKFold(3, shuffle=True, random_state=0).split(X, y)
    tables = [stack.fit(X[fit], y[fit]).members_table() for fit, _ in folds]
    lines = [table.loc["curved"] for table in tables if "curved" in table.index]
    assert 1 <= len(lines) < 3
    line, loss = found.members.loc[("stack", "curved")], "leave_one_out_log_loss"
    assert line[loss] == pytest.approx(sum(one[loss] for one in lines) / len(lines))
    for name in ("weight", "log_linear_weight"):
        assert line[name] == pytest.approx(sum(one[name] for one in lines) / 3)
    assert found.members.loc["stack", "weight"].sum() == pytest.approx(1)


def test_without_stacks_there_are_none():
    X, y = iris()
    found = bg.compare({"GNB": GaussianNB()}, X, y, cv=2)
    assert found.members.empty and "Members" not in repr(found)


@pytest.mark.nightly
def test_the_command_line_prints_them(capsys):
    arguments = ["compare", "iris", "--cv", "2", "--methods", "exact,stacked"]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "Members, means over folds" in out
    assert max(map(len, out.splitlines())) <= 80
    assert main([*arguments, "--json"]) == 0
    members = json.loads(capsys.readouterr().out)["members"]
    assert {line["classifier"] for line in members} == {"stack"}
    np.testing.assert_allclose(sum(line["weight"] for line in members), 1)
