"""Simulation-based calibration: ranks of true parameters among their posterior draws.

Parameters are drawn from the prior, rows are simulated from the parameters, and draws are taken
from the posterior given the rows; the rank of each parameter among its draws is then uniform for
any model (Talts, Betancourt, Simpson, Vehtari and Gelman 2018, arXiv:1804.06788). Also ranked is
the log likelihood of the rows, which reveals a posterior that ignores them (Modrak et al. 2023,
Bayesian Analysis 20, 461-488).
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesgen import arguments
from bayesgen.calibrate.uniformity import chi_square, ecdf
from bayesgen.errors.operations import no_uncertainty
from bayesgen.inference import Posterior
from bayesgen.inference.draws import as_draws, flat, mapped
from bayesgen.progress_bar import Progress, progress_bar
from bayesgen.typing import Encoded, Labels, Params

FALSE_ALARM = 0.01
"""Probability that correct inference is declared wrong, shared out over all tests of a run."""
FITS, DRAWS, FEWEST = 100, 99, 20
"""Fits, draws of each, and the fewest fits with which the tests have any power."""
MOST = 40
"""Entries of parameters that are ranked, evenly spaced over all of them."""
LOG_LIKELIHOOD = "log likelihood"
NAMED = 3
"""Quantities that the verdict names."""

Ranks = Mapping[str, Float[np.ndarray, " fit"]]
ParameterDraws = Mapping[str, Params]
Axes = Mapping[str, Sequence[Sequence]]


@runtime_checkable
class Prior(Protocol):
    """A prior that simulates rows. n_rows: of the table that its guesses came from."""

    n_rows: int
    rank_display: Callable

    def simulate(self, params: ParameterDraws, rng: np.random.Generator) -> tuple[Encoded, Labels]:
        """Return one encoded row for each draw, and its class code."""

    def like_template(self, encoded: Encoded, n_rows: int) -> Encoded:
        """Return rows with the missing cells of the table."""

    def infer(self, encoded: Encoded, y: Labels, seed: int) -> Posterior:
        """Return the posterior of encoded rows."""

    def named(self, params: ParameterDraws) -> tuple[Mapping[str, np.ndarray], Axes]:
        """Return parameters by name, (draw, ...), and the labels of their axes."""

    def log_likelihood(self, params: ParameterDraws, encoded: Encoded, y: Labels) -> np.ndarray:
        """Return the log likelihood of the rows under each draw, (draw,)."""


@runtime_checkable
class PriorSample(Protocol):
    """Draws from a prior, by name and by owner."""

    model: Prior
    draws: ParameterDraws
    parameters: Mapping[str, np.ndarray]
    axes: Axes


@runtime_checkable
class HasPrior(Protocol):
    """A classifier whose prior can be sampled."""

    def sample_prior(self, n: int, X: Any, y: Any, random_state: Any) -> PriorSample:
        """Return draws from the prior, its open guesses filled in from the rows X, y."""


@dataclasses.dataclass(frozen=True, eq=False)
class SimulationBasedCalibration:
    """Ranks of true parameters among their posterior draws, and tests of their uniformity.

    Attributes:
        ranks: DataFrame (fit, quantity): the fraction of draws below the truth, ties at random.
        uniformity: DataFrame (quantity) of p-values: chi_square, of equal counts in bins, and ecdf,
            that uniform ranks leave simultaneous bands around their ECDF (Säilynoja, Bürkner and
            Vehtari 2022), which is more sensitive to a bias.
        threshold: p-value below which a quantity is not uniform. A correct method has a p-value
            below it in 1 of 100 runs.
        calibrated: whether no p-value is below it.
        title: of the model and the inference.
        n_rows: rows of each simulated table.
        n_quantities: entries of all parameters, of which some were ranked.
        not_converged: fits whose inference did not converge.
    """

    ranks: pd.DataFrame
    title: str
    n_rows: int
    n_quantities: int
    not_converged: int
    display: Callable[..., Any] = dataclasses.field(repr=False)

    @property
    def uniformity(self) -> pd.DataFrame:
        """The p-values, chi_square and ecdf, of each quantity."""
        return uniformity(self.ranks)

    @property
    def threshold(self) -> float:
        """The p-value below which a quantity is not uniform."""
        return threshold(self.ranks.shape[1])

    @property
    def calibrated(self) -> bool:
        """Whether no p-value is below the threshold."""
        return bool((self.uniformity.min(axis=1) >= self.threshold).all())

    def plot(self, ax: Any = None) -> Any:
        """Draw the ECDF of the ranks minus the uniform law, with a band that holds all curves."""
        ranks = {str(name): self.ranks[name].to_numpy() for name in self.ranks}
        return self.display(ranks, self.title, FALSE_ALARM).plot(ax=ax)

    def __repr__(self) -> str:
        """Return the verdict in words."""
        fits, ranked = self.ranks.shape
        least = self.uniformity.min(axis=1).sort_values()
        every = "" if ranked > self.n_quantities else f" of {self.n_quantities + 1}"
        what = f"{self.title}, {fits} fits to {self.n_rows} simulated rows, {ranked}{every} "
        what += "quantities: "
        if self.calibrated:
            what += (
                f"ranks are uniform, as those of a correct posterior (smallest p-value "
                f"{least.iloc[0]:.2g}; below {self.threshold:.2g} would be evidence against it)."
            )
        else:
            out = least[least < self.threshold]
            some = "; ".join(
                f"{name}: {direction(self.ranks[name].to_numpy())} (p = {p:.1g})"
                for name, p in out.iloc[:NAMED].items()
            )
            more = f"; and {len(out) - NAMED} more" if len(out) > NAMED else ""
            what += f"ranks of {len(out)} are not uniform: {some}{more}."
        if self.not_converged:
            what += f" {self.not_converged} fits did not converge."
        return what


def sbc(
    clf: HasPrior,
    X: object,
    y: object,
    *,
    fits: int = FITS,
    rows: int | None = None,
    draws: int = DRAWS,
    random_state: object = 0,
    progress: Progress = "auto",
) -> SimulationBasedCalibration:
    """Test whether the posteriors of a classifier are correct on data simulated from its prior.

    For each of many fits, parameters are drawn from the prior of the classifier, rows are simulated
    from the parameters, the classifier's inference is run on these rows under the same prior, and
    each parameter is ranked among its posterior draws. This does not test whether the model
    describes real rows; for that see `loo` and `bg.compare`.

    Any likelihood with a proper prior, any inference with a posterior, and user programs (story=)
    that return (x, y). A program under NUTS costs a sampling run for each fit.

    Args:
        clf: a classifier, fitted or not; it is not changed.
        X: rows, which set columns, levels, missing cells (repeated in the simulated tables) and the
            prior guesses that are not stated. These guesses stay the same in all fits.
        y: their labels.
        fits: simulated tables; at least 20. With 100 fits, a normal posterior with half the correct
            standard deviation is detected in 99 of 100 runs, and one with two thirds of it in 60;
            with 1,000 fits, .8 of it is detected in all (measured, for one wrong quantity among
            30).
        rows: of each table; None: as many as X has.
        draws: posterior draws, evenly spaced, among which a parameter is ranked.
        random_state: seed.
        progress: "auto" shows a bar in a terminal and in a notebook; True or False force it.

    Raises:
        UnsupportedOperation: the prior is improper and cannot be drawn from.
        NoAttribute: the inference yields a point estimate.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> found = bg.calibrate.sbc(bg.NaiveBayes(), X, y, fits=40, rows=30, progress=False)
        >>> found.calibrated, found.uniformity.columns.tolist()
        (True, ['chi_square', 'ecdf'])
    """
    fits = arguments.count("fits", fits, least=FEWEST, default=FITS)
    draws = arguments.count("draws", draws, least=9, default=DRAWS)
    size = None if rows is None else arguments.count("rows", rows, least=2, default=100)
    rng = np.random.default_rng(arguments.drawn_seed(random_state))
    prior = clf.sample_prior(fits, X, y, random_state=int(rng.integers(2**31)))
    model, found, bad = prior.model, [], 0
    size = model.n_rows if size is None else size
    method = ""
    with progress_bar(fits, progress, unit="fit", delay=1.0) as bar:
        for i in range(fits):
            truth = mapped(lambda draws, i=i: draws[i : i + 1], prior.draws)
            repeated = mapped(lambda draw: np.broadcast_to(draw, (size, *draw.shape[1:])), truth)
            encoded, codes = model.simulate(repeated, rng)
            encoded = model.like_template(encoded, size)
            posterior = model.infer(encoded, codes, int(rng.integers(2**31)))
            method = posterior.report.method
            if posterior.point:
                raise no_uncertainty("sbc()", method)
            bad += not posterior.report.converged
            thinned = as_draws(posterior.components, rng, draws).thinned(draws)
            drawn = mapped(flat, thinned.params)
            true = _quantities(model, truth, encoded, codes)
            found.append(ranked(true, _quantities(model, drawn, encoded, codes), rng))
            bar.update()
    entries = _entries(prior.parameters, prior.axes)
    free = [name for name, draws in entries.items() if np.ptp(draws) > 0]
    names = [*spaced(np.array(free, dtype=object), MOST), LOG_LIKELIHOOD]
    table = pd.DataFrame({name: [ranks[name] for ranks in found] for name in names})
    table.index.name = "fit"
    title = f"{type(clf).__name__} by inference {method!r}"
    return SimulationBasedCalibration(table, title, size, len(free), bad, model.rank_display)


# -- ranks -----------------------------------------------------------------------------------------


def rank(truth: float, draws: Float[np.ndarray, " draw"], rng: np.random.Generator) -> float:
    """Return the rank of the truth among draws as a fraction; ties fall at random."""
    below, equal = (draws < truth).sum(), (draws == truth).sum()
    return float((below + rng.random() * (equal + 1)) / (len(draws) + 1))


def ranked(
    truth: Mapping[str, np.ndarray], drawn: Mapping[str, np.ndarray], rng: np.random.Generator
) -> dict[str, float]:
    """Return the rank of each quantity, (1,), among its draws, (draw,)."""
    return {name: rank(float(truth[name][0]), values, rng) for name, values in drawn.items()}


def spaced(places: np.ndarray, most: int) -> np.ndarray:
    """Return some of the places, evenly spaced over all of them."""
    return places[np.linspace(0, len(places) - 1, min(most, len(places))).round().astype(int)]


def _quantities(
    model: Prior, params: ParameterDraws, encoded: Encoded, y: Labels
) -> dict[str, np.ndarray]:
    """Return every entry of every parameter by name, and the log likelihood, each (draw,)."""
    log_likelihood = model.log_likelihood(params, encoded, y)
    return _entries(*model.named(params)) | {LOG_LIKELIHOOD: log_likelihood}


def _entries(arrays: Mapping[str, np.ndarray], axes: Axes) -> dict[str, Float[np.ndarray, " draw"]]:
    """Return every entry of every parameter by name."""
    out = {}
    for name, value in arrays.items():
        # of a covariance, each pair of columns once
        square = value.ndim > 2 and axes[name][-1] == axes[name][-2]
        for at in np.ndindex(value.shape[1:]):
            if square and at[-1] > at[-2]:
                continue
            words = ", ".join(str(axes[name][i][j]) for i, j in enumerate(at))
            out[f"{name}[{words}]" if words else name] = value[(slice(None), *at)]
    return out


# -- tests of uniformity ---------------------------------------------------------------------------


def uniformity(ranks: Ranks | pd.DataFrame) -> pd.DataFrame:
    """Return p-values of each quantity: of chi-square and of the ECDF."""
    arrays = {name: np.asarray(values) for name, values in ranks.items()}
    found = {name: (chi_square(values), ecdf(values)) for name, values in arrays.items()}
    table = pd.DataFrame.from_dict(found, orient="index", columns=["chi_square", "ecdf"])
    table.index.name = "quantity"
    return table


def threshold(n_quantities: int, false_alarm: float = FALSE_ALARM) -> float:
    """Return the p-value under which a quantity is out: two tests of each share the rate."""
    return false_alarm / (2 * n_quantities)


def direction(ranks: Float[np.ndarray, " fit"]) -> str:
    """Return in words how ranks differ from uniform ones: by their mean, or by their spread."""
    n = len(ranks)
    shift = (ranks.mean() - 0.5) * np.sqrt(12 * n)
    # the variance of a uniform number is 1/12, that of its square about the mean 1/180
    spread = (np.mean((ranks - 0.5) ** 2) - 1 / 12) * np.sqrt(180 * n)
    if abs(shift) > abs(spread):
        return "posterior too low" if shift > 0 else "posterior too high"
    return "posterior too narrow" if spread > 0 else "posterior too wide"
