"""`bayesgen datasets`."""

from bayesgen import datasets
from bayesgen.cli import printing
from bayesgen.cli.data_file import DataFile
from bayesgen.cli.options import Json
from bayesgen.cli.target_column import LabelledRows
from bayesgen.table import read_table


def list_datasets(*, json: Json = False) -> None:
    """List the bundled data sets."""
    found, lines = {}, []
    for name in datasets.names():
        rows = LabelledRows.read(DataFile.find(name))
        table = read_table(rows.X)
        kinds, missing = printing.kinds_of_columns(table), printing.missing_by_column(table)
        facts = {
            "missing_cells": sum(missing.values()),
            "target": rows.target.name,
            "classes": len(rows.target.counts),
        }
        found[name] = {"rows": table.n_rows, "columns": kinds, **facts}
        lines.append([name, *map(str, (table.n_rows, *kinds.values(), *facts.values()))])
    if json:
        print(printing.to_json(found))
        return
    heads = ["name", "rows", "numeric", "categorical", "missing", "target", "classes"]
    printing.print_grid(heads, lines)
