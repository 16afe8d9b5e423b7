"""`describe` says what forms need: columns, their levels and ranges, and what of rows is held."""

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg

TITANIC = bg.datasets.load_titanic_passengers()
PENGUINS = bg.datasets.load_penguins()


def test_ranges_are_those_of_the_rows_of_the_fit():
    X, y = PENGUINS
    found = bg.NaiveBayes().fit(X, y).describe()
    assert found.ranges == "fit" and list(found.columns.index) == list(X.columns)
    for name in X.select_dtypes("number"):
        cells = X[name].dropna()
        wanted = [*np.quantile(cells, [0.05, 0.95]), cells.min(), cells.max()]
        line = found.columns.loc[name, ["lower", "upper", "least", "greatest"]]
        assert line.tolist() == pytest.approx(wanted)
    assert found.rows == len(y) and found.classes == y.value_counts().sort_index().to_dict()


def test_a_loaded_model_simulates_its_ranges_and_holds_no_row(tmp_path):
    X, y = PENGUINS
    clf = bg.LDA().fit(X[["body_mass_g", "bill_length_mm"]].dropna(), y[X.body_mass_g.notna()])
    clf.save(tmp_path / "m.bgm")
    found = bg.load(tmp_path / "m.bgm").describe()
    assert (found.ranges, found.holds) == ("simulated", "sums")
    real = clf.describe().columns
    for end in ("lower", "upper"):
        wide = (real.upper - real.lower).to_numpy()
        assert (abs(found.columns[end] - real[end]) < 0.2 * wide).all()


@pytest.mark.parametrize(
    ("clf", "holds"),
    [
        (bg.NaiveBayes(), "sums"),
        (bg.NaiveBayes(bg.KernelDensity()), "cells"),
        (bg.StackedClassifier(["naive"], progress=False), "cells"),
        (bg.LDA(inference="expected"), "cells"),
    ],
)
@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
def test_what_of_rows_is_held(clf, holds, tmp_path):
    X, y = PENGUINS[0].select_dtypes("number"), PENGUINS[1]
    X.loc[3, "body_mass_g"] = 4000.0  # of a row that misses the other cells
    clf.fit(X, y)
    assert clf.describe().holds == "rows"
    clf.save(tmp_path / "m.bgm")
    assert bg.load(tmp_path / "m.bgm").describe().holds == holds


@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
def test_a_stack_that_is_saved_with_its_rows_holds_them(tmp_path):
    bg.StackedClassifier(["naive"], progress=False).fit(*TITANIC).save(
        tmp_path / "m.bgm", rows=True
    )
    found = bg.load(tmp_path / "m.bgm").describe()
    assert (found.holds, found.ranges) == ("rows", "fit")
    assert found.columns.loc["age", "greatest"] == 80


def kinds(clf, X, y):
    found = clf.fit(X, y).describe().columns
    return dict(zip(found.index, zip(found.kind, found.levels, strict=True), strict=True))


def test_kinds_and_levels_are_those_of_the_table():
    X = pd.DataFrame(
        {
            "count": np.arange(40) % 5,
            "truth": [True, False] * 20,
            "level": pd.Categorical(["b", "a"] * 20, ["b", "a", "c"]),
            "size": np.linspace(0, 1, 40),
        }
    )
    family = {"count": bg.Poisson(), "truth": bg.Bernoulli()}
    y = [0, 0, 1, 1] * 10
    found = kinds(bg.NaiveBayes(family, remainder="auto"), X, y)
    assert found == {
        "count": ("count", ()),
        "truth": ("level", (False, True)),
        "level": ("level", ("b", "a", "c")),
        "size": ("number", ()),
    }
    binned = kinds(bg.NaiveBayes(bg.Categorical(), bins="auto"), X[["size", "level"]], y)
    assert binned["size"] == ("number", ())
    indicators = kinds(bg.LDA(levels="indicators"), X[["size", "truth"]], y)
    assert indicators == {"size": ("number", ()), "truth": ("level", (False, True))}


def test_groups_texts_and_identifiers():
    X, y = PENGUINS
    groups = kinds(bg.NaiveBayes(groups="island"), X, y)
    assert groups["island"] == ("group", ("Biscoe", "Dream", "Torgersen"))
    texts = ["cheap pills", "at noon", "cheap watches", "lunch"] * 5
    assert kinds(bg.BagOfWords(), texts, [1, 0, 1, 0] * 5) == {"text": ("text", ())}
    named = X.assign(tag=[f"bird {i}" for i in range(len(X))])
    with pytest.warns(bg.errors.SuspiciousColumn, match="identifier"):
        clf = bg.NaiveBayes().fit(named, y)
    assert "tag" not in clf.describe().columns.index
