"""Laws: names, order, units, directions and columns that say nothing move no probability."""

import cases
import numpy as np
import pandas as pd
import pytest
import told_otherwise as told

import bayesgen as bg
from bayesgen.estimators.stack.member import FOLDS, folds_of
from bayesgen.interactions import growing
from bayesgen.interactions.content_order import ContentOrder
from bayesgen.schema.readings import bins
from bayesgen.table import Copies, TableColumn

pytestmark = pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")


def require_same(classifier, table, change, atol=1e-9):
    found, expected = (one.proba(classifier()) for one in (change(table), table))
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


# --- automatic stacks -----------------------------------------------------------------------------


def stack():
    return bg.StackedClassifier(random_state=0, progress=False)


def changes_of(name):
    # a declared level without rows has a part of the prior of the members of wide tables
    return told.CHANGES if name == "wide" else told.FOR_STACKS


@pytest.mark.parametrize("name", told.TABLES)
def test_a_stack_does_not_depend_on_how_a_table_is_told(name):
    require_same(stack, told.TABLES[name](), told.all_of(changes_of(name)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "change"), [(name, change) for name in told.TABLES for change in changes_of(name)]
)
def test_a_stack_does_not_depend_on(name, change):
    require_same(stack, told.TABLES[name](), change)


def test_the_tables_have_every_interaction():
    """A law over stacks in which nothing joined would hold for want of it."""
    joined = set()
    for table in (told.TABLES["product"], told.pairs_of_levels, told.wide):
        table().proba(fitted := stack())
        pairs = ["pair"] if fitted._weighed.interactions.pairs else []
        joined |= {*fitted.weights_, *pairs}
    assert {"forest", "pair", "discriminant"} <= joined


def by_name(ranks, top, y, weight, n_classes):
    rows, columns, classes = (np.arange(size) for size in (*ranks.shape, n_classes))
    return ContentOrder(rows, columns, classes, np.zeros(ranks.shape[1], bool))


def every_column_varies(column):
    return not column.is_missing


@pytest.mark.parametrize(
    ("name", "change", "owner", "attribute", "fault"),
    [
        ("product", told.classes_renamed, growing.ContentOrder, "of", by_name),
        ("product", told.numbers_reflected, growing.ContentOrder, "of", by_name),
        ("product", told.levels_renamed, growing.ContentOrder, "of", by_name),
        ("product", told.levels_declared, growing.ContentOrder, "of", by_name),
        ("whole", told.constant_level, TableColumn, "varies", property(every_column_varies)),
        ("product", told.numbers_reflected, bins, "_skewed_downward", lambda *args: False),
    ],
)
def test_fault_is_caught(name, change, owner, attribute, fault, monkeypatch):
    monkeypatch.setattr(owner, attribute, fault)
    with pytest.raises(AssertionError):
        require_same(stack, told.TABLES[name](), change)


def test_a_seed_reaches_the_trees():
    """Without one, the trees of a fit are always the same."""
    table, thresholds = told.product_of_numbers(60).of_numbers(), []
    for seed in (None, None, 1):
        table.proba(fitted := bg.StackedClassifier(random_state=seed, progress=False))
        assert fitted._weighed.interactions.joint is not None
        thresholds.append(fitted._weighed.interactions.joint.threshold)
    assert np.array_equal(*thresholds[:2])
    assert not np.array_equal(*thresholds[1:])


# --- members that are judged by folds -------------------------------------------------------------


def require_folds_without_names(folds):
    rng = np.random.default_rng(0)
    codes, joint = rng.permutation(np.repeat([0, 1, 2], [13, 8, 16])), rng.normal(size=(37, 3))
    proba, other = rng.random(37), np.array([2, 0, 1])
    alone = Copies(np.arange(37), np.arange(37), np.ones(37), np.ones(37))
    renamed = folds(other[codes], proba, joint[:, np.argsort(other)], alone)
    np.testing.assert_array_equal(folds(codes, proba, joint, alone), renamed)


def test_folds_do_not_depend_on_names_of_classes():
    require_folds_without_names(folds_of)


def test_fault_is_caught_folds_in_the_order_of_names():
    def by_name(codes, proba, joint, copies):
        folds = np.empty(len(codes), dtype=int)
        folds[np.lexsort([proba, codes])] = np.arange(len(codes)) % FOLDS
        return folds

    with pytest.raises(AssertionError):
        require_folds_without_names(by_name)


# --- families and other classifiers ---------------------------------------------------------------


def a_table(name, n=40):
    """Return a table of three columns of a family, and new rows."""
    case, rng = cases.CASES[name], np.random.default_rng(3)
    x, y = case.table(rng, n + 8)
    frame = pd.DataFrame(x.astype(float), columns=["first", "second", "third"])
    if case.n_levels:
        frame = pd.DataFrame(x, columns=frame.columns).map("abcdefgh".__getitem__).astype(object)
    return told.Told(frame, np.array(["low", "mid", "top"], object)[y[:n]], "mid")


WHOLE_LINE = ("Normal", "MultivariateNormal", "Kernel")


def changes_of_family(name):
    if cases.CASES[name].n_levels:
        return (*told.NAMES, *told.OF_LEVELS, told.constant_level, told.never_observed)
    if name.startswith("Multinomial"):  # whose columns share one total
        return told.NAMES
    if name.startswith(WHOLE_LINE):
        return (*told.NAMES, *told.OF_NUMBERS, told.constant_number, told.never_observed)
    return (*told.NAMES, told.never_observed)


# whose prior strength differs by class, so that names of classes carry information
BY_CLASS = {"JointCategorical laplace"}


@pytest.mark.parametrize("name", [name for name in cases.CLOSED if name not in BY_CLASS])
def test_a_family_does_not_depend_on_how_a_table_is_told(name):
    prior = cases.CASES[name].vague

    def classifier():
        return bg.GenerativeClassifier(prior, missing="ignorable")

    require_same(classifier, a_table(name), told.all_of(changes_of_family(name)))


OTHERS = {
    "power transform": (lambda: bg.NaiveBayes(power_transform=True), "gaps"),
    "bins": (lambda: bg.NaiveBayes(bins="auto"), "whole"),
    "pattern": (lambda: bg.NaiveBayes(missing="learn", temper="columns"), "gaps"),
    "average": (lambda: bg.NaiveBayes(columns="average"), "gaps"),
    "tempered": (lambda: bg.LDA(temper="learn"), "product numbers"),
    "learned": (lambda: bg.QDA(covariance_rows="learn"), "product numbers"),
    "expected": (lambda: bg.QDA(inference="expected"), "gaps numbers"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_learned_does_not_depend_on_how_a_table_is_told(name):
    classifier, table = OTHERS[name]
    rows = told.TABLES[table.split()[0]]()
    if "numbers" in table:
        rows = rows.of_numbers()
    changes = told.CHANGES if rows.levels else (*told.NAMES, *told.OF_NUMBERS, *told.SILENT[::2])
    require_same(classifier, rows, told.all_of(changes))
