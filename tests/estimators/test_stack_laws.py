"""Laws of the automatic stack: every way to the same rows gives the fit of the rows together."""

import copy
import dataclasses
import functools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from stacked_tables import holed, interacting, iris, passengers

import bayesgen as bg
from bayesgen.errors import BayesgenWarning, InvalidData, UnsupportedOperation
from bayesgen.estimators import judged_rows, stacked
from bayesgen.estimators.stack import reservoir
from bayesgen.estimators.stack.member import FOLDS, FittedMember, folds_of
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.table import Copies, as_frame, read_table

pytestmark = pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")

MIXED = "mixed, with gaps and weights"
MANY = (
    "numbers",
    "levels",
    "gaps",
    "an array",
    "rows without a label",
    "nearly tied",
    "judged few",
)
OPTIONS = {
    "a power": {"temper": 0.5},
    "one pool": {"pool": None},
}
"""Stacks of two members with an option."""


@dataclasses.dataclass(frozen=True)
class Rows:
    """Rows, labels and weights of a fit; `at` gives some of them."""

    X: object
    y: np.ndarray
    weight: np.ndarray | None = None
    members: object = "auto"
    options: tuple = ()

    def at(self, where):
        X = self.X.iloc[where] if isinstance(self.X, pd.DataFrame) else self.X[where]
        weight = None if self.weight is None else self.weight[where]
        return Rows(X, self.y[where], weight, self.members, self.options)

    def halves(self, n=2):
        order = np.random.default_rng(5).permutation(len(self.y))
        return [self.at(where) for where in np.array_split(order, n)]

    def stack(self):
        options = dict(self.options)
        return bg.StackedClassifier(self.members, random_state=0, progress=False, **options)

    def fit(self):
        return self.stack().fit(self.X, self.y, self.weight)


@functools.cache
def rows_of(name):
    rng = np.random.default_rng(3)
    X, y = iris(3)
    y = y.to_numpy(object)
    if name == MIXED:
        X, y = passengers(24)
        return Rows(holed(X, 0.1)[0], y.to_numpy(object), rng.choice([0.5, 1, 2, 3.3], len(y)))
    if name == "two members":
        return dataclasses.replace(rows_of(MIXED), members=["naive", "bins"])
    if name in OPTIONS:
        options = tuple(OPTIONS[name].items())
        return dataclasses.replace(rows_of("two members"), options=options)
    if name == "interactions":
        X, y = interacting()
        return Rows(X, y, rng.choice([1.0, 2.0, 1.5], len(y)))
    if name == "levels":
        X, y = passengers(8)
        return Rows(X[["sex", "passengerClass"]].astype(object), y.to_numpy(object))
    if name == "nearly tied":
        X = X.round() + 1e-9 * rng.integers(0, 2, X.shape)
    if name == "gaps":
        X = holed(X)[0]
    if name == "an array":
        X = X.to_numpy()
    if name == "a class of one row":
        y[7] = "single"
    if name == "rows without a label":
        y[::4] = None
    return Rows(X, y)


def answers(stack, X):
    """Return class probabilities, and by how much draws of them differ beyond their members."""
    misfit = getattr(stack.posterior_.readout, "misfit", None)
    beyond = () if misfit is None else (misfit.sd, misfit.weight)  # of automatic members alone
    return stack.predict_proba(X), *beyond


@functools.cache
def answers_of(name):
    return answers(rows_of(name).fit(), rows_of(name).X)


def require_equal(stack, name, X=None):
    found = answers(stack, rows_of(name).X if X is None else X)
    for one, other in zip(found, answers_of(name), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)


def law_rows(name, folder):
    (turned,) = rows_of(name).halves(1)
    require_equal(turned.fit(), name)


def law_columns(name, folder):
    rows = rows_of(name)
    if isinstance(rows.X, np.ndarray):
        turned = dataclasses.replace(rows, X=rows.X[:, ::-1])
        return require_equal(turned.fit(), name, turned.X)
    return require_equal(dataclasses.replace(rows, X=rows.X.iloc[:, ::-1]).fit(), name)


def law_calls(name, folder):
    stack = rows_of(name).stack()
    for part in rows_of(name).halves(2 if name == "two members" else 3):
        stack.partial_fit(part.X, part.y, sample_weight=part.weight)
    require_equal(stack, name)


def law_merge(name, folder):
    one, other = (part.fit() for part in rows_of(name).halves())
    require_equal(one.merge(other), name)


