"""The sections of a report, and the file they are written to; report.html has what they say."""

import datetime
import os
from collections.abc import Callable
from typing import Any

from bayesgen import page
from bayesgen.compare.as_text import subgroups_as_text
from bayesgen.compare.html_page import grid
from bayesgen.plots.fitted import FittedClassifier
from bayesgen.plots.style import pyplot
from bayesgen.report.calibration import calibration
from bayesgen.report.columns import data
from bayesgen.report.costs import costs
from bayesgen.report.drivers import drivers
from bayesgen.report.measurements import Measurements, what_to_measure
from bayesgen.report.method import method
from bayesgen.report.parameters import parameters
from bayesgen.report.reproduce import reproduction
from bayesgen.report.rows import Notable, notable_rows
from bayesgen.report.subject import judged
from bayesgen.report.verdict import verdict
from bayesgen.report.words import listed, share


def write_report(
    clf: FittedClassifier,
    path: str | os.PathLike,
    X: object,
    y: object,
    *,
    title: str | None = None,
    notes: str = "",
    command: str | None = None,
    date: datetime.date | None = None,
    in_sample: Callable[[object, object], str] | None = None,
    **options: Any,
) -> None:
    """Write the report of a fitted classifier; see `Classifier.report_html`.

    Args:
        clf: a fitted classifier of this library.
        path: of the file, which is replaced.
        X: rows to report on, usually those of the fit.
        y: their labels.
        title: of the page.
        notes: intended use and limits, as Markdown of headings (#), items (-, *, 1.) and
            paragraphs, whose other marks stay as typed; "": none.
        command: that was typed; None: a call in Python.
        date: of the report; None: today.
        in_sample: rows and labels -> that they are those of the fit, in words; "": others.
        options: loss, reject, by, cv and random_state.
    """
    pyplot()  # refuse before anything is computed
    blocks = page.notes_as_blocks(notes)
    subject = judged(clf, X, y, "python" if command is None else "shell", **options)
    day = datetime.datetime.now().astimezone().date() if date is None else date
    columns, notable = drivers(subject), Notable.of(subject)
    measurements = Measurements(subject, notable.rows)
    html = page.html(
        "bayesgen.report",
        "report.html",
        {"share": share, "listed": listed},
        title=f"Report of {subject.name}" if title is None else title,
        subtitle=f"{subject.name}, {subject.table.n_rows:,} rows, {len(subject.columns)} columns, "
        f"{day}",
        subject=subject,
        n=len(subject.codes),
        notes=blocks,
        in_sample="" if in_sample is None else in_sample(subject.X, y),
        verdict=verdict(subject),
        calibration=calibration(subject),
        subgroups=grid(subgroups_as_text(subject.comparison.subgroups))
        if subject.by is not None
        else None,
        drivers=columns,
        costs=costs(subject),
        rows=notable_rows(notable, measurements, columns["names"]),
        measure=what_to_measure(measurements),
        data=data(subject),
        parameters=parameters(subject),
        method=method(subject),
        reproduce=reproduction(subject, command, day),
    )
    page.write(path, html)
