"""Law 14: looking at a classifier never raises, whatever it is and however it was fitted.

Notebooks, Tab completion, scikit-learn's displays and copies ask for every attribute that there
could be. What a fit does not have is an AttributeError, and a sentence for whoever asks by name.
"""

import contextlib
import copy
import functools
import pickle
import sys
import types

import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest
import user_programs
from paces import fast_only
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import bayesgen as bg
from bayesgen.errors import BayesgenError, NoAttribute
from bayesgen.progress_bar import progress_bar

RNG = np.random.default_rng(0)
Y = np.arange(24) % 2
NUMBERS = pd.DataFrame(RNG.gamma(9.0, size=(24, 2)) + 2 * Y[:, None], columns=["a", "b"])
MISSING = NUMBERS.mask(RNG.random(NUMBERS.shape) < 0.15)
LEVELS = pd.DataFrame({"u": RNG.choice(list("xy"), 24), "v": RNG.choice(list("pqr"), 24)})
TEXTS = [" ".join(RNG.choice(["ash", "beech", "oak"], 5)) for _ in Y]

POINT = ("mle", "map")
FEW = bg.Augmentation(draws=10, warmup=5, chains=2)
SHORT = bg.NUTS(draws=5, warmup=5, chains=1, progress=False)

ESTIMATORS = {
    "NaiveBayes": (bg.NaiveBayes, NUMBERS),
    "NaiveBayes of levels": (bg.NaiveBayes, LEVELS),
    "LDA": (bg.LDA, NUMBERS),
    "LDA, missing values": (bg.LDA, MISSING),
    "LDA, constant columns": (bg.LDA, NUMBERS * 0),
    "QDA": (bg.QDA, NUMBERS),
    "QDA, missing values": (bg.QDA, MISSING),
    "QDA, reference": (functools.partial(bg.QDA, prior="reference"), NUMBERS),
    "JointTable": (bg.JointTable, LEVELS),
    "BagOfWords": (bg.BagOfWords, TEXTS),
    "GenerativeClassifier": (bg.GenerativeClassifier, NUMBERS.join(LEVELS)),
    "tempered": (functools.partial(bg.NaiveBayes, temper=0.5), NUMBERS),
    "KernelDensity": (functools.partial(bg.NaiveBayes, bg.KernelDensity()), NUMBERS),
    "KernelDiscriminant": (
        functools.partial(bg.GenerativeClassifier, bg.KernelDiscriminant()),
        NUMBERS,
    ),
}
ONE_OF_EACH = ("NaiveBayes", "LDA", "LDA, missing values", "JointTable", "BagOfWords", "tempered")
# what a fit leaves behind depends on its method more than on its estimator
AT_ONCE = [(name, method) for name in ONE_OF_EACH for method in ("expected", FEW)]
AT_ONCE += [("NaiveBayes", method) for method in POINT]
# "auto" is "exact" where no cell is missing
AT_ONCE += [(name, "auto") for name in ESTIMATORS if "missing" not in name]
SAMPLED = [(name, method) for name in ONE_OF_EACH for method in (SHORT, bg.MAP(solver="svi"))]

COMPILED = {
    "lkj": (bg.MultivariateNormal(prior="lkj"), "map"),
    "Family": (bg.Family(dist.Gamma), SHORT),
    "learned strengths": (bg.Normal(variance_rows="learn"), SHORT),
}

look_at = pytest.mark.parametrize(
    ("name", "method"),
    AT_ONCE,
    ids=lambda value: value if value in ESTIMATORS else None,
)
quiet = pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")


def build(name, method):
    make, rows = ESTIMATORS[name]
    return make(inference=method, random_state=0), rows


def public(clf):
    return {name for name in dir(clf) if not name.startswith("_")}


def look(clf):
    """Do everything that a display, a completion or a copy does."""
    assert dir(clf)
    assert repr(clf)
    for each in (clf, make_pipeline(clf), GridSearchCV(clf, {"class_prior": [1.0]})):
        assert "<div" in each._repr_html_()
        assert dir(each)
    for name in object.__dir__(clf):
        hasattr(clf, name)
    call = repr(clf).split("  # holds ")[0]
    for other in (copy.copy(clf), copy.deepcopy(clf), pickle.loads(pickle.dumps(clf))):
        # copies have no rows of the fit
        assert repr(other) == call
        assert public(other) == public(clf) - {"label_distributions_", "transduction_"}
    assert repr(clone(clf)) == call
    return clf


@quiet
@look_at
def test_look_at_a_fit(name, method):
    clf, rows = build(name, method)
    look(clf)
    look(clf.fit(rows, Y))
    look(clf.with_class_prior("uniform"))


@quiet
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_look_at_a_fit_of_one_class(name):
    clf, rows = build(name, "auto")
    clf.partial_fit(rows[:1], Y[:1])
    look(clf)
    for attribute in ("posterior_", "log_evidence_", "temperature_", "coef_", "inference_"):
        assert not hasattr(clf, attribute)


@quiet
@pytest.mark.parametrize("inference", ["auto", *POINT])
def test_look_at_a_stack(inference):
    members = [bg.LDA(inference=inference), bg.NaiveBayes(inference=inference)]
    stack = look(bg.StackedClassifier(members))
    assert not hasattr(stack, "posterior_") and not hasattr(stack, "temperature_")
    look(stack.fit(NUMBERS, Y))
    assert {"posterior_", "temperature_", "weights_"} < set(dir(stack))


@quiet
def test_look_at_a_grid_search():
    grid = GridSearchCV(bg.LDA(), {"inference": ["mle", "exact"]}, cv=2).fit(NUMBERS, Y)
    look(grid.best_estimator_)
    assert dir(grid) and grid._repr_html_()
    piped = make_pipeline(bg.QDA(inference="mle")).fit(NUMBERS, Y)
    assert dir(piped) and piped._repr_html_()


