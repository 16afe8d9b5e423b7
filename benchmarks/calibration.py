"""Whose probabilities are right? Bayes, MLE and MAP beside scikit-learn, on real tables.

Naive Bayes on every table, LDA and QDA on those of numbers alone; 24 training rows, and 10-fold
cross-validation. With --strengths: the scan of prior strengths by which the defaults were
chosen.
"""

import argparse
import json
from pathlib import Path

from calibration_report import markdown, strengths
from calibration_scores import score_all
from calibration_strengths import SCANS, scan
from calibration_tables import SMALL_DRAWS, halves, load


def main() -> None:
    """Print Markdown; keep the figures where --json says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--tables",
        type=Path,
        metavar="DIR",
        help="folder of NAME.csv with the column 'class', and schema.json: {name: {features: "
        "{column: numeric, binary or categorical}}}; without it the bundled tables",
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="TABLE", help="these tables")
    parser.add_argument("--rivals", nargs="+", default=[], metavar="NAME", help="these rivals")
    parser.add_argument("--draws", type=int, default=SMALL_DRAWS, help="of 24 rows (%(default)s)")
    parser.add_argument("--seeds", type=int, default=1, help="of 10-fold (%(default)s)")
    parser.add_argument(
        "--strengths", nargs="*", choices=SCANS, metavar="KIND", help=f"scan: {', '.join(SCANS)}"
    )
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="keep the figures here; those of an earlier run of the same code are not run again",
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the report here too")
    parser.add_argument("--quick", action="store_true", help="two tables: does everything run?")
    arguments = parser.parse_args()
    report = _hyperparameters(arguments) if arguments.strengths is not None else _scores(arguments)
    print(report)
    if arguments.markdown:
        arguments.markdown.write_text(report, encoding="utf-8")


def _scores(arguments: argparse.Namespace) -> str:
    tables = load(arguments.tables, arguments.only)
    splits = {"small": arguments.draws, "full": arguments.seeds}
    if arguments.quick:
        tables, splits = tables[:2], {"small": 2, "full": 1}
    return markdown(score_all(tables, splits, arguments.rivals, arguments.json))


def _hyperparameters(arguments: argparse.Namespace) -> str:
    tables = load(arguments.tables, arguments.only)
    splits = {"small": arguments.draws, "full": arguments.seeds}
    parts = []
    for name in arguments.strengths or SCANS:
        settings = SCANS[name].settings
        if arguments.quick:
            tables, splits, settings = tables[:3], {"small": 1, "full": 1}, SCANS[name].few()
        records = scan(name, tables, splits, settings)
        parts += [f"## {name}", strengths(records, SCANS[name].default, halves(tables))]
        if arguments.json:
            arguments.json.with_suffix(f".{name.replace(' ', '_')}.json").write_text(
                json.dumps(records, indent=1), encoding="utf-8"
            )
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    main()
