"""Arguments that several commands take, with their help."""

import contextlib
import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, Token, validators

from bayesgen.cli.models import AnyModelName, InferenceName, ModelName, Unlabelled
from bayesgen.inference import NUTS
from bayesgen.table.sources.csv_files import NULLS

DATA_HELP = (
    "A CSV file (separated by commas, semicolons, tabs or bars), a Parquet file (.parquet, .pq), "
    "an Arrow file (.arrow, .feather), a folder or a pattern of such files, or the name of a "
    "bundled data set (see `bayesgen datasets`). Columns of numbers are numeric, integers too; "
    "text and booleans are categories. In a CSV file blanks around cells are ignored, and these "
    "cells are missing: the empty one, "
    f"{', '.join(f'`{null}`' for null in NULLS if null)}."
)
TARGET_HELP = "Column that holds the classes; a bundled data set has its own."
MODEL_HELP = (
    "naive-bayes takes any columns; lda and qda take numbers; joint-table takes categories and "
    "whole numbers; bag-of-words takes counts"
)
STACKED_HELP = (
    "stacked, the best default, pools several structures that suit the columns by leave-one-out "
    "score"
)
INFERENCE_HELP = (
    "exact is the posterior in closed form; mle and map are points; nuts samples; auto is exact "
    "where that exists, else it samples. A stack has only auto."
)
MISSING_HELP = 'One more text that means "missing" in a CSV file, such as "?"; may be repeated.'
SEP_HELP = "Separator of the cells of a CSV file; by default recognized from its first line."
DECIMAL_HELP = "Decimal mark of numbers in a CSV file; by default recognized from its first rows."
DROP_HELP = "Columns that are not features, such as patient_id, separated by commas."
COLUMNS_HELP = "The only columns to use as features, separated by commas."
FOLDS_HELP = "Number of stratified folds; lowered to the rows of the smallest class."
UNLABELLED_HELP = (
    "How much rows without a class count: learn, by leave-one-out of the other rows; a number, the "
    "weight of each, 1 if the model is right; or none, which refuses them. In such a row the cell "
    "of the target is missing, or -1 beside two other whole numbers, none of them negative."
)
PRIOR_HELP = (
    "Probabilities of the classes in the population to predict for, such as ill=0.01,well=0.99, "
    "where they are not those of the rows."
)
NOT_NONE = " Or leave --unlabelled none out, to learn from them as well."


def split_words(_: object, tokens: Sequence[Token]) -> tuple[str, ...]:
    """Return words that are separated by commas, each once."""
    words = [word.strip() for token in tokens for word in token.value.split(",")]
    return tuple(dict.fromkeys(word for word in words if word))


def _one_character(_: object, value: str | None) -> None:
    if value is not None and (len(value) != 1 or value in '"\n\r'):
        raise ValueError(f"one character is needed, and {value!r} was given.")


def _read_separator(_: object, tokens: Sequence[Token]) -> str:
    return {"\\t": "\t", "tab": "\t"}.get(tokens[0].value, tokens[0].value)


def _read_weight(_: object, tokens: Sequence[Token]) -> Unlabelled:
    word = tokens[0].value
    if word in ("learn", "none"):
        return "learn" if word == "learn" else None
    with contextlib.suppress(ValueError):
        if 0 <= (weight := float(word)) < math.inf:
            return weight
    raise ValueError(f"{word!r} is neither learn, none nor a weight of at least 0.")


def _read_prior(_: object, tokens: Sequence[Token]) -> Mapping[str, float]:
    found = {}
    for part in ",".join(token.value for token in tokens).split(","):
        label, equals, number = part.rpartition("=")
        try:
            found[label.strip()] = float(number)
        except ValueError:
            equals = ""
        if not equals or not 0 <= found[label.strip()] <= 1:
            raise ValueError(
                f"{part!r} is no class and its probability; type them as ill=0.01,well=0.99."
            )
    if abs(sum(found.values()) - 1) > 1e-6:
        raise ValueError(f"the probabilities sum to {sum(found.values()):g}; make them sum to 1.")
    return found


DataName = Annotated[str, Parameter(help=DATA_HELP)]
Target = Annotated[str | None, Parameter(help=TARGET_HELP)]
Model = Annotated[ModelName, Parameter(help=f"{MODEL_HELP}.")]
AnyModel = Annotated[AnyModelName, Parameter(help=f"{STACKED_HELP}; {MODEL_HELP}.")]
FittedFile = Annotated[Path, Parameter(help="A file that `bayesgen fit` or clf.save(path) wrote.")]
Inference = Annotated[InferenceName, Parameter(help=INFERENCE_HELP)]
Folds = Annotated[int, Parameter(validator=validators.Number(gte=2), help=FOLDS_HELP)]
Seed = Annotated[int, Parameter(validator=validators.Number(gte=0, lt=2**32), help="Random seed.")]
Words = Annotated[tuple[str, ...], Parameter(negative="", show_default=False)]
Listed = Annotated[
    tuple[str, ...],
    Parameter(converter=split_words, n_tokens=1, negative="", show_default=False),
]
Weight = Annotated[
    Unlabelled,
    Parameter(
        converter=_read_weight, n_tokens=1, negative="", show_choices=False, help=UNLABELLED_HELP
    ),
]
Prior = Annotated[
    Mapping[str, float] | None,
    Parameter(
        converter=_read_prior,
        n_tokens=1,
        accepts_keys=False,
        negative="",
        show_default=False,
        help=PRIOR_HELP,
    ),
]
Rows = Annotated[int, Parameter(validator=validators.Number(gte=1), help="Rows read at once.")]
Json = Annotated[bool, Parameter(negative="", show_default=False, help="Print JSON.")]
Count = Annotated[int | None, Parameter(validator=validators.Number(gte=1), show_default=False)]


@Parameter(name="*")
@dataclasses.dataclass(frozen=True)
class CsvFormat:
    """Options for reading CSV files."""

    missing: Annotated[Words, Parameter(help=MISSING_HELP)] = ()
    sep: Annotated[
        str | None,
        Parameter(
            converter=_read_separator,
            n_tokens=1,
            validator=_one_character,
            show_default=False,
            help=SEP_HELP,
        ),
    ] = None
    decimal: Annotated[
        str | None, Parameter(validator=_one_character, show_default=False, help=DECIMAL_HELP)
    ] = None


@Parameter(name="*")
@dataclasses.dataclass(frozen=True)
class Features:
    """Which columns are features."""

    drop: Annotated[Listed, Parameter(help=DROP_HELP)] = ()
    columns: Annotated[Listed, Parameter(help=COLUMNS_HELP)] = ()


@Parameter(name="*")
@dataclasses.dataclass(frozen=True)
class Sampling:
    """How long NUTS samples; None: as long as by default."""

    draws: Annotated[
        Count, Parameter(help=f"Kept draws of each chain of NUTS, by default {NUTS.draws:,}.")
    ] = None
    warmup: Annotated[
        Count,
        Parameter(help=f"Discarded draws of each chain of NUTS, by default {NUTS.warmup:,}."),
    ] = None
    chains: Annotated[
        Count, Parameter(help=f"Independent chains of NUTS, by default {NUTS.chains}.")
    ] = None

    @property
    def stated(self) -> dict[str, int]:
        """The settings that were typed."""
        return {name: value for name, value in vars(self).items() if value is not None}


AS_SHOWN, ALL_COLUMNS, DEFAULT_LENGTH = CsvFormat(), Features(), Sampling()
"""Nothing was typed."""
