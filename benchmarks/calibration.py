"""Whose probabilities are right? Ours and their rivals on real tables, small, full and incomplete.

Log probabilities of every fit are kept in a folder, and only what it lacks is fitted; the report
is made from the folder alone. With --strengths: the scan of prior strengths by which the defaults
were chosen.
"""

import argparse
import json
import tempfile
from pathlib import Path

from calibration_cache import Cache, fill
from calibration_pictures import draw
from calibration_regimes import REGIMES
from calibration_report import Results, markdown
from calibration_rivals import OURS, classifiers, installed, source_version
from calibration_strengths import SCANS, report, scan
from calibration_tables import Benchmark, halves, load


def main() -> None:
    """Fit what is not yet in the cache and print Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--tables",
        type=Path,
        metavar="DIR",
        help="folder of NAME.csv with the column 'class', and schema.json: {name: {features: "
        "{column: numeric, binary or categorical}}}; without it scikit-learn's and bundled tables",
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="TABLE", help="these tables")
    parser.add_argument("--open", action="store_true", help="the folder's tables alone")
    parser.add_argument("--regimes", nargs="+", default=[*REGIMES], choices=REGIMES, metavar="NAME")
    parser.add_argument("--classifiers", nargs="+", default=[], metavar="NAME", help="only these")
    parser.add_argument(
        "--cache", type=Path, metavar="DIR", help="log probabilities of every fit, outside the tree"
    )
    parser.add_argument("--only-ours", metavar="VERSION", help="fit ours alone, under this name")
    parser.add_argument(
        "--version",
        nargs="+",
        default=[source_version()],
        metavar="NAME",
        help="of ours: the first is fitted and reported, the others reported beside it (default: "
        "a hash of the source)",
    )
    parser.add_argument(
        "--against", default="stack", metavar="NAME", help="set against all others (%(default)s)"
    )
    parser.add_argument("--splits", type=int, metavar="N", help="the first N splits of each regime")
    parser.add_argument("--report", action="store_true", help="report the cache; fit nothing")
    parser.add_argument(
        "--strengths", nargs="*", choices=SCANS, metavar="KIND", help=f"scan: {', '.join(SCANS)}"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the scans' figures here")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the report here too")
    parser.add_argument("--pictures", type=Path, metavar="DIR", help="draw pictures here")
    parser.add_argument("--quick", action="store_true", help="three tables: does everything run?")
    arguments = parser.parse_args()
    text = _scores(arguments) if arguments.strengths is None else _strengths(arguments)
    print(text)
    if arguments.markdown:
        arguments.markdown.write_text(text, encoding="utf-8")


def _scores(arguments: argparse.Namespace) -> str:
    first, *others = [arguments.only_ours] if arguments.only_ours else arguments.version
    chosen = classifiers(arguments.classifiers, bool(arguments.only_ours))
    rivals, notes = chosen, []
    with tempfile.TemporaryDirectory() as scratch:
        cache = Cache(arguments.cache or Path(scratch))
        if not arguments.report:
            rivals, notes = installed(chosen)
            tables = _tables(arguments, arguments.open)
            most = 2 if arguments.quick else arguments.splits
            fill(cache, tables, arguments.regimes, rivals, first, most)
        columns = {
            name: (name, first if name in OURS else cache.newest(name)) for name in rivals
        } | {f"{name} ({v})": (name, v) for v in others for name in OURS if name in rivals}
        results = [Results.read(cache, g, columns, arguments.only) for g in arguments.regimes]
    results = [of for of in results if of.columns]
    if arguments.pictures:
        draw(results, arguments.pictures)
    return markdown(results, arguments.against, notes)


def _tables(arguments: argparse.Namespace, open_only: bool) -> list[Benchmark]:
    tables = load(arguments.tables, arguments.only)
    if open_only:
        tables = [table for table in tables if table.origin == "open"]
    return tables[:3] if arguments.quick else tables


def _strengths(arguments: argparse.Namespace) -> str:
    tables = _tables(arguments, open_only=arguments.tables is not None)
    parts = []
    for name in arguments.strengths or SCANS:
        splits, settings = {"small": 20, "full": 1}, SCANS[name].settings
        if arguments.quick:
            splits, settings = {"small": 1, "full": 1}, SCANS[name].few()
        records = scan(name, tables, splits, settings)
        parts += [f"## {name}", report(records, SCANS[name].default, halves(tables))]
        if arguments.json:
            arguments.json.with_suffix(f".{name.replace(' ', '_')}.json").write_text(
                json.dumps(records, indent=1), encoding="utf-8"
            )
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    main()
