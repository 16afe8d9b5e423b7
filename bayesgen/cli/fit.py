"""`bayesgen fit` and `bayesgen merge`: they write a model."""

from typing import Any

import numpy as np

from bayesgen.cli import options, printing
from bayesgen.cli.data import LabelledData
from bayesgen.errors import BayesgenError
from bayesgen.estimators import StackedClassifier, load
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.judged_rows import ROWS_JUDGED
from bayesgen.inference.leave_one_out import LabelledRows
from bayesgen.sources import PART_ROWS
from bayesgen.table import Table, read_table

MOST_LEFT_OUT = 20_000
"""Rows that are left out, each in turn: of more, every second, third, ... one."""


def fit_model(
    data: options.DataName,
    /,
    *,
    out: options.ModelOut,
    target: options.Target = None,
    model: options.AnyModel = "stacked",
    inference: options.Inference = "auto",
    unlabelled: options.Weight = "learn",
    prior: options.Prior = None,
    seed: options.Seed = 0,
    sampling: options.Sampling = options.DEFAULT_LENGTH,
    features: options.Features = options.ALL_COLUMNS,
    csv: options.CsvFormat = options.AS_SHOWN,
    batch: options.Rows = PART_ROWS,
    json: options.Json = False,
) -> None:
    """Fit a model to the rows of a file, and save it.

    The file, a folder of files or a pattern, is read part by part, and may be larger than memory;
    if some rows have no class, all rows are held in memory. Columns keep one type throughout. A
    stack, the default, reads the rows twice, and learns its weights from 20,000 of them. Where the
    fit has a closed form, its rows are predicted in turn, each from all others: their log loss and
    accuracy are printed beside those of the class frequencies.

    Args:
        out: File to write the model to, by custom one that ends in .bgm (see `bayesgen predict`).
    """
    rows = LabelledData.read(data, target, features, csv, part_rows=batch)
    table = rows.first_features()
    classifier = options.new_classifier(model, inference, seed, unlabelled, sampling)
    if unlabelled is None:
        rows.require_classes(options.NOT_NONE)
    if rows.without_class:
        X, y, _ = rows.rows()
        classifier.fit(X, y)
    else:
        classifier.fit(rows.source, rows.target)
    options.with_prior(classifier, prior).save(out)
    facts, lines = _described(classifier, rows, table)
    if prior is not None:
        facts["prior"], lines["prior"] = dict(prior), printing.name_counts(prior)
    facts |= {"out": {"path": str(out), "bytes": out.stat().st_size}, "seed": seed}
    lines["out"] = printing.file_in_words(out)
    printing.print_answer(facts, lines, json=json)
    if isinstance(classifier, StackedClassifier) and not json:
        printing.print_members(classifier.members_table())


def _described(
    classifier: Classifier, rows: LabelledData, table: Table
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return facts and lines about the rows, the model and its fit."""
    words = printing.model_in_words(classifier, table)
    facts = rows.facts(table) | {"model": words} | printing.facts_of_fit(classifier)
    if rows.without_class:
        facts["unlabelled_weight"] = classifier.unlabelled_weight_
    lines = printing.lines_of_data(facts) | {"model": words}
    lines["fit"] = f"{facts['inference']}: {facts['verdict']}"
    scores = left_out_scores(classifier, rows)
    if scores is None:
        lines["left out"] = "not scored for this fit; bayesgen compare scores rows left out"
    else:
        facts["leave_one_out"] = scores
        lines["left out"] = (
            f"log loss {scores['log_loss']:.3f}, accuracy {scores['accuracy']:.1%}; class "
            f"frequencies: {scores['frequencies_log_loss']:.3f}, "
            f"{scores['frequencies_accuracy']:.1%}"
        )
    if isinstance(classifier, StackedClassifier):
        share = classifier.pool_share_
        facts["members"] = classifier.members_table().reset_index().to_dict("records")
        facts["pool_share"] = share
        lines["pools"] = f"{1 - share:.0%} linear, {share:.0%} log-linear"
    return facts, lines


def left_out_scores(classifier: Classifier, rows: LabelledData) -> dict[str, float] | None:
    """Return mean log loss (nats) and accuracy of rows, each predicted from all others.

    Args:
        classifier: that was just fitted.
        rows: of the fit.

    Returns:
        log_loss, accuracy and rows, how many were left out; frequencies_log_loss and
        frequencies_accuracy, the same of the class frequencies alone. None: the posterior has no
        closed form, from which rows can be subtracted.
    """
    details = classifier.report_.details
    if "leave-one-out accuracy" in details:  # of a stack, which has found them when it was fitted
        loss, accuracy = details["leave-one-out log loss"], details["leave-one-out accuracy"]
        n_rows = int(details[ROWS_JUDGED])
    elif classifier.inference_ == "exact" and not rows.without_class:
        state, posterior = classifier.state_, classifier.posterior_
        X, y, _ = rows.rows(-(-rows.n_rows // MOST_LEFT_OUT))
        encoded = state.schema.encode(read_table(X), classifier.unseen)
        codes, ones = np.searchsorted(classifier.classes_, y), np.ones(len(y))
        try:
            left_out = LabelledRows(encoded, codes, ones, ones)
            scores = state.leave_one_out(classifier.class_prior, left_out, posterior.reader)
        except BayesgenError:  # a class is too small to lose a row
            return None
        log_proba = posterior.log_proba(scores)
        loss = float(-log_proba[np.arange(len(codes)), codes].mean())
        accuracy, n_rows = float((log_proba.argmax(axis=1) == codes).mean()), len(codes)
    else:
        return None
    counts = np.array([rows.counts.get(label, 0) for label in classifier.classes_.tolist()])
    # the others, and one more of each class, as the default prior of the classes has it
    share = counts / (counts.sum() - 1 + len(counts))
    return {
        "log_loss": loss,
        "accuracy": accuracy,
        "rows": n_rows,
        "frequencies_log_loss": float(-(np.log(share) * counts).sum() / counts.sum()),
        "frequencies_accuracy": float(counts.max() / counts.sum()),
    }


def merge_models(
    first: options.FittedFile,
    second: options.FittedFile,
    /,
    *others: options.FittedFile,
    out: options.ModelOut,
    json: options.Json = False,
) -> None:
    """Merge fitted models into one, as if fitted to the rows of all of them together.

    Files hold statistics instead of rows: places that may not share rows can share these. All must
    be of one model, fitted to the same columns; levels and classes may differ. Stacks are fitted to
    the rows of all, which their files hold only if Python wrote them: clf.save(path, rows=True).

    Args:
        out: File to write the merged model to.
    """
    classifier = load(first)
    for path in (second, *others):
        try:
            classifier = classifier.merge(load(path))
        except BayesgenError as error:
            error.add_note(f"merging {first}, {path}")
            raise
    classifier.save(out)
    (fitted, *_) = getattr(classifier, "members_", {"": classifier}).values()
    labels, weights = map(str, classifier.classes_), fitted.state_.statistics.count.tolist()
    facts = {
        "models": list(map(str, (first, second, *others))),
        "classifier": type(classifier).__name__,
        "rows": sum(weights),
        "classes": dict(zip(labels, weights, strict=True)),
        **printing.facts_of_fit(classifier),
        "out": {"path": str(out), "bytes": out.stat().st_size},
    }
    lines = {
        "models": ", ".join(facts["models"]),
        "rows": f"{facts['rows']:,.12g}: {printing.name_counts(facts['classes'])}",
        "fit": f"{facts['classifier']}, {facts['inference']}: {facts['verdict']}",
        "out": printing.file_in_words(out),
    }
    printing.print_answer(facts, lines, json=json)
