"""Checks that likelihoods can read the rows that are fitted."""

import math
from collections.abc import Mapping

from bayesgen.errors import Cure, InvalidData
from bayesgen.errors.data import sparse_for
from bayesgen.errors.dialect import ZEROS
from bayesgen.errors.wording import Code, shown
from bayesgen.likelihoods import Likelihood
from bayesgen.likelihoods.sparse import first_missing
from bayesgen.schema import Columns, Schema
from bayesgen.typing import Encoded, Traceable


def check_sparse(likelihoods: Mapping[str, Likelihood]) -> None:
    """Reject a sparse table if some likelihood requires dense rows, naming the first one.

    Raises:
        InvalidData: with those that do.
    """
    for likelihood in likelihoods.values():
        if not likelihood.sparse:
            raise sparse_for(type(likelihood).__name__)


def check_encoded(
    encoded: Encoded, schema: Schema, likelihoods: dict[str, Likelihood], first: int
) -> None:
    """Reject missing cells where a likelihood fits complete rows only, and cells without a density.

    first: number of the first of them among all fitted rows.
    """
    for name, likelihood in likelihoods.items():
        if not likelihood.allows_missing_at_fit:
            missing = first_missing(encoded[name])
            if missing is not None:
                column = schema.blocks[name][missing[0]].name
                family = type(likelihood).__name__
                raise InvalidData(
                    "column {column!r} is missing (NaN) in {count:,} of {n_rows:rows}; "
                    "{family} fits complete rows only, since the counts of a row share one "
                    "total.",
                    Cure(
                        "If a missing count means 0, {zeros}; else leave these rows out, or use "
                        "Poisson: bg.NaiveBayes(likelihood=bg.Poisson()).",
                        "Write 0 where a missing count means 0, or leave these rows out of the "
                        "file.",
                    ),
                    family=family,
                    column=column,
                    count=missing[1],
                    n_rows=encoded[name].shape[0],
                    zeros=ZEROS,
                )
        _refuse_outside(likelihood, encoded[name], schema, name, first)


def _refuse_outside(
    likelihood: Likelihood, x: Traceable, schema: Schema, block: str, first: int
) -> None:
    """Reject cells outside the support under all parameters."""
    outside = likelihood.out_of_support(x)
    if outside is None:
        return
    rows, columns = outside.nonzero()
    if not len(rows):
        return
    row, column = min(zip(rows.tolist(), columns.tolist(), strict=True))
    value = x[row, column] + schema.origin(block)[column]
    others = int((columns == column).sum()) - 1
    raise InvalidData(
        "column {column!r} holds {value!r}{row:in_row}{more}; {likelihood!r} allows {support} "
        "only.",
        "Correct these cells or make them missing, or choose another likelihood, "
        "{column:by Normal}.",
        column=schema.blocks[block][column].name,
        value=value,
        row=first + row,
        more=f" (and {others:,} more like it)" if others else "",
        likelihood=likelihood,
        support=likelihood.support,
    )


def check_cells(likelihood: Likelihood, columns: Columns) -> None:
    """Reject a joint table with too many cells for its likelihood."""
    n_levels = {column.name: len(column.levels) for column in columns}
    cells, most = math.prod(max(n, 1) for n in n_levels.values()), likelihood.most_cells
    if most is not None and cells > most:
        first, *rest = map(shown, n_levels)
        raise InvalidData(
            "a joint table over the columns (and numbers of levels) {columns:listed 10} has "
            "{cells} cells in each class; at most {most:,} are allowed.",
            Cure(
                "Leave columns out, merge rare levels, or let some columns stand alone or in a "
                "smaller table: bg.GenerativeClassifier({{{first}: bg.Categorical(), ({rest}): "
                "bg.JointCategorical(), ...}}).",
                "Leave columns out by --drop, merge rare levels, or use --model naive-bayes.",
            ),
            columns=[Code(f"{shown(column)} ({n:,})") for column, n in n_levels.items()],
            cells=f"{cells:,}" if cells < 10**12 else f"10^{len(str(cells)) - 1}",
            most=most,
            first=first,
            rest=", ".join(rest[:2]),
        )