def law_forget(name, folder):
    rows, more = rows_of(name), rows_of(name).halves(4)[0]
    X = rows.X if isinstance(rows.X, np.ndarray) else rows.X.reset_index(drop=True)
    frames = [X, more.X]
    X = np.concatenate(frames) if isinstance(X, np.ndarray) else pd.concat(frames)
    weight = None if rows.weight is None else np.append(rows.weight, more.weight)
    y = np.append(rows.y, more.y)
    stack = Rows(X, y, weight, rows.members, rows.options).fit()
    require_equal(stack.forget(more.X, more.y, more.weight), name)


def law_file(name, folder):
    one, other = rows_of(name).halves()
    one.fit().save(folder / "one.bgm", rows=True)
    stack = bg.load(folder / "one.bgm").partial_fit(other.X, other.y, sample_weight=other.weight)
    require_equal(stack, name)


LAWS = (law_rows, law_columns, law_calls, law_merge, law_forget, law_file)
# of rows of one class, where parts lack it; of interactions, where a forest draws and pairs have
# an order
FAST = [
    *((law, MIXED) for law in LAWS),
    *((law, "a class of one row") for law in (law_calls, law_forget)),
    *((law, "interactions") for law in (law_rows, law_columns, law_merge)),
    *((law, name) for law in (law_merge, law_file) for name in OPTIONS),
]
CASES = [
    (law, name)
    for name in (MIXED, "a class of one row", "interactions", *MANY, *OPTIONS)
    for law in LAWS
]


@pytest.mark.parametrize(
    ("law", "name"),
    [pytest.param(*case, marks=() if case in FAST else pytest.mark.slow) for case in CASES],
)
def test_law(law, name, tmp_path, monkeypatch):
    if name == "judged few":
        monkeypatch.setattr(judged_rows, "JUDGED", 30)
        monkeypatch.setattr(judged_rows, "FEWEST", 30)
    law(name, tmp_path)


def most_by_position(rows):
    return rows.only(np.arange(6, len(rows.codes)))


def members_by_position(table, *options):
    members = AUTOMATIC(table, *options)
    return members if table.names[0] == "sex" else members | {"naive": members["bins"]}


AUTOMATIC = stacked.automatic


def without_the_first(seen):
    rows = TOGETHER(seen)
    return rows.only(np.arange(1, len(rows.codes)))


TOGETHER = stacked.rows_together


def without_as_many(rows, others):
    return rows.only(np.arange(len(others.codes), len(rows.codes)))


def as_data_without_weights(rows):
    return AS_DATA(rows) | {"weight": np.ones(len(rows.codes))}


AS_DATA = TrainingRows.as_data


@pytest.mark.parametrize(
    ("law", "owner", "attribute", "fault"),
    [
        (law_rows, TrainingRows, "by_content", most_by_position),
        (law_columns, stacked, "automatic", members_by_position),
        (law_calls, stacked, "rows_together", without_the_first),
        (law_merge, stacked, "rows_together", without_the_first),
        (law_forget, stacked, "rows_without", without_as_many),
        (law_file, TrainingRows, "as_data", as_data_without_weights),
    ],
)
def test_fault_is_caught(law, owner, attribute, fault, tmp_path, monkeypatch):
    monkeypatch.setattr(owner, attribute, fault)
    if law in (law_rows, law_columns):  # these faults are in the fit of the rows together as well
        monkeypatch.setitem(globals(), "answers_of", answers_of.__wrapped__)
    with pytest.raises(AssertionError):
        law("two members", tmp_path)


# --- what members are told ------------------------------------------------------------------------


def require_columns_of_the_stack(stack):
    for name, classifier in stack.members_.items():
        for noted in ("n_features_in_", "feature_names_in_"):
            found, expected = getattr(classifier, noted, None), getattr(stack, noted, None)
            np.testing.assert_array_equal(found, expected, f"{noted} of {name}")


