"""Sentences on the command line name options to type, and no Python."""

import re

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen.cli import main

PYTHON = re.compile(
    r"\bbg\.|\bX\b|\bpandas\b|\bnumpy\b|\bpolars\b|\bclf\b|\w\(X|[a-z_]='|[a-z]=\{|[a-z]=\["
    r"|\b(?:NUTS|MLE|LDA|QDA|NaiveBayes|StackedClassifier)\(|\.astype|\by\b(?! )|=True|=False"
    r"|\binference_|\bpredict_\w|\binference="
)
"""What a sentence for the command line does not hold."""

N = 24
Y = ["a", "b"] * (N // 2)


def table(**columns):
    rng = np.random.default_rng(0)
    good = {"dose": rng.normal(size=N).round(2), "color": ["red", "blue", "red"] * (N // 3), "k": Y}
    return pd.DataFrame(good | columns)


def numbers(**columns):
    return table(**columns).drop(columns="color")


FIT = ("fit", "rows.csv", "--target", "k", "--out", "m.bgm")
NAIVE = (*FIT, "--model", "naive-bayes")
COMPARE = ("compare", "rows.csv", "--target", "k", "--rivals", "none", "--cv", "2")
COMPARE = (*COMPARE, "--train-rows", "all", "--methods", "exact,mle")
DATES = pd.date_range("2020-01-01", periods=N).astype(str)
PROVOKED = {
    "date": (table(when=DATES), NAIVE),
    "identifier": (table(ticket=[f"t{i}" for i in range(N)]), NAIVE),
    "rising": (table(id=np.arange(N)), NAIVE),
    "unnamed": (table().reset_index().rename(columns={"index": "Unnamed: 0"}), NAIVE),
    "text numbers": (table(w=[*map(str, range(N - 1)), "low"]), NAIVE),
    "infinite": (table(w=[*np.arange(N - 1.0), np.inf]), NAIVE),
    "too large": (table(w=[*np.arange(N - 1.0), 1e200]), NAIVE),
    "tiny": (table(w=np.arange(N) * 1e-170), NAIVE),
    "constant": (table(w=1.5), NAIVE),
    "constants": (table(v=1.5, w=2.5, u=3.5), COMPARE),
    "one class": (table(k="a"), NAIVE),
    "fractions": (table(k=np.arange(N) + 0.5), NAIVE),
    "fractions compared": (table(k=np.arange(N) + 0.5), COMPARE),
    "one row": (table(k=["c", *Y[1:]]), COMPARE),
    "no variance": (numbers(w=[1.0, 2.0] * (N // 2)), (*NAIVE, "--inference", "mle")),
    "never observed": (numbers(w=[1.5, None] * (N // 2)), (*NAIVE, "--inference", "mle")),
    "singular mle": (
        numbers(v=np.arange(N) % 5, w=np.arange(N) % 5),
        (*FIT, "--model", "qda", "--inference", "mle"),
    ),
    "levels": (table(), (*FIT, "--model", "lda")),
    "no levels": (numbers(), (*FIT, "--model", "joint-table")),
    "no counts": (numbers(), (*FIT, "--model", "bag-of-words")),
    "missing counts": (
        numbers(dose=[*np.arange(N - 1), None]),
        (*FIT, "--model", "bag-of-words"),
    ),
    "wide table": (
        pd.DataFrame({f"c{i}": np.arange(N) * (i + 3) % 17 for i in range(9)}).assign(k=Y),
        (*FIT, "--model", "joint-table"),
    ),
    "exact of missing cells": (
        numbers(w=[None, *np.arange(N - 1.0) % 7]),
        (*FIT, "--model", "qda", "--inference", "exact"),
    ),
    "pattern": (numbers(w=[1.5, None] * (N // 2)), FIT),
    "minus one": (table(k=[-1, 0, 1] * (N // 3)), NAIVE),
    "minus one refused": (table(k=[-1, 0, 1] * (N // 3)), (*NAIVE, "--unlabelled", "none")),
    "unlabelled": (table(k=["a", None, "b"] * (N // 3)), (*NAIVE, "--inference", "mle")),
    "sampled unlabelled": (
        table(k=["a", None, "b"] * (N // 3)),
        (*NAIVE, "--inference", "nuts", "--unlabelled", "1"),
    ),
    "stack": (table(), (*FIT, "--inference", "map")),
    "draws": (table(), (*FIT, "--draws", "9")),
    "drop": (table(), (*FIT, "--drop", "dosis")),
    "drop target": (table(), (*FIT, "--drop", "k")),
    "drop all": (table(), (*FIT, "--drop", "dose,color")),
    "no target": (table(), ("fit", "rows.csv", "--out", "m.bgm")),
    "wrong target": (table(), ("fit", "rows.csv", "--target", "kk", "--out", "m.bgm")),
    "prior": (table(), (*NAIVE, "--prior", "a=0.5,c=0.5")),
    "train rows": (table(), (*COMPARE[:-4], "--methods", "mle", "--train-rows", "500")),
    "folder": (table(), (*NAIVE[:-4], "--out", "none/m.bgm", "--model", "naive-bayes")),
    "absent": (numbers(), ("predict", "fitted.bgm", "rows.csv")),
    "unseen": (table(color="green"), ("predict", "fitted.bgm", "rows.csv")),
    "other columns": (pd.DataFrame({"z": [1, 2]}), ("predict", "fitted.bgm", "rows.csv")),
    "text for number": (table(dose="low"), ("predict", "fitted.bgm", "rows.csv")),
    "no model": (table(), ("predict", "rows.csv", "rows.csv")),
    "no file": (table(), ("predict", "none.bgm", "rows.csv")),
    "interval": (table(), ("predict", "point.bgm", "rows.csv", "--interval", "0.9")),
    "keep": (table(), ("predict", "fitted.bgm", "rows.csv", "--keep", "zz")),
    "lists": (table(), ("predict", "fitted.bgm", "rows.csv", "--draws")),
    "merge": (table(), ("merge", "fitted.bgm", "point.bgm", "-o", "both.bgm")),
    "merge kinds": (table(), ("merge", "fitted.bgm", "lda.bgm", "-o", "both.bgm")),
    "merge stack": (table(), ("merge", "stack.bgm", "stack.bgm", "-o", "both.bgm")),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder of fitted models."""
    folder, rows = tmp_path_factory.mktemp("models"), table()
    X, y = rows.drop(columns="k"), rows["k"]
    bg.NaiveBayes().fit(X, y).save(folder / "fitted.bgm")
    bg.NaiveBayes(inference="mle").fit(X, y).save(folder / "point.bgm")
    bg.LDA().fit(X[["dose"]], y).save(folder / "lda.bgm")
    bg.StackedClassifier([bg.NaiveBayes()]).fit(X, y).save(folder / "stack.bgm")
    return folder


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("name", PROVOKED)
def test_no_sentence_holds_python(name, models, monkeypatch, capsys):
    frame, arguments = PROVOKED[name]
    monkeypatch.chdir(models)
    frame.to_csv("rows.csv", index=False)
    main(list(arguments))
    error = capsys.readouterr().err
    assert error and not PYTHON.search(error), error


@pytest.mark.filterwarnings("always")
def test_a_cure_works_when_typed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table(**{"pa tient": np.arange(N)}).to_csv("rows.csv", index=False)
    assert main(list(NAIVE)) == 0
    cure = re.search(r"--drop '(.*?)'", capsys.readouterr().err)
    assert main([*NAIVE, "--drop", cure[1]]) == 0
    assert capsys.readouterr().err == ""
