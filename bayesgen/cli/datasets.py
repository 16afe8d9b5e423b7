"""`bayesgen datasets`."""

from typing import Any

from bayesgen.cli import printing
from bayesgen.cli.options import Json


def list_datasets(*, json: Json = False) -> None:
    """List the bundled data sets."""
    import pandas as pd

    from bayesgen import datasets
    from bayesgen.cli.data import LabelledData
    from bayesgen.cli.facts import kinds_of_columns, missing_by_column
    from bayesgen.table import read_table

    facts: dict[str, dict[str, Any]] = {}
    for name in datasets.names():
        data = LabelledData.read(name)
        table = read_table(data.rows()[0])
        facts[name] = {
            "rows": table.n_rows,
            "columns": kinds_of_columns(table),
            "missing_cells": sum(missing_by_column(table).values()),
            "target": data.target,
            "classes": len(data.counts),
        }
    if json:
        print(printing.to_json(facts))
        return
    columns = ["rows", "numeric", "categorical", "missing_cells", "target", "classes"]
    lines = [{**about, **about["columns"]} for about in facts.values()]
    table = pd.DataFrame(lines, index=list(facts), columns=columns)
    print(table.rename(columns={"missing_cells": "missing"}).to_string())