def law_columns_of_members(folder):
    """Members have the number and the names of the columns that the stack was fitted to."""
    X, y = passengers(16)
    X = X.assign(never=np.nan)
    members = {"naive": bg.NaiveBayes(), "indicators": bg.LDA(levels="indicators")}
    stack = bg.StackedClassifier(members, random_state=0).fit(X, y)
    require_columns_of_the_stack(stack)
    assert stack.n_features_in_ == 4 and list(stack.feature_names_in_) == list(X)
    require_columns_of_the_stack(stack.partial_fit(X, y))
    stack.save(folder / "stack.bgm")
    require_columns_of_the_stack(bg.load(folder / "stack.bgm"))
    array = X[["age"]].to_numpy()
    stack = bg.StackedClassifier(["naive"], random_state=0).fit(array, y)
    require_columns_of_the_stack(stack)
    assert stack.members_["naive"].n_features_in_ == 1
    # as the stack, its members refuse rows of other columns
    with pytest.raises(ValueError, match="2 features"):
        stack.members_["naive"].predict(np.ones((1, 2)))


def law_columns_of_members_of_a_source(folder):
    X, y = iris(1)
    frame = X.assign(y=y.to_numpy(object))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reservoir, "RESERVOIR", 60)
        patch.setattr(reservoir, "FEWEST", 10)
        members = [bg.NaiveBayes(), bg.LDA()]
        stack = bg.StackedClassifier(members, random_state=0, progress=False)
        require_columns_of_the_stack(stack.fit([frame[::2], frame[1::2]], y="y"))
    assert stack.report_.details["rows that weigh"] == 60


def law_power_of_the_pattern(folder):
    """Members are judged by the probabilities that they give: under the power that was learned."""
    rng = np.random.default_rng(2)
    y = np.where(rng.random(160) < 0.5, "ill", "well")
    X = pd.DataFrame(rng.normal(size=(160, 3)), columns=[*"abc"]).add(0.3 * (y == "ill"), axis=0)
    gone = rng.random(160) < np.where(y == "ill", 0.5, 0.2)
    # missing together, so that the pattern counts less than its likelihood says
    X = X.mask(np.stack([gone] * 3, axis=1))
    X["d"] = rng.normal(size=160)
    stack = bg.StackedClassifier(["naive", "bins"], random_state=0).fit(X, y)
    for name, classifier in stack.members_.items():
        powers = classifier.fitted_.posterior.readout.pool.mean_weights
        assert 0.1 < powers.min() < 0.9, name
        expected = -classifier.loo(X, y)["log_proba"].mean()
        assert stack.report_.details[f"leave-one-out log loss of {name}"] == pytest.approx(
            expected, abs=1e-9
        )


OF_MEMBERS = (law_columns_of_members, law_columns_of_members_of_a_source, law_power_of_the_pattern)


@pytest.mark.parametrize("law", OF_MEMBERS)
def test_law_of_members(law, tmp_path):
    law(tmp_path)


def no_columns(stack):
    return {}


def power_that_does_not_judge(self, *rows):
    member, judgement = HELD_OUT(self, *rows)
    return member, dataclasses.replace(judgement, readout=self.fitted.posterior.readout)


HELD_OUT = FittedMember.held_out


@pytest.mark.parametrize(
    ("law", "owner", "attribute", "fault"),
    [
        (law_columns_of_members, bg.StackedClassifier, "_noted_columns", no_columns),
        (law_columns_of_members_of_a_source, bg.StackedClassifier, "_noted_columns", no_columns),
        (law_power_of_the_pattern, FittedMember, "held_out", power_that_does_not_judge),
    ],
)
def test_fault_in_what_members_are_told_is_caught(
    law, owner, attribute, fault, tmp_path, monkeypatch
):
    monkeypatch.setattr(owner, attribute, fault)
    with pytest.raises(AssertionError):
        law(tmp_path)


# --- what later rows bring ------------------------------------------------------------------------

LACKING = ("a gap", "a column of numbers", "a column of levels", "a class")


@pytest.mark.parametrize(
    "what",
    ["a level", *(pytest.param(what, marks=pytest.mark.slow) for what in LACKING)],
)
def test_what_the_first_rows_lack(what):
    rng = np.random.default_rng(4)
    X = pd.DataFrame(np.exp(0.7 * rng.normal(size=(60, 2))), columns=[*"ab"])
    X["u"], X["v"] = rng.choice([*"pq"], 60), rng.choice([*"klmn"], 60)
    y = np.where(X["a"] + rng.random(60) > 1.5, "yes", "no").astype(object)
    if what == "a gap":
        X.loc[30, "a"] = np.nan
    if what == "a column of numbers":
        X.loc[:9, "b"] = np.nan
    if what == "a column of levels":
        X.loc[:9, "v"] = None
    if what == "a level":
        X.loc[:9, "v"] = "m"
    if what == "a class":
        y[40:45] = "perhaps"
    whole, parts = Rows(X, y).fit(), Rows(X[:10], y[:10]).fit()
    parts.partial_fit(X[10:], y[10:])
    assert list(parts.members_) == list(whole.members_) and parts.left_out_ == whole.left_out_
    np.testing.assert_array_equal(parts.predict_proba(X), whole.predict_proba(X))
    np.testing.assert_array_equal(parts.forget(X[40:], y[40:]).classes_, np.unique(y[:40]))


