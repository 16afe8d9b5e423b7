"""A call with an argument that a verb has not, or that lacks one, is answered in one sentence."""

import inspect

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen import errors
from bayesgen.calls import checked_call

X = pd.DataFrame({"a": [1.0, 2.0, 4.0, 7.0, 5.0, 6.0], "b": [2.0, 1.0, 5.0, 4.0, 9.0, 7.0]})
Y = pd.Series([0, 0, 0, 1, 1, 1])


@pytest.fixture(scope="module")
def clf():
    return bg.NaiveBayes().fit(X, Y)


CALLS = {
    "another name": (
        lambda clf: clf.predict_interval(X, level=0.95),
        r"NaiveBayes.predict_interval\(\) has no argument 'level'. Did you mean prob\?",
    ),
    "a typing error": (
        lambda clf: clf.partial_fit(X, Y, clases=[0, 1]),
        r"NaiveBayes.partial_fit\(\) has no argument 'clases'. Did you mean classes\?",
    ),
    "nothing": (lambda clf: clf.fit(), r"NaiveBayes.fit\(\) needs X, y. Its arguments are X"),
    "no labels": (lambda clf: clf.fit(X), r"NaiveBayes.fit\(\) needs y. Its arguments are X, y, s"),
    "too many": (
        lambda clf: clf.predict(X, Y),
        r"predict\(\) was given 2 arguments by position; only 'X' may be. Its arguments are 'X'",
    ),
    "twice": (lambda clf: clf.predict(X, X=X), "was given X by position and by name. Leave one"),
    "of a display": (
        lambda clf: clf.plot_features(X, Y, colour=1),
        r"FeatureDisplay.from_estimator\(\) has no argument 'colour'. Its arguments are 'clf', 'X'",
    ),
    "of a function": (
        lambda clf: bg.compare(X, Y, folds=3),
        r"compare\(\) has no argument 'folds'",
    ),
    "a path": (lambda clf: bg.load(), r"load\(\) needs path. Its arguments are path, classes, s"),
}


@pytest.mark.parametrize("case", CALLS)
def test_a_call_that_does_not_fit_is_one_sentence(clf, case):
    call, sentence = CALLS[case]
    with pytest.raises(errors.InvalidArgument, match=sentence):
        call(clf)


@pytest.mark.parametrize("kind", [bg.NaiveBayes, bg.LDA, bg.BagOfWords, bg.StackedClassifier])
def test_every_verb_refuses_an_unknown_argument(kind):
    clf, probed = kind(), 0
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        own = inspect.signature(method).parameters.values()
        ours = "bayesgen" in method.__module__ and not name.startswith("_")
        # scikit-learn wraps transform in a function of its own
        if not ours or name == "transform" or any(p.kind is p.VAR_KEYWORD for p in own):
            continue
        with pytest.raises(errors.InvalidArgument, match=rf"\.{name}\(\) has no argument 'zzz'"):
            getattr(clf, name)(zzz=1)
        probed += 1
    assert probed > 30


def test_an_error_of_the_function_itself_stays_as_it_is():
    @checked_call
    def called(x):
        return x + "text"

    with pytest.raises(TypeError, match="unsupported operand") as caught:
        called(1)
    assert not isinstance(caught.value, errors.BayesgenError)


def test_a_comparison_refuses_weights_and_its_cure_works():
    with pytest.raises(errors.UnsupportedOperation, match=r"groups=k\)") as caught:
        bg.compare({"naive": bg.NaiveBayes()}, X, Y, sample_weight=np.ones(6))
    code = "k = numpy.repeat(range(len(X)), numpy.asarray(sample_weight, dtype=int))"
    assert code in str(caught.value)
    k = np.repeat(range(len(X)), np.asarray([1.0, 2, 1, 1, 2, 1], dtype=int))
    found = bg.compare({"naive": bg.NaiveBayes()}, X.iloc[k], Y.iloc[k], groups=k, progress=False)
    assert found.n_rows == 8
    for row in range(6):  # copies are never on both sides
        assert len({*found.fold[np.isin(found.rows, np.flatnonzero(k == row))]}) == 1


def test_a_name_that_does_not_exist_is_answered_and_its_cure_works():
    with pytest.raises(
        AttributeError, match=r"has no attribute 'LogNormal'\. Use the distr"
    ) as caught:
        bg.LogNormal  # noqa: B018
    family = eval(str(caught.value).rpartition("NumPyro: ")[2].removesuffix("."), {"bg": bg})
    bg.NaiveBayes(family, inference="mle").fit(X.abs() + 1, Y)
    with pytest.raises(errors.NoAttribute, match=r"'NaiveBaies'\. Did you mean NaiveBayes\?"):
        bg.NaiveBaies  # noqa: B018
    assert not hasattr(bg, "Gama") and not hasattr(bg, "__wrapped__")


def test_no_rows_are_no_column():
    clf = bg.NaiveBayes().fit(X, Y)
    for rows in ([], np.array([])):
        with pytest.raises(errors.InvalidData, match=r"X has no rows\. Check the filter"):
            clf.predict_proba(rows)
