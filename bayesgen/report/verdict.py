"""Verdict: scores of rows left out, and gains over class frequencies and logistic regression."""

import math

from bayesgen.page import Grid
from bayesgen.report.subject import FREQUENCIES, LOGISTIC, Subject, Values
from bayesgen.report.words import number, share

PREPARED = {"SimpleImputer": "missing cells imputed", "OneHotEncoder": "levels as 0/1 columns"}
"""What is done to the table before a classifier that does not take it as it is."""


def verdict(subject: Subject) -> Values:
    """Return the scores of rows left out: of the classifier and of two rivals, and as a table."""
    lines = []
    for name, line in subject.comparison.table.iterrows():
        steps = [words for step, words in PREPARED.items() if step in line["prepared_by"]]
        title = f"{name} ({', '.join(steps)})" if steps else str(name)
        numbers = [number(line[score], ".3f") for score in ("log_loss", "brier", "auc")]
        lines.append([title, share(line["accuracy"]), *numbers])
    heads = ["", "accuracy", "log loss", "Brier score", "AUC"]
    return {
        "classifier": subject.comparison.table.loc[subject.name].to_dict(),
        "frequencies": _rival(subject, FREQUENCIES),
        "logistic": _rival(subject, LOGISTIC),
        "scores": Grid(heads, lines, right=(1, 2, 3, 4)),
    }


def _rival(subject: Subject, name: str) -> Values:
    """Return the scores of a rival, and the 95 % interval of its log loss minus the classifier's.

    The ends of the interval are None where it is not known.
    """
    gain = subject.comparison.differences.loc[(name, "log_loss"), ["lower", "upper"]]
    low, high = (None if math.isnan(end) else float(end) for end in gain)
    return {**subject.comparison.table.loc[name].to_dict(), "low": low, "high": high}
