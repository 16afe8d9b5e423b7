"""Descriptions of a classifier for display: its columns, blocks and members."""

from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.column_blocks import Blocks
from bayesgen.estimators.stacked import StackedClassifier
from bayesgen.schema import Column
from bayesgen.table import Name, Names, Table


def blocks(classifier: Classifier, table: Table) -> Blocks:
    """Return the likelihood and the columns of each block that a table would get."""
    return classifier._blocks(table)


def member_names(stack: StackedClassifier, table: Table) -> list[str]:
    """Return the names of the members of a stack: fitted ones, or those that suit a table."""
    return list(getattr(stack, "members_", None) or stack._listed(table))


def column_names(classifier: Classifier) -> Names:
    """Return the columns that a fitted classifier takes, in the order of its fit."""
    return classifier._column_names()


def derived_columns(classifier: Classifier) -> dict[Name, Column]:
    """Return the columns that a fitted classifier makes itself, each with the one it is made of."""
    return classifier._derived_columns()
