"""Predictions from a posterior: log joint densities, intervals, draws and simulated rows."""

import dataclasses
import functools
from collections.abc import Mapping

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array

from bayesgen.errors import Cure, DegenerateEstimate, LowSampleSize, Words, warn
from bayesgen.errors.operations import no_uncertainty
from bayesgen.inference import (
    Posterior,
    class_probabilities,
    log_class_probabilities,
    log_odds,
)
from bayesgen.inference.chain_diagnostics import MonteCarloError
from bayesgen.inference.class_draws import joined
from bayesgen.inference.components import take_rows
from bayesgen.inference.weighted_quantiles import quantiles
from bayesgen.likelihoods import Likelihood
from bayesgen.likelihoods.base import below, row_chunks
from bayesgen.typing import DataArray, Encoded, Joint, Params, Self, Traceable

SIMULATED_FLOATS = 10_000_000
"""Parameters drawn at once to simulate rows: 80 MB."""
WIDE = 1000
"""Features above which simulated rows of mostly zeros are kept compressed."""

LOW_SAMPLE_SIZE = 20
"""Effective draws below which a log density warns: its standard error may exceed .2."""
UNCERTAIN = 0.02
"""Monte Carlo error above which a probability warns."""


@dataclasses.dataclass(frozen=True, eq=False)
class ReadRows:
    """Rows as a posterior reads them, and what it says of them.

    posterior: of the fit. encoded: the cells of each block. n_rows: the number of the rows.
    """

    posterior: Posterior
    encoded: Encoded
    n_rows: int

    def take(self, at: Int[np.ndarray, " some"]) -> Self:
        """Return some of the rows, by position."""
        return dataclasses.replace(self, encoded=take_rows(self.encoded, at), n_rows=len(at))

    def under(self, posterior: Posterior) -> Self:
        """Return the rows as read by another posterior with the same columns."""
        return dataclasses.replace(self, posterior=posterior)

    def log_joint(self, *, densities: bool = False) -> Joint:
        """Return log p(x, y = k given data), shape (row, class).

        From draws it is the log of the mean of joint densities. (The mean of p(y given x, theta) is
        different: with 3 and 6 rows in two one-column classes it was .74 where the exact value is
        .97.) Warns where probabilities, or with `densities` log densities, are inaccurate.
        """
        joint, error = self.posterior.log_joint_and_error(self.encoded, self.n_rows)
        if error is not None:
            _warn_of_few_draws(error, self.posterior.components.more_draws(), densities=densities)
        return joint

    def proba(self) -> Joint:
        """Return P(y = k given x, data); rows impossible under every class have the prior."""
        return class_probabilities(self._possible())

    def log_proba(self) -> Joint:
        """Return the logs of `proba`, accurate where these underflow."""
        return log_class_probabilities(self._possible())

    def log_odds(self) -> Float[np.ndarray, "row ..."]:
        """Return the logits of `proba`: of the second of two classes, or of each of several."""
        return log_odds(self._possible())

    def _possible(self) -> Joint:
        """Return the log joint, and the class prior of rows impossible under every class."""
        joint = self.log_joint()
        impossible = warn_impossible_rows(joint)
        if impossible.any():
            joint = np.where(impossible[:, None], self.posterior.log_classes(), joint)
        return joint

    def interval(self, prob: float) -> Float[np.ndarray, "row class 2"]:
        """Return central intervals of P(y = k given x, theta) under p(theta given data, x)."""
        require_posterior(self.posterior, Words("predict_interval", "--interval"))
        tail = (1 - prob) / 2
        out = np.empty((self.n_rows, len(self.posterior.log_classes()), 2))
        for found in self.posterior.class_draws(self.encoded, self.n_rows):
            out[found.rows] = quantiles(found.probs, found.weight, (tail, 1 - tail))
        return out

    def class_draws(self, classes: np.ndarray) -> DataArray:
        """Return an xarray.DataArray (draw, row, class) of P(y = k given x, theta).

        Its coordinate "weight" (draw, row) sums to one for each row.
        """
        import xarray as xr

        require_posterior(self.posterior, Words("predict_draws", "--draws"))
        found = joined(self.posterior.class_draws(self.encoded, self.n_rows))
        probs, weight = found.probs, found.weight
        coords = {"class": classes, "weight": (("draw", "row"), weight)}
        return xr.DataArray(probs, coords, ("draw", "row", "class"), name="class_proba")


