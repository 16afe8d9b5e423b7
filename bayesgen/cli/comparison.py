"""What `bayesgen compare` prints: scores for programs, and sentences about the fits."""

from collections.abc import Mapping, Sequence
from typing import Any

from bayesgen.cli import printing
from bayesgen.compare import Comparison
from bayesgen.errors import Words
from bayesgen.estimators.method_names import METHODS


def scores(
    fewer: Sequence[Comparison], comparison: Comparison, notes: Sequence[Words | str]
) -> dict[str, Any]:
    """Return scores, members, notes and warnings for JSON."""
    tables = {
        run.train_size: {
            "folds": run.folds,
            "classifiers": run.table.reset_index().to_dict("records"),
            "members": run.members.reset_index().to_dict("records"),
            "subgroups": run.subgroups.reset_index().to_dict("records"),
        }
        for run in (*fewer, comparison)
    }
    warned = comparison.warned.items()
    return tables.pop(comparison.train_size) | {
        "train_rows": tables,
        "notes": list(map(printing.sentence, [*notes, *comparison.noted])),
        "warnings": {name: list(map(printing.sentence, texts)) for name, texts in warned},
    }


def missing_in_words(facts: Mapping[str, Any]) -> str:
    """Return "19 cells in 11 rows (sex 11, ...)"."""
    if not facts["missing_cells"]:
        return "none"
    columns = printing.name_counts(facts["missing_by_column"])
    return f"{facts['missing_cells']:,} cells in {facts['rows_with_missing']:,} rows ({columns})"


def note_of_labelled(names: Sequence[str]) -> str:
    """Return a sentence about classifiers that leave out rows without a class."""
    fitted = "is fitted" if len(names) == 1 else "are fitted"
    able = [name for name in names if name != METHODS["nuts"]]
    cure = f" For {' and '.join(able)} state one: --unlabelled 0.1." if able else ""
    return (
        f"{' and '.join(names)} {fitted} without the rows that have no class, whose weight cannot "
        f"be learned there.{cure}"
    )


def note_of_few(comparison: Comparison) -> str:
    """Return a sentence about the warnings of fits to few rows, which are not printed."""
    count = sum(map(len, comparison.warned.values()))
    warnings = "1 further warning" if count == 1 else f"{count:,} further warnings"
    return (
        f"fits to {comparison.train_size:,} rows gave {warnings}, of constant columns and the "
        f"like; --train-rows {comparison.train_size} shows {'it' if count == 1 else 'them'}."
    )
