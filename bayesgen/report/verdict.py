"""Verdict in words: gain over the class frequencies, calibration, and rate of abstention."""

import math

import numpy as np

from bayesgen.page import Block, Grid, Section, Text
from bayesgen.report.calibration import in_words as calibration_in_words
from bayesgen.report.costs import abstaining
from bayesgen.report.subject import FREQUENCIES, LOGISTIC, Subject
from bayesgen.report.words import share

PREPARED = {"SimpleImputer": "missing cells imputed", "OneHotEncoder": "levels as 0/1 columns"}


def section(subject: Subject) -> Section:
    """Return the verdict: scores of rows left out, in words and as a table."""
    report = subject.clf.report_
    blocks: list[Block] = [_against_frequencies(subject), _against_logistic(subject)]
    blocks += [calibration_in_words(subject), _abstains(subject)]
    if not report.converged:
        blocks.append(Text(f"Inference: {report.verdict}", "warning"))
    blocks += [_scores(subject), Text(_folds(subject), "muted")]
    return Section("Verdict", blocks + [Text(note, "warning") for note in subject.notes])


def _against_frequencies(subject: Subject) -> Text:
    table = subject.comparison.table
    own, base = table.loc[subject.name], table.loc[FREQUENCIES]
    low, high = _gain(subject, FREQUENCIES)
    right = (
        f"It names the right class in {share(own['accuracy'])} of the rows left out; naming the "
        f"most frequent class is right in {share(base['accuracy'])}."
    )
    loss = (
        f"Its log loss is {own['log_loss']:.3f} nats a row, that of the class frequencies "
        f"{base['log_loss']:.3f}"
    )
    if not own["log_loss"] < base["log_loss"]:
        return Text(f"No better than the class frequencies. {loss}. {right}", "warning")
    if not low > 0:
        verdict = "Not clearly better than the class frequencies"
        spread = "" if math.isnan(low) else f" (gain {_interval(low, high)}, which includes 0)"
        return Text(f"{verdict}. {loss}{spread}. {right}", "warning")
    gain = f"{loss}: a gain of {_interval(low, high)}"
    return Text(f"Better than the class frequencies. {right} {gain}.", "good")


def _against_logistic(subject: Subject) -> Text:
    table = subject.comparison.table
    own, other = (float(table.loc[name, "log_loss"]) for name in (subject.name, LOGISTIC))
    low, high = _gain(subject, LOGISTIC)
    losses = f"log loss {own:.3f} against {other:.3f}"
    if not math.isnan(low):
        losses += f", a difference of {_interval(-high, -low)}"
    right = f"accuracy {share(table.loc[subject.name, 'accuracy'])} against "
    right += share(table.loc[LOGISTIC, "accuracy"])
    words = "Neither clearly better nor worse than logistic regression"
    if low > 0:
        words = "Better than logistic regression"
    elif high < 0:
        words = "Worse than logistic regression"
    elif math.isnan(low):
        words = "Beside logistic regression"
    return Text(f"{words}: {losses}; {right}.", "warning" if high < 0 else "")


def _gain(subject: Subject, rival: str) -> tuple[float, float]:
    """Return the 95 % interval of a rival's log loss minus that of the classifier."""
    found = subject.comparison.differences.loc[(rival, "log_loss")]
    return float(found["lower"]), float(found["upper"])


def _interval(low: float, high: float) -> str:
    return f"{low:z.3f} to {high:z.3f} (95% interval)"


def _abstains(subject: Subject) -> Text:
    cost, (rows, right) = subject.reject, abstaining(subject, subject.reject)
    unit = " of an error" if subject.loss is None else ", in the unit of the stated costs"
    words = f"If leaving a row undecided costs {cost:g}{unit}, it abstains on "
    words += f"{rows:,} of {len(subject.codes):,} rows ({share(rows / len(subject.codes))})"
    if not math.isnan(right):
        words += f" and is right in {share(right)} of the others"
    return Text(words + ".")


def _scores(subject: Subject) -> Grid:
    heads = ["", "accuracy", "log loss", "Brier score", "AUC"]
    lines = []
    for name, line in subject.comparison.table.iterrows():
        scores = [_three_digits(line[score]) for score in ("log_loss", "brier", "auc")]
        lines.append([f"{name}{_prepared(line['prepared_by'])}", share(line["accuracy"]), *scores])
    return Grid(heads, lines, right=(1, 2, 3, 4))


def _prepared(steps: str) -> str:
    """Return what was done to the table before a classifier that does not take it as it is."""
    words = [word for step, word in PREPARED.items() if step in steps]
    return f" ({', '.join(words)})" if words else ""


def _three_digits(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3f}"


def _folds(subject: Subject) -> str:
    found = subject.comparison
    words = (
        f"Every row is predicted by a fit to the other folds ({found.folds} folds, the same for "
        "all three). Log loss: mean of -log P(true class), in nats, 0 is perfect. Brier score: 0 "
        "to 2, 0 is perfect. AUC: .5 is chance, 1 perfect."
    )
    unlabelled = subject.table.n_rows - len(subject.codes)
    if unlabelled:
        words += f" {unlabelled:,} rows without a label are not scored."
    return " ".join([words, *found.notes])
