"""Decision thresholds, confusion tables and the ROC curve."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from bayesgen import arguments
from bayesgen.calibrate.targets import Classes, names, read
from bayesgen.errors.arguments import out_of_range

THRESHOLDS = (0.5, 0.95)


def confusion(
    y_true: object,
    proba: object,
    classes: Classes = None,
    *,
    threshold: float | None = None,
) -> pd.DataFrame:
    """Return the confusion table: rows by true class and decided class.

    Args:
        y_true: labels, shape (row,).
        proba: class probabilities, shape (row, class).
        classes: the class of each column of proba, `clf.classes_`; None: the labels, sorted.
        threshold: None decides for the most probable class (ties go to the first). A number, for
            two classes only, decides for the second if its probability is at least that.

    Returns:
        DataFrame, rows "true" and columns "decided", both in the order of the classes.

    Raises:
        InvalidArgument: a threshold with more than two classes.

    Examples:
        >>> import numpy as np
        >>> from bayesgen.calibrate import confusion
        >>> p = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]])
        >>> confusion(["no", "no", "yes"], p).to_numpy()
        array([[1, 1],
               [0, 1]])
    """
    y, probability = read(y_true, proba, classes)
    named = names(y_true, probability.shape[1], classes)
    if threshold is None:
        decided = probability.argmax(axis=1)
    elif len(named) == 2:
        decided = (probability[:, 1] >= threshold).astype(int)
    else:
        among = f"None, of {len(named)} classes"
        raise out_of_range("threshold", threshold, among, "Pass threshold=None.")
    count = np.bincount(y * len(named) + decided, minlength=len(named) ** 2)
    return pd.DataFrame(
        count.reshape(len(named), len(named)),
        index=pd.Index(named, name="true"),
        columns=pd.Index(named, name="decided"),
    )


def threshold_table(
    event: Bool[np.ndarray, " row"],
    probability: Float[np.ndarray, " row"],
    thresholds: Sequence[float | int] = THRESHOLDS,
) -> pd.DataFrame:
    """Return counts and error rates of calling an event at each probability threshold.

    With TP, FP, TN and FN the numbers of true and false positives and negatives:
    accuracy = (TP + TN) / rows, sensitivity = recall = TP / (TP + FN),
    specificity = TN / (TN + FP), precision = TP / (TP + FP), f1 = 2 TP / (2 TP + FP + FN).
    A rate with denominator 0 (no row called, or no event) is NaN.

    Args:
        event: whether it happened, shape (row,).
        probability: its stated probability, shape (row,).
        thresholds: from 0 to 1, in any order.

    Returns:
        DataFrame, one row for each threshold in the order given, its index "threshold"; columns
        true_positives, false_positives, true_negatives, false_negatives, accuracy, sensitivity,
        specificity, precision, recall, f1.

    Raises:
        InvalidArgument: a threshold below 0 or above 1.

    Examples:
        >>> import numpy as np
        >>> from bayesgen.calibrate import threshold_table
        >>> ill, stated = np.array([False, True, True]), np.array([0.2, 0.4, 0.9])
        >>> threshold_table(ill, stated, (0.3, 0.5))["sensitivity"].to_dict()
        {0.3: 1.0, 0.5: 0.5}
    """
    for threshold in thresholds:
        if not (arguments.is_number(threshold) and 0 <= threshold <= 1):
            raise out_of_range(
                "thresholds", threshold, "numbers from 0 to 1", "Pass thresholds=(0.5, 0.95)."
            )
    lines = [_rates(event, probability >= threshold) for threshold in thresholds]
    return pd.DataFrame(lines, index=pd.Index(list(thresholds), name="threshold", dtype=float))


def _rates(event: np.ndarray, called: np.ndarray) -> dict[str, float | int]:
    tp, fp = int((event & called).sum()), int((~event & called).sum())
    tn, fn = int((~event & ~called).sum()), int((event & ~called).sum())
    sensitivity = _share(tp, tp + fn)
    return {
        "true_positives": tp,
        "false_positives": fp,
        "true_negatives": tn,
        "false_negatives": fn,
        "accuracy": _share(tp + tn, len(event)),
        "sensitivity": sensitivity,
        "specificity": _share(tn, tn + fp),
        "precision": _share(tp, tp + fp),
        "recall": sensitivity,
        "f1": _share(2 * tp, 2 * tp + fp + fn),
    }


def _share(part: int, whole: int) -> float:
    return part / whole if whole else np.nan


def roc(event: Bool[np.ndarray, " row"], probability: Float[np.ndarray, " row"]) -> pd.DataFrame:
    """Return the receiver operating characteristic: the rates at each possible threshold.

    The event is called if its probability is at least the threshold. At the first point nothing is
    called (threshold inf); one point for each stated probability follows, from high to low.

    Args:
        event: whether it happened, shape (row,).
        probability: its stated probability, shape (row,).

    Returns:
        DataFrame with threshold, false_positive_rate, true_positive_rate, false_positives,
        true_positives. A rate is NaN if its denominator is 0.

    Source: Fawcett (2006), Pattern Recognition Letters 27, 861-874.

    Examples:
        >>> import numpy as np
        >>> from bayesgen.calibrate import roc
        >>> roc(np.array([True, False, True]), np.array([0.9, 0.4, 0.4])).iloc[:, 1:3].to_numpy()
        array([[0. , 0. ],
               [0. , 0.5],
               [1. , 1. ]])
    """
    stated, place = np.unique(-probability, return_inverse=True)
    points = {"threshold": np.append(np.inf, -stated)}
    for kind, called in {"false": ~event, "true": event}.items():
        count = np.append(0, np.bincount(place, called, len(stated)).cumsum()).astype(int)
        rate = count / count[-1] if count[-1] else np.full(len(count), np.nan)
        points |= {f"{kind}_positives": count, f"{kind}_positive_rate": rate}
    names = ["false_positive_rate", "true_positive_rate", "false_positives", "true_positives"]
    return pd.DataFrame(points)[["threshold", *names]]
