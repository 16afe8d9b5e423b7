"""`bayesgen report`."""

import shlex
from pathlib import Path

from bayesgen.cli import options, printing


def report_page(
    data: options.DataName,
    /,
    *,
    html: Path,
    target: options.Target = None,
    fitted: Path | None = None,
    model: options.AnyModel = "stacked",
    inference: options.Inference = "auto",
    cost: options.Costs = None,
    by: options.By = None,
    notes: options.Notes = "",
    cv: options.Folds = 5,
    seed: options.Seed = 0,
    sampling: options.Sampling = options.DEFAULT_LENGTH,
    features: options.Features = options.ALL_COLUMNS,
    csv: options.CsvFormat = options.AS_SHOWN,
    json: options.Flag = False,
) -> None:
    """Write a report as one self-contained HTML page.

    Verdict, intended use, calibration, scores by subgroup, what drives the decision, confusion and
    costs, rows to look at, what to measure next, the data, parameters, method. Fits the model (or
    takes a fitted one), and compares it with logistic regression and the class frequencies on rows
    left out of their fits, in the same folds.

    Args:
        html: File to write.
        fitted: A model that `bayesgen fit` saved; the page is then about it, and about the columns
            that it was fitted to.
        json: Print JSON: where the page is and how the fit ended.
    """
    from bayesgen.cli.data import WORDS, LabelledData, counted_words, is_text
    from bayesgen.cli.facts import model_in_words
    from bayesgen.cli.stated import losses, new_classifier
    from bayesgen.estimators import load
    from bayesgen.plots.style import pyplot
    from bayesgen.report.subject import columns_of_fit
    from bayesgen.schema import identifiers, set_aside
    from bayesgen.table import read_table

    pyplot()  # refuse before anything is read or fitted
    rows = LabelledData.read(data, target, features, csv, by=by)
    rows.require_classes()
    X, y, _ = rows.rows()
    # refuse before anything is fitted
    loss, levels = losses(cost, rows.counts), rows.subgroups()
    table = read_table(X)
    words = model == "bag-of-words" and is_text(table)
    rows.print_first(table, json=json, odd=not words)
    if words and fitted is None:
        X = counted_words(table)
        printing.print_notes([f"texts are read as counts of their {WORDS} most frequent words."])
    if fitted is not None:
        classifier = load(fitted)
        X = columns_of_fit(classifier, X)
    else:
        classifier = new_classifier(model, inference, seed, sampling=sampling).fit(X, y)
    classifier.report_html(
        html,
        X,
        y,
        title=rows.title,
        loss=loss,
        by=levels,
        notes=notes,
        cv=cv,
        random_state=seed,
        command=shlex.join(["bayesgen", *options.TYPED.get()]),
    )
    table = read_table(X)
    facts = {
        "data": data,
        "target": rows.target,
        "model": model_in_words(classifier, set_aside(table, identifiers(table))),
        "fit": f"{classifier.inference_}: {printing.sentence(classifier.report_.outcome)}",
        "page": printing.file_in_words(html),
    }
    lines = {name: facts[name] for name in ("model", "fit", "page")}
    printing.print_answer(facts, lines, json=json)
