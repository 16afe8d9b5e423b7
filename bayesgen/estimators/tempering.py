"""How much the likelihood of a fitted story counts: stated, or learned from rows left out."""

import dataclasses

import numpy as np

from bayesgen.arguments import is_number
from bayesgen.classes import Spec
from bayesgen.errors import InvalidArgument, NoRows, UnsupportedInference
from bayesgen.estimators.fitted import TrainingState
from bayesgen.estimators.inferring import leave_one_out
from bayesgen.estimators.rows import joined, once
from bayesgen.inference import Posterior, PowerPosterior
from bayesgen.inference import power_posterior as powers
from bayesgen.table import Table
from bayesgen.typing import Joint, Labels, Weights

Temper = str | float | int | None
"""None: the story as it is; a power above 0; or "learn"."""


@dataclasses.dataclass(frozen=True, eq=False)
class Seen:
    """Rows of one call of fit or partial_fit: a table, its labels and weights."""

    table: Table
    labels: np.ndarray
    weight: Weights


def tempered(
    posterior: Posterior,
    learned: TrainingState,
    temper: Temper,
    prior: Spec,
    seen: tuple[Seen, ...] | None,
    *,
    unseen: str,
) -> Posterior:
    """Return a posterior whose likelihood counts as much as `temper` says.

    Raises:
        InvalidArgument: neither None, "learn" nor a number above 0.
        UnsupportedInference: "learn" where the posterior is no closed form.
    """
    if temper is None:
        return posterior
    if isinstance(temper, str):
        if temper != "learn":
            raise InvalidArgument.not_one_of("temper", temper, ["learn", None, 0.5])
        found = powers.learned(*left_out(posterior, learned, prior, seen, unseen=unseen))
        return PowerPosterior(posterior.reader, posterior.report, posterior, *found)
    return PowerPosterior(posterior.reader, posterior.report, posterior, *stated_powers(temper))


def stated_powers(temper: Temper) -> tuple[powers.Powers, powers.Powers]:
    """Return one power and its weight, 1.

    Raises:
        InvalidArgument: no number above 0.
    """
    if not (is_number(temper) and temper > 0):
        raise InvalidArgument.out_of_range(
            "temper", temper, "None, 'learn' or a power above 0", "Pass temper='learn'."
        )
    return np.array([float(temper)]), np.ones(1)


def left_out(
    posterior: Posterior,
    learned: TrainingState,
    prior: Spec,
    seen: tuple[Seen, ...] | None,
    *,
    unseen: str,
) -> tuple[Joint, Joint, Labels, Weights]:
    """Return log P(y = k) and log p(x, y = k) of every row given the others, labels and weights.

    Raises:
        UnsupportedInference: the posterior is no closed form.
        NoRows: they were not kept.
    """
    if posterior.report.method not in ("exact", "expected"):
        raise UnsupportedInference.loses_no_row(
            "temper='learn'",
            posterior.report.method,
            closed=posterior.closed,
            otherwise="State a power: temper=0.5",
        )
    if not seen:
        raise NoRows.to_learn_from("temper='learn'")
    encoded = joined([learned.schema.encode(rows.table, unseen=unseen) for rows in seen])
    codes = np.searchsorted(learned.classes, np.concatenate([rows.labels for rows in seen]))
    weight = np.concatenate([rows.weight for rows in seen])
    joint, classes = leave_one_out(learned, prior, encoded, codes, weight, once(weight))
    return classes, joint, codes, weight


def temperature(posterior: Posterior) -> float:
    """Return what the log-odds of the story are divided by: 1 where it is not tempered."""
    return 1 / posterior.power if isinstance(posterior, PowerPosterior) else 1.0
