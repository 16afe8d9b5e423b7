"""Inference: one argument, five answers, all of one type."""

import functools
from collections.abc import Callable

from bayesgen.errors import NoClosedForm, UnsupportedInference, warn
from bayesgen.inference.augmentation import Augmentation as Augmentation
from bayesgen.inference.exact import Exact as Exact
from bayesgen.inference.expected import Expected as Expected
from bayesgen.inference.holes import any_holes as any_holes
from bayesgen.inference.joint_normal import NormalHoles as NormalHoles
from bayesgen.inference.joint_table import TableHoles as TableHoles
from bayesgen.inference.nuts import NUTS as NUTS
from bayesgen.inference.optimise import MAP as MAP
from bayesgen.inference.optimise import MLE as MLE
from bayesgen.inference.posterior import Draws as Draws
from bayesgen.inference.posterior import Posterior as Posterior
from bayesgen.inference.probabilities import likeliest as likeliest
from bayesgen.inference.probabilities import log_normalised as log_normalised
from bayesgen.inference.probabilities import log_odds as log_odds
from bayesgen.inference.probabilities import normalised as normalised
from bayesgen.inference.report import Report as Report
from bayesgen.inference.stacking import Stacked as Stacked
from bayesgen.inference.tempered import Tempered as Tempered
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
        raise UnsupportedInference.not_made(inference.__name__)
    raise UnsupportedInference.unknown(inference, ["auto", *BY_NAME])


def choose(inference: str | Method, model: Model, statistics: ModelStatistics) -> Method:
    """Return the method that an argument means for this model.

    "auto" is exact where every block is conjugate, data augmentation where only holes in a joint
    block stand in the way, and NUTS otherwise. "exact" gives the same posterior by augmentation,
    with a warning, where holes stand in the way.

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
    if isinstance(method, Exact) and any_holes(model, statistics):
        if inference != "auto":
            warn(NoClosedForm.holes())
        return Augmentation(draws=method.draws)
    return method


def _named(inference: str | Method, model: Model) -> Method:
    """Return the method that an argument stands for."""
    if isinstance(inference, str) and inference == "auto":
        return Exact() if model.conjugate else NUTS()
    return method_of(inference)
