"""Predictions of left-out rows by a whole stack, under even class probabilities."""

import dataclasses
from collections.abc import Mapping
from typing import cast

import numpy as np

from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.held_out import HeldOut, fitted_posterior
from bayesgen.inference import Mixture, Posterior
from bayesgen.inference.scores import Scores, likelihood_of, normalized
from bayesgen.prevalence import LeftOutRows
from bayesgen.typing import Labels, Weights


def left_out_rows(
    members: Mapping[str, Classifier],
    posterior: Posterior,
    held_out: Mapping[str, HeldOut],
    codes: Labels,
    weight: Weights,
) -> LeftOutRows:
    """Return predictions of the rows that judge members, each from the others.

    Weights, powers and the pool are those learned from all rows.

    Args:
        members: fitted.
        posterior: of the stack.
        held_out: what each member predicts of the rows.
        codes: classes of the rows.
        weight: of the rows.
    """
    scores = {name: _even(one.scores) for name, one in held_out.items()}
    log_proba = [fitted_posterior(members[name]).log_proba(one) for name, one in scores.items()]
    able = np.stack([one.able for one in held_out.values()], axis=1)
    found = cast(Mixture, posterior.components).scores_from(scores, np.stack(log_proba), able)
    return LeftOutRows(normalized(posterior.log_proba(found)), codes, weight)


def _even(scores: Scores) -> Scores:
    """Return scores under even class probabilities."""
    shape = scores.joint.shape
    even = np.full(shape, -np.log(shape[1]))
    joint = likelihood_of(scores.joint, np.broadcast_to(scores.log_classes, shape)) + even
    return dataclasses.replace(scores, joint=joint, log_classes=even)
