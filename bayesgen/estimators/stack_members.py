"""Automatic stack members: model structures from naive Bayes to quadratic discriminants."""

import numpy as np
from sklearn.base import clone

from bayesgen.classes import Spec as ClassPriorSpec
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.discriminant import LDA
from bayesgen.estimators.generative import GenerativeClassifier
from bayesgen.likelihoods import (
    Categorical,
    Likelihood,
    MultivariateNormal,
    Normal,
)
from bayesgen.table import Table

WIDEST = 100
"""Columns above which structures whose cost grows with their cube are left out."""
ROWS_PER_INDICATOR = 1
"""Rows for each indicator below which a normal over indicators is left out."""
LEADING = ("naive, power-transformed", "linear")
"""Structures of numbers that are paired with every structure of levels, the others with one."""
QUADRATIC_ROWS = (16.0, 128.0)
"""Prior strengths of the pooled covariance in quadratic members; the stack weighs them by rows left
out, because evidence picks too small ones."""

DIAGONAL_ROWS = 16.0
"""Rows that the diagonal guess counts for in the quadratic member of tables with missing numbers.
With 40 % of the cells missing the mean log loss of wine was .148 (64 rows: .159), of
heart_cleveland .487, of iris .183."""


def automatic(
    table: Table, *, class_prior: ClassPriorSpec, unseen: str, random_state: object
) -> dict[str, Classifier]:
    """Return the members that suit a table, by name.

    For numeric columns: naive Bayes (class-specific and shared variances), linear discriminants
    (with and without power transforms), and quadratic discriminants shrunken toward linear ones
    and, with missing values, also toward naive ones. For levels: naive Bayes, combined with every
    structure of the numbers; linear discriminants over indicators are added.
    """
    missing = any(c.kind == "number" and np.isnan(c.values).any() for c in table.columns)
    numbers = tuple(c.name for c in table.columns if c.kind == "number")
    levels = tuple(c.name for c in table.columns if c.kind == "level")
    options: dict = {"class_prior": class_prior, "unseen": unseen, "random_state": random_state}
    members: dict[str, Classifier] = {}
    for name, blocks in _pairs(numbers, levels, missing=missing).items():
        part = GenerativeClassifier(blocks, inference="expected", **options)
        members[name] = part.set_params(power_transform="power-transformed" in name.split(", "))
    width = len(numbers) + sum(max(len(c.levels) - 1, 0) for c in table.columns)
    if levels and width <= min(WIDEST, table.n_rows / ROWS_PER_INDICATOR):
        whole = LDA(covariance_rows="learn", levels="indicators", inference="expected", **options)
        members["linear over indicators"] = whole
        if numbers:
            transformed = clone(whole).set_params(power_transform=True)
            members["linear over indicators, power-transformed"] = transformed
    return members


def too_wide(table: Table) -> list[str]:
    """Return the structures skipped because the table has more than WIDEST columns."""
    kinds = [column.kind for column in table.columns]
    numbers, levels = kinds.count("number"), kinds.count("level")
    found = [n for n in _of_numbers(min(numbers, WIDEST)) if n not in _of_numbers(numbers)]
    trees = [n for n in _of_levels(min(levels, WIDEST)) if n not in _of_levels(levels)]
    found += [f"levels {name}" for name in trees]
    width = numbers + sum(max(len(c.levels) - 1, 0) for c in table.columns)
    return [*found, "linear over indicators"] if levels and width > WIDEST else found


def _pairs(numbers: tuple, levels: tuple, *, missing: bool) -> dict[str, dict[tuple, Likelihood]]:
    """Return likelihoods of all columns by the name of the structure."""
    ours, theirs = _of_numbers(len(numbers), missing=missing), _of_levels(len(levels))
    if not levels:
        return {name: {numbers: part} for name, part in ours.items()}
    if not numbers:
        return {name: {levels: part} for name, part in theirs.items()}
    first, *rest = theirs
    pairs = [(name, first) for name in ours]
    pairs += [(name, other) for name in LEADING if name in ours for other in rest]
    return {
        name if other == first else f"{name}, levels {other}": {
            numbers: ours[name],
            levels: theirs[other],
        }
        for name, other in pairs
    }


def _of_numbers(n: int, *, missing: bool = False) -> dict[str, Likelihood]:
    found: dict[str, Likelihood] = {
        "naive, power-transformed": Normal(mean_rows="learn", variance_rows="learn"),
        "naive, shared variances": Normal(
            mean_rows="learn", variance_rows="learn", spread="shared"
        ),
    }
    if 1 < n <= WIDEST:
        linear = MultivariateNormal(covariance="shared", mean_rows="learn", covariance_rows="learn")
        found |= {"linear": linear, "linear, power-transformed": linear}
        for rows in QUADRATIC_ROWS:
            found[f"quadratic, {rows:g} rows pooled"] = MultivariateNormal(
                covariance_rows=rows, correlation=0.99
            )
        if missing:
            diagonal = MultivariateNormal(covariance_rows=DIAGONAL_ROWS)
            found["quadratic, power-transformed"] = diagonal
    return found


def _of_levels(n: int) -> dict[str, Likelihood]:
    return {"naive": Categorical(rows="learn")}
