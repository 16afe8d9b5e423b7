"""Blocks with a closed form beside blocks that are sampled: the draws are those of the posterior.

A Bernoulli block that is declared to have no closed form has one all the same, an exact answer for
what was sampled too. Averages may be 5 Monte Carlo standard errors off; seeds are fixed.
"""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from cases import CASES, CLOSED
from test_nuts import METHOD, TINY, agrees, build, flat

import bayesgen as bg
from bayesgen.classes import ClassPrior
from bayesgen.errors import InvalidFile, UnsupportedOperation, Words
from bayesgen.inference import ClosedForm, Draws, Exact, Report, closed_blocks, nuts
from bayesgen.inference.nuts import CompiledNUTS
from bayesgen.likelihoods import Bernoulli, Normal
from bayesgen.likelihoods.hyperparameter_mixture import averaged
from bayesgen.likelihoods.selection import Selection
from bayesgen.model import Model
from bayesgen.problem import Problem

pytestmark = pytest.mark.filterwarnings("ignore::bayesgen.errors.NotConverged")
NO_REPORT = Report("nuts", converged=True, outcome=Words(""))
SHAPE = (4, 2_500)


class OpenBernoulli(Bernoulli):
    """One that claims to have no closed form."""

    conjugate = False


OPEN = OpenBernoulli(**{k: getattr(CASES["Bernoulli"].prior, k) for k in ("prob", "rows")})
MIXED = {"Bernoulli": OPEN, "Normal": CASES["Normal"].prior}


def closed(model: Model) -> Model:
    """Return the model of families that admit their closed forms."""
    blocks = {
        name: Bernoulli().with_arrays(part.arrays()) if isinstance(part, OpenBernoulli) else part
        for name, part in model.blocks.items()
    }
    return dataclasses.replace(model, blocks=blocks)


def require_mean_densities(draws: Draws, built: Problem, x: dict) -> None:
    """Compare the mean over draws of the joint densities of rows with the closed form."""
    model, statistics, reader = built.model, built.statistics, built.reader
    n = len(next(iter(x.values())))
    after = closed(model).posterior(statistics)
    exact = ClosedForm(reader, NO_REPORT, after, 0).log_joint(x, n)
    relative = np.exp(draws.each_log_joint(x, n) - exact[:, None])
    z = (relative.mean(axis=1) - 1) / (relative.std(axis=1) / np.sqrt(relative.shape[1]))
    assert np.abs(z).max() <= 5, np.abs(z).max()


def drawn(built: Problem) -> Draws:
    """Return draws of a model from closed forms alone."""
    model, statistics, reader = built.model, built.statistics, built.reader
    closed, rng = closed_blocks.closed_blocks(model, statistics), np.random.default_rng(3)
    assert closed == set(model.blocks)
    exact = model.only(closed).posterior(statistics)
    params = closed_blocks.chains_of_draws(exact, rng, SHAPE)
    return Draws(reader, NO_REPORT, params, exact.blocks)


def few(x: dict) -> dict:
    """Return every sixth row: the others add nothing but time."""
    return {name: rows[::6] for name, rows in x.items()}


# --- what is drawn from closed forms ----------------------------------------------------------


@pytest.mark.parametrize("name", CLOSED)
def test_draws_have_the_closed_form_as_their_mean(name):
    built, x, _ = build({name: CASES[name].prior}, 30)
    require_mean_densities(drawn(built), built, few(x))


def test_augmentation_keeps_the_kernels_of_a_closed_form():
    """They are in the posterior of the block, not in its prior."""
    names = "KernelDiscriminant", "MultivariateNormal"
    problem, x, _ = build({n: CASES[n].prior for n in names}, 30, gaps=True)
    fit = bg.Augmentation(draws=200, warmup=5).infer(problem, 0)
    some = {"KernelDiscriminant": fit.blocks["KernelDiscriminant"]}
    reader = dataclasses.replace(problem.reader, selections={"KernelDiscriminant": Selection()})
    alone = Problem(problem.model.only(some), problem.statistics, reader)
    draws = dataclasses.replace(fit, blocks=some, reader=reader)
    require_mean_densities(draws, alone, few({n: x[n] for n in some}))


def from_the_prior(right: Callable) -> Callable:
    return lambda self, statistics: self


def of_the_next_class(right: Callable) -> Callable:
    def wrong(self, rng, n):
        return {name: np.roll(value, 1, axis=1) for name, value in right(self, rng, n).items()}

    return wrong


def with_a_seed_of_its_own(right: Callable) -> Callable:
    return lambda self, rng, n: right(self, np.random.default_rng(3), n)