@quiet
def test_look_at_a_loaded_fit(tmp_path):
    bg.LDA(inference="mle").fit(NUMBERS, Y).save(tmp_path / "lda.bgm")
    look(bg.load(tmp_path / "lda.bgm"))


def test_look_at_a_fit_whose_prior_was_set_to_nonsense():
    look(bg.LDA().fit(NUMBERS, Y).set_params(class_prior="balanced"))


# what a fit leaves behind depends on its method more than on its estimator
@quiet
@pytest.mark.parametrize(
    ("name", "method"),
    [
        pytest.param(
            *fit,
            marks=pytest.mark.slow if fit[0] == "LDA, missing values" else pytest.mark.nightly,
        )
        for fit in SAMPLED
    ],
)
def test_look_at_a_compiled_fit(name, method):
    clf, rows = build(name, method)
    with contextlib.suppress(BayesgenError):  # not every table has a program
        clf.fit(rows, Y)
    look(clf)


@quiet
@pytest.mark.parametrize("name", fast_only([], COMPILED, slow=["Family"]))
def test_look_at_a_fit_without_a_closed_form(name):
    likelihood, method = COMPILED[name]
    clf = look(bg.GenerativeClassifier(likelihood, inference=method, random_state=0))
    look(clf.fit(NUMBERS, Y))
    assert not hasattr(clf, "log_evidence_")


@pytest.mark.slow
@quiet
@pytest.mark.parametrize("method", ["map", SHORT], ids=repr)
def test_look_at_a_program(method):
    clf = look(bg.GenerativeClassifier(story=user_programs.bells, inference=method, random_state=0))
    look(clf.fit(NUMBERS.to_numpy(), Y))
    with pytest.raises(NoAttribute, match=r"a program of your own does not have.*bg\.compare"):
        _ = clf.log_evidence_


# -- what is not there says so --------------------------------------------------------------------


@pytest.mark.parametrize("base", [BayesgenError, ValueError, AttributeError])
def test_absent_attributes_are_all_that_callers_expect(base):
    assert issubclass(NoAttribute, base)


@pytest.mark.parametrize("attribute", ["posterior_", "log_evidence_", "temperature_", "coef_"])
def test_attributes_before_fit_are_those_of_scikit_learn(attribute):
    with pytest.raises(NotFittedError):
        getattr(bg.LDA(), attribute)


@pytest.mark.parametrize("attribute", ["posterior_", "temperature_"])
def test_attributes_of_a_stack_before_fit_are_those_of_scikit_learn(attribute):
    with pytest.raises(NotFittedError):
        getattr(bg.StackedClassifier(), attribute)


def test_constant_columns_have_no_discriminant_axis():
    with pytest.warns(bg.errors.SuspiciousColumn):
        lda = bg.LDA().fit(NUMBERS * 0, Y)
    assert lda.transform(NUMBERS * 0).shape == (24, 0)
    assert len(lda.get_feature_names_out()) == 0


@pytest.mark.parametrize("method", POINT)
def test_interval_of_a_point_names_a_cure_that_runs(method):
    clf = bg.QDA(inference=method).fit(NUMBERS, Y)
    with pytest.raises(
        NoAttribute, match=f"inference='{method}' gives a single set.*inference='auto'"
    ):
        clf.predict_interval(NUMBERS)
    stack = bg.StackedClassifier([bg.QDA(inference=method)]).fit(NUMBERS, Y)
    with pytest.raises(NoAttribute, match=r"every member of the stack .*members with inference="):
        stack.predict_interval(NUMBERS)
    cured = bg.QDA(inference="auto").fit(NUMBERS, Y).predict_interval(NUMBERS)
    assert (cured[..., 1] > cured[..., 0]).all()


@pytest.mark.parametrize(
    ("name", "method"),
    [("NaiveBayes", "fit"), ("LDA", "partial_fit"), ("QDA, reference", "fit")],
)
def test_the_report_is_a_line_with_the_time_of_the_whole_call(monkeypatch, name, method):
    kind, X = ESTIMATORS[name]
    clock = types.SimpleNamespace(perf_counter=iter([100.0, 113.26]).__next__)
    monkeypatch.setattr("bayesgen.estimators.fitting.time", clock)
    report = getattr(kind(), method)(X, Y).report_
    assert report.seconds == pytest.approx(13.26)
    assert repr(report).startswith("Report(exact, 13 s: Closed form") and "\n" not in repr(report)
    assert "<td>13.3</td>" in report._repr_html_() and "leave-one-out" not in repr(report)


def test_a_notebook_shows_the_bar_of_auto(monkeypatch, capsys):
    """Its stderr is no terminal; without ipywidgets the bar is text."""
    with progress_bar(2, "auto", unit="fit") as bar:
        assert bar.disable
    kernel = types.SimpleNamespace(config={"IPKernelApp": {}})
    ipython = types.SimpleNamespace(get_ipython=lambda: kernel)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    for shown in ("auto", True, False):
        with progress_bar(2, shown, unit="fit"):
            assert ("0/2" in capsys.readouterr().err) == bool(shown)
    kernel.config.clear()  # IPython in a terminal
    with progress_bar(2, "auto", unit="fit") as bar:
        assert bar.disable


def test_dir_of_the_package_lists_what_users_type():
    listed = {name for name in dir(bg) if not name.startswith("_")}
    assert {"LDA", "compare", "load", "calibrate", "datasets", "errors", "plots"} <= listed
    modules = {name for name in listed if isinstance(getattr(bg, name), types.ModuleType)}
    assert modules == {"calibrate", "datasets", "errors", "plots"}
