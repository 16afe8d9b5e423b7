"""From a bundled file to rows and classes."""

from bayesgen.datasets.tables import path, target
from bayesgen.typing import DataFrame, Series


def load(name: str) -> tuple[DataFrame, Series]:
    """Return the features, a pandas DataFrame, and the classes, a pandas Series, of a table."""
    import pandas as pd

    frame = pd.read_csv(path(name))
    classes = frame.pop(target(name))
    return frame, classes
