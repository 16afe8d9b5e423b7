"""How sources are read unless something else is stated; the command line shows these values."""

PART_ROWS = 1 << 16
"""Rows of a part at most."""

NULLS = (
    *("", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan"),
    *("NULL", "null", "None", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
"""Cells of a CSV file that mean "missing", quoted or not: those of pandas.read_csv."""
