"""The laws that every likelihood obeys, as functions that raise AssertionError where one is broken.

Identities hold to about 1e-9. Monte Carlo averages may be 5 standard errors off: some 1,000 numbers
are compared, so a right program fails with a probability below 1e-3; seeds are fixed.
"""

import dataclasses
import functools
import re
from collections.abc import Callable

import hypothesis
import numpy as np
from agree import agree
from case import N_CLASSES, Case
from hypothesis import strategies as st

from bayesgen.errors import InvalidArgument
from bayesgen.likelihoods import Likelihood, Statistics
from bayesgen.likelihoods.base import Arrays
from bayesgen.likelihoods.selection import Selection

DRAWS = 4000
FEWEST = 100
"""Effective draws below which a mean is not compared."""
ODD = (-1.0, 0.0, 0.5, 4.0)
"""Cells that some family does not allow: below zero, zero, no whole number, a large one."""
NEAR = 41
"""Draws whose density a program states: as many in every law, so that it is compiled once."""

examples = hypothesis.settings(
    max_examples=25,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    report_multiple_bugs=False,
)
seeds = st.integers(0, 2**32 - 1)


def statistics(
    case: Case, part: Likelihood, x: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None
) -> Statistics:
    weight = np.ones(len(x)) if weight is None else weight.astype(float)
    return part.statistics(x, y, weight, n_classes=N_CLASSES, n_levels=case.n_levels)


def same(a: Arrays, b: Arrays) -> None:
    for name, value in a.arrays().items():
        value, other = value.astype(float), b.arrays()[name].astype(float)
        size = np.nan_to_num(np.abs(value)).max(initial=0.0)
        agree(other, value, what=name, axes=a.axes.get(name), atol=1e-9 * size)


def fitted(
    case: Case, part: Likelihood, n: int = 30, gaps: bool = False, seed: int = 1
) -> tuple[Likelihood, Likelihood, Statistics, np.ndarray, np.ndarray]:
    """Return the completed prior, its posterior, and the statistics and rows behind them."""
    x, y = case.rows(np.random.default_rng(seed), n, gaps and not part.joint)
    rows = statistics(case, part, x, y)
    prior = part.complete(rows)
    return prior, prior.posterior(rows) if part.conjugate else prior, rows, x, y


def softmax(joint: np.ndarray) -> np.ndarray:
    return np.exp(joint - np.logaddexp.reduce(joint, axis=-1, keepdims=True))


def story_density(part: Likelihood, params: dict) -> np.ndarray:
    """Return the log density of each draw of parameters as the NumPyro program states it."""
    import jax

    if not params:  # nothing is drawn
        return np.zeros(1)
    with jax.enable_x64(True):
        settings = (*part.settings(), *part.program_priors.items())
        density = compiled_story(type(part), settings, type(part).story, Same(part))
        return np.asarray(density(part.arrays(), params))


class Same:
    """A likelihood that equals any other: only what else is in the key tells programs apart."""

    def __init__(self, part: Likelihood) -> None:
        self.part = part

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same)


@functools.cache
def compiled_story(family: type, settings: tuple, story: Callable, template: Same) -> Callable:
    import jax
    from numpyro import handlers

    def density(arrays: dict, params: dict) -> object:
        values = {f"b.{name}": value for name, value in params.items()}
        program = handlers.substitute(template.part.with_arrays(arrays).story, values)
        trace = handlers.trace(handlers.seed(program, 0)).get_trace("b")
        sites = [site for site in trace.values() if site["type"] == "sample"]
        assert {site["name"] for site in sites} == set(values)
        return sum(site["fn"].log_prob(site["value"]).sum() for site in sites)

    return jax.jit(jax.vmap(density, in_axes=(None, 0)))


# --- the laws ---------------------------------------------------------------------------------


def law_addition(case: Case, likelihood: Likelihood) -> None:
    """Statistics of two parts add up to those of the whole, whatever the split and the order."""

    @examples
    @hypothesis.given(seeds, st.integers(0, 30))
    @hypothesis.example(0, 0)
    @hypothesis.example(0, 30)
    def check(seed: int, cut: int) -> None:
        rng = np.random.default_rng(seed)
        x, y = case.rows(rng, 30, gaps=True)
        order = rng.permutation(30)
        a, b = (statistics(case, likelihood, x[i], y[i]) for i in (order[:cut], order[cut:]))
        same(a + b, statistics(case, likelihood, x, y))

    check()


