"""`bayesgen fit` and `bayesgen merge`: they write a model."""

import textwrap
from collections import Counter
from typing import Any

from bayesgen.cli import options, printing
from bayesgen.cli.data import LabelledData
from bayesgen.compare.as_text import MEMBERS_LEGEND, WIDTH, aligned, members_as_text
from bayesgen.errors import BayesgenError
from bayesgen.estimators import StackedClassifier, load
from bayesgen.estimators.classifier import Classifier
from bayesgen.sources import PART_ROWS
from bayesgen.table import Table


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
    stack, the default, reads the rows twice, and learns its weights from 20,000 of them.

    Args:
        out: File to write the model to, by convention ending in .bgm (see `bayesgen predict`).
    """
    rows = LabelledData.read(data, target, features, csv, part_rows=batch)
    table = rows.first_features()
    classifier = options.new_classifier(model, inference, seed, unlabelled, sampling)
    if unlabelled is None:
        rows.require_classes(options.NOT_NONE)
    read = rows.print_first(table, json=json)
    if rows.without_class:
        X, y, _ = rows.rows()
        classifier.fit(X, y)
    else:
        classifier.fit(rows.source, rows.target)
    options.with_prior(classifier, prior).save(out)
    facts, lines = _described(classifier, read, table)
    if prior is not None:
        facts["prior"], lines["prior"] = dict(prior), printing.name_counts(prior)
    facts |= {"out": {"path": str(out), "bytes": out.stat().st_size}, "seed": seed}
    lines["out"] = printing.file_in_words(out)
    printing.print_answer(facts, lines, json=json)
    if isinstance(classifier, StackedClassifier) and not json:
        members = members_as_text(classifier.members_table())
        print(f"\n{aligned(members)}\n\n{textwrap.fill(MEMBERS_LEGEND, WIDTH)}")


def _described(
    classifier: Classifier, read: dict[str, Any], table: Table
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return facts about rows that were read, the model and its fit, and lines about the latter."""
    words = printing.model_in_words(classifier, table)
    facts = read | {"model": words} | printing.facts_of_fit(classifier)
    lines = {"model": words}
    if facts["rows_without_class"]:
        weight = facts["unlabelled_weight"] = classifier.unlabelled_weight_
        lines["no class"] = f"mean weight {weight:.2g} of the rows without a label"
    lines["fit"] = f"{facts['inference']}: {facts['verdict']}"
    loss = classifier.report_.details.get("leave-one-out log loss")
    if loss is not None:
        facts["leave_one_out_log_loss"] = loss
        lines["left out"] = f"log loss {loss:.3f} of rows, each predicted from the others"
    if isinstance(classifier, StackedClassifier):
        share = classifier.pool_share_
        facts["members"] = classifier.members_table().reset_index().to_dict("records")
        facts["pool_share"] = share
        lines["pools"] = f"{1 - share:.0%} linear, {share:.0%} log-linear"
    return facts, lines


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
    paths = (first, second, *others)
    named = Counter(path.resolve() for path in paths)
    classifier = load(first)
    for path in paths[1:]:
        try:
            classifier = classifier.merge(load(path))
        except BayesgenError as error:
            error.add_note(f"merging {first}, {path}")
            raise
    classifier.save(out)
    (fitted, *_) = getattr(classifier, "members_", {"": classifier}).values()
    labels, weights = map(str, classifier.classes_), fitted.state_.statistics.count.tolist()
    facts = {
        "models": list(map(str, paths)),
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
    printing.print_notes(
        f"{path.name} is merged {times} times, and its rows count as often; name each file once."
        for path, times in named.items()
        if times > 1
    )