def test_an_updated_stack_keeps_its_rows():
    X, y = iris()
    stack = bg.StackedClassifier([bg.LDA(), bg.NaiveBayes()], random_state=0).fit(X, y)
    parts = bg.StackedClassifier([bg.LDA(), bg.NaiveBayes()], random_state=0)
    parts.partial_fit(X[::2], y[::2]).partial_fit(X[1::2], y[1::2])
    loo = stack.loo()["log_proba"].to_numpy()
    order = [*range(0, len(y), 2), *range(1, len(y), 2)]
    np.testing.assert_allclose(parts.loo()["log_proba"], loo[order], rtol=0, atol=1e-12)
    assert len(parts.transduction_) == len(y)


def test_a_column_that_is_never_observed_changes_nothing():
    X, y = iris()
    expected = Rows(X, y.to_numpy()).fit().predict_proba(X)
    blank = X.assign(z=np.nan)
    found = Rows(blank, y.to_numpy()).fit().predict_proba(blank)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_folds_of_rows_do_not_depend_on_their_order(rng):
    codes, joint = np.sort(rng.integers(0, 3, 40)), rng.normal(size=(40, 3))
    proba, turned = np.round(rng.random(40), 1), rng.permutation(40)
    alone = Copies(np.arange(40), np.arange(40), np.ones(40), np.ones(40))
    folds = folds_of(codes, proba, joint, alone)
    again = folds_of(codes[turned], proba[turned], joint[turned], alone)
    np.testing.assert_array_equal(again, folds[turned])
    shares = [np.bincount(folds[codes == k], minlength=FOLDS) for k in range(3)]
    assert np.ptp(shares, axis=1).max() <= 1


def test_the_order_by_content_does_not_depend_on_that_of_the_call():
    (rows,) = few_stack()._kept()
    one, other = rows.by_content(), rows.only(np.arange(7)[::-1]).by_content()
    np.testing.assert_array_equal(one.codes, other.codes)
    for column, turned in zip(one.table.columns, other.table.columns, strict=True):
        np.testing.assert_array_equal(column.values, turned.values)


def test_types_that_change_between_calls_are_refused():
    X, y = iris()
    stack = bg.StackedClassifier([bg.NaiveBayes()]).fit(X, y)
    text = X.assign(petal_width="wide")
    words = bg.StackedClassifier([bg.NaiveBayes()]).fit(text, y)
    before = stack.predict_proba(X)
    for one, rows in ((stack, text), (words, X)):
        with pytest.raises(InvalidData, match="column 'petal_width' holds the levels"):
            one.partial_fit(rows, y)
    with pytest.raises(InvalidData, match="all of one type"):
        stack.partial_fit(X, y == "setosa")
    np.testing.assert_array_equal(stack.predict_proba(X), before)


def test_warnings_name_rows_as_they_were_passed():
    X, y = iris()
    X = X.assign(key=range(len(X)), size=[str(value) for value in X["petal_width"]])
    X.loc[[37, 5], "size"] = ["1,5", "2,5"]
    members = [bg.NaiveBayes(), bg.NaiveBayes(bg.Normal())]
    with pytest.warns(BayesgenWarning) as caught:
        bg.StackedClassifier(members).fit(X, y)
    text = " ".join(str(warning.message) for warning in caught)
    for sentence in (
        "column 'key' holds integers that rise from every row to the next",
        "2 of its 39 cells are not numbers: '2,5' in row 5, '1,5' in row 37",
        "'naivebayes-2' is left out of the stack: column 'size' holds '2,5' in row 5, ",
    ):
        assert sentence in text, text


# --- rows to forget -------------------------------------------------------------------------------


def few():
    X = pd.DataFrame({"a": [1.0, 1.0, 2.0, 4.0, 5.0, 5.5, 3.0], "b": [*"uuvuvvu"]})
    return X, np.array(["no", "no", "no", "yes", "yes", "yes", None], dtype=object)


