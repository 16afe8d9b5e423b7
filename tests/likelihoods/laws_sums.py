"""The laws of statistics: what a family declares of its sums, and rows that move, weigh or leave.

See laws.py.
"""

import numpy as np
from agree import agree
from case import N_CLASSES, Case
from laws import same, statistics
from scipy.sparse import csr_array

from bayesgen.likelihoods import Likelihood
from bayesgen.likelihoods.columnwise import CellSums, Columnwise

N_ROWS = 30


def some_rows(case: Case, gaps: bool = True) -> tuple[np.ndarray, np.ndarray]:
    return case.rows(np.random.default_rng(5), N_ROWS, gaps)


def law_declared(case: Case, likelihood: Likelihood) -> None:
    """Statistics that may be negative are declared, and sparse rows only where a cell may be 0."""
    family = type(likelihood).__name__
    x, _ = some_rows(case)
    if likelihood.sparse:
        outside = likelihood.out_of_support(np.zeros((1, x.shape[1])))
        assert outside is None or not outside.any(), (
            f"{family}.sparse is True, so that an absent cell is 0, and 0 is not "
            f"{likelihood.support}: leave that declaration out (families are dense by default)"
        )
    if not isinstance(likelihood, Columnwise) or likelihood.kind == "levels":
        return
    values = np.concatenate([x[~case.missing(x)], *(case.line(x, j)[0] for j in range(3))])
    negative = tuple(
        s for s, value in enumerate(likelihood.cell(values)) if (np.asarray(value) < 0).any()
    )
    kept = statistics(case, likelihood, *some_rows(case))
    if isinstance(kept, CellSums):
        assert negative == likelihood.signed, (
            f"{family}.cell returns numbers below 0 in the statistics at {negative}, and "
            f"{family}.signed is {likelihood.signed}: declare signed: ClassVar = {negative}, or "
            "forget and merge take a sum of some rows for one of others"
        )


def law_sparse(case: Case, likelihood: Likelihood) -> None:
    """Sparse rows have the statistics and densities of dense ones, where a family reads them."""
    if not likelihood.sparse:
        return
    x, y = some_rows(case)
    x[::3, 0] = 0.0
    rows = statistics(case, likelihood, x, y)
    same(statistics(case, likelihood, csr_array(x), y, np.ones(N_ROWS)), rows)
    after = likelihood.complete(rows).posterior(rows)
    one = {k: v[0] for k, v in case.params(after, np.random.default_rng(3), 1).items()}
    for score, what in ((after.predictive(), "predictive"), (after.log_density_fn(one), "density")):
        agree(score(csr_array(x)), score(x), what=f"log {what} of sparse rows")


def law_times(case: Case, likelihood: Likelihood) -> None:
    """Statistics times a number are those of every weight times it."""
    x, y = some_rows(case)
    weight = 1.0 + np.arange(N_ROWS) % 3
    found = statistics(case, likelihood, x, y, weight).times(0.5)
    same(statistics(case, likelihood, x, y, 0.5 * weight), found)


def law_shifted(case: Case, likelihood: Likelihood) -> None:
    """Shifted statistics are those of every cell moved, where a family's columns are centered."""
    if not likelihood.centred:
        return
    x, y = some_rows(case)
    by = np.array([2.0, -64.0, 4096.0])
    found = statistics(case, likelihood, x, y).shifted(by)
    same(statistics(case, likelihood, x + by, y), found)


def law_without(case: Case, likelihood: Likelihood) -> None:
    """Statistics without some rows are those of the others, whatever their weights."""
    x, y = some_rows(case)
    whole_numbers = np.ones(N_ROWS)
    for weight in (whole_numbers, whole_numbers * 0.7):
        for away in (np.arange(N_ROWS) % 5 == 1, np.arange(N_ROWS) > 0):
            whole, part, rest = (
                statistics(case, likelihood, x[rows], y[rows], weight[rows])
                for rows in (slice(None), away, ~away)
            )
            found = whole.without(part, exact=weight is whole_numbers)
            assert not found.foreign.any(), (
                f"{type(likelihood).__name__}: rows of the fit are taken for rows that were not in "
                f"it, at (class, column) {np.argwhere(found.foreign)[0].tolist()}; "
                f"{type(whole).__name__}.without says where, and takes sums for nonnegative unless "
                "they are declared (`signed` of a Columnwise family)"
            )
            agree(found.error, 0.0, what="rounding", axes=("class", "column"), atol=1e-9)
            for left in (found.statistics, whole - part):
                for key, value in rest.arrays().items():
                    # the rounding of the whole stays
                    size = np.nan_to_num(np.abs(getattr(whole, key).astype(float)))
                    atol = 1e-12 * size.max(initial=0.0)
                    agree(getattr(left, key), value, what=key, axes=rest.axes[key], atol=atol)


def law_digits(case: Case, likelihood: Likelihood) -> None:
    """What is left of heavy rows and light ones is off by no more than its stated error."""
    away, largest = np.arange(N_ROWS) % 2 == 1, 0.0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x, y = case.rows(rng, N_ROWS, True)
        weight = np.random.default_rng(seed).uniform(0.5, 1.0, N_ROWS) * np.where(away, 1e4, 1.0)
        whole, part, rest = (
            statistics(case, likelihood, x[rows], y[rows], weight[rows])
            for rows in (slice(None), away, ~away)
        )
        found = whole.without(part, exact=False)
        assert not found.foreign.any()
        for left, right in zip(found.statistics.sums(), rest.sums(), strict=True):
            # the last: rounding of a fit to the other rows alone
            bound = found.error * right.net + 1e-15 * right.gross
            known = np.broadcast_to(np.isfinite(found.error), bound.shape)
            assert (np.abs(left.net - right.net) <= bound)[known].all()
        largest = max(largest, found.error.max())
    assert largest > 1e-12


def law_foreign(case: Case, likelihood: Likelihood) -> None:
    """Rows in a class that has fewer of them leave less than nothing, which shows."""
    x, y = some_rows(case)
    whole = statistics(case, likelihood, x, y)
    strange = statistics(case, likelihood, x[y == 0], np.full((y == 0).sum(), 2))
    foreign = whole.without(strange, exact=True).foreign.any(axis=1)
    agree(foreign, [False, False, True], what="foreign rows", axes=("class",))


def law_fewer_classes(case: Case, likelihood: Likelihood) -> None:
    """Classes without rows can go."""
    x, y = some_rows(case)
    stay = y != 1
    found = statistics(case, likelihood, x[stay], y[stay]).only_classes(np.array([0, 2]))
    options = {"n_classes": N_CLASSES - 1, "n_levels": case.n_levels}
    y = np.searchsorted([0, 2], y[stay])
    same(likelihood.statistics(x[stay], y, np.ones(len(y)), **options), found)


LAWS = [
    *(law_declared, law_sparse, law_times, law_shifted, law_without, law_digits, law_foreign),
    law_fewer_classes,
]
