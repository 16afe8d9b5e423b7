"""`bayesgen fit` and `bayesgen merge`: they write a model."""

from collections import Counter

from bayesgen.cli import options, printing
from bayesgen.errors import BayesgenError
from bayesgen.sources.defaults import PART_ROWS


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
    from bayesgen.cli import facts, stated
    from bayesgen.cli.data import LabelledData, is_text
    from bayesgen.estimators import StackedClassifier

    rows = LabelledData.read(data, target, features, csv, part_rows=batch)
    table = rows.first_features()
    classifier = stated.new_classifier(model, inference, seed, unlabelled, sampling)
    if unlabelled is None:
        rows.require_classes(options.NOT_NONE)
    words = model == "bag-of-words" and is_text(table)
    read = rows.print_first(table, json=json, odd=not words)
    if rows.without_class or words:  # which are chosen from all texts
        X, y, _ = rows.rows()
        classifier.fit(X, y)
    else:
        classifier.fit(rows.source, rows.target)
    stated.with_prior(classifier, prior).save(out)
    found, lines = facts.described(classifier, read, table)
    if prior is not None:
        found["prior"], lines["prior"] = dict(prior), printing.name_counts(prior)
    found |= {"out": {"path": str(out), "bytes": out.stat().st_size}, "seed": seed}
    lines["out"] = printing.file_in_words(out)
    printing.print_answer(found, lines, json=json)
    if isinstance(classifier, StackedClassifier) and not json:
        print(f"\n{facts.members_in_words(classifier)}")


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
    from bayesgen.cli.facts import facts_of_fit
    from bayesgen.estimators import load

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
        **facts_of_fit(classifier),
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
