"""Arguments of likelihoods by name: searched by grids, copied, shown, and never shared."""

import copy
import inspect
import pickle
import re

import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayesgen as bg
from bayesgen import errors

LIKELIHOODS = [
    bg.Bernoulli(rows=2.0),
    bg.Categorical.laplace(2),
    bg.Family(dist.Gamma, priors={"rate": dist.LogNormal(0, 1)}),
    bg.JointCategorical(rows=3.0),
    bg.KernelDensity(bandwidth="learn"),
    bg.KernelDiscriminant(base_rows=2.0),
    bg.Multinomial.laplace(1),
    bg.MultivariateNormal(prior="lkj", concentration=2.0),
    bg.Normal(variance_rows="learn", mean=np.array([1.0, 2.0])),
    bg.Poisson(rate=2.0),
]
MADE = (
    bg.NaiveBayes(bg.Normal(mean_rows=2)),
    bg.GenerativeClassifier({"a": bg.Normal(), ("b", "c"): bg.MultivariateNormal()}),
    bg.StackedClassifier({"naive": bg.NaiveBayes(bg.Normal())}),
)


def wine():
    rng = np.random.default_rng(3)
    y = np.arange(40) % 2
    return pd.DataFrame(rng.standard_normal((40, 3)) + 0.8 * y[:, None], columns=list("abc")), y


def shown(clf):
    """Return keys and likelihoods of a mapping, as they would be typed."""
    return [(key, repr(likelihood)) for key, likelihood in clf.likelihood.items()]


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=lambda one: type(one).__name__)
def test_likelihood_is_built_again_from_its_parameters(likelihood):
    params = likelihood.get_params()
    signature = inspect.signature(type(likelihood)).parameters
    assert list(params) == list(signature)
    for other in (
        likelihood.set_params(),
        type(likelihood)(**params),
        clone(likelihood, safe=False),
    ):
        assert repr(other) == repr(likelihood)
        assert type(other) is type(likelihood)
    with pytest.raises(
        errors.InvalidArgument, match=f"{type(likelihood).__name__} has no argument"
    ):
        likelihood.set_params(no_such_argument=1)


def test_set_params_makes_another_likelihood_and_leaves_the_first():
    first = bg.Normal(mean_rows=2.0)
    second = first.set_params(variance_rows=3)
    assert (first.variance_rows, second.variance_rows, second.mean_rows) == (8.0, 3, 2.0)
    with pytest.raises(errors.InvalidArgument, match="Normal: variance_rows is -1"):
        first.set_params(variance_rows=-1)


def test_set_params_of_a_classifier_replaces_the_likelihood_that_others_hold():
    shared = bg.Normal()
    one, other = bg.NaiveBayes(shared), bg.NaiveBayes(shared)
    assert one.set_params(likelihood__variance_rows=3) is one
    assert repr(one.likelihood) == "Normal(variance_rows=3)"
    assert other.likelihood is shared
    assert shared.variance_rows == 8.0


def test_set_params_predicts_as_the_likelihood_that_is_typed():
    X, y = wine()
    typed = bg.NaiveBayes(bg.Normal(variance_rows=3)).fit(X, y)
    found = bg.NaiveBayes(bg.Normal()).set_params(likelihood__variance_rows=3).fit(X, y)
    np.testing.assert_array_equal(found.predict_proba(X), typed.predict_proba(X))


def test_set_params_names_columns_of_a_mapping():
    blocks = {"a": bg.Normal(), ("b", "c"): bg.MultivariateNormal(), 3: bg.Poisson()}
    clf = bg.GenerativeClassifier(blocks)
    clf.set_params(
        likelihood__a__variance_rows=3, likelihood__b_c__mean_rows=2, likelihood__3__rows=5
    )
    assert shown(clf) == [
        ("a", "Normal(variance_rows=3)"),
        (("b", "c"), "MultivariateNormal(mean_rows=2)"),
        (3, "Poisson(rows=5)"),
    ]
    assert repr(blocks["a"]) == "Normal()" and clf.likelihood is not blocks
    clf.set_params(likelihood__a=bg.KernelDensity(), likelihood__a__bandwidth=0.5)
    assert repr(clf.likelihood["a"]) == "KernelDensity(bandwidth=0.5)"


