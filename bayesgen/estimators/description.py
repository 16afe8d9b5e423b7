"""Descriptions of a classifier for display: its columns and blocks."""

from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.column_blocks import Blocks
from bayesgen.schema import Reading
from bayesgen.table import Name, Names, Table


def blocks(classifier: Classifier, table: Table) -> Blocks:
    """Return the likelihood and columns of each block for a table."""
    return classifier._blocks(table)


def column_names(classifier: Classifier) -> Names:
    """Return the input columns of a fitted classifier, in the order of the fit."""
    return classifier._column_names()


def derived_columns(classifier: Classifier) -> dict[Name, Reading]:
    """Return the derived columns of a fitted classifier, each with its source column."""
    return classifier._derived_columns()
