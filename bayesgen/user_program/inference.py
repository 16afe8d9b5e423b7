"""Inference for a user's program: NUTS, posterior mode or maximum likelihood."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from bayesgen.errors import UnsupportedOperation
from bayesgen.errors.operations import unsupported
from bayesgen.inference import MAP, MLE, NUTS, method_of
from bayesgen.inference.components import take_rows
from bayesgen.inference.draws import flat
from bayesgen.inference.laplace import fit_laplace
from bayesgen.inference.log_density import NUTS_TERMS
from bayesgen.inference.point_estimates import estimate_report
from bayesgen.model import Reader
from bayesgen.typing import Labels, Weights
from bayesgen.user_program.draws import OWNER, ProgramDraws, class_probs, without_density
from bayesgen.user_program.program import OTHER, Arrays, ProgramLogDensity, UserProgram
from bayesgen.user_program.validation import ProgramFacts, validate

SHARE = 8
"""Rows are padded by at most this share, so that tables of similar sizes share compiled code."""


@dataclasses.dataclass(frozen=True, eq=False)
class ProgramRows:
    """Rows x with class codes y (row,) and their weights (row,).

    other: "x" and "weight" of the rows without a class; None: there are none.
    """

    x: Arrays
    y: Labels
    weight: Weights
    other: Mapping[str, Arrays | Weights] | None = None


def infer(program: UserProgram, rows: ProgramRows, inference: object, seed: int) -> ProgramDraws:
    """Return the posterior of a program's parameters given rows.

    Raises:
        InvalidProgram: the program violates the required form; no start near the middle of the
            priors has a finite density.
        UnsupportedOperation: an inference that needs a closed form.
    """
    method = choose_method(inference)
    facts = validate(program, rows.x, rows.y)
    density, tree = ProgramLogDensity.at(program, facts.start), _tree(facts, rows)
    terms = NUTS_TERMS if isinstance(method, NUTS) else method.terms
    fit = fit_laplace(density, tree, terms)
    if np.isinf(fit.gradient):
        raise without_density(program, fit.values, rows.x, rows.y, np.arange(len(rows.y)))
    if isinstance(method, NUTS):
        # without a mode, from the middle of the priors
        tree |= {"centre": fit.centre, "width": fit.width} if fit.is_mode else {}
        values, stats, report = method.sample(density, tree, seed)
    else:
        values, stats = {site: v[None, None] for site, v in fit.values.items()}, {}
        details = {"gradient_norm": fit.gradient, "evaluations": float(fit.evaluations)}
        report = estimate_report(method.name, details)
    shape = next(iter(values.values())).shape[:2]
    if facts.labels_alike:
        drawn = {site: flat(value) for site, value in values.items()}
        probs = class_probs(program, drawn, rows.x).reshape(*shape, -1)
    else:
        count = np.bincount(rows.y, rows.weight, minlength=program.n_classes)
        probs = np.broadcast_to(count / count.sum(), (*shape, program.n_classes))
    params = {"class": {"probs": probs}, OWNER: values}
    return ProgramDraws(
        Reader({}), report, params, {}, stats, program=program, labels_alike=facts.labels_alike
    )


def choose_method(inference: object) -> NUTS | MAP | MLE:
    """Return the method for an `inference=` argument."""
    method = NUTS() if isinstance(inference, str) and inference == "auto" else method_of(inference)
    if not isinstance(method, NUTS | MAP | MLE):
        raise UnsupportedOperation(
            "inference is {found!r}; a program of your own has no closed form.",
            'Allowed: "auto" and "nuts" (draws), "map", "svi", "mle", bg.NUTS(), bg.MAP(), '
            'bg.MLE(). Pass inference="nuts".',
            found=inference,
        )
    if isinstance(method, MLE) and method.bias_corrected:
        raise unsupported(
            "MLE(bias_corrected=True)",
            "no likelihood has its maximum at a divisor of n - 1, so no optimizer can find it",
            "Use MLE().",
        )
    return method


def _tree(facts: ProgramFacts, rows: ProgramRows) -> dict:
    """Return the numbers of the log density, rows padded with copies of weight 0."""
    n_rows = len(rows.y)
    step = max(1, (1 << n_rows.bit_length()) // (2 * SHARE))
    filled = np.minimum(np.arange(-(-n_rows // step) * step), n_rows - 1)
    return ({} if rows.other is None else {OTHER: rows.other}) | {
        "x": take_rows(rows.x, filled),
        "y": rows.y[filled],
        "weight": np.where(np.arange(len(filled)) < n_rows, rows.weight[filled], 0.0),
        "centre": facts.start,
        "width": {name: np.ones(u.shape) for name, u in facts.start.items()},
    }