FAULTS = {
    "a block from its prior": (Normal, "posterior", from_the_prior),
    "a block of another class": (Normal, "draw", of_the_next_class),
    "blocks that depend on each other": (Normal, "draw", with_a_seed_of_its_own),
    "class probabilities from their prior": (ClassPrior, "posterior", from_the_prior),
    "class probabilities of another class": (ClassPrior, "draw", of_the_next_class),
}


@pytest.mark.parametrize("fault", [None, *FAULTS])
def test_wrong_draws_are_noticed(fault, monkeypatch):
    built, x, _ = build({"Normal": CASES["Normal"].prior}, 30)
    model, statistics, reader = built.model, built.statistics, built.reader
    # two equal blocks, for draws that depend on each other are most alike there
    model = Model(
        model.classes, {"Normal": model.blocks["Normal"], "again": model.blocks["Normal"]}
    )
    blocks = {"Normal": statistics.blocks["Normal"], "again": statistics.blocks["Normal"]}
    statistics = dataclasses.replace(statistics, blocks=blocks)
    reader = dataclasses.replace(reader, selections=dict.fromkeys(blocks, Selection()))
    x = few(x | {"again": x["Normal"]})
    built = Problem(model, statistics, reader)
    if fault is None:
        require_mean_densities(drawn(built), built, x)
        return
    owner, name, wrong = FAULTS[fault]
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, wrong(getattr(owner, name)))
        draws = drawn(built)
    with pytest.raises(AssertionError):
        require_mean_densities(draws, built, x)


# --- beside what is sampled -------------------------------------------------------------------


@pytest.fixture(scope="module")
def mixed():
    """Return a fitted mixed model, what it was built of, and its rows."""
    built, x, _ = build(MIXED, 30)
    return TINY.infer(built, seed=0), built, x


@pytest.mark.slow
def test_only_the_block_without_a_closed_form_is_sampled(mixed, monkeypatch):
    asked = []
    monkeypatch.setattr(nuts, "model_log_density", lambda model, _: asked.append(model))
    monkeypatch.setattr(bg.NUTS, "sample", lambda *_: pytest.fail("not reached"))
    with pytest.raises(pytest.fail.Exception):
        TINY.infer(mixed[1], seed=0)
    assert list(asked[0].blocks) == ["Bernoulli"]
    assert asked[0].classes.is_fixed


def test_shapes_and_the_verdict(mixed):
    fit, problem, _ = mixed
    model = problem.model
    assert fit.shape == (2, 70)
    assert list(fit.params) == ["class", *model.blocks]
    assert fit.params["class"]["probs"].shape == (2, 70, 3)
    assert fit.params["Normal"]["variance"].shape == (2, 70, 3, 3)
    assert "Sampled: block 'Bernoulli'" in fit.report.verdict
    assert "from closed forms: class probabilities and block 'Normal'." in fit.report.verdict
    assert all(value.shape == (2, 70) for value in fit.sample_stats.values())


def test_the_seed_repeats_every_draw(mixed):
    fit, built, _ = mixed
    again, other = (TINY.infer(built, seed=seed) for seed in (0, 1))
    for owner, values in fit.params.items():
        for name, value in values.items():
            np.testing.assert_array_equal(again.params[owner][name], value)
            assert (other.params[owner][name] != value).any()


def test_mixed_draws_agree_with_the_closed_form():
    built, x, _ = build(MIXED, 30)
    fit = dataclasses.replace(TINY, draws=600).infer(built, seed=2)
    require_mean_densities(fit, built, few(x))
    exact = closed(built.model).posterior(built.statistics)
    rng = np.random.default_rng(5)
    for name, part in {**exact.blocks, "class": exact.classes}.items():
        draws = {k: v.reshape(4, 5_000, *v.shape[1:]) for k, v in part.draw(rng, 20_000).items()}
        agrees(flat(fit.params[name]), flat({k: draws[k] for k in fit.params[name]}))


@pytest.mark.slow
def test_a_model_with_a_closed_form_is_sampled_as_a_whole():
    fit = TINY.infer(build({"Bernoulli": CASES["Bernoulli"].prior}, 30)[0], seed=0)
    assert fit.report.verdict.endswith("inference='exact' gives independent draws of the same.")
    assert "Sampled:" not in fit.report.verdict


def test_joint_blocks_with_missing_cells_are_sampled():
    built = build({n: CASES[n].prior for n in ("MultivariateNormal", "Normal")}, 30, gaps=True)[0]
    assert closed_blocks.closed_blocks(built.model, built.statistics) == {"Normal"}


