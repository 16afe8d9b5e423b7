"""`bayesgen report`."""

import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from bayesgen.cli import printing
from bayesgen.cli.data import LabelledData
from bayesgen.cli.options import (
    ALL_COLUMNS,
    AS_SHOWN,
    DEFAULT_LENGTH,
    TYPED,
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
    new_classifier,
)
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
    rows = LabelledData.read(data, target, features, csv)
    rows.require_classes()
    X, y, _ = rows.rows()
    if fitted is not None:
        classifier = load(fitted)
    else:
        classifier = new_classifier(model, inference, seed, sampling=sampling).fit(X, y)
    write_report(
        classifier,
        html,
        X,
        y,
        title=f"{data}: {rows.target}",
        cv=cv,
        random_state=seed,
        origin=Origin(shlex.join(["bayesgen", *TYPED.get()]), Path(data)),
    )
    facts = {
        "data": data,
        "target": rows.target,
        "model": printing.model_in_words(classifier, read_table(X)),
        "fit": f"{classifier.inference_}: {printing.sentence(classifier.report_.outcome)}",
        "page": printing.file_in_words(html),
    }
    printing.print_answer(facts, facts, json=json)
