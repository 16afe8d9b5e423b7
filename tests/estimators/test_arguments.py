"""Arguments with a value that is not allowed: one sentence, raised where the value is passed.

Every public call that takes a count, a share, a cost, a seed or a word stands here with values of
the kinds that people pass by mistake: zero, negative, fractions, booleans, text, a class in place
of an instance.
"""

import copy
import inspect
import pickle
import re
from functools import cache
from pathlib import Path

import numpy as np
import numpyro.infer
import pytest

import bayesgen as bg
from bayesgen import errors
from bayesgen.errors import InvalidArgument
from bayesgen.inference import nuts

pytestmark = pytest.mark.usefixtures("no_type_checks")

NO_COUNT = (0, -1, 1.5, True, "3", None)
NO_SHARE = (0, 1, -0.5, 1.5, True, "a", np.nan, None)
NO_SEED = ("x", -1, 1.5, True, 2**32, np.random.default_rng(0))
METHODS = {
    "draws": (bg.Exact, bg.Expected, bg.Augmentation, bg.NUTS),
    "chains": (bg.Augmentation, bg.NUTS),
}


@cache
def iris():
    """Return ten rows of each class."""
    X, y = bg.datasets.load_iris()
    return X[::5].reset_index(drop=True), y[::5].reset_index(drop=True)


@cache
def fitted(make=bg.NaiveBayes):
    return make().fit(*iris())


@cache
def compared():
    return bg.compare({"lda": bg.LDA(), "naive": bg.NaiveBayes()}, *iris(), cv=2, progress=False)


def stacked():
    return bg.StackedClassifier([bg.LDA()], random_state=0)


@cache
def stack():
    return stacked().fit(*iris())


def rows():
    return iris()[0][:2]


def prevalence(**options):
    return fitted().estimate_prevalence(rows(), **options)


def rivals(**options):
    return bg.compare({"lda": bg.LDA()}, *iris(), progress=False, **options)


def fit(**options):
    return bg.NaiveBayes(**options).fit(*iris())


