"""Where a package is not installed: one sentence with the cure, before any work."""

import sys

import numpy as np
import pytest

import bayesgen as bg
from bayesgen.cli import main
from bayesgen.errors import MissingPackage

SENTENCE = r'pictures need the package matplotlib.*pip install "bayesgen\[plots\]"'
SAMPLED = r"{} need the package numpyro, .*Type: pip install numpyro\. On Macs with an Intel"


@pytest.fixture
def bare(monkeypatch):
    """As in an environment without matplotlib: None in sys.modules fails an import."""
    for name in [n for n in sys.modules if n.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)


@pytest.fixture
def exact_only(monkeypatch):
    """As on a Mac with an Intel processor, for which JAX has no wheel."""
    monkeypatch.setitem(sys.modules, "numpyro", None)


class Untouched:
    """Rows that were not looked at."""

    def __getattribute__(self, name):
        raise AssertionError(f"{name} was asked for before matplotlib was")


METHODS = [
    (owner, name)
    for owner in (bg.LDA, bg.StackedClassifier, bg.Comparison)
    for name in dir(owner)
    if name.startswith("plot_") and (owner, name) != (bg.StackedClassifier, "plot_prior")
]
"""All but the prior of a stack, which has no picture."""


@pytest.fixture(scope="module")
def owners():
    X, y = bg.datasets.load_iris()
    built = bg.LDA(), bg.StackedClassifier([bg.LDA(), bg.QDA()], temper=None)
    return {type(clf): clf.fit(X, y) for clf in built} | {
        bg.Comparison: bg.compare({"lda": bg.LDA()}, X, y, cv=2)
    }


@pytest.mark.parametrize(("owner", "name"), METHODS)
def test_plot_methods_name_the_extra_before_anything_is_computed(owners, owner, name, bare):
    # rows of a classifier, names of a comparison: neither is looked at
    arguments = {"plot_weights": 0, "plot_roc": 0, "plot_evidence": 1, "plot_relevance": 1}.get(
        name, 2
    )
    if owner is bg.Comparison:
        arguments = min(arguments, 1)
    with pytest.raises(MissingPackage, match=SENTENCE):
        getattr(owners[owner], name)(*[Untouched()] * arguments)


def test_plot_methods_are_all_here():
    assert len(METHODS) == 8 + 8 + 4


@pytest.mark.parametrize("name", [n for n in dir(bg.plots) if n.endswith("Display")])
def test_displays_name_the_extra_before_anything_is_computed(name, bare):
    makers = [getattr(getattr(bg.plots, name), m, None) for m in ("from_estimator",)]
    for make in filter(None, makers):
        with pytest.raises(MissingPackage, match=SENTENCE):
            make(*[Untouched()] * (1 if name == "WeightDisplay" else 3))
    if name == "ReliabilityDisplay":
        with pytest.raises(MissingPackage, match=SENTENCE):
            bg.plots.ReliabilityDisplay.from_predictions(*[Untouched()] * 3)


LKJ = bg.GenerativeClassifier(bg.MultivariateNormal(prior="lkj"))
NEED_NUMPYRO = {
    "draws by NUTS": lambda X, y: LKJ.fit(X, y),
    "point estimates by gradients": lambda X, y: bg.NaiveBayes(inference="svi").fit(X, y),
    "draws from a prior without a closed form": lambda X, y: LKJ.sample_prior(4, X, y),
    "log densities of priors": lambda X, y: bg.LDA().fit(X, y).to_datatree(draws=4),
    "likelihoods of NumPyro distributions": lambda X, y: bg.Family("Gamma"),
    "NumPyro programs": lambda X, y: bg.GenerativeClassifier(story=lambda x, y=None: x).fit(X, y),
}
"""What is asked for, by what the sentence calls it."""


@pytest.mark.parametrize("what", NEED_NUMPYRO)
def test_what_needs_numpyro_says_so_where_it_is_absent(what, exact_only):
    with pytest.raises(MissingPackage, match=SAMPLED.format(what)):
        NEED_NUMPYRO[what](*bg.datasets.load_iris())


@pytest.mark.slow
def test_draws_in_a_file_are_read_without_numpyro(tmp_path, monkeypatch):
    X, y = bg.datasets.load_iris()
    method = bg.NUTS(draws=16, warmup=16, chains=2, progress=False)
    with pytest.warns(bg.errors.BayesgenWarning):
        clf = bg.NaiveBayes(inference=method, random_state=0).fit(X, y)
    clf.save(tmp_path / "clf.bgm")
    bg.GenerativeClassifier(bg.Family("Gamma"), inference="map").fit(X, y).save(tmp_path / "g.bgm")
    expected = clf.predict_interval(X[:5])
    monkeypatch.setitem(sys.modules, "numpyro", None)
    assert (bg.load(tmp_path / "clf.bgm").predict_interval(X[:5]) == expected).all()
    with pytest.raises(MissingPackage, match=SAMPLED.format("likelihoods of NumPyro distribut.*")):
        bg.load(tmp_path / "g.bgm")


def test_report_command_names_the_extra_before_it_reads(bare, capsys, tmp_path):
    page = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "absent.csv"), "--html", str(page)]) == 1
    found = capsys.readouterr().err
    assert found.count("\n") == 1 and 'pip install "bayesgen[plots]"' in found
    assert not page.exists()


@pytest.mark.slow
def test_what_draws_nothing_needs_no_extra(bare):
    X, y = bg.datasets.load_iris()
    clf = bg.LDA().fit(X, y)
    assert clf.summary(kind="stats").shape[0] > 3 and np.isfinite(clf.loo(kind="elpd").elpd)
    clf.to_datatree(draws=16, replicates=1)