def test_a_reference_prior_is_no_obstacle_where_it_is_not_sampled():
    built = build({"Bernoulli": OPEN, "Normal": Normal(prior="reference")}, 30)[0]
    fit = TINY.infer(built, seed=0)
    assert np.isfinite(fit.params["Normal"]["mean"]).all()


def test_a_checkpoint_repeats_all_draws_and_belongs_to_all_blocks(tmp_path, monkeypatch):
    method = dataclasses.replace(TINY, checkpoint=str(tmp_path / "run.bgm"))
    problem = build(MIXED, 30)[0]
    statistics = problem.statistics
    first = method.infer(problem, seed=0)
    monkeypatch.setattr(CompiledNUTS, "taken", lambda *_: pytest.fail("it samples again"))
    again = method.infer(problem, seed=0)
    for owner, values in first.params.items():
        for name, value in values.items():
            np.testing.assert_array_equal(again.params[owner][name], value)
    other = statistics.blocks["Normal"]
    moved = other.with_arrays({name: array * 1.5 for name, array in other.arrays().items()})
    blocks = statistics.blocks | {"Normal": moved}
    with pytest.raises(InvalidFile, match="data"):
        method.infer(problem.given(dataclasses.replace(statistics, blocks=blocks)), seed=0)


# --- learned prior strengths ------------------------------------------------------------------

LEARNED = averaged(CASES["Normal"].vague, {"mean_rows": (0.1, 1.0), "variance_rows": (0.5, 8.0)})


@pytest.mark.parametrize(
    "other",
    [OPEN, pytest.param(CASES["Bernoulli"].prior, marks=pytest.mark.slow)],
    ids=["open", "closed"],
)
def test_a_block_of_learned_strengths_keeps_its_closed_form_beside_what_is_sampled(other):
    """Also where the block that is sampled has one too: an average over priors has no density."""
    built, x, _ = build({"Bernoulli": other, "Normal": LEARNED}, 30)
    fit = TINY.infer(built, seed=0)
    assert "Sampled: block 'Bernoulli'; drawn" in fit.report.verdict
    require_mean_densities(fit, built, few(x))
    members = fit.families["Normal"].members
    assert len(members) == 4 and (members[0].mean != members[-1].mean).any()


def test_where_all_strengths_are_learned_the_answer_is_exact():
    built, x, _ = build({"Normal": LEARNED}, 30)
    fit, exact = TINY.infer(built, seed=0), Exact(TINY.draws).infer(built, 0)
    np.testing.assert_array_equal(fit.log_joint(x, 30), exact.log_joint(x, 30))
    assert (fit.report.method, fit.report.verdict) == ("exact", exact.report.verdict)


def test_learned_strengths_of_a_joint_block_with_missing_cells_are_refused():
    family = averaged(CASES["MultivariateNormal"].vague, {"mean_rows": (0.1, 1.0)})
    built = build({"MultivariateNormal": family}, 30, gaps=True)[0]
    with pytest.raises(UnsupportedOperation, match=r"learned prior strengths.*missing cells"):
        TINY.infer(built, seed=0)


# --- slow -------------------------------------------------------------------------------------


@pytest.mark.nightly
def test_agrees_with_sampling_everything():
    """A block with an LKJ prior beside two conjugate ones and their class probabilities."""
    names = "MultivariateNormal lkj", "Normal", "Categorical"
    problem = build({name: CASES[name].prior for name in names}, 80)[0]
    model, statistics = problem.model, problem.statistics
    method = dataclasses.replace(METHOD, target_accept=0.9)
    fit = method.infer(problem, seed=3)
    assert "Sampled: block 'MultivariateNormal lkj'" in fit.report.verdict
    every, _, _ = method.sample_model(model, statistics, 4)
    for owner, values in every.items():
        agrees(flat({k: fit.params[owner][k] for k in values}), flat(values))


@pytest.mark.nightly
def test_estimators_with_a_mixed_model(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=60)
    X = np.c_[rng.normal(y), rng.standard_t(4, 60) + y, rng.integers(3, size=60)]
    parts = {0: bg.Normal(), 1: bg.MultivariateNormal(prior="lkj"), 2: bg.Categorical()}
    clf = bg.GenerativeClassifier(parts, random_state=0).fit(X, y)
    assert clf.inference_ == "nuts"
    assert "drawn from closed forms" in clf.report_.verdict
    tree = clf.to_datatree(X, y)
    assert dict(tree["sample_stats"].sizes) == {"chain": 4, "draw": 1000}
    assert len(tree["log_prior"].data_vars) == 4
    assert np.isfinite(clf.loo(X, y)).all(axis=None)
    clf.save(tmp_path / "model.bgm")
    loaded = bg.load(tmp_path / "model.bgm")
    np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))
