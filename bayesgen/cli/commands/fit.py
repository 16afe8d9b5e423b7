"""`bayesgen fit`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from bayesgen.cli import printing
from bayesgen.cli.data_file import DataFile
from bayesgen.cli.left_out import LeftOutScores
from bayesgen.cli.models import (
    in_words,
    new_classifier,
    require_numbers,
    require_weight,
    with_prior,
)
from bayesgen.cli.options import (
    ALL_COLUMNS,
    AS_SHOWN,
    DEFAULT_LENGTH,
    NOT_NONE,
    AnyModel,
    CsvFormat,
    DataName,
    Features,
    Inference,
    Json,
    Prior,
    Rows,
    Sampling,
    Seed,
    Target,
    Weight,
)
from bayesgen.cli.target_column import LabelledRows, TargetColumn
from bayesgen.estimators import StackedClassifier
from bayesgen.sources import PART_ROWS
from bayesgen.table import read_table


def fit_model(
    data: DataName,
    /,
    *,
    out: Annotated[
        Path,
        Parameter(
            name=["--out", "-o"],
            help="File to write the model to, by custom one that ends in .bgm (see `bayesgen "
            "predict`).",
        ),
    ],
    target: Target = None,
    model: AnyModel = "stacked",
    inference: Inference = "auto",
    unlabelled: Weight = "learn",
    prior: Prior = None,
    seed: Seed = 0,
    sampling: Sampling = DEFAULT_LENGTH,
    features: Features = ALL_COLUMNS,
    csv: CsvFormat = AS_SHOWN,
    batch: Rows = PART_ROWS,
    json: Json = False,
) -> None:
    """Fit a model to the rows of a file, and save it.

    The file, a folder of files or a pattern, is read part by part, and may be larger than memory;
    if some rows have no class, all rows are held in memory. Columns keep one type throughout. A
    stack, the default, reads the rows twice, and learns its weights from 20,000 of them. Where the
    fit has a closed form, its rows are predicted in turn, each from all others: their log loss and
    accuracy are printed beside those of the class frequencies.
    """
    file = DataFile.find(data, csv, batch)
    printing.print_notes(file.notes())
    name = file.target(target)
    file = file.with_features(features, name)
    column = TargetColumn.read(file, name)
    table = read_table(file.first().without(column.name).frame)
    require_numbers(model, table)
    if unlabelled is None:
        column.require_classes(NOT_NONE)
    if column.without_class:
        require_weight(inference, unlabelled)
    classifier = new_classifier(model, inference, seed, unlabelled, sampling.stated)
    if column.without_class:
        rows = LabelledRows.read(file, column.name)
        classifier.fit(rows.X, rows.y)
    else:
        classifier.fit(file.source, column.name)
    left_out = LeftOutScores.of(classifier, file, column)
    with_prior(classifier, prior).save(out)
    report, words = classifier.report_, in_words(classifier, table)
    facts = printing.facts_of_data(data, column, table) | {"model": words}
    facts |= printing.facts_of_fit(classifier)
    if column.without_class:
        facts["unlabelled_weight"] = classifier.unlabelled_weight_
    lines = {"model": words, "fit": f"{report.method}: {facts['verdict']}"}
    if left_out is not None:
        facts["leave_one_out"] = left_out.facts()
        lines["left out"] = left_out.in_words()
    else:
        lines["left out"] = "not scored for this fit; bayesgen compare scores rows left out"
    members = None
    if isinstance(classifier, StackedClassifier):
        members, share = classifier.members_table(), classifier.pool_share_
        facts |= {"members": members.reset_index().to_dict("records"), "pool_share": share}
        lines["pools"] = f"{1 - share:.0%} linear, {share:.0%} log-linear"
    if prior is not None:
        facts["prior"] = dict(prior)
        lines["prior"] = printing.name_counts(prior)
    size = out.stat().st_size
    facts |= {"out": {"path": str(out), "bytes": size}, "seed": seed}
    if json:
        print(printing.to_json(facts))
    else:
        printing.print_data(facts, **lines, out=f"{out} ({size:,} bytes)")
        if members is not None:
            printing.print_members(members)
    printing.print_notes(column.notes())
