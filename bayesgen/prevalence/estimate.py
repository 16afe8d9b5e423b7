"""Estimation of prevalence: validation of the arguments, choice of the method, and its report."""

import dataclasses
import time
from collections.abc import Callable, Mapping

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesgen import arguments, predict
from bayesgen.classes import ClassPrior
from bayesgen.errors import InvalidPrior, InvalidWeights, NoRows, UnsupportedInference
from bayesgen.inference import Posterior, Report, log_class_probabilities
from bayesgen.inference.posterior import take_rows
from bayesgen.prevalence.cut_posterior import cut_draws
from bayesgen.prevalence.left_out import LeftOutRows, left_out_draws
from bayesgen.prevalence.proportions import Alpha, likeliest, relative
from bayesgen.prevalence.result import Prevalence, by_class
from bayesgen.typing import Encoded, Weights

METHODS = ("auto", "density", "left_out")
ENOUGH = 50
"""Labeled rows of every class from which "auto" counts left-out predictions. Intervals of 90 % then
cover .90 to .95 on three real tables; those of densities cover .70 to .87 there, because columns
repeat each other."""

Counts = Float[np.ndarray, " class"]


@dataclasses.dataclass(frozen=True)
class Request:
    """Arguments of an estimate; see `Classifier.estimate_prevalence`."""

    prior: object
    method: str
    draws: int
    sample_weight: object
    random_state: object

    def __post_init__(self) -> None:
        """Validate the method and the number of draws."""
        arguments.one_of("method", self.method, METHODS)
        arguments.count("draws", self.draws, default=1000)


def estimated(
    request: Request,
    posterior: Posterior,
    encoded: Encoded,
    weight: Weights,
    classes: np.ndarray,
    counts: Counts,
    left_out: Callable[[], LeftOutRows],
) -> Prevalence:
    """Return the prevalence of the classes among rows.

    Args:
        request: of the user.
        posterior: of the fit.
        encoded: the rows.
        weight: of each, at least 0 and not all 0.
        classes: labels.
        counts: weight of the labeled rows of each class.
        left_out: function that returns predictions of the labeled rows, each from the others.

    Raises:
        InvalidPrior: prior states no Dirichlet rows.
        InvalidWeights: fractions.
        NoRows, UnsupportedInference: labeled rows cannot be left out.
    """
    start, rng = time.perf_counter(), arguments.generator(request.random_state)
    alpha = dirichlet_rows(request.prior, classes)
    times = whole_weights(weight)
    kept = np.flatnonzero(times)
    encoded, weight = take_rows(encoded, kept), times[kept].astype(float)
    even = posterior.with_classes(ClassPrior(np.full(len(alpha), 1 / len(alpha)), np.inf))
    joint = even.log_joint(encoded, len(kept))
    predict.warn_impossible_rows(joint)
    logs = log_class_probabilities(joint, even.log_classes())
    able = alpha > 0
    mode = np.zeros(len(alpha))
    mode[able] = likeliest(relative(np.ascontiguousarray(logs.T[able])), weight)
    near = (alpha + weight.sum() * mode) / (alpha.sum() + weight.sum())
    labeled = _labeled(request.method, counts, able, left_out)
    details = {"new rows": float(weight.sum()), "labeled rows": float(counts.sum())}
    details["labeled rows of the smallest class"] = float(counts[able].min())
    if labeled is not None:
        parts = labeled, logs, weight, alpha, near, request.draws, rng
        draws, verdict = left_out_draws(*parts), "Left-out predictions of labeled rows are counted."
    else:
        parts = even, encoded, weight, logs, alpha, near, request.draws, rng
        draws, rate = cut_draws(*parts)
        details["acceptance rate"] = rate
        verdict = (
            "Class densities are taken as right: where columns repeat each other, intervals are "
            f"too narrow. From {ENOUGH} labeled rows a class on, method='left_out' tells."
        )
    method = "density" if labeled is None else "left_out"
    seconds = time.perf_counter() - start
    report = Report(method, seconds, converged=True, verdict=verdict, details=details)
    trained = by_class(classes, np.exp(posterior.log_classes()))
    return Prevalence(classes, draws, by_class(classes, mode), trained, report)


def _labeled(
    method: str,
    counts: Counts,
    able: Bool[np.ndarray, " class"],
    left_out: Callable[[], LeftOutRows],
) -> LeftOutRows | None:
    """Return predictions of labeled rows, each from the others; None for method "density"."""
    if method == "density" or (method == "auto" and counts[able].min() < ENOUGH):
        return None
    try:
        labeled = left_out()
    except (NoRows, UnsupportedInference):
        if method == "left_out":
            raise
        return None
    # of many rows not all are left out
    few = labeled.counts()[able].min() < ENOUGH
    return None if few and method == "auto" else labeled


def dirichlet_rows(prior: object, classes: np.ndarray) -> Alpha:
    """Return Dirichlet rows of each class: of one number, an array or {class: rows}.

    Raises:
        InvalidPrior: not finite, negative, all 0, or of other classes.
    """
    labels = classes.tolist()
    if isinstance(prior, Mapping):
        if set(prior) != set(labels):
            raise InvalidPrior.prevalence(prior, labels)
        prior = [prior[label] for label in labels]
    try:
        alpha = np.asarray(prior, dtype=float)
    except (TypeError, ValueError):
        raise InvalidPrior.prevalence(prior, labels) from None
    alpha = np.full(len(labels), alpha) if alpha.ndim == 0 else alpha
    possible = alpha.shape == (len(labels),) and np.isfinite(alpha).all() and (alpha >= 0).all()
    if not possible or isinstance(prior, bool | str) or not alpha.any():
        raise InvalidPrior.prevalence(prior, labels)
    return alpha


def whole_weights(weight: Weights) -> Int[np.ndarray, " row"]:
    """Return how often each row counts.

    Raises:
        InvalidWeights: fractions.
    """
    fractions = weight[weight != np.floor(weight)]
    if len(fractions):
        raise InvalidWeights.fractions(float(fractions[0]))
    return weight.astype(np.int64)