def forgotten(stack, X, y, weight=None):
    stack.forget(X, y, weight)
    (rows,) = stack._kept()
    return rows.weight.tolist(), rows.codes.tolist()


def few_stack(weight=None):
    X, y = few()
    return bg.StackedClassifier([bg.NaiveBayes()], random_state=0).fit(X, y, weight)


def test_weights_are_subtracted_from_the_copy_of_the_nearest_weight():
    (X, y), weight = few(), [1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    one = forgotten(few_stack(weight), X[:1], y[:1], [2.0])
    assert one == ([1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [0, 0, 1, 1, 1, -1])
    part = forgotten(few_stack(weight), X[:1], y[:1], [2.5])
    assert part == ([0.5, 1.0, 1.0, 1.0, 1.0, 1.0], [0, 0, 1, 1, 1, -1])
    unlabelled = forgotten(few_stack(), X[6:], y[6:])
    assert unlabelled == ([1.0] * 6, [0, 0, 0, 1, 1, 1])


def test_rows_that_were_not_fitted_are_not_forgotten():
    X, y = few()
    stack = few_stack()
    before = stack.predict_proba(X)
    for rows, labels, weight, sentence in (
        (X[:2].assign(a=9.0), y[:2], None, "row 0 to forget, of class 'no', is not among"),
        (X[2:3], y[3:4], None, "of class 'yes', is not among"),
        (X[2:3], [None], None, "without a label, is not among"),
        (X.iloc[[0] * 3], ["no"] * 3, None, "row 2 to forget"),
        (X[2:4], y[2:4], [0.5, 1.5], "row 1 to forget, of class 'yes'.* more weight"),
    ):
        with pytest.raises(UnsupportedOperation, match=sentence):
            stack.forget(rows, labels, weight)
    with pytest.raises(InvalidData, match="class"):
        stack.forget(X[:3], y[:3])
    with pytest.raises(UnsupportedOperation, match="keeps none"):
        copy.copy(stack).forget(X[:1], y[:1])
    np.testing.assert_array_equal(stack.predict_proba(X), before)


def test_nothing_of_a_forgotten_row_stays():
    X, y = few()
    stack = few_stack().forget(X[2:3], y[2:3])
    (rows,) = stack._training
    assert 2.0 not in rows.X["a"].tolist() and 2.0 not in rows.raw()["a"].tolist()


# --- files with rows ------------------------------------------------------------------------------


def test_a_file_and_the_representation_say_whether_rows_are_inside(tmp_path):
    import json
    import zipfile

    stack, (X, y) = few_stack(), few()
    for rows, n_rows in ((False, 0), (True, 7)):
        stack.save(path := tmp_path / "stack.bgm", rows=rows)
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            assert json.loads(archive.read("model.json"))["rows"] == n_rows
        assert any("training" in name for name in names) == rows
        loaded = bg.load(path)
        assert repr(loaded).endswith("# holds 7 rows") == rows
        np.testing.assert_array_equal(loaded.predict_proba(X), stack.predict_proba(X))
    np.testing.assert_array_equal(loaded.label_distributions_, stack.label_distributions_)
    assert loaded.loo().equals(stack.loo())
    assert repr(copy.copy(stack)) == repr(bg.StackedClassifier([bg.NaiveBayes()], random_state=0))
    with pytest.raises(UnsupportedOperation, match="keeps none"):
        copy.copy(stack).save(path, rows=True)
    loaded.merge(stack).forget(X, y)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "an array", "mixed array"])
def test_a_table_as_a_frame_is_read_as_the_same_table(kind):
    X = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": ["u", None, "v"], "c": [True, False, True]})
    X["d"] = pd.Categorical(["q", "p", None], categories=["q", "p", "r"])
    frames = {
        "pandas": X,
        "polars": pl.from_pandas(X[["a", "b", "c"]]),
        "pyarrow": pa.Table.from_pandas(X, preserve_index=False),
        "an array": X[["a"]].to_numpy(),
        "mixed array": X[["a", "b"]].to_numpy(),
    }
    table = read_table(frames[kind])
    again = read_table(as_frame(table))
    assert again.container == table.container
    for one, other in zip(table.columns, again.columns, strict=True):
        assert (one.name, one.kind, one.levels, one.declared) == (
            other.name,
            other.kind,
            other.levels,
            other.declared,
        )
        np.testing.assert_array_equal(one.values, other.values)
