"""Automatic stack members: model structures from naive Bayes to quadratic discriminants."""

import dataclasses
import math

from sklearn.base import clone

from bayesgen.classes import Spec as ClassPriorSpec
from bayesgen.errors import BayesgenWarning, Cure
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.discriminant import LDA
from bayesgen.estimators.generative import GenerativeClassifier
from bayesgen.estimators.unlabelled_fit import Weight as Unlabelled
from bayesgen.likelihoods import (
    Categorical,
    JointCategorical,
    KernelDiscriminant,
    Likelihood,
    MultivariateNormal,
    Normal,
)
from bayesgen.table import Table

WIDEST = 100
"""Columns above which structures whose cost grows with their cube are left out."""
ROWS_PER_INDICATOR = 1
"""Rows for each indicator below which a normal over indicators is left out."""
ROWS_PER_CELL = 4
"""Rows for each combination of levels below which these are not modeled jointly."""
LINEAR_ROWS, WEAK_ROWS = (16.0, 32.0), (1.0, 1.0)
"""Prior strengths of means and covariance of linear members, in rows. Fixed pairs have the log loss
of a grid that is averaged over by evidence, at a tenth of its cost; a weak prior without power
transform beside them brought nothing at any size."""
QUADRATIC_ROWS, POOLED_ROWS = 16.0, 128.0
"""Prior strengths of the pooled covariance in quadratic members; the stack weighs them by rows left
out, because evidence picks too small ones."""
DIAGONAL_ROWS = 16.0
"""Rows that the diagonal guess counts for in the quadratic member of tables with missing numbers.
With 40 % of the cells missing the mean log loss of wine was .148 (64 rows: .159), of
heart_cleveland .487, of iris .183."""
BIN_ROWS = 16.0
"""Prior strength of the fractions of a column's bins, in rows. With 4 and 8 the mean log loss of 15
tables was higher by .001 to .002 at 24 rows; with learned ones too, at seven times the cost."""
CENTERS, COLUMN_CENTERS = 1000, 128
"""Kernels of the kernel discriminant of all numeric columns, and of each by itself: a prediction
then costs no more than that of a forest."""


def automatic(
    table: Table,
    *,
    class_prior: ClassPriorSpec,
    missing: str,
    unseen: str,
    unlabelled: Unlabelled,
    random_state: object,
) -> dict[str, Classifier]:
    """Return the members that suit a table, by name, in one word each.

    Naive Bayes over columns as blocks of their own, which a log-linear pool weighs one by one, with
    normals (power-transformed), with kernels, and with bins of numeric columns: steps, for values
    that many rows share and for thresholds. For several numeric columns: linear discriminants
    (with and without power transforms), quadratic discriminants shrunken toward linear ones and,
    with missing values, also toward naive ones, and kernel discriminants, each beside naive Bayes
    of the levels. With levels: all combinations of them, if these are few, and linear discriminants
    over their indicators.
    """
    # by name, so that no sum depends on the order of the columns; those of an array have none
    columns_of = table.columns
    if table.container != "numpy":
        columns_of = sorted(table.columns, key=lambda column: str(column.name))
    observed = [column for column in columns_of if not column.is_missing]
    numbers = tuple(c.name for c in observed if c.kind == "number")
    levels = tuple(c.name for c in observed if c.kind == "level")
    incomplete = any(c.kind == "number" and c.missing.any() for c in observed)
    options: dict = {"class_prior": class_prior, "unseen": unseen, "random_state": random_state}
    options |= {"inference": "expected", "missing": missing, "unlabelled": unlabelled}
    columns: dict = {(name,): Normal() for name in numbers}
    columns |= {(name,): Categorical(rows="learn") for name in levels}
    never: dict = {
        (c.name,): Normal() for c in table.columns if c.kind == "number" and c.is_missing
    }
    never |= {
        (c.name,): Categorical(rows="learn")
        for c in table.columns
        if c.kind == "level" and c.is_missing
    }
    drop: dict = options | {"remainder": "drop"}
    members: dict[str, Classifier] = {
        "naive": GenerativeClassifier(columns | never, power_transform=bool(numbers), **options)
    }
    beside = {levels: Categorical(rows="learn")} if levels else {}
    for name, structure in _of_numbers(len(numbers), missing=incomplete).items():
        blocks = {numbers: structure.likelihood, **beside}
        transform = structure.power_transform
        members[name] = GenerativeClassifier(blocks, power_transform=transform, **drop)
    if numbers:
        kernels: dict = {(name,): KernelDiscriminant(centers=COLUMN_CENTERS) for name in numbers}
        members["naive_kernels"] = GenerativeClassifier(kernels | beside, **drop)
        bins: dict = {(name,): Categorical(rows=BIN_ROWS) for name in numbers}
        members["bins"] = GenerativeClassifier(bins | beside, bins="auto", **drop)
    cells = math.prod(len(c.levels) for c in table.columns if c.kind == "level")
    if len(levels) > 1 and cells <= table.n_rows / ROWS_PER_CELL:
        joint: dict = {numbers: Normal()} if numbers else {}
        joint[levels] = JointCategorical()
        whole = GenerativeClassifier(joint, power_transform=bool(numbers), **drop)
        members["joint"] = whole
    if levels and _width(table) <= min(WIDEST, table.n_rows / ROWS_PER_INDICATOR):
        whole = LDA(covariance_rows="learn", levels="indicators", **options)
        members["indicators"] = whole
        if numbers:
            transformed = clone(whole).set_params(power_transform=True)
            members["indicators_power"] = transformed
    return members


