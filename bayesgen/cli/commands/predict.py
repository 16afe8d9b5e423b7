"""`bayesgen predict`."""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
from cyclopts import Parameter, validators

from bayesgen import datasets
from bayesgen.cli import printing
from bayesgen.cli.data_file import DataFile, counted
from bayesgen.cli.models import with_prior
from bayesgen.cli.options import AS_SHOWN, CsvFormat, DataName, FittedFile, Json, Prior, Rows, Words
from bayesgen.cli.partial_output import PartialOutput, digest, identity
from bayesgen.cli.scored_labels import ScoredLabels, column_of_classes
from bayesgen.errors import BayesgenError, InvalidFile
from bayesgen.errors.sources import no_column, no_rows_in_source
from bayesgen.errors.wording import rows as in_rows
from bayesgen.estimators import Answers, load
from bayesgen.estimators.sources.predict import SourceColumns
from bayesgen.sources import PART_ROWS, Kinds, Part, Source
from bayesgen.sources.files import files_at

TARGET_HELP = (
    "Column that holds the classes, by which the answers are scored; by default the one column "
    "that the model does not read and that holds its classes alone. Or none."
)


class UnusableOutput(BayesgenError, ValueError):
    """The answers cannot be written in the form that was asked for."""


def _require_table_name(_: object, path: Path | None) -> None:
    if path is not None and path.suffix not in (".csv", ".parquet", ".pq"):
        raise ValueError("Name a file that ends in .parquet, .pq or .csv.")


def predict_rows(
    model: FittedFile,
    data: DataName,
    /,
    *,
    out: Annotated[
        Path | None,
        Parameter(
            name=["--out", "-o"],
            validator=_require_table_name,
            show_default=False,
            help="File to write to, .parquet, .pq or .csv; without it rows are printed as CSV.",
        ),
    ] = None,
    interval: Annotated[
        float | None,
        Parameter(
            validator=validators.Number(gt=0, lt=1),
            show_default=False,
            help="Share of the posterior between lower_K and upper_K, such as 0.9.",
        ),
    ] = None,
    draws: Annotated[
        bool,
        Parameter(
            negative="",
            show_default=False,
            help="Add draws_K, draws of probability_K from the posterior as a list, and their "
            "weight; in Parquet or JSON.",
        ),
    ] = False,
    keep: Annotated[
        Words,
        Parameter(
            help="A column of the file to copy beside the answers, such as a key; may be repeated."
        ),
    ] = (),
    target: Annotated[str | None, Parameter(show_default=False, help=TARGET_HELP)] = None,
    prior: Prior = None,
    csv: CsvFormat = AS_SHOWN,
    batch: Rows = PART_ROWS,
    json: Annotated[
        Json, Parameter(help="Print JSON: a summary, or without --out one object a row.")
    ] = False,
) -> None:
    """Answer about the rows of a file: class probabilities, intervals if asked for, and novelty.

    One row of predictions per row of the file, in its order: predicted (the most probable class),
    probability_K for each class K, with --interval lower_K and upper_K (mle and map have none) and
    log_density (log p(row): low for rows unlike every class). The file may be larger than memory,
    and the output is there at the end, whole, or not at all: until then finished parts lie beside
    it in OUT.partial, and the same command goes on from there. Columns that the model does not read
    are ignored, absent ones count as missing. If the file holds the classes, answers are scored.
    """
    classifier = with_prior(load(model), prior)
    file = DataFile.find(data, csv, batch)
    printing.print_notes(file.notes())
    if draws and not json and (out is None or out.suffix == ".csv"):
        raise UnusableOutput("--draws are lists, which CSV has not. Add --out answers.parquet.")
    answers = Answers.with_density(classifier, interval=interval, draws=draws)
    for name in keep:
        if name not in file.column_names:
            raise no_column(data, name, file.column_names)
        if name in answers.columns:
            raise UnusableOutput(
                f"--keep {name}: the answers have a column of this name. Rename it in the file."
            )
    labels = _labels(classifier, file, target, answers)
    beside = [*keep, *([labels.column] if labels and labels.column not in keep else [])]
    hidden = [name for name in beside if name not in keep]
    if out is None:
        stream = _Stream.of(answers, file.source, beside)
        with printing.table_writer(None, _without(stream.schema, hidden), lines=json) as write:
            total = file.source.n_rows
            for rows in printing.show_progress(stream.tables, "rows answered", total=total):
                if labels:
                    labels.add(rows)
                write(rows.drop_columns(hidden))
        if labels:
            printing.print_notes([f"scored {labels.in_words()}"])
        return
    run = {
        "bayesgen": version("bayesgen"),
        "model": digest(model),
        "files": [identity(path) for path in files_at(str(file.path))],
        "options": [interval, draws, beside, prior, vars(csv)],
    }
    with _kept_parts(out, run) as parts:
        source = _after(file.source, parts.n_rows)
        stream = _Stream.of(answers, source, beside, parts)
        counts = parts.n_rows, source.n_rows
        parts.write(printing.show_progress(stream.tables, "rows answered", *counts))
        count, schema = Counter(), _without(stream.schema, hidden)
        with printing.table_writer(out, schema, lines=False) as write:
            written = printing.show_progress(parts.tables(), "rows written", total=parts.n_written)
            for rows in written:
                if labels:
                    labels.add(rows)
                count += counted(rows.column("predicted"))
                write(rows.drop_columns(hidden))
    _print_summary(
        {
            "model": str(model),
            "classifier": type(classifier).__name__,
            "inference": classifier.inference_,
            "data": data,
            "rows": count.total(),
            "predicted": {str(label): count[label] for label in classifier.classes_.tolist()},
            "out": str(out),
            "columns": schema.names,
        },
        labels,
        json=json,
    )