CALLS = {
    # argument: (name of the call, the call with the value, values that are refused)
    "draws": [
        *((make.__name__, lambda v, m=make: m(draws=v), NO_COUNT) for make in METHODS["draws"]),
        ("typicality", lambda v: fitted().typicality(rows(), draws=v), NO_COUNT),
        ("typicality of a stack", lambda v: stack().typicality(rows(), draws=v), NO_COUNT),
        ("impute", lambda v: fitted().impute(rows(), v), NO_COUNT),
        ("conditional", lambda v: fitted().conditional(rows(), draws=v), NO_COUNT),
        ("impute of a stack", lambda v: stack().impute(rows(), v), NO_COUNT),
        ("feature_value", lambda v: fitted().feature_value(rows(), draws=v), (1, *NO_COUNT)),
        ("estimate_prevalence", lambda v: prevalence(draws=v), NO_COUNT),
        ("to_datatree", lambda v: fitted().to_datatree(draws=v), NO_COUNT),
        ("describe", lambda v: fitted().describe(draws=v), NO_COUNT),
        ("summary", lambda v: fitted().summary(draws=v), NO_COUNT),
    ],
    "chains": [
        (make.__name__, lambda v, m=make: m(chains=v), NO_COUNT) for make in METHODS["chains"]
    ],
    "warmup": [
        (make.__name__, lambda v, m=make: m(warmup=v), NO_COUNT[1:]) for make in METHODS["chains"]
    ],
    "replicates": [("to_datatree", lambda v: fitted().to_datatree(replicates=v), NO_COUNT)],
    "n": [
        ("sample", lambda v: fitted().sample(v), NO_COUNT),
        ("sample of a stack", lambda v: stack().sample(v), NO_COUNT),
        ("sample_prior", lambda v: bg.LDA().sample_prior(v, *iris()), NO_COUNT),
        ("plot_prior", lambda v: bg.LDA().plot_prior(*iris(), n=v), NO_COUNT),
    ],
    "resamples": [
        ("reliability", lambda v: compared().reliability("lda", resamples=v), NO_COUNT),
        ("plot_reliability", lambda v: fitted().plot_reliability(*iris(), resamples=v), NO_COUNT),
    ],
    "cv": [("compare", lambda v: rivals(cv=v), (1, *NO_COUNT))],
    "n_jobs": [("compare", lambda v: rivals(n_jobs=v), (0, -2, 1.5, True, "2"))],
    "train_sizes": [
        ("compare", lambda v: rivals(train_sizes=v), ([0], [-1], ["a"], [1.5], [True], 7, [10**9]))
    ],
    "target_accept": [("NUTS", lambda v: bg.NUTS(target_accept=v), NO_SHARE)],
    "max_tree_depth": [("NUTS", lambda v: bg.NUTS(max_tree_depth=v), NO_COUNT)],
    "step_size": [("NUTS", lambda v: bg.NUTS(step_size=v), (0, -1.0, "a", True, None, np.inf))],
    "dense_mass": [("NUTS", lambda v: bg.NUTS(dense_mass=v), (2, None, "yes"))],
    "prob": [
        ("predict_interval", lambda v: fitted().predict_interval(rows(), v), NO_SHARE),
        ("of a stack", lambda v: stack().predict_interval(rows(), v), NO_SHARE),
        ("conditional", lambda v: fitted().conditional(rows(), prob=v), NO_SHARE),
        ("plot_intervals", lambda v: fitted().plot_intervals(rows(), prob=v), NO_SHARE),
        ("reliability", lambda v: compared().reliability("lda", prob=v), NO_SHARE),
    ],
    "novelty": [("decide", lambda v: fitted().decide(rows(), novelty=v), NO_SHARE[:-1])],
    "interval": [("evidence", lambda v: fitted().evidence(rows(), interval=v), NO_SHARE[:-1])],
    "thresholds": [
        ("thresholds", lambda v: two().thresholds("lda", v), ([2], [-1], ["a"], [True]))
    ],
    "reject": [
        ("decide", lambda v: fitted().decide(rows(), reject=v), (-1, np.nan, np.inf, "a", True)),
        ("of a stack", lambda v: stack().decide(rows(), reject=v), (-1, "a")),
    ],
    "random_state": [
        ("fit", lambda v: fit(random_state=v), NO_SEED),
        ("fit of a stack", lambda v: stacked().set_params(random_state=v).fit(*iris()), NO_SEED),
        ("sample", lambda v: fitted().sample(2, random_state=v), NO_SEED),
        ("sample of a stack", lambda v: stack().sample(2, random_state=v), NO_SEED),
        ("sample_prior", lambda v: bg.LDA().sample_prior(2, *iris(), random_state=v), NO_SEED),
        ("plot_prior", lambda v: bg.LDA().plot_prior(*iris(), n=9, random_state=v), NO_SEED),
        ("conditional", lambda v: fitted().conditional(rows(), random_state=v), NO_SEED),
        ("impute", lambda v: fitted().impute(rows(), random_state=v), NO_SEED),
        ("relevance", lambda v: fitted().relevance(rows(), random_state=v), NO_SEED),
        ("evidence_table", lambda v: fitted().evidence_table(rows(), random_state=v), NO_SEED),
        ("impute of a stack", lambda v: stack().impute(rows(), random_state=v), NO_SEED),
        ("evidence", lambda v: fitted().evidence(rows(), random_state=v), NO_SEED),
        ("feature_value", lambda v: fitted().feature_value(rows(), random_state=v), NO_SEED),
        ("estimate_prevalence", lambda v: prevalence(random_state=v), NO_SEED),
        ("to_datatree", lambda v: fitted().to_datatree(random_state=v), NO_SEED),
        ("summary", lambda v: fitted().summary(random_state=v), NO_SEED),
        ("compare", lambda v: rivals(random_state=v), NO_SEED),
        ("reliability", lambda v: compared().reliability("lda", random_state=v), NO_SEED),
        ("plot_reliability", lambda v: fitted().plot_reliability(*iris(), random_state=v), NO_SEED),
    ],
    "solver": [
        ("MLE", lambda v: bg.MLE(solver=v), ("adam", None, 1, True)),
        ("MAP", lambda v: bg.MAP(solver=v), ("adam", None, 1, True)),
    ],
    "variance_floor": [
        ("MLE", lambda v: bg.MLE(variance_floor=v), (-1, np.nan, np.inf, "a", True))
    ],
    "bias_corrected": [("MLE", lambda v: bg.MLE(bias_corrected=v), ("yes", 1, None))],
    "progress": [
        ("NUTS", lambda v: bg.NUTS(progress=v), ("yes", 1, None)),
        ("compare", lambda v: bg.compare({"a": bg.LDA()}, *iris(), progress=v), ("yes", 1, None)),
        ("stack", lambda v: stacked().set_params(progress=v).fit(*iris()), ("yes", 1, None)),
    ],
    "checkpoint": [("NUTS", lambda v: bg.NUTS(checkpoint=v), (3, True, b"run"))],
    "temper": [
        ("fit", lambda v: fit(temper=v), (0, -1, np.inf, True, "lern")),
        ("fit of a stack", lambda v: stacked().set_params(temper=v).fit(*iris()), (0, "a", True)),
    ],
}


