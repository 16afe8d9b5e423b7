"""What is printed of data, of a model and of its fit, as facts and in words."""

import textwrap
from collections.abc import Mapping
from typing import Any

from bayesgen.cli import printing
from bayesgen.cli.stated import MODELS
from bayesgen.compare.as_text import MEMBERS_LEGEND, WIDTH, aligned, members_as_text
from bayesgen.errors.wording import rows as in_rows
from bayesgen.estimators import StackedClassifier, description
from bayesgen.estimators.classifier import Classifier
from bayesgen.schema import identifiers, in_numbers, set_aside
from bayesgen.table import Table


def kinds_of_columns(table: Table) -> dict[str, int]:
    """Return the number of columns of each kind."""
    numeric = sum(column.kind == "number" for column in in_numbers(table).columns)
    return {"numeric": numeric, "categorical": len(table.columns) - numeric}


def missing_by_column(table: Table) -> dict[str, int]:
    """Return the missing cells of each column that has any."""
    counts = {str(column.name): int(column.missing.sum()) for column in table.columns}
    return {name: count for name, count in counts.items() if count}


def facts_of_fit(classifier: Classifier) -> dict[str, Any]:
    """Return how the fit of a classifier ended."""
    report = classifier.report_
    facts = {
        "inference": report.method,
        "converged": report.converged,
        "verdict": printing.sentence(report.outcome),
        "seconds": report.seconds,
    }
    if hasattr(classifier, "log_evidence_"):
        facts["log_evidence"] = classifier.log_evidence_
    return facts


def lines_of_data(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return the lines about data, target column and rows without a class."""
    numeric, categorical = facts["columns"]["numeric"], facts["columns"]["categorical"]
    kinds = f"{numeric:,} numeric, {categorical:,} categorical"
    words = f"{facts['rows']:,} rows, {numeric + categorical:,} columns ({kinds})"
    lines = {
        "data": f"{facts['data']}: {words}",
        "target": f"{facts['target']}: {printing.name_counts(facts['classes'])}",
    }
    if count := facts["rows_without_class"]:
        lines["no class"] = f"{in_rows(count)}, read as rows without a label"
    return lines


def model_in_words(classifier: Classifier, table: Table, limit: int = 8) -> str:
    """Return the likelihoods of a model with their columns, or the members of a fitted stack."""
    if members := getattr(classifier, "members_", None):
        return f"stack of {'; '.join(members)}"
    blocks = []
    for likelihood, names in description.blocks(classifier, table).values():
        more = f" and {len(names) - limit:,} more" if len(names) > limit else ""
        family = repr(likelihood).removesuffix("()")
        blocks.append(f"{family} for {', '.join(map(str, names[:limit]))}{more}")
    kind = type(classifier)
    return f"{dict(MODELS.values()).get(kind, kind.__name__)}: {'; '.join(blocks)}"


def described(
    classifier: Classifier, read: dict[str, Any], table: Table
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return facts about rows that were read, the model and its fit, and lines about the latter."""
    table = set_aside(table, identifiers(table))
    words = model_in_words(classifier, table)
    facts = read | {"model": words} | facts_of_fit(classifier)
    lines = {"model": words}
    if facts["rows_without_class"]:
        weight = facts["unlabelled_weight"] = classifier.unlabelled_weight_
        lines["no class"] = f"mean weight {weight:.2g} of the rows without a label"
    lines["fit"] = f"{facts['inference']}: {facts['verdict']}"
    loss = classifier.report_.details.get("leave-one-out log loss")
    if loss is not None:
        facts["leave_one_out_log_loss"] = loss
        lines["left out"] = f"log loss {loss:.3f} of rows, each predicted from the others"
    if isinstance(classifier, StackedClassifier):
        share = classifier.pool_share_
        facts["members"] = classifier.members_table().reset_index().to_dict("records")
        facts["pool_share"] = share
        lines["pools"] = f"{1 - share:.0%} linear, {share:.0%} log-linear"
    return facts, lines


def members_in_words(classifier: StackedClassifier) -> str:
    """Return the table of the members of a stack, with what its columns mean."""
    members = members_as_text(classifier.members_table())
    return f"{aligned(members)}\n\n{textwrap.fill(MEMBERS_LEGEND, WIDTH)}"