def require_posterior(posterior: Posterior, what: str | Words) -> None:
    """Raise for a point estimate, which has no uncertainty."""
    if posterior.point:
        raise no_uncertainty(what, posterior.report.method)


def _warn_of_few_draws(error: MonteCarloError, cure: Cure, *, densities: bool) -> None:
    """Warn where probabilities, or with `densities` log densities, rest on too few draws."""
    low = error.sample_size < LOW_SAMPLE_SIZE if densities else error.probability > UNCERTAIN
    if not low.any():
        return
    count, n_rows = int(low.sum()), len(low)
    if densities:
        smallest = float(np.nanmin(error.sample_size))
        warn(
            LowSampleSize(
                "the log densities of {count:,} of {n_rows:rows} rest on too few draws (the "
                "smallest effective sample size is {smallest:.0f}).",
                cure,
                count=count,
                n_rows=n_rows,
                smallest=smallest,
            )
        )
    else:
        worst = float(error.probability.max())
        warn(
            LowSampleSize(
                "the probabilities of {count:,} of {n_rows:rows} rest on too few draws, and "
                "may be off by more than {limit:g} (the worst by {worst:.2g}).",
                cure,
                count=count,
                n_rows=n_rows,
                limit=UNCERTAIN,
                worst=worst,
            )
        )


def warn_impossible_rows(joint: Joint) -> Bool[np.ndarray, " row"]:
    """Warn of rows that are impossible under every class, which have the class prior: these."""
    # class by class: NumPy reduces along a short last axis ten times as slowly (measured)
    impossible = np.asarray(functools.reduce(np.logical_and, np.isneginf(joint).T))
    if impossible.any():
        warn(
            DegenerateEstimate(
                "{count:,} of {n_rows:rows} are impossible under every class (a cell lies outside "
                "the support of its likelihood, or maximum likelihood gives probability 0 to what "
                "was never observed); they get the class prior.",
                Cure(
                    "Correct such cells, or fit with inference='map' or 'exact'.",
                    "Correct such cells, or fit with --inference map or exact.",
                ),
                count=int(impossible.sum()),
                n_rows=len(joint),
            )
        )
    return impossible


def log_density(joint: Joint) -> Float[np.ndarray, " row"]:
    """Return log p(x given data), classes summed out."""
    return np.logaddexp.reduce(joint, axis=1)


def simulate(
    posterior: Posterior, n: int, rng: np.random.Generator, own: int | None = None
) -> tuple[dict[str, Traceable], np.ndarray]:
    """Return n rows and class codes from the posterior predictive, with new parameters each.

    own: the class of all rows, by code; None: classes are drawn too.

    Wide rows of a likelihood that reads sparse ones come as a scipy.sparse.csr_array.
    """
    arrays = (value for part in posterior.families.values() for value in part.arrays().values())
    width = max(1, sum(np.size(value) for value in arrays))
    sizes = [part.stop - part.start for part in row_chunks(n, max(1, SIMULATED_FLOATS // width))]
    parts = [
        simulated_rows(posterior.families, posterior.components.parameters(rng, size), rng, own)
        for size in sizes
    ]
    rows = {name: below([part[name] for part, _ in parts]) for name in parts[0][0]}
    return rows, np.concatenate([y for _, y in parts])


def simulated_rows(
    families: Mapping[str, Likelihood],
    params: Mapping[str, Params],
    rng: np.random.Generator,
    own: int | None = None,
) -> tuple[dict[str, Traceable], np.ndarray]:
    """Return one encoded row and its class code for each draw of the parameters.

    Args:
        families: the likelihood of each block.
        params: of "class" and of each block, by owner, (draw, ...).
        rng: random numbers.
        own: the class of all rows, by code; None: drawn.
    """
    steps = params["class"]["probs"].cumsum(axis=1)
    n = len(steps)
    y = np.full(n, own)
    if own is None:
        y = (rng.random(n)[:, None] * steps[:, -1:] >= steps[:, :-1]).sum(axis=1)
    rows: dict[str, list] = {name: [] for name in families}
    for i in range(n):
        for name, family in families.items():
            one = {key: value[i] for key, value in params[name].items()}
            row = family.simulate(one, y[i : i + 1], rng)
            wide = family.sparse and row.shape[1] > WIDE
            rows[name].append(csr_array(row) if wide else row)
    return {name: below(part) for name, part in rows.items()}, y