@cache
def two():
    """Return a comparison of two classes."""
    X, y = iris()
    return bg.compare({"lda": bg.LDA()}, X[10:], y[10:], cv=2, progress=False)


FIRST = [
    pytest.param(argument, call, values[0], id=f"{name}: {argument}")
    for argument, calls in CALLS.items()
    for name, call, values in calls
]


def refusal(argument, call, value):
    """Return the sentence by which a value is refused, which begins with its argument."""
    with pytest.raises(errors.BayesgenError, match=rf"^{argument} is ") as caught:
        call(value)
    assert isinstance(caught.value, ValueError | TypeError)
    return str(caught.value)


@pytest.mark.parametrize("argument", CALLS)
def test_argument_refuses_every_value_of_a_mistake(argument):
    """What one argument refuses is decided in one place, whoever takes it: asked of the first."""
    (_, call, values), *_ = CALLS[argument]
    for value in values[1:]:
        refusal(argument, call, value)


@pytest.mark.parametrize(("argument", "call", "value"), FIRST)
def test_cure_of_a_refused_argument_is_accepted(argument, call, value):
    """What the sentence says to pass is passed, and nothing is refused any more."""
    sentence = refusal(argument, call, value)
    cure = re.search(rf"Pass {argument}=(.*?)(?:\.$|, or )", sentence)
    assert cure, sentence
    call(eval(cure[1]))


@pytest.mark.parametrize("argument", ["draws", "chains", "n", "resamples", "cv", "random_state"])
def test_argument_of_numpy_is_a_count(argument):
    """A whole number of NumPy is one: what a loop over an array gives."""
    for _, call, _ in CALLS[argument]:
        call(np.int64(2))


def test_every_count_share_and_seed_is_in_the_table():
    """A public call that takes one of these arguments, and is not tested above, is found."""
    places = {
        "NaiveBayes": bg.NaiveBayes,
        "StackedClassifier": bg.StackedClassifier,
        "Comparison": bg.Comparison,
    }
    calls = {
        f"{owner}.{name}": method
        for owner, kind in places.items()
        for name, method in inspect.getmembers(kind, callable)
        if not name.startswith("_")
    }
    calls |= {m.__name__: m for m in (*METHODS["draws"], bg.MLE, bg.MAP, bg.compare)}
    kinds = {"draws", "chains", "warmup", "replicates", "n", "resamples", "cv", "n_jobs", "prob"}
    kinds |= {"random_state", "novelty", "target_accept", "variance_floor", "solver", "reject"}
    wanted = {
        (argument, name.split(".")[-1])
        for name, call in calls.items()
        for argument in kinds & set(inspect.signature(call).parameters)
    }
    tested = {
        (a, word) for a, some in CALLS.items() for name, _, _ in some for word in name.split()
    }
    assert wanted <= tested


def test_checkpoint_takes_any_path():
    assert bg.NUTS(checkpoint=Path("run.bgm")) == bg.NUTS(checkpoint="run.bgm")


