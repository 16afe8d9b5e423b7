"""Descriptions of a classifier for display: its blocks."""

from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.column_blocks import Blocks
from bayesgen.table import Table


def blocks(classifier: Classifier, table: Table) -> Blocks:
    """Return the likelihood and columns of each block for a table."""
    return classifier._blocks(table)
