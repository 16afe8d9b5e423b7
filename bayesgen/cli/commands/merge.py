"""`bayesgen merge`."""

import contextlib
from collections.abc import Generator
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from bayesgen.cli import printing
from bayesgen.cli.options import FittedFile, Json
from bayesgen.errors import BayesgenError
from bayesgen.estimators import load


def merge_models(
    first: FittedFile,
    second: FittedFile,
    /,
    *others: FittedFile,
    out: Annotated[
        Path, Parameter(name=["--out", "-o"], help="File to write the merged model to.")
    ],
    json: Json = False,
) -> None:
    """Merge fitted models into one, as if fitted to the rows of all of them together.

    Files hold statistics instead of rows: places that may not share rows can share these. All must
    be of one model, fitted to the same columns; levels and classes may differ. A saved stack does
    not merge, because its weights rest on single rows.
    """
    paths = [first, second, *others]
    classifier = load(first)
    for path in paths[1:]:
        with naming_files(first, path):
            classifier = classifier.merge(load(path))
    classifier.save(out)
    report, size = classifier.report_, out.stat().st_size
    labels, weights = map(str, classifier.classes_), classifier.state_.statistics.count.tolist()
    facts = {
        "models": list(map(str, paths)),
        "classifier": type(classifier).__name__,
        "rows": sum(weights),
        "classes": dict(zip(labels, weights, strict=True)),
        **printing.facts_of_fit(classifier),
        "out": {"path": str(out), "bytes": size},
    }
    lines = {
        "models": ", ".join(facts["models"]),
        "rows": f"{facts['rows']:,.12g}: {printing.name_counts(facts['classes'])}",
        "fit": f"{facts['classifier']}, {report.method}: {report.outcome.text('shell')}",
        "out": f"{out} ({size:,} bytes)",
    }
    if json:
        print(printing.to_json(facts))
    else:
        printing.print_facts(lines)


@contextlib.contextmanager
def naming_files(*paths: Path) -> Generator[None]:
    """Name the files of models that are merged in errors about them."""
    try:
        yield
    except BayesgenError as error:
        error.add_note(f"merging {', '.join(map(str, paths))}")
        raise
