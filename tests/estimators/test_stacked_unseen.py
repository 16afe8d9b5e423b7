"""A stack warns of levels that the fit had not: in every verb, once a call, not once a member."""

import warnings

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen import errors
from bayesgen.cli import main
from bayesgen.estimators.stack import fitted

RNG = np.random.default_rng(0)
Y = RNG.choice(["no", "yes"], 60)
X = pd.DataFrame(
    {
        "class": RNG.choice(["1st", "2nd", "3rd"], 60),
        "code": RNG.choice(["1", "2"], 60),
        "sent": RNG.choice([True, False], 60),
        "age": RNG.normal(size=60) + (Y == "yes"),
    }
)
OTHER = X.iloc[:3].assign(
    **{"class": ["first", "third", "1st"], "code": [1, 2, 1], "sent": ["True", "False", "True"]}
)
COLUMNS = {"class", "code", "sent"}
VERBS = {
    **dict.fromkeys(
        (
            *("predict", "predict_proba", "predict_log_proba", "decision_function"),
            *("score_samples", "predict_interval", "predict_draws", "predict_set", "typicality"),
            *("evidence", "evidence_table", "relevance", "impute", "conditional"),
            *("feature_value", "estimate_prevalence", "check_label_shift", "plot_intervals"),
        ),
        (),
    ),
    "decide": ([[0, 1], [1, 0]],),
    "score": (Y[:3],),
    "to_datatree": (Y[:3],),
}


@pytest.fixture(scope="module")
def stack():
    return bg.StackedClassifier(["naive", "indicators"], random_state=0, progress=False).fit(X, Y)


def warned(call):
    """Return the columns of the warnings of unseen levels that a call gives, in order."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    given = [w.message for w in caught if isinstance(w.message, errors.CountsAsMissing)]
    return [(warning.fields["column"], *warning.fields["levels"]) for warning in given]


def require_one_warning_a_column(clf, verb):
    found = warned(lambda: getattr(clf, verb)(OTHER, *VERBS[verb]))
    assert sorted(column for column, *_ in found) == sorted(COLUMNS)
    assert ("class", "first", "third") in found


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_warns_of_unseen_levels_once_a_column(stack, verb):
    require_one_warning_a_column(stack, verb)


@pytest.mark.parametrize("silent", [(errors.CountsAsMissing,), None])
def test_fault_is_caught_warnings_silenced_or_given_by_every_member(stack, monkeypatch, silent):
    if silent is None:
        monkeypatch.setattr(errors.CountsAsMissing, "subjects", property(lambda self: (id(self),)))
    else:
        once = fitted.deduplicate_warnings
        monkeypatch.setattr(fitted, "deduplicate_warnings", lambda: once(*silent))
    with pytest.raises(AssertionError):
        require_one_warning_a_column(stack, "predict_proba")


def test_a_stack_warns_of_what_naive_bayes_warns_of(stack):
    naive = bg.NaiveBayes().fit(X, Y)
    found = [warned(lambda clf=clf: clf.predict_proba(OTHER)) for clf in (stack, naive)]
    assert sorted(found[0]) == sorted(found[1])


def test_a_part_of_a_source_is_named_if_it_has_a_level_that_earlier_ones_had_not(stack):
    rows = pd.DataFrame({"class": ["first", "third", "1st", "third", "first", "4th"], "age": 0.0})
    parts = [rows[i : i + 2].assign(code="1", sent=True) for i in range(0, 6, 2)]
    with pytest.warns(errors.CountsAsMissing) as caught:
        stack.predict_proba(lambda: iter(parts)).read_all()
    assert [w.message.fields["levels"] for w in caught] == [("first", "third"), ("4th", "first")]
    assert str(caught[1].message).startswith("part 2, rows 0 to 1: column 'class' has the level")


@pytest.mark.filterwarnings("always")
def test_the_command_line_notes_unseen_levels_once(stack, tmp_path, capsys):
    model, rows = tmp_path / "model.bgm", tmp_path / "rows.csv"
    stack.save(model)
    X.iloc[:2].assign(**{"class": ["first", "1st"]}).to_csv(rows, index=False)
    assert main(["predict", str(model), str(rows), "--interval", "0.9"]) == 0
    assert capsys.readouterr().err.count("column 'class' has the level 'first'") == 1
