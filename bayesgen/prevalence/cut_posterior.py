r"""Draws of the prevalence given draws of the class densities: the cut posterior.

p(theta given D) p(pi given theta, X_new): the rows without labels tell how frequent classes are,
and not what they look like. The full posterior, in which they do both, is hardly narrower where the
densities are right; where they are wrong it moves the classes to where the new rows are.

Source: Plummer (2015), Statistics and Computing 25, 37-43; Storkey (2009), in Dataset Shift in
Machine Learning, 3-28.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float

from bayesgen.inference import Posterior
from bayesgen.inference.components import rows_by_group, take_rows
from bayesgen.inference.draws import some_draws
from bayesgen.inference.scores import add_weighed
from bayesgen.likelihoods.base import row_chunks
from bayesgen.predict import ReadRows
from bayesgen.prevalence import proportions
from bayesgen.prevalence.proportions import Alpha, Proportions, Rows, drawn, relative
from bayesgen.typing import Joint

PARAMETER_FLOATS = 10_000_000
"""Parameters drawn at once: 80 MB."""
STACK_DRAWS = 100
"""Sets of densities drawn of a stack, each scored by all members."""
SCORED_FLOATS = 3_000_000
"""Log densities of a stack's members and blocks held at once, about: 24 MB."""


def cut_draws(
    rows: ReadRows,
    weight: Rows,
    log_proba: Joint,
    alpha: Alpha,
    start: Alpha,
    n_draws: int,
    rng: np.random.Generator,
) -> tuple[Proportions, float]:
    """Return draws of the prevalence of the classes with alpha > 0, and the acceptance rate.

    Memory holds the densities of all rows under some draws, a few megabytes or one draw.

    Args:
        rows: read by a posterior with even class probabilities.
        weight: of the rows.
        log_proba: their log class probabilities, densities where parameters are not drawn.
        alpha: Dirichlet rows of every class.
        start: prevalence to search modes from.
        n_draws: number of draws.
        rng: random numbers.
    """
    able = alpha > 0
    if rows.posterior.point:
        density = relative(np.ascontiguousarray(log_proba.T[None, able]))
        pieces = [drawn(density, weight, alpha[able], start[able], rng, n_draws)]
    else:
        pieces = [
            drawn(relative(logs), weight, alpha[able], start[able], rng)
            for logs in densities_of_fit(rows, able, n_draws, rng)
        ]
    out = np.zeros((n_draws, len(alpha)))
    out[:, able] = np.concatenate([draws for draws, _ in pieces])
    return out, float(np.mean([rate for _, rate in pieces]))


def averages_models(posterior: Posterior) -> bool:
    """Return whether draws of the fit are those of several models, as of a stack."""
    return not posterior.point and posterior.part_powers(np.random.default_rng(0), 1) is None


def densities_of_fit(
    read: ReadRows,
    able: Bool[np.ndarray, " class"],
    n_draws: int,
    rng: np.random.Generator,
) -> Iterator[Float[np.ndarray, "some class row"]]:
    """Yield log densities of all rows under draws of the fit, some draws at a time.

    The only place where prevalence asks for draws of a fit. A classifier with one likelihood a
    column draws its parameters anew for each of n_draws. A stack has STACK_DRAWS sets of densities,
    each repeated: under a draw of the parameters of one member, as many of them as its weight
    says, or under a draw of the pool's weights and of the parameters of all members. Log densities
    are up to constants of rows.

    read: the rows. able: classes whose densities are wanted.
    """
    posterior, n_rows = read.posterior, read.n_rows
    some = max(1, proportions.DENSITY_FLOATS // (n_rows * int(able.sum())))
    powers = posterior.part_powers(rng, n_draws)
    if powers is not None:
        for logs in log_densities(read, powers, some, rng):
            yield logs[:, able]
        return
    n_sets = STACK_DRAWS
    draws = posterior.log_joint_draws(rng, n_sets, exactly=True)
    joint = np.empty((n_sets, int(able.sum()), n_rows))
    width = n_sets * len(able) * max(1, len(posterior.families))
    for rows in row_chunks(n_rows, max(1, SCORED_FLOATS // width)):
        scores = draws.score(take_rows(read.encoded, rows), rows.stop - rows.start)
        joint[..., rows] = np.moveaxis(scores[..., able], 0, 2)
    joint *= np.broadcast_to(draws.powers, n_sets)[:, None, None]
    order = np.arange(n_draws) * n_sets // n_draws
    for repeats in row_chunks(n_draws, some):
        yield joint[order[repeats]]


def log_densities(
    read: ReadRows,
    powers: Float[np.ndarray, "draw part"],
    some: int,
    rng: np.random.Generator,
) -> Iterator[Float[np.ndarray, "some class row"]]:
    """Yield log p(x given y = k, theta) of all rows, up to constants of rows, some draws at a time.

    theta is of the group of the row, where rows have groups.

    read: the rows. powers: of the parts of the likelihood, or one of the whole.
    """
    posterior, encoded, n_rows = read.posterior, read.encoded, read.n_rows
    width = sum(np.size(a) for part in posterior.families.values() for a in part.arrays().values())
    some = min(some, max(1, PARAMETER_FLOATS // max(width, 1)))
    whole = posterior.components
    members = [(whole, encoded, slice(None), n_rows)]
    if whole.groups:
        found = rows_by_group(whole.groups, encoded, n_rows)
        members = [(each, take_rows(encoded, at), at, len(at)) for each, at in found]
    for part in row_chunks(len(powers), some):
        power = powers[part]
        out = np.empty((len(power), len(posterior.log_classes()), n_rows))
        for components, own, at, size in members:
            draws = some_draws(components, rng, len(powers), part)
            if power.shape[1] == 1:
                logs = np.moveaxis(draws.each_log_joint(own, size) * power, 1, 2)
            else:
                parts = np.moveaxis(draws.each_part(own, size), 1, 3)
                logs = np.zeros_like(parts[:, 0])
                for i in range(parts.shape[1]):
                    add_weighed(logs, parts[:, i], power[:, i])
            out[:, :, at] = logs.T
        yield out