def test_set_params_takes_names_of_columns_with_underscores():
    spelled = {"petal__width": bg.Normal(), "petal": bg.Normal()}
    clf = bg.GenerativeClassifier(spelled).set_params(likelihood__petal__width__mean_rows=4)
    assert shown(clf) == [("petal__width", "Normal(mean_rows=4)"), ("petal", "Normal()")]


def test_set_params_takes_a_likelihood_and_its_argument_at_once():
    clf = bg.NaiveBayes().set_params(likelihood__mean_rows=5, likelihood=bg.Normal())
    assert repr(clf.likelihood) == "Normal(mean_rows=5)"


@pytest.mark.parametrize(
    ("clf", "name", "sentence"),
    [
        (
            MADE[0],
            "likelihood__variance_row",
            "Normal has no argument .* Did you mean variance_row",
        ),
        (
            bg.NaiveBayes(),
            "likelihood__mean_rows",
            r"likelihood is 'auto'.*likelihood=bg.Normal\(\)",
        ),
        (MADE[1], "likelihood__z__mean_rows", "names no likelihood .* 'a', 'b_c'"),
        (MADE[1], "likelihood__a__mean_row", "Normal has no argument 'mean_row'"),
        (MADE[0], "class_prior__alpha", "class_prior is 1.0, which has no argument 'alpha'"),
        (MADE[0], "likelihoods", "Invalid parameter 'likelihoods' for estimator NaiveBayes"),
        (MADE[0], "power_transform__x__y", "power_transform is False"),
    ],
)
def test_set_params_refuses_unknown_names(clf, name, sentence):
    with pytest.raises(ValueError, match=sentence):
        clone(clf).set_params(**{name: 1})


@pytest.mark.parametrize("clf", MADE, ids=lambda clf: type(clf).__name__)
def test_get_params_gives_what_set_params_takes(clf):
    params = clf.get_params()
    again = clone(clf).set_params(**params)
    assert repr(again.get_params()) == repr(params)
    assert set(clf.get_params(deep=False)) == set(inspect.signature(type(clf)).parameters)


@pytest.mark.parametrize("clf", MADE, ids=lambda clf: type(clf).__name__)
@pytest.mark.parametrize(
    "way", [clone, copy.copy, copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))]
)
def test_parameters_survive_copies_and_displays(clf, way):
    other = way(clf)
    assert repr(other) == repr(clf)
    assert "Normal" in other._repr_html_()
    assert make_pipeline(StandardScaler(), other)._repr_html_()


GRID = [0.5, 2.0, 8.0, 50.0]
FOLDS = StratifiedKFold(4)


@pytest.mark.parametrize("nested", [False, True])
def test_grid_search_finds_what_a_loop_finds(nested):
    """GridSearchCV over a prior's strength against scores of classifiers that are typed."""
    X, y = wine()
    clf = bg.NaiveBayes(bg.Normal())
    name = "likelihood__variance_rows"
    if nested:
        clf, name = make_pipeline(StandardScaler(), clf), f"naivebayes__{name}"
    search = GridSearchCV(clf, {name: GRID}, cv=FOLDS, scoring="neg_log_loss").fit(X, y)

    def typed(strength):
        naive = bg.NaiveBayes(bg.Normal(variance_rows=strength))
        return make_pipeline(StandardScaler(), naive) if nested else naive

    by_hand = [
        cross_val_score(typed(g), X, y, cv=FOLDS, scoring="neg_log_loss").mean() for g in GRID
    ]
    # the same sums of the same numbers
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], by_hand)
    assert search.best_params_ == {name: GRID[int(np.argmax(by_hand))]}
    assert len(set(by_hand)) == len(GRID)
    assert search._repr_html_()


