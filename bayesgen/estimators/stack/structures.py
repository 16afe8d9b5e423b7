"""Automatic stack members: model structures from naive Bayes to quadratic discriminants."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesgen.errors import BayesgenWarning, Cure
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.column_blocks import features
from bayesgen.estimators.discriminant import LDA
from bayesgen.estimators.generative import GenerativeClassifier
from bayesgen.estimators.naive_bayes import NaiveBayes
from bayesgen.estimators.tempered import Temper
from bayesgen.likelihoods import (
    Categorical,
    JointCategorical,
    KernelDiscriminant,
    Likelihood,
    MultivariateNormal,
    Normal,
)
from bayesgen.likelihoods.base import Guess
from bayesgen.schema import reads_as_numbers
from bayesgen.table import Name, Table, TableColumn

WIDEST = 100
"""Columns above which structures whose cost grows with their cube are left out."""
ROWS_PER_INDICATOR = 1
"""Rows for each indicator below which a normal over indicators is left out."""
ROWS_A_COLUMN = 1
"""Rows for each numeric column below which covariances of single classes are left out: a class that
lost a row has another determinant, which tells its left-out rows. Stacks of 60 rows (means of three
tables of correlated numbers) had log losses of left-out and of new rows of .32 and .77 with 86
columns, where quadratic members had .72 of the weight, of .65 and .71 with 60, and of .64 and .74
with 30; of 24 rows .46 and .78 with 34 columns, .63 and .73 with 24. A limit of two rows would cost
.3 to .6 nat on crabs where two rows of each kind are labeled."""
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
GAPS, INCOMPLETE_ROWS = 0.25, 1.0
"""Share of missing cells above which the covariance over indicators has this prior strength in
place of a learned one: evidence of expected cells favors larger ones. With 40 % of the cells
missing the log loss of heart_cleveland was .429 (learned: .439), of birthwt .584 (.589); with gaps
in a few cells a learned strength is better, by .003 to .004 on eight tables of 24 and 100 rows."""
BIN_ROWS = 16.0
"""Prior strength of the fractions of a column's bins, in rows. With 4 and 8 the mean log loss of 15
tables was higher by .001 to .002 at 24 rows; with learned ones too, at seven times the cost."""
CENTERS, COLUMN_CENTERS = 1000, 128
"""Kernels of the kernel discriminant of all numeric columns, and of each by itself: a prediction
then costs no more than that of a forest."""


@dataclasses.dataclass(frozen=True)
class Structure:
    """An automatic member: the likelihoods of its columns, and how these are read.

    blocks: the likelihood of each block of columns; other columns are not read. power_transform:
    whether numbers are transformed. bins: into how many levels likelihoods of levels cut numbers.
    indicators: prior strength of the covariance of one normal that all columns have in place of
    blocks, levels as indicators; None: blocks.
    split_in_pool: whether each number is a block of its own, so that a log-linear pool can weigh
    blocks one by one (see `member.split_in_pool`).
    columns: "average" over all sets of columns that may depend on the class. temper: of the member.
    """

    blocks: Mapping[tuple[Name, ...], Likelihood]
    power_transform: bool = False
    bins: str | None = None
    indicators: Guess = None
    split_in_pool: bool = False
    columns: str = "all"
    temper: Temper = None

    @property
    def joint(self) -> bool:
        """Whether numbers depend on each other given the class, so that missing ones are costly."""
        parts = self.blocks.items()
        return self.indicators is not None or any(
            part.kind == "numbers" and part.joint and len(names) > 1 for names, part in parts
        )

    @property
    def conjugate(self) -> bool:
        """Whether every likelihood has a closed form of its own statistics, as groups need."""
        kept = any(part.keeps_rows or not part.conjugate for part in self.blocks.values())
        return self.columns == "all" and not kept

    @property
    def columns_apart(self) -> bool:
        """Whether each column is a block of its own, uncut: the rows that interactions read."""
        alone = all(len(names) == 1 for names in self.blocks)
        return alone and self.bins is None and self.indicators is None

    def classifier(self, **options: Any) -> Classifier:
        """Return the classifier to fit; options: its other arguments."""
        if self.indicators is not None:
            options |= {"covariance_rows": self.indicators, "levels": "indicators"}
            return LDA(power_transform=self.power_transform, **options)
        options |= {"power_transform": self.power_transform, "bins": self.bins}
        options |= {"remainder": "drop", "temper": self.temper}
        if self.temper is not None:  # in whose place the pattern's power would come
            options["missing"] = "ignorable"
        if self.columns == "average":
            return NaiveBayes(self.blocks, columns=self.columns, **options)
        return GenerativeClassifier(self.blocks, **options)


def automatic(table: Table, groups: Name | None = None) -> dict[str, Structure]:
    """Return the structures that suit a table, by name, in one word each.

    Naive Bayes over columns as blocks of their own, which a log-linear pool weighs one by one, with
    normals (power-transformed), with kernels, and with bins of numeric columns: steps, for values
    that many rows share and for thresholds. For several numeric columns: linear discriminants
    (with and without power transforms), quadratic discriminants shrunken toward linear ones and,
    with missing values, also toward naive ones, and kernel discriminants, each beside naive Bayes
    of the levels. With levels: all combinations of them, if these are few, and linear discriminants
    over their indicators. For more than WIDEST columns: the average over sets of columns, and
    linear naive Bayes, which are all where columns outnumber rows (see `_of_many`).

    A column that is constant and complete, or never observed, changes no member.

    groups: the column of groups, which no structure reads; without kernels, which have no evidence.
    """
    if groups is not None:
        names = set(features(table, groups))
        table = dataclasses.replace(
            table, columns=tuple(c for c in table.columns if c.name in names), matrix=None
        )
        return {name: each for name, each in automatic(table).items() if each.conjugate}
    # by name, so that no sum depends on the order of the columns; those of an array have none
    columns = [column for column in table.columns if not column.unread]
    if table.container != "numpy":
        columns.sort(key=lambda column: str(column.name))
    vary = [column for column in columns if column.varies]
    numbers = tuple(c.name for c in vary if reads_as_numbers(c))
    levels = tuple(c.name for c in vary if not reads_as_numbers(c))
    # which members that read columns have, so that they can sample them, and learn nothing from
    silent: dict = _each([column for column in columns if not column.varies])
    many = _of_many(numbers, levels, silent) if len(vary) > WIDEST else {}
    if many and len(vary) > table.n_rows:
        return many
    each = _each(vary) | silent
    members = many | {"naive": Structure(each, power_transform=bool(numbers), split_in_pool=True)}
    beside: dict = {levels: Categorical(rows="learn")} if levels else {}
    beside |= silent
    incomplete = any(reads_as_numbers(c) and c.missing.any() for c in vary)
    members |= _of_numbers(numbers, beside, table.n_rows, incomplete=incomplete)
    if numbers:
        kernels: dict = {(name,): KernelDiscriminant(centers=COLUMN_CENTERS) for name in numbers}
        members["naive_kernels"] = Structure(kernels | beside, split_in_pool=True)
        bins: dict = {(name,): Categorical(rows=BIN_ROWS) for name in numbers}
        members["bins"] = Structure(bins | beside, bins="auto", split_in_pool=True)
    cells = math.prod(_n_found(c) for c in vary if not reads_as_numbers(c))
    if len(levels) > 1 and cells <= table.n_rows / ROWS_PER_CELL:
        independent: dict = {numbers: Normal()} if numbers else {}
        blocks = independent | {levels: JointCategorical()} | silent
        members["joint"] = Structure(
            blocks, power_transform=bool(numbers), split_in_pool=len(numbers) == 1
        )
    if levels and _width(table) <= min(WIDEST, table.n_rows / ROWS_PER_INDICATOR):
        missing = np.mean([column.missing.mean() for column in vary])
        rows = INCOMPLETE_ROWS if missing > GAPS else "learn"
        members["indicators"] = Structure({}, indicators=rows)
        if numbers:
            members["indicators_power"] = Structure({}, power_transform=True, indicators=rows)
    return members


def _each(columns: Sequence[TableColumn]) -> dict[tuple[Name, ...], Likelihood]:
    """Return a likelihood for each column, those of numbers first."""
    numbers = {(c.name,): Normal() for c in columns if reads_as_numbers(c)}
    levels = [(c.name,) for c in columns if not reads_as_numbers(c)]
    return numbers | {names: Categorical(rows="learn") for names in levels}


def _of_many(
    numbers: tuple[Name, ...],
    levels: tuple[Name, ...],
    silent: Mapping[tuple[Name, ...], Likelihood],
) -> dict[str, Structure]:
    """Return the structures of many columns: of few that matter, and of all that matter a little.

    Both share variances between classes, so that they are linear. Where columns outnumber rows they
    stand in place of members with a block for each column: a pool that weighs columns one by one
    can tell a left-out row's class from that row's absence, and has left-out scores of .2 nats
    where new rows have .5 (60 rows, 500 columns).

    Source: Dudoit, Fridlyand and Speed (2002), Journal of the American Statistical Association 97,
    77-87, for the second.

    silent: blocks of columns that say nothing.
    """
    blocks: dict = {numbers: Normal(spread="shared")} if numbers else {}
    blocks |= {levels: Categorical()} if levels else {}
    blocks |= silent
    return {
        "average": Structure(blocks, power_transform=bool(numbers), columns="average"),
        "naive_shared": Structure(blocks, power_transform=bool(numbers), temper="learn"),
    }


def _of_numbers(
    numbers: tuple[Name, ...],
    beside: dict[tuple[Name, ...], Likelihood],
    n_rows: int,
    *,
    incomplete: bool,
) -> dict[str, Structure]:
    """Return the structures of dependent numeric columns, by name.

    Args:
        numbers: the columns.
        beside: blocks of levels.
        n_rows: of the table.
        incomplete: whether a number is missing.
    """
    if not 1 < len(numbers) <= WIDEST:
        return {}
    linear, weak = (
        MultivariateNormal("shared", mean_rows=mean_rows, covariance_rows=covariance_rows)
        for mean_rows, covariance_rows in (LINEAR_ROWS, WEAK_ROWS)
    )
    near = MultivariateNormal(covariance_rows=QUADRATIC_ROWS, correlation=0.99)
    pooled = MultivariateNormal(covariance_rows=POOLED_ROWS, correlation=0.99)
    structures = {
        "linear": Structure({numbers: linear} | beside),
        "linear_power": Structure({numbers: linear} | beside, power_transform=True),
        "linear_weak": Structure({numbers: weak} | beside, power_transform=True),
        "quadratic": Structure({numbers: near} | beside),
        "quadratic_pooled": Structure({numbers: pooled} | beside),
    }
    if incomplete:
        diagonal = MultivariateNormal(covariance_rows=DIAGONAL_ROWS)
        structures["quadratic_power"] = Structure(
            {numbers: diagonal} | beside, power_transform=True
        )
    if n_rows < ROWS_A_COLUMN * len(numbers):
        structures = {name: each for name, each in structures.items() if "quadratic" not in name}
    kernels = KernelDiscriminant(centers=CENTERS)
    return structures | {"kernels": Structure({numbers: kernels} | beside)}


def too_wide(table: Table) -> dict[str, BayesgenWarning]:
    """Return the structures skipped because the table has more than WIDEST columns, and why."""
    numeric = [reads_as_numbers(column) for column in table.columns if column.varies]
    skipped: dict[str, BayesgenWarning] = {}
    if (numbers := sum(numeric)) > WIDEST:
        # of any columns
        names = list(_of_numbers((0, 1), {}, table.n_rows, incomplete=False))
        skipped |= dict.fromkeys(
            names,
            BayesgenWarning(
                "the table has {columns:,} numeric columns that vary, and the cost of "
                "{names:listed 20} grows with the cube of this number: above {widest:,} these are "
                "left out of the stack, which has 'average' and 'naive_shared' instead.",
                Cure(
                    "Pass members={{'linear': bg.LDA(), ...}} to fit them anyway.",
                    "Name fewer columns by --columns to fit them anyway.",
                ),
                columns=numbers,
                names=names,
                widest=WIDEST,
            ),
        )
    if not all(numeric) and (width := _width(table)) > WIDEST:
        name = "indicators"
        skipped[name] = BayesgenWarning(
            "with levels as indicators the table has {columns:,} columns, and the cost of "
            "{names:listed 20} grows with the cube of this number: above {widest:,} it is left "
            "out of the stack.",
            Cure(
                "Pass members={{'linear': bg.LDA(levels='indicators'), ...}} to fit it anyway.",
                "Name fewer columns by --columns to fit it anyway.",
            ),
            columns=width,
            names=[name],
            widest=WIDEST,
        )
    return skipped


def _width(table: Table) -> int:
    """Return the number of numeric columns and indicators of levels, of columns that vary."""
    vary = [column for column in table.columns if column.varies]
    return sum(1 if reads_as_numbers(c) else max(_n_found(c) - 1, 0) for c in vary)


def _n_found(column: TableColumn) -> int:
    """Return the number of levels of a column that some row has: declared ones may have none."""
    return len(np.unique(column.values[~column.missing]))