def too_wide(table: Table) -> dict[str, BayesgenWarning]:
    """Return the structures skipped because the table has more than WIDEST columns, and why."""
    kinds = [column.kind for column in table.columns]
    found: dict[str, BayesgenWarning] = {}
    if (numbers := kinds.count("number")) > WIDEST:
        names = list(_of_numbers(WIDEST))
        found |= dict.fromkeys(
            names,
            BayesgenWarning(
                "the table has {columns:,} numeric columns, and the cost of {names:listed 20} "
                "grows with their cube: above {widest:,} they are left out of the stack.",
                Cure(
                    "Pass members={{'linear': bg.LDA(), ...}} to fit them anyway.",
                    "Name fewer columns by --columns to fit them anyway.",
                ),
                columns=numbers,
                names=names,
                widest=WIDEST,
            ),
        )
    if "level" in kinds and (width := _width(table)) > WIDEST:
        name = "indicators"
        found[name] = BayesgenWarning(
            "with levels as indicators the table has {columns:,} columns, and the cost of "
            "{names:listed 20} grows with their cube: above {widest:,} it is left out of the "
            "stack.",
            Cure(
                "Pass members={{'linear': bg.LDA(levels='indicators'), ...}} to fit it anyway.",
                "Name fewer columns by --columns to fit it anyway.",
            ),
            columns=width,
            names=[name],
            widest=WIDEST,
        )
    return found


def _width(table: Table) -> int:
    """Return the number of numeric columns and indicators of levels."""
    return sum(1 if c.kind == "number" else max(len(c.levels) - 1, 0) for c in table.columns)


@dataclasses.dataclass(frozen=True)
class Structure:
    """A model of dependent numeric columns. power_transform: whether these are transformed."""

    likelihood: Likelihood
    power_transform: bool = False


def _of_numbers(n: int, *, missing: bool = False) -> dict[str, Structure]:
    """Return the structures of n dependent numeric columns, by name."""
    if not 1 < n <= WIDEST:
        return {}
    linear, weak = (
        MultivariateNormal("shared", mean_rows=mean_rows, covariance_rows=covariance_rows)
        for mean_rows, covariance_rows in (LINEAR_ROWS, WEAK_ROWS)
    )
    near = MultivariateNormal(covariance_rows=QUADRATIC_ROWS, correlation=0.99)
    pooled = MultivariateNormal(covariance_rows=POOLED_ROWS, correlation=0.99)
    found = {
        "linear": Structure(linear),
        "linear_power": Structure(linear, power_transform=True),
        "linear_weak": Structure(weak, power_transform=True),
        "quadratic": Structure(near),
        "quadratic_pooled": Structure(pooled),
    }
    if missing:
        diagonal = MultivariateNormal(covariance_rows=DIAGONAL_ROWS)
        found["quadratic_power"] = Structure(diagonal, power_transform=True)
    return found | {"kernels": Structure(KernelDiscriminant(centers=CENTERS))}
