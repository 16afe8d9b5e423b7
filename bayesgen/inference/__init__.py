"""Inference: the methods that `inference=` selects, each returning a `Posterior`."""

from typing import Literal

from bayesgen.errors.arguments import not_an_instance, not_one_of
from bayesgen.errors.operations import no_closed_form, unsupported
from bayesgen.errors.wording import shown
from bayesgen.inference.closed_form import ClosedForm as ClosedForm
from bayesgen.inference.components import Components as Components
from bayesgen.inference.data_augmentation import Augmentation as Augmentation
from bayesgen.inference.draws import Draws as Draws
from bayesgen.inference.exact import Exact as Exact
from bayesgen.inference.exact import Expected as Expected
from bayesgen.inference.exact import Grouped
from bayesgen.inference.groups import ByGroup as ByGroup
from bayesgen.inference.incomplete_normal import IncompleteNormal as IncompleteNormal
from bayesgen.inference.incomplete_rows import IncompleteRows
from bayesgen.inference.incomplete_table import IncompleteTable as IncompleteTable
from bayesgen.inference.misfit import Misfit as Misfit
from bayesgen.inference.missing import any_missing as any_missing
from bayesgen.inference.mixture import Mixture as Mixture
from bayesgen.inference.nuts import NUTS as NUTS
from bayesgen.inference.point_estimates import MAP as MAP
from bayesgen.inference.point_estimates import MLE as MLE
from bayesgen.inference.pooling import Pool as Pool
from bayesgen.inference.pooling import RowSpace as RowSpace
from bayesgen.inference.posterior import Posterior as Posterior
from bayesgen.inference.readouts import BAYES as BAYES
from bayesgen.inference.readouts import Pooled as Pooled
from bayesgen.inference.readouts import Readout as Readout
from bayesgen.inference.readouts import Tempered as Tempered
from bayesgen.inference.report import Report as Report
from bayesgen.inference.scores import class_probabilities as class_probabilities
from bayesgen.inference.scores import log_class_probabilities as log_class_probabilities
from bayesgen.inference.scores import log_odds as log_odds
from bayesgen.problem import Problem

Method = Exact | Expected | MLE | MAP | NUTS | Augmentation
Asked = Method | Literal["auto", "exact", "expected", "augmentation", "mle", "map", "svi", "nuts"]
"""What inference= may be."""
CLOSED = Exact | Expected | Augmentation
"""Methods that rest on a closed form: of all rows, or of rows whose missing cells were filled."""
BY_NAME: dict[str, Method] = {
    "exact": Exact(),
    "expected": Expected(),
    "augmentation": Augmentation(),
    "mle": MLE(),
    "map": MAP(),
    "svi": MAP(solver="svi"),
    "nuts": NUTS(),
}


def method_of(inference: object) -> Method:
    """Return the method named by an argument other than "auto".

    Raises:
        InvalidArgument: an unknown name or object, or a class in place of an instance.
    """
    if isinstance(inference, str) and inference in BY_NAME:
        return BY_NAME[inference]
    if isinstance(inference, Method):
        return inference
    if isinstance(inference, type) and issubclass(inference, Method):
        raise not_an_instance("inference", inference)
    raise not_one_of("inference", inference, ["auto", *BY_NAME])


def choose(inference: str | Method, problem: Problem) -> Method | IncompleteRows | Grouped:
    """Choose the inference method of a problem for an `inference=` argument.

    "auto" is exact where every block is conjugate and NUTS otherwise. Where missing values in a
    joint block rule out the closed form, `IncompleteRows` says what "auto" is, and "exact".

    Raises:
        InvalidArgument: an unknown name.
        UnsupportedOperation: a method that needs a closed form where some block has none.
    """
    model = problem.model
    if isinstance(inference, str) and inference == "auto":
        conjugate = all(part.conjugate for part in model.blocks.values())
        method = BY_NAME["exact" if conjugate else "nuts"]
    else:
        method = method_of(inference)
    if problem.statistics.groups:
        if isinstance(method, Exact | Expected):
            return Grouped(method.draws)
        raise unsupported(
            f"groups= with inference={shown(inference)}",
            "how much groups have in common is learned by evidence, which needs a closed form",
            "Pass inference='auto', and likelihoods with a closed form.",
        )
    if isinstance(method, CLOSED):
        for name, part in model.blocks.items():
            if not part.conjugate:
                family = f"block {name!r}, {part.title},"
                raise no_closed_form(family, inference)
    joint = any(part.joint for part in model.blocks.values())
    if isinstance(method, Exact) and joint and problem.statistics.has_missing:
        return IncompleteRows(method.draws, exact=inference != "auto")
    return method
