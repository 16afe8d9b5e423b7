"""`bayesgen report`."""

import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from bayesgen.cli import printing
from bayesgen.cli.data_file import DataFile
from bayesgen.cli.models import in_words, new_classifier
from bayesgen.cli.options import (
    ALL_COLUMNS,
    AS_SHOWN,
    DEFAULT_LENGTH,
    AnyModel,
    CsvFormat,
    DataName,
    Features,
    Folds,
    Inference,
    Json,
    Sampling,
    Seed,
    Target,
)
from bayesgen.cli.target_column import LabelledRows
from bayesgen.cli.typed import typed
from bayesgen.estimators import load
from bayesgen.plots.style import pyplot
from bayesgen.report import Origin, write_report
from bayesgen.table import read_table


def report_page(
    data: DataName,
    /,
    *,
    html: Annotated[Path, Parameter(help="File to write.")],
    target: Target = None,
    fitted: Annotated[
        Path | None,
        Parameter(help="A model that `bayesgen fit` saved; the page is then about it."),
    ] = None,
    model: AnyModel = "stacked",
    inference: Inference = "auto",
    cv: Folds = 5,
    seed: Seed = 0,
    sampling: Sampling = DEFAULT_LENGTH,
    features: Features = ALL_COLUMNS,
    csv: CsvFormat = AS_SHOWN,
    json: Annotated[
        Json, Parameter(help="Print JSON: where the page is and how the fit ended.")
    ] = False,
) -> None:
    """Write a report as one self-contained HTML page.

    Verdict, calibration, what drives the decision, confusion and costs, rows to look at, the data,
    parameters, method. Fits the model (or takes a fitted one), and compares it with logistic
    regression and the class frequencies on rows left out of their fits, in the same folds.
    """
    pyplot()  # refuse before anything is read or fitted
    file = DataFile.find(data, csv)
    printing.print_notes(file.notes())
    rows = LabelledRows.read(file, target, features=features)
    rows.target.require_classes()
    table = read_table(rows.X)
    if fitted is not None:
        classifier = load(fitted)
    else:
        classifier = new_classifier(model, inference, seed, sampling=sampling.stated)
        classifier.fit(rows.X, rows.y)
    write_report(
        classifier,
        html,
        rows.X,
        rows.y,
        title=f"{data}: {rows.target.name}",
        cv=cv,
        random_state=seed,
        origin=Origin(shlex.join(["bayesgen", *typed.get()]), Path(data)),
    )
    facts = {
        "data": data,
        "target": rows.target.name,
        "model": in_words(classifier, table),
        "fit": f"{classifier.inference_}: {classifier.report_.outcome.text('shell')}",
        "page": f"{html} ({html.stat().st_size:,} bytes)",
    }
    if json:
        print(printing.to_json(facts))
    else:
        printing.print_facts(facts)