def law_weight(case: Case, likelihood: Likelihood) -> None:
    """Weight 2 is the row twice, weight 0 no row; a missing cell is a cell of weight 0."""

    @examples
    @hypothesis.given(seeds, st.lists(st.integers(0, 2), min_size=12, max_size=12))
    def check(seed: int, times: list[int]) -> None:
        x, y = case.rows(np.random.default_rng(seed), 12, gaps=True)
        weighed = statistics(case, likelihood, x, y, np.array(times))
        same(weighed, statistics(case, likelihood, x.repeat(times, 0), y.repeat(times)))

    check()
    x, y = case.rows(np.random.default_rng(1), 30)
    gaps = np.random.default_rng(2).random(x.shape) < 0.3
    gaps[:, :] = gaps[:, :1] if likelihood.joint else gaps
    blank = np.where(gaps, case.blank, x)
    whole = statistics(case, likelihood, blank, y)
    column = np.repeat(range(3), case.n_levels or (1, 1, 1))
    for j in range(3):
        at = slice(None) if likelihood.joint else slice(j, j + 1)
        args = {"n_classes": N_CLASSES, "n_levels": case.n_levels[at]}
        light = likelihood.statistics(x[:, at], y, 1.0 - gaps[:, j], **args)
        index = np.flatnonzero((column == j) | likelihood.joint)
        same(light, whole.take("level" if case.n_levels else "feature", index))


def law_sequence(case: Case, likelihood: Likelihood) -> None:
    """Updating by one part and then the other is updating by both."""
    prior, both, _, x, y = fitted(case, likelihood, gaps=True)
    for cut in (0, 1, 11, 30):
        a, b = (statistics(case, prior, x[at], y[at]) for at in (slice(cut), slice(cut, None)))
        same(prior.posterior(a).posterior(b), both)


def law_story(case: Case, likelihood: Likelihood) -> None:
    """Densities of incomplete, weighted rows add up to the likelihood of statistics."""
    rng = np.random.default_rng(3)
    x, y = case.rows(rng, 30, gaps=True)
    weight = rng.integers(0, 3, 30)
    rows = statistics(case, likelihood, x, y, weight)
    prior = likelihood.complete(rows)
    params = case.params(prior, rng, 7)
    by_row = prior.log_density_fn(params)(x)[np.arange(30), :, y]
    total = prior.log_likelihood(params, rows)
    agree(weight @ by_row, total, what="log density of all rows", axes=("draw",))
    for i in range(7):
        one = {name: value[i] for name, value in params.items()}
        agree(prior.log_density_fn(one)(x)[np.arange(30), y], by_row[:, i])


def law_bayes(case: Case, likelihood: Likelihood) -> None:
    """Prior + likelihood - posterior is the evidence everywhere, and that of one step at a time."""
    prior, after, rows, x, y = fitted(case, likelihood, 14, gaps=True)
    params = after.draw(np.random.default_rng(4), NEAR)
    evidence = story_density(prior, params) + prior.log_likelihood(params, rows)
    by_draw = evidence - story_density(after, params)
    expected = prior.log_evidence(rows)
    agree(by_draw, expected, what="prior + likelihood - posterior", axes=("draw",))
    steps = 0.0
    for i, k in enumerate(y):
        before = prior.posterior(statistics(case, prior, x[:i], y[:i]))
        steps += before.log_predictive(x[i : i + 1])[0, k]
    agree(steps, expected, what="log evidence, row by row")


def law_mode(case: Case, likelihood: Likelihood) -> None:
    """Nothing near the mode has a higher density, nothing near the maximum a higher likelihood."""
    prior, after, rows, _, _ = fitted(case, likelihood, 200)

    def log_density(params: dict) -> np.ndarray:
        n = len(next(iter(params.values())))
        each = [{name: value[i] for name, value in params.items()} for i in range(n)]
        return story_density(after, params) + [after.log_scale_free_jacobian(one) for one in each]

    nothing_higher(after, after.mode(), log_density)
    best, findings = prior.maximum_likelihood(rows)
    assert not findings
    nothing_higher(after, best, lambda params: prior.log_likelihood(params, rows))


