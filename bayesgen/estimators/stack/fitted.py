"""A fitted stack: its members, and leave-one-out given all of them."""

import dataclasses
from collections.abc import Mapping
from typing import cast

import numpy as np

from bayesgen import diagnose
from bayesgen.errors import BayesgenWarning, warn
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.diagnostics import Fitted
from bayesgen.inference import Mixture
from bayesgen.inference.leave_one_out import LabelledRows
from bayesgen.typing import DataFrame, ELPDData, Encoded, Labels, Weights

EXCESS = 0.9
"""Nats by which the leave-one-out score of a stack exceeds that of refits, in all: .02 to .04 a row
with 30 rows."""


@dataclasses.dataclass(frozen=True, eq=False)
class FittedStack(Fitted):
    """Fitted members; state: of the first one."""

    members: Mapping[str, Classifier]

    def loo(self, encoded: Encoded, y: Labels, weight: Weights, kind: str) -> DataFrame | ELPDData:
        """Return leave-one-out log densities, with a warning where they are to be compared."""
        if kind == "elpd":
            n_rows = int((weight > 0).sum())
            warn(
                BayesgenWarning(
                    "the weights and powers of a stack were learned from the rows that loo() "
                    "leaves out, so its elpd is too high beside those of single models, by about "
                    "{excess:.3f} nats a row with {n_rows:rows}.",
                    "Cross-validate with bg.compare({{'stack': bg.StackedClassifier()}}, X, y).",
                    excess=EXCESS / n_rows,
                    n_rows=n_rows,
                )
            )
        return super().loo(encoded, y, weight, kind)

    def left_out(self, encoded: Encoded, y: Labels, weight: Weights) -> diagnose.LeaveOneOut:
        """Return the log densities of the rows of the fit, each given the others.

        Weights and powers stay.
        """
        mixture, found, log_proba = cast(Mixture, self.posterior.components), {}, []
        for name, rows in mixture.by_member(encoded).items():
            member, posterior = self.members[name], mixture.members[name]
            left_out = LabelledRows(rows, y, weight, weight)
            fitted = Fitted(member.state_, posterior, member.class_prior)
            found[name] = fitted.leave_one_out(left_out)
            log_proba.append(posterior.log_proba(found[name]))
        able = mixture.able(encoded, len(y))
        scores = mixture.scores_from(found, np.stack(log_proba), able)
        return diagnose.LeaveOneOut(self.posterior.log_joint_from(scores))