# -- the classifiers of a comparison, methods and likelihoods ------------------------------------


def test_compare_without_names_says_how_to_name_them():
    classifiers = [bg.LDA(), bg.LDA(class_prior="uniform")]
    with pytest.raises(errors.InvalidArgument, match="classifiers is of type list") as caught:
        bg.compare(classifiers, *iris())
    named = eval(re.search(r"\{.*\}", str(caught.value))[0], {"classifiers": classifiers})
    assert list(bg.compare(named, *iris(), cv=2, progress=False).table.index) == ["LDA 0", "LDA 1"]


def test_compare_of_names_says_what_a_classifier_is():
    with pytest.raises(errors.InvalidArgument, match="classifiers is of type list") as caught:
        bg.compare(["naive", "linear"], *iris())
    named = eval(re.search(r"\{.*\}", str(caught.value))[0], {"bg": bg})
    assert list(bg.compare(named, *iris(), cv=2, progress=False).table.index) == ["naive"]


@pytest.mark.parametrize("classifiers", [{}, "lda", {"lda": bg.LDA}, {"lda": 3}])
def test_compare_refuses_what_is_no_classifier(classifiers):
    with pytest.raises(errors.InvalidArgument, match=r"^classifiers.*Pass {"):
        bg.compare(classifiers, *iris())


@pytest.mark.parametrize("make", [bg.NUTS, bg.Exact, bg.MLE, bg.MAP, bg.Augmentation, bg.Expected])
def test_inference_by_its_class_asks_for_parentheses(make):
    sentence = rf"Pass {make.__name__}\(\), with parentheses"
    with pytest.raises(errors.InvalidArgument, match=sentence):
        bg.LDA(inference=make).fit(*iris())


@pytest.mark.parametrize("inference", [None, 3, "gibbs", ["exact"], object()])
def test_inference_that_is_none_is_refused(inference):
    with pytest.raises(errors.InvalidArgument, match=r"^inference is .*'svi'"):
        bg.LDA(inference=inference).fit(*iris())


def test_likelihood_by_its_class_asks_for_parentheses():
    for likelihood in (bg.Normal, {"petal_width": bg.Normal}):
        with pytest.raises(errors.InvalidArgument, match=r"Pass Normal\(\), with parentheses"):
            bg.GenerativeClassifier(likelihood, remainder="drop").fit(*iris())
    with pytest.raises(errors.BayesgenError, match=r"Pass LDA\(\), with parentheses"):
        bg.StackedClassifier([bg.LDA]).fit(*iris())


@pytest.mark.slow
@pytest.mark.parametrize("make", [bg.NaiveBayes, bg.LDA])
def test_svi_is_map_by_svi(make):
    """The two spellings run one program: every number is the same."""
    X, y = iris()
    X = X[["petal_width"]]
    named, built = (make(inference=how).fit(X, y) for how in ("svi", bg.MAP(solver="svi")))
    assert named.inference_ == built.inference_ == "map"
    np.testing.assert_array_equal(named.predict_proba(X), built.predict_proba(X))
    closed = make(inference="map").fit(X, y)
    # SVI ends where the gradient, in units of the posterior's width, is below .01
    np.testing.assert_allclose(named.predict_proba(X), closed.predict_proba(X), atol=0.01)


def test_options_of_numpyro_keep_their_defaults_and_others_are_a_sentence():
    theirs = inspect.signature(numpyro.infer.NUTS).parameters
    for name in nuts.OPTIONS:
        assert getattr(bg.NUTS(), name) == theirs[name].default
    with pytest.raises(InvalidArgument, match=r"'num_samples'. Did you mean draws\?"):
        bg.NUTS(num_samples=10)
    with pytest.raises(InvalidArgument, match="'trajectory_length'"):
        bg.NUTS(trajectory_length=10)
    method = bg.NUTS(max_tree_depth=8, dense_mass=True)
    assert repr(method).endswith("checkpoint=None, max_tree_depth=8, dense_mass=True)")
    assert copy.deepcopy(method) == method == pickle.loads(pickle.dumps(method))
