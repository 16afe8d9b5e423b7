"""`bayesgen serve`."""

import signal
import zipfile
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, validators

from bayesgen.cli import options, printing


def serve_page(
    model: Annotated[
        str,
        Parameter(
            help="A file that `bayesgen fit` or clf.save(path) wrote; or rows to fit a stack to, "
            "which are served as soon as it is fitted: a file, as `bayesgen fit` takes it, or the "
            "name of a bundled data set."
        ),
    ],
    /,
    *,
    target: options.Target = None,
    host: str = "127.0.0.1",
    port: Annotated[int, Parameter(validator=validators.Number(gte=0, lte=65535))] = 8000,
    notes: options.Notes = "",
    cost_of: options.MeasuringCosts = None,
    served_as: options.Listed = (),
    seed: options.Seed = 0,
    features: options.Features = options.ALL_COLUMNS,
    csv: options.CsvFormat = options.AS_SHOWN,
) -> None:
    """Serve a model as a page with a form, for the person who decides.

    The page has a field for each column, and answers at every change: the probability of each class
    with its interval, the prediction set, what to measure next, why, and whether the row is
    strange. Programs ask by `POST /predict`. It answers to this machine alone unless --host says
    otherwise; nothing that is typed is stored or logged. Ctrl-C ends it. It needs
    `pip install "bayesgen[app]"`.

    Args:
        host: Address of this machine to answer at; 0.0.0.0 answers to the whole network.
        port: Number of the port; 0 takes a free one.
        served_as: Names under which the page is asked for, beside localhost, numeric addresses and
            the name of this machine, separated by commas.
    """
    from bayesgen.app import serve
    from bayesgen.app.model import HOLDS
    from bayesgen.cli.data import LabelledData
    from bayesgen.cli.progress import progress_lines
    from bayesgen.cli.stated import new_classifier
    from bayesgen.errors.packages import require_pages
    from bayesgen.estimators import load
    from bayesgen.table import read_table

    require_pages()  # refuse before anything is read or fitted
    if target is None and is_model(model):
        classifier, title = load(model), Path(model).stem
    else:
        rows = LabelledData.read(model, target, features, csv)
        X, y, _ = rows.rows()
        rows.print_first(read_table(X), json=False)
        with progress_lines("fit"):
            classifier, title = new_classifier("stacked", "auto", seed).fit(X, y), rows.title
    printing.print_notes([f"rows that the model holds: {HOLDS[classifier.describe().holds]}"])
    # of a service that is stopped, as Ctrl-C
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        serve(
            classifier,
            host=host,
            port=port,
            title=title,
            notes=notes,
            cost_of=cost_of,
            served_as=served_as,
            wait=True,
        )
    except KeyboardInterrupt:
        return


def is_model(path: str) -> bool:
    """Return whether a file holds a model, and not rows."""
    if not Path(path).is_file() or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as file:
        return "model.json" in file.namelist()
