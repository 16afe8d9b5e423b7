"""Small bundled data sets with their sources, for examples, tests and `bayesgen compare NAME`.

Every loader returns `(X, y)`: a pandas DataFrame of the features and a pandas Series of the
classes, read from a CSV file inside the package. Text stays text, numbers stay numbers, an empty
cell is missing (NaN). Licenses and origins are in SOURCES.md next to the files.
"""

from typing import TYPE_CHECKING

from bayesgen.on_demand import on_demand

if TYPE_CHECKING:
    from bayesgen.datasets.loaders import load_biopsy as load_biopsy
    from bayesgen.datasets.loaders import load_bow4 as load_bow4
    from bayesgen.datasets.loaders import load_crabs as load_crabs
    from bayesgen.datasets.loaders import load_housevotes84 as load_housevotes84
    from bayesgen.datasets.loaders import load_iris as load_iris
    from bayesgen.datasets.loaders import load_penguins as load_penguins
    from bayesgen.datasets.loaders import load_play_tennis as load_play_tennis
    from bayesgen.datasets.loaders import load_spam as load_spam
    from bayesgen.datasets.loaders import load_titanic as load_titanic
    from bayesgen.datasets.loaders import load_titanic_passengers as load_titanic_passengers
    from bayesgen.datasets.loaders import load_voters as load_voters
    from bayesgen.datasets.loaders import load_voters_missing as load_voters_missing
    from bayesgen.datasets.loaders import names as names
    from bayesgen.datasets.loaders import path as path
    from bayesgen.datasets.loaders import target as target
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "loaders": [
                "load_biopsy",
                "load_bow4",
                "load_crabs",
                "load_housevotes84",
                "load_iris",
                "load_penguins",
                "load_play_tennis",
                "load_spam",
                "load_titanic",
                "load_titanic_passengers",
                "load_voters",
                "load_voters_missing",
                "names",
                "path",
                "target",
            ],
        },
    )
