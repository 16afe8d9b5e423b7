"""The arguments that several commands share."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, Token, validators

from bayesgen.cli.files import NULLS
from bayesgen.cli.models import METHODS, AnyModelName, MethodName, ModelName

DATA_HELP = (
    "A CSV file (.tsv: tab-separated), a Parquet file (.parquet, .pq), or the name of a bundled "
    "data set (see `bayesgen datasets`). Columns of numbers are numeric, integers too; text and "
    "booleans are categories. Missing cells of a CSV file: the empty cell, "
    f"{', '.join(f'`{null}`' for null in NULLS if null)}."
)


MODEL_HELP = (
    "naive-bayes takes any columns; lda and qda take numbers; joint-table takes categories and "
    "whole numbers; bag-of-words takes counts."
)
ANY_MODEL_HELP = (
    f"{MODEL_HELP[:-1]}; stacked weighs several structures that suit the columns, by rows left out."
)
MISSING_HELP = 'One more text that means "missing" in a CSV file, such as "?"; may be repeated.'


def _methods(_: object, tokens: Sequence[Token]) -> tuple[str, ...]:
    words = [word.strip() for token in tokens for word in token.value.split(",")]
    for word in words:
        if word not in METHODS:
            raise ValueError(f"{word!r} is none of {', '.join(METHODS)}; separate them by commas.")
    return tuple(dict.fromkeys(words))


def _table_name(_: object, path: Path | None) -> None:
    if path is not None and path.suffix not in (".csv", ".parquet", ".pq"):
        raise ValueError("name a file that ends in .parquet, .pq or .csv.")


DataName = Annotated[str, Parameter(help=DATA_HELP)]
Methods = Annotated[
    tuple[MethodName, ...],
    Parameter(converter=_methods, n_tokens=1, negative="", show_default=",".join),
]
Folds = Annotated[int, Parameter(validator=validators.Number(gte=2))]
Seed = Annotated[int, Parameter(validator=validators.Number(gte=0, lt=2**32))]
Flag = Annotated[bool, Parameter(negative="", show_default=False)]
Model = Annotated[ModelName, Parameter(help=MODEL_HELP)]
AnyModel = Annotated[AnyModelName, Parameter(help=ANY_MODEL_HELP)]
Missing = Annotated[tuple[str, ...], Parameter(help=MISSING_HELP, negative="", show_default=False)]
Words = Annotated[tuple[str, ...], Parameter(negative="", show_default=False)]
Share = Annotated[float, Parameter(validator=validators.Number(gt=0, lt=1))]
Rows = Annotated[int, Parameter(validator=validators.Number(gte=1))]
TableFile = Annotated[Path | None, Parameter(validator=_table_name, show_default=False)]