def nothing_higher(after: Likelihood, best: dict, height: Callable[[dict], np.ndarray]) -> None:
    """Walk a thousandth of the way to posterior draws, and away from them: sets are convex."""
    draws = after.draw(np.random.default_rng(5), NEAR)
    for step in (1e-3, -1e-3):
        near = {name: best[name] + step * (draws[name] - best[name]) for name in best}
        for name, value in near.items():
            value[0] = best[name]
        top, *heights = height(near)
        higher = np.maximum(np.array(heights) - top, 0.0)
        agree(higher, 0.0, what="height above the top", axes=("draw",), atol=1e-10)


def law_average(case: Case, likelihood: Likelihood) -> None:
    """Densities averaged over draws are the predictive; updated draws average to its classes."""
    _, after, _, x, _ = fitted(case, likelihood, gaps=True)
    x = np.concatenate([case.rows(np.random.default_rng(6), 4)[0], x[:4]])
    rng = np.random.default_rng(7)
    density = np.exp(after.log_density_fn(after.draw(rng, DRAWS))(x))
    averages_to(density, np.exp(after.log_predictive(x)), axis=1)
    probs = softmax(after.log_predictive(x))
    strata = (np.arange(DRAWS) + rng.random(DRAWS)) / DRAWS
    own = (strata[:, None, None] > probs.cumsum(axis=1)[:, :-1]).sum(axis=2)
    updated = softmax(after.log_density_draws_given_row(rng, DRAWS)(x, own))
    averages_to(updated, probs, axis=0)


def law_update(case: Case, likelihood: Likelihood) -> None:
    """Draws updated by a row have the density that draws of the updated posterior have."""
    _, after, _, _, _ = fitted(case, likelihood)
    x, y = case.rows(np.random.default_rng(8), 6)
    scores = after.log_density_draws_given_row(np.random.default_rng(9), DRAWS)(
        x, np.tile(y, (DRAWS, 1))
    )
    for i in range(len(x)):
        row = x[i : i + 1], y[i : i + 1]
        draws = after.posterior(statistics(case, after, *row)).draw(np.random.default_rng(i), DRAWS)
        direct = after.log_density_fn(draws)(row[0])[0]
        for power in (1, 2):
            a, b = scores[:, i] ** power, direct**power
            error = np.sqrt((a.var(axis=0) + b.var(axis=0)) / DRAWS)
            what = f"mean of log density^{power} over draws, row {i}"
            agree(a.mean(axis=0), b.mean(axis=0), what=what, axes=("class",), error=error)


def averages_to(draws: np.ndarray, expected: np.ndarray, axis: int) -> None:
    """Compare means over draws, but for those of far rows that rest on a few draws alone.

    Of them the spread of the draws is no measure of the error; most must rest on more.
    """
    mean, n = draws.mean(axis=axis), draws.shape[axis]
    effective = n * mean**2 / np.maximum((draws**2).mean(axis=axis), np.finfo(float).tiny)
    few = effective < FEWEST
    assert few.mean() < 0.5, f"{few.sum()} of {few.size} means rest on fewer than {FEWEST} draws"
    error = np.where(few, np.inf, draws.std(axis=axis) / np.sqrt(n))
    agree(mean, expected, what="mean over draws", error=error)


def law_total(case: Case, likelihood: Likelihood) -> None:
    """Densities sum or integrate to one over all that a column, or two, may hold."""
    _, after, _, x, _ = fitted(case, likelihood)
    one = {k: v[0] for k, v in case.params(after, np.random.default_rng(10), 1).items()}
    scores = [after.log_density_fn(one)] + ([after.log_predictive] if likelihood.conjugate else [])
    for score in scores:
        for values, weight in case.spaces(x):
            total = weight @ np.exp(score(values))
            agree(total, 1.0, what="sum of p(x given y = k)", axes=("class",), atol=1e-8)


