"""Inference: one argument, five answers, all of one type."""

import functools
from collections.abc import Callable

from bayesgen.errors import NoClosedForm, UnsupportedInference, warn
from bayesgen.inference.data_augmentation import Augmentation as Augmentation
from bayesgen.inference.exact import Exact as Exact
from bayesgen.inference.exact import Expected as Expected
from bayesgen.inference.incomplete_data import any_missing as any_missing
from bayesgen.inference.incomplete_normal import IncompleteNormal as IncompleteNormal
from bayesgen.inference.incomplete_table import IncompleteTable as IncompleteTable
from bayesgen.inference.log_space import class_probabilities as class_probabilities
from bayesgen.inference.log_space import log_class_probabilities as log_class_probabilities
from bayesgen.inference.log_space import log_odds as log_odds
from bayesgen.inference.log_space import row_max as row_max
from bayesgen.inference.mixture_posterior import MixturePosterior as MixturePosterior
from bayesgen.inference.nuts import NUTS as NUTS
from bayesgen.inference.point_estimates import MAP as MAP
from bayesgen.inference.point_estimates import MLE as MLE
from bayesgen.inference.posterior import DrawsPosterior as DrawsPosterior
from bayesgen.inference.posterior import ExactPosterior as ExactPosterior
from bayesgen.inference.posterior import Posterior as Posterior
from bayesgen.inference.power_posterior import PowerPosterior as PowerPosterior
from bayesgen.inference.report import Report as Report
from bayesgen.model import Model, ModelStatistics

Method = Exact | Expected | MLE | MAP | NUTS | Augmentation
CLOSED = Exact | Expected | Augmentation
"""Methods that rest on a closed form: of all rows, or of rows whose missing cells were filled."""
BY_NAME: dict[str, Callable[[], Method]] = {
    "exact": Exact,
    "expected": Expected,
    "mle": MLE,
    "map": MAP,
    "svi": functools.partial(MAP, solver="svi"),
    "nuts": NUTS,
}


def method_of(inference: object) -> Method:
    """Return the method that an argument other than "auto" names, or is.

    Raises:
        UnsupportedInference: it is neither, or a class where an instance of it is needed.
    """
    if isinstance(inference, str) and inference in BY_NAME:
        return BY_NAME[inference]()
    if isinstance(inference, Method):
        return inference
    if isinstance(inference, type) and issubclass(inference, Method):
        raise UnsupportedInference.not_an_instance(inference.__name__)
    raise UnsupportedInference.unknown(inference, ["auto", *BY_NAME])


def choose(inference: str | Method, model: Model, statistics: ModelStatistics) -> Method:
    """Return the method that an argument means for this model.

    "auto" is exact where every block is conjugate, data augmentation where only missing values in a
    joint block stand in the way, and NUTS otherwise. "exact" gives the same posterior by
    augmentation, with a warning, where missing values stand in the way.

    Raises:
        UnsupportedInference: an unknown name, or a method that rests on a closed form where some
            block has none.
    """
    method = _named(inference, model)
    if isinstance(method, CLOSED):
        for name, part in model.blocks.items():
            if not part.conjugate:
                family = f"block {name!r}, {part.title},"
                raise UnsupportedInference.no_closed_form(family, inference)
    if isinstance(method, Exact) and any_missing(model, statistics):
        if inference != "auto":
            warn(NoClosedForm.missing_cells())
        return Augmentation(draws=method.draws)
    return method


def _named(inference: str | Method, model: Model) -> Method:
    """Return the method that an argument stands for."""
    if isinstance(inference, str) and inference == "auto":
        return Exact() if model.conjugate else NUTS()
    return method_of(inference)