def test_grid_search_over_blocks_of_a_mapping():
    X, y = wine()
    blocks = {"a": bg.Normal(), ("b", "c"): bg.MultivariateNormal()}
    grid = {
        "likelihood__a": [bg.Normal(), bg.KernelDensity()],
        "likelihood__b_c__mean_rows": [1, 9],
    }
    search = GridSearchCV(bg.GenerativeClassifier(blocks), grid, cv=FOLDS).fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    assert list(map(repr, blocks.values())) == ["Normal()", "MultivariateNormal()"]
    assert search.best_estimator_.likelihood[("b", "c")].mean_rows in (1, 9)


# -- arguments that a constructor does not have ----------------------------------------------------


@pytest.mark.parametrize(
    ("make", "name", "sentence"),
    [
        (
            bg.NaiveBayes,
            "priors",
            r"NaiveBayes\(\) has no argument 'priors'. Did you mean class_prior",
        ),
        (bg.NaiveBayes, "prior", "NaiveBayes.* Did you mean class_prior"),
        (bg.NaiveBayes, "alpha", r"argument of the likelihood: .*bg.Categorical.laplace\(1\)"),
        (bg.NaiveBayes, "var_smoothing", "Did you mean inference"),
        (bg.NaiveBayes, "likelihod", "Did you mean likelihood"),
        (bg.NaiveBayes, "xyz", "Its arguments are 'likelihood'"),
        (bg.LDA, "priors", "LDA.* Did you mean class_prior"),
        (bg.LDA, "shrinkage", "Did you mean covariance_rows"),
        (bg.QDA, "reg_param", "QDA.* Did you mean covariance_rows"),
        (bg.BagOfWords, "alpha", "BagOfWords.* Did you mean rows_per_word"),
        (bg.BagOfWords, "prior", "Did you mean class_prior"),
        (bg.JointTable, "priors", "JointTable.* Did you mean class_prior"),
        (bg.GenerativeClassifier, "priors", "GenerativeClassifier.* Did you mean class_prior"),
        (bg.StackedClassifier, "estimators", "StackedClassifier.* Did you mean members"),
    ],
)
def test_unknown_argument_is_named_with_the_class_that_was_built(make, name, sentence):
    with pytest.raises(TypeError, match=sentence) as caught:
        make(**{name: 1})
    assert isinstance(caught.value, errors.BayesgenError)


def test_too_many_arguments_without_a_name():
    with pytest.raises(TypeError, match=r"NaiveBayes\(\) was given 2 .* NaiveBayes\(remainder="):
        bg.NaiveBayes("auto", "drop")
    with pytest.raises(TypeError, match=r"LDA\(\) was given 1 .* none may .* LDA\(mean="):
        bg.LDA("exact")


@pytest.mark.parametrize("make", [bg.NaiveBayes, bg.QDA, bg.BagOfWords, bg.StackedClassifier])
def test_signature_of_a_classifier_is_that_of_its_constructor(make):
    parameters = inspect.signature(make).parameters
    assert "kwargs" not in parameters
    assert list(parameters) == [
        n for n in inspect.signature(make.__init__).parameters if n != "self"
    ]
    assert set(make().get_params(deep=False)) == set(parameters)


def test_a_class_of_the_users_own_keeps_its_constructor():
    class Mine(bg.NaiveBayes):
        def __init__(self, *, strength=1.0):
            super().__init__(bg.Normal(variance_rows=strength))
            self.strength = strength

        def get_params(self, deep=True):
            return {"strength": self.strength}

    assert repr(Mine(strength=2.0).likelihood) == "Normal(variance_rows=2.0)"
    with pytest.raises(TypeError, match=r"Mine\(\) has no argument 'priors'"):
        Mine(priors=1)