def law_outside(case: Case, likelihood: Likelihood) -> None:
    """A row with a cell outside the support is impossible, and rows beside it stay as they are."""
    _, after, *_ = fitted(case, likelihood)
    x = case.rows(np.random.default_rng(15), len(ODD))[0]
    odd = x.astype(float)
    odd[np.arange(len(x)), np.arange(len(x)) % 3] = ODD
    outside = None if likelihood.kind == "levels" else after.out_of_support(odd)
    if outside is None:
        return
    never = outside.any(axis=1)
    one = {k: v[0] for k, v in case.params(after, np.random.default_rng(16), 1).items()}
    scores = {"given parameters": after.log_density_fn(one)}
    if likelihood.conjugate:
        scores["predictive"] = after.predictive()
        by_row = after.log_density_draws_given_row(np.random.default_rng(17), 1)
        scores["given draws"] = lambda x: by_row(x, np.zeros((1, len(x)), dtype=int))[0]
    for what, score in scores.items():
        expected = np.full((len(x), N_CLASSES), -np.inf)
        expected[~never] = score(odd[~never])
        agree(score(odd), expected, what=f"log density {what}")


def law_units(case: Case, likelihood: Likelihood) -> None:
    """Other units, guesses moved along or left to the columns, add one constant to densities."""
    x, y = case.rows(np.random.default_rng(11), 30)
    fresh = case.rows(np.random.default_rng(12), 8)[0]
    for part in (likelihood, case.vague):
        other, moved = case.other(x, part)
        mine = part.complete(statistics(case, part, x, y))
        theirs = moved.complete(statistics(case, moved, other, y))
        mine = mine.posterior(statistics(case, part, x, y))
        theirs = theirs.posterior(statistics(case, moved, other, y))
        change = theirs.log_predictive(case.other(fresh, part)[0]) - mine.log_predictive(fresh)
        agree(change, change[0, 0], what="log density in other units - log density")
        if part.centred:
            origin = np.array([3.0, -2.0, 50.0])
            agree(mine.shifted(origin).log_predictive(fresh + origin), mine.log_predictive(fresh))


def law_marginal(case: Case, likelihood: Likelihood) -> None:
    """An incomplete row is a row of the model without these columns, and the sum over them."""
    prior, after, _, x, _ = fitted(case, likelihood)
    fresh = case.rows(np.random.default_rng(13), 5)[0]
    one = {k: v[0] for k, v in case.params(after, np.random.default_rng(14), 1).items()}
    sizes = case.n_levels or (1, 1, 1)
    for seen in ([0], [2], [0, 2], [1, 2]):
        left_out = np.isin(range(3), seen, invert=True)
        gaps = np.where(left_out, case.blank, fresh)
        if likelihood.conjugate:
            index = np.flatnonzero(np.isin(np.repeat(range(3), sizes), seen))
            selection = Selection(index, after.n_levels)
            part, view = selection.take(after), selection.read(fresh)
            agree(after.log_predictive(gaps), part.log_predictive(view), what=f"columns {seen}")
        if left_out.sum() == 1:
            values, weight = case.line(x, int(np.flatnonzero(left_out)[0]))
            for row, missing_value in zip(fresh, gaps, strict=True):
                filled = np.where(left_out, values[:, None], row).astype(x.dtype)
                total = weight @ np.exp(prior.log_density_fn(one)(filled))
                expected = np.exp(prior.log_density_fn(one)(missing_value[None])[0])
                what = f"p(columns {seen} of {row} given y = k)"
                agree(expected, total, what=what, axes=("class",), rtol=1e-7, atol=0.0)
    nothing = np.full((1, 3), case.blank, dtype=x.dtype)
    agree(prior.log_density_fn(one)(nothing), 0.0, what="log density of no cell", atol=0.0)


def law_guesses(case: Case, likelihood: Likelihood) -> None:
    """A guess or prior strength that is not finite is refused, alone or among finite entries."""
    for field in dataclasses.fields(likelihood):
        words = isinstance(getattr(likelihood, field.name), str | tuple)
        if not field.init or words or "Mapping" in str(field.type):
            continue
        for value in (np.nan, np.inf, -np.inf):
            for stated in (value, np.array([value, 0.5])):
                sentence = rf"\b{field.name} .*{re.escape(str(value))}.* (allowed|needed)"
                assert re.search(sentence, refusal(likelihood, field.name, stated))


def refusal(likelihood: Likelihood, name: str, value: object) -> str:
    try:
        dataclasses.replace(likelihood, **{name: value})
    except InvalidArgument as error:
        return str(error)
    return ""


EVERYWHERE = [law_addition, law_weight, law_story, law_total, law_outside, law_marginal]
EVERYWHERE += [law_guesses]
CONJUGATE = [law_sequence, law_bayes, law_mode, law_average, law_update, law_units]
