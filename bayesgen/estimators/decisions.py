"""Decisions for rows, and the typicality of rows."""

import numpy as np
from jaxtyping import Float

from bayesgen import decide, predict
from bayesgen.decide import Loss
from bayesgen.estimators.estimator import EncodedRows, Estimator
from bayesgen.inference import class_probabilities


def decided(
    clf: Estimator,
    X: object,
    loss: Loss,
    reject: float | int | None,
    novelty: float | None,
    reject_label: object,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the decision for each row and its expected loss; see `Classifier.decide`."""
    rule = decide.rule(loss, clf.classes_, reject, novelty, reject_label)
    rows, strange = clf._encode_rows(X), None
    proba = class_probabilities(*predict.joint_and_prior(*rows))
    if novelty is not None:
        strange = typicality(clf, rows, decide.enough_draws(novelty)) < novelty
    return decide.decisions(rule, proba, strange, reject)


def typicality(clf: Estimator, rows: EncodedRows, draws: int) -> Float[np.ndarray, " row"]:
    """Return posterior predictive p-values of encoded rows; see `Classifier.typicality`."""
    posterior, encoded, n_rows = rows
    shown = clf._without_pattern(encoded)
    return decide.typicality(posterior, shown, n_rows, clf._simulated(draws), draws)