@pytest.mark.parametrize(
    ("clf", "sentence"),
    [
        (bg.LDA(covariance_rows=-1), "^LDA: covariance_rows is -1"),
        (bg.QDA(scale=np.ones((3, 3))), "^QDA: scale is not symmetric"),
        (bg.JointTable(rows=-1), "^JointTable: rows is -1"),
        (bg.BagOfWords(rows_per_word=-1), "^BagOfWords: rows_per_word is -1"),
        (bg.BagOfWords(binary=True, rows=-1), "^BagOfWords: rows is -1"),
        (bg.NaiveBayes(bg.Normal(mean=np.ones(7))), "^Normal: mean has the shape"),
    ],
)
def test_errors_of_priors_name_the_class_that_was_built(clf, sentence):
    X, y = wine()
    with pytest.raises(errors.InvalidArgument, match=sentence):
        clf.fit((X > 0).astype(int), y)


@pytest.mark.parametrize(
    "name",
    [
        *("BagOfWords", "GenerativeClassifier", "JointTable", "LDA", "NaiveBayes", "QDA"),
        "StackedClassifier",
    ],
)
def test_every_argument_of_a_constructor_is_documented(name):
    cls = getattr(bg, name)
    text = inspect.cleandoc(cls.__doc__)
    assert not re.search(r": \.\.\.$", text, re.MULTILINE)
    for argument in inspect.signature(cls).parameters:
        assert re.search(rf"^    {argument}: \w", text.replace('"', ""), re.MULTILINE), argument


def test_a_subclass_takes_over_the_documentation_of_arguments():
    class Mine(bg.LDA):
        """My own.

        Args:
            mean: of my own.
            scale, levels: ...
        """

    assert "mean: of my own." in Mine.__doc__
    assert "scale: guess of the covariance" in Mine.__doc__
    assert 'levels: "refuse"' in Mine.__doc__


def test_members_of_a_stack_are_nested_parameters():
    """Names as in scikit-learn's make_pipeline, or those of a mapping."""
    lda = bg.LDA()
    stack = bg.StackedClassifier([lda, bg.NaiveBayes(bg.Normal()), bg.LDA(power_transform=True)])
    params = stack.get_params()
    assert params["lda-1"] is lda and params["lda-2__power_transform"] is True
    assert params["naivebayes__likelihood__mean_rows"] == bg.Normal().mean_rows
    stack.set_params(**{"lda-1__covariance_rows": 5, "naivebayes__likelihood__mean_rows": 7})
    assert [m.get_params().get("covariance_rows") for m in stack.members][::2] == [5, None]
    assert stack.get_params()["naivebayes__likelihood__mean_rows"] == 7
    assert lda.covariance_rows == bg.LDA().covariance_rows  # other stacks keep theirs
    stack.set_params(**{"lda-2": bg.QDA(), "temper": None})
    assert list(stack.fit(*wine()).members_) == ["lda", "naivebayes", "qda"]
    named = bg.StackedClassifier({"a": bg.LDA(), "b": bg.QDA()})
    assert named.set_params(a__covariance_rows=5).members["a"].covariance_rows == 5
    mixed = bg.StackedClassifier(["other", bg.LDA()]).set_params(lda__covariance_rows=5)
    assert mixed.members[0] == "other" and mixed.members[1].covariance_rows == 5
    with pytest.raises(ValueError, match="'c'"):
        named.set_params(c__covariance_rows=5)
    assert clone(named).get_params().keys() == named.get_params().keys()
    assert bg.StackedClassifier().get_params() == bg.StackedClassifier().get_params(deep=False)


def test_a_grid_searches_arguments_of_members():
    X, y = wine()
    stack = bg.StackedClassifier([bg.LDA(), bg.NaiveBayes()], progress=False)
    search = GridSearchCV(stack, {"lda__covariance_rows": [1.0, 30.0]}, cv=2).fit(X, y)
    best = search.best_estimator_.members_["lda"].covariance_rows
    assert best == search.best_params_["lda__covariance_rows"]
