"""Inference for a user's program: NUTS, posterior mode or maximum likelihood."""

import dataclasses
import time

import numpy as np

from bayesgen.errors import InvalidProgram, UnsupportedOperation
from bayesgen.errors.arguments import not_an_instance
from bayesgen.errors.operations import unsupported
from bayesgen.inference.laplace import LaplaceFit, fit_laplace
from bayesgen.inference.log_density import NUTS_TERMS
from bayesgen.inference.nuts import NUTS
from bayesgen.inference.point_estimates import MAP, MLE, estimate_report
from bayesgen.inference.report import Report
from bayesgen.model import Reader
from bayesgen.typing import Labels, Weights
from bayesgen.user_program.draws import (
    OWNER,
    ProgramDraws,
    class_probs,
    not_finite,
    site_densities,
)
from bayesgen.user_program.program import OTHER, Arrays, ProgramLogDensity, UserProgram
from bayesgen.user_program.validation import ProgramFacts, validate

BY_NAME = {"auto": NUTS, "nuts": NUTS, "map": MAP, "svi": MAP, "mle": MLE}
SHARE = 8
"""Rows are padded by at most this share, so that tables of similar sizes share compiled code."""


@dataclasses.dataclass(frozen=True, eq=False)
class ProgramRows:
    """Rows x with class codes y (row,) and their weights (row,).

    other: rows without a class, and their weights; None: there are none.
    """

    x: Arrays
    y: Labels
    weight: Weights
    other: tuple[Arrays, Weights] | None = None


def infer(program: UserProgram, rows: ProgramRows, inference: object, seed: int) -> ProgramDraws:
    """Return the posterior of a program's parameters given rows.

    Raises:
        InvalidProgram: the program violates the required form; no start near the middle of the
            priors has a finite density.
        UnsupportedOperation: an inference that needs a closed form.
    """
    method = choose_method(inference)
    facts = validate(program, rows.x, rows.y)
    density, tree = ProgramLogDensity(program, facts.shapes), _tree(facts, rows)
    began = time.perf_counter()
    terms = NUTS_TERMS if isinstance(method, NUTS) else method.terms
    fit = fit_laplace(density, tree, terms)
    if np.isinf(fit.gradient):
        raise _not_finite(program, fit, rows)
    tree |= {"centre": fit.centre, "width": fit.width}
    if isinstance(method, NUTS):
        values, stats, report = method.sample(density, tree, seed)
    else:
        values, stats = {site: v[None, None] for site, v in fit.values.items()}, {}
        details = {"gradient_norm": fit.gradient, "evaluations": float(fit.evaluations)}
        report = estimate_report(method.name, time.perf_counter() - began, details)
    return _draws(program, facts, rows, values, stats, report)


def choose_method(inference: object) -> NUTS | MAP | MLE:
    """Return the method for an `inference=` argument."""
    if isinstance(inference, str) and inference in BY_NAME:
        return BY_NAME[inference]()
    if isinstance(inference, type) and issubclass(inference, NUTS | MAP | MLE):
        raise not_an_instance("inference", inference)
    if not isinstance(inference, NUTS | MAP | MLE):
        raise UnsupportedOperation(
            "inference is {found!r}; a program of your own has no closed form.",
            'Allowed: "auto" and "nuts" (draws), "map", "svi", "mle", bg.NUTS(), bg.MAP(), '
            'bg.MLE(). Pass inference="nuts".',
            found=inference,
        )
    if isinstance(inference, MLE) and inference.bias_corrected:
        raise unsupported(
            "MLE(bias_corrected=True)",
            "no likelihood has its maximum at a divisor of n - 1, so no optimizer can find it",
            "Use MLE().",
        )
    return inference


def _tree(facts: ProgramFacts, rows: ProgramRows) -> dict:
    """Return the numbers of the log density, rows padded with copies of weight 0."""
    n_rows = len(rows.y)
    step = max(1, (1 << n_rows.bit_length()) // (2 * SHARE))
    filled = np.minimum(np.arange(-(-n_rows // step) * step), n_rows - 1)
    other = (
        {} if rows.other is None else {OTHER: dict(zip(("x", "weight"), rows.other, strict=True))}
    )
    return other | {
        "x": {name: array[filled] for name, array in rows.x.items()},
        "y": rows.y[filled],
        "weight": np.where(np.arange(len(filled)) < n_rows, rows.weight[filled], 0.0),
        "centre": facts.start,
        "width": {name: np.ones(shape) for name, shape in facts.shapes},
    }


def _draws(
    program: UserProgram,
    facts: ProgramFacts,
    rows: ProgramRows,
    values: dict,
    stats: dict,
    report: Report,
) -> ProgramDraws:
    shape = next(iter(values.values())).shape[:2]
    flat = {site: value.reshape(-1, *value.shape[2:]) for site, value in values.items()}
    if facts.labels_alike:
        probs = class_probs(program, flat, rows.x).reshape(*shape, -1)
    else:
        count = np.bincount(rows.y, rows.weight, minlength=program.n_classes)
        probs = np.broadcast_to(count / count.sum(), (*shape, program.n_classes))
    return ProgramDraws(
        reader=Reader({}),
        report=report,
        params={"class": {"probs": probs}, OWNER: values},
        blocks={},
        sample_stats=stats,
        program=program,
        labels_alike=facts.labels_alike,
    )


def _not_finite(program: UserProgram, fit: LaplaceFit, rows: ProgramRows) -> InvalidProgram:
    """Return the error naming the site and the rows without a finite density."""
    found = site_densities(program, fit.values, rows.x, rows.y)
    for name, density in found.items():
        wrong = np.flatnonzero(~np.isfinite(density)).tolist()
        if wrong and density.ndim:
            return not_finite(name, wrong, rows.x, density[wrong])
    outside = (n for n, density in found.items() if not density.ndim and not np.isfinite(density))
    site = next(outside, None)
    return InvalidProgram(
        "the program has no finite density, or no finite gradient, at {where} where the fit "
        "starts.",
        "Look for a negative scale, a division by zero, or a NaN that is masked only after it "
        "was used; apply jnp.where first.",
        where="its priors" if site is None else f"site {site!r}",
    )