def _print_summary(facts: dict[str, Any], labels: ScoredLabels | None, *, json: bool) -> None:
    """Print what was predicted, where it is and, if the file holds the classes, its scores."""
    lines = {
        "model": f"{facts['model']}: {facts['classifier']}, {facts['inference']}",
        "data": f"{facts['data']}: {facts['rows']:,} rows",
        "predicted": printing.name_counts(facts["predicted"]),
        "out": f"{facts['out']}: {', '.join(facts['columns'])}",
    }
    if labels:
        facts, lines = facts | {"scores": labels.facts()}, lines | {"scores": labels.in_words()}
    if json:
        print(printing.to_json(facts))
    else:
        printing.print_facts(lines)


@dataclasses.dataclass(frozen=True, eq=False)
class _Stream:
    """Answers as they are computed: their columns, and tables of rows."""

    schema: pa.Schema
    tables: Iterator[pa.Table]

    @classmethod
    def of(
        cls,
        answers: Answers,
        source: Source,
        beside: Sequence[str],
        parts: PartialOutput | None = None,
    ) -> "_Stream":
        """Return the answers to a source.

        Raises:
            InvalidData: it has no rows, and neither have the parts.
        """
        reader = answers.reader(source, beside)
        first, before = next(reader, None), None if parts is None else parts.schema()
        if first is None and before is None:
            raise no_rows_in_source(source.name)
        batches = itertools.chain([] if first is None else [first], reader)
        return cls(before or reader.schema, (pa.Table.from_batches([one]) for one in batches))


def _without(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    return pa.schema([field for field in schema if field.name not in names])


def _labels(
    classifier: Any, file: DataFile, target: str | None, answers: Answers
) -> ScoredLabels | None:
    """Return where to add up scores, if the file holds the classes."""
    classes = classifier.classes_.tolist()
    if target == "none":
        return None
    if target is not None and target not in file.column_names:
        raise no_column(file.name, target, file.column_names)
    if target is None and file.bundled:
        own = datasets.target(file.name)
        target = own if own in file.column_names else None
    if target is None:
        read = SourceColumns.match(classifier, file.name, file.column_names).reads
        target = column_of_classes(file, classes, list(map(str, read)))
    if target is None or target in answers.columns:
        return None
    return ScoredLabels(target, classes)


def _after(source: Source, n_rows: int) -> Source:
    """Return a source without its first rows."""
    if not n_rows:
        return source

    def read(kinds: Kinds | None) -> Iterator[Part]:
        left = n_rows
        for part in source.read(kinds):
            size = len(part)
            if left < size:
                yield part.rows(left, size)
            left = max(left - size, 0)

    return dataclasses.replace(source, read=read)


@contextmanager
def _kept_parts(out: Path, run: dict) -> Generator[PartialOutput]:
    """Give the finished parts of an output, which stay if it cannot be completed now."""
    parts = PartialOutput.beside(out, run)
    if parts.n_rows:
        printing.print_notes([f"resumed at row {parts.n_rows + 1:,} from {parts.folder}"])
    elif parts.begun_again:
        printing.print_notes(
            [f"{parts.folder} was of another model, input or command; all rows are answered anew"]
        )
    try:
        yield parts
    except (KeyboardInterrupt, InvalidFile) as stop:
        if found := parts.n_written:
            stop.add_note(
                f"{in_rows(found)} are kept in {parts.folder}; the same command resumes there"
            )
        else:
            parts.remove()
        raise
    except BaseException:
        parts.remove()
        raise
    parts.remove()
