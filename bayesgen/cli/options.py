"""Options that several commands take, with their help, which loads neither models nor tables."""

import contextlib
import csv
import dataclasses
import math
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter, Token, convert, types, validators

from bayesgen.errors import BayesgenError
from bayesgen.sources.defaults import NULLS

TYPED: ContextVar[tuple[str, ...]] = ContextVar("typed", default=())
"""The command line that runs, which pages print so that they can be made again."""
ModelName = Literal["naive-bayes", "lda", "qda", "joint-table", "bag-of-words"]
DRAWS, WARMUP, CHAINS = 1000, 1000, 4
"""The defaults of `bg.NUTS`."""
AnyModelName = Literal["stacked", ModelName]
InferenceName = Literal["auto", "exact", "expected", "augmentation", "mle", "map", "nuts"]
Unlabelled = Literal["learn"] | float | None
"""The weight of rows without a class; None: they are refused."""

MODEL_HELP = (
    "naive-bayes takes any columns; lda and qda take numbers; joint-table takes categories and "
    "whole numbers; bag-of-words takes counts."
)


class UnusableOptions(BayesgenError, ValueError):
    """What the options state does not suit the files, each other or the model."""


# -- Values as they are typed ----------------------------------------------------------------------


def _split(type_: Any, tokens: Sequence[Token]) -> Any:
    """Read words separated by commas, each of them taken once."""
    words = [word.strip() for token in tokens for word in token.value.split(",")]
    words = [word for word in dict.fromkeys(words) if word]
    return convert(type_, [tokens[0].evolve(value=word) for word in words])


SEPARATED = Parameter(converter=_split, n_tokens=1, show_default=False, show_choices=False)


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
    raise ValueError(f"{word!r} is not learn, none or a weight of at least 0.")


def _numbers(tokens: Sequence[Token], what: str, least: float, most: float) -> dict[str, float]:
    """Read "ill=0.01,well=0.99", numbers from `least` to `most`; names may hold commas."""
    numbers: dict[str, float] = {}
    words: list[str] = []
    for word in ",".join(token.value for token in tokens).split(","):
        if words and "=" not in words[-1]:
            words[-1] += f",{word}"
        else:
            words.append(word)
    for word in words:
        name, _, number = word.rpartition("=")
        if "=" in (earlier := name.partition(";")[0]) and earlier != name:
            raise ValueError(f"{word!r}: pairs are separated by commas, not by semicolons.")
        name, known = name.strip(), name.strip() in numbers
        with contextlib.suppress(ValueError):
            numbers[name] = float(number)
        if not name or known or not least <= numbers.get(name, math.nan) <= most:
            raise ValueError(f"{word!r} is no {what}.")
    return numbers


def _read_prior(_: object, tokens: Sequence[Token]) -> Mapping[str, float]:
    what = "class and its probability; type them as ill=0.01,well=0.99"
    prior = _numbers(tokens, what, 0, 1)
    if abs(sum(prior.values()) - 1) > 1e-6:
        raise ValueError(f"the probabilities sum to {sum(prior.values()):g}; make them sum to 1.")
    return prior


def _read_costs(_: object, tokens: Sequence[Token]) -> Mapping[str, float]:
    what = "new pair of classes and its cost; type them as ill:well=5,well:ill=1"
    return _numbers(tokens, what, -math.inf, math.inf)


def _read_measuring_costs(_: object, tokens: Sequence[Token]) -> Mapping[str, float]:
    what = "column and the cost of measuring it; type them as glucose=2,age=0"
    return _numbers(tokens, what, 0, math.inf)


def _read_text(_: object, tokens: Sequence[Token]) -> str:
    try:
        text = Path(tokens[0].value).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text in UTF-8"
        raise ValueError(f"{tokens[0].value!r} cannot be read: {reason}.") from None
    if not text.strip():
        raise ValueError(f"{tokens[0].value!r} is empty; write into it, or leave the option out.")
    return text


# -- Options ---------------------------------------------------------------------------------------

DataName = Annotated[
    str,
    Parameter(
        help="A CSV file, a Parquet file (.parquet, .pq), an Arrow file (.arrow, .feather), an "
        "ARFF file, the first sheet of a workbook (.xlsx, .xls), a folder or a pattern of such "
        "files, or the name of a bundled data set (see `bayesgen datasets`). Columns of numbers "
        "are numeric, integers too; text and booleans are categories. Missing cells of a CSV file: "
        f"the empty cell, {', '.join(f'`{null}`' for null in NULLS if null)}."
    ),
]
Target = Annotated[
    str | None, Parameter(help="Column that holds the classes; a bundled data set has its own.")
]
Model = Annotated[ModelName, Parameter(help=MODEL_HELP)]
AnyModel = Annotated[
    AnyModelName,
    Parameter(
        help="stacked, the best default, pools several structures that suit the columns by "
        f"leave-one-out score; {MODEL_HELP}"
    ),
]
FittedFile = Annotated[Path, Parameter(help="A file that `bayesgen fit` or clf.save(path) wrote.")]
Inference = Annotated[
    InferenceName,
    Parameter(
        help="exact is the posterior in closed form; mle and map are points; nuts samples; auto is "
        "exact where that exists, else it samples. Where lda, qda and joint-table miss cells, "
        "augmentation samples them, expected counts them by their expectations, and auto samples "
        "if that takes less than 10 seconds. A stack has only auto."
    ),
]
Weight = Annotated[
    Unlabelled,
    Parameter(
        converter=_read_weight,
        n_tokens=1,
        show_choices=False,
        help="How much rows without a class count: learn, by leave-one-out of the other rows; a "
        "number, the weight of each, 1 if the model is right; or none, which refuses them. In such "
        "a row the cell of the target is missing, or -1 beside two other whole numbers, none of "
        "them negative.",
    ),
]
NOT_NONE = " Or leave --unlabelled none out, to learn from them as well."
Prior = Annotated[
    Mapping[str, float] | None,
    Parameter(
        converter=_read_prior,
        n_tokens=1,
        accepts_keys=False,
        help="Probabilities of the classes in the population to predict for, such as "
        "ill=0.01,well=0.99, where they are not those of the rows.",
    ),
]
Costs = Annotated[
    Mapping[str, float] | None,
    Parameter(
        converter=_read_costs,
        n_tokens=1,
        accepts_keys=False,
        help="Costs of decisions, true:decided=number for every pair of different classes, such as "
        "ill:well=5,well:ill=1. Decisions may be actions: ill:treat=0,ill:wait=50,well:treat=10,"
        "well:wait=0. By default every error costs 1.",
    ),
]
MeasuringCosts = Annotated[
    Mapping[str, float] | None,
    Parameter(
        converter=_read_measuring_costs,
        n_tokens=1,
        accepts_keys=False,
        help="What measuring a column costs, such as glucose=2,age=0, in the unit of the costs of "
        "decisions that are typed into the page; there it is subtracted from what it may save.",
    ),
]
By = Annotated[
    str | None,
    Parameter(
        help="Column of up to 20 levels, a feature or not (--drop), whose levels are scored "
        "separately."
    ),
]
Notes = Annotated[
    str,
    Parameter(
        converter=_read_text,
        n_tokens=1,
        show_default=False,
        help="File of text or Markdown about intended use and limits: who may use the answers, "
        "whom the rows stand for, whom they do not. Lines that begin with # are headings, those "
        "that begin with -, * or 1. are items, and an empty line ends a paragraph; other marks "
        "stay as typed.",
    ),
]
Folds = Annotated[
    int,
    Parameter(
        validator=validators.Number(gte=2),
        help="Number of stratified folds; lowered to the rows of the smallest class.",
    ),
]
Seed = Annotated[types.UInt32, Parameter(help="Random seed.")]
Rows = Annotated[types.PositiveInt, Parameter(help="Rows read at once.")]
Flag = Annotated[bool, Parameter(show_default=False)]
Json = Annotated[Flag, Parameter(help="Print JSON.")]
Words = Annotated[tuple[str, ...], Parameter(show_default=False)]
Listed = Annotated[tuple[str, ...], SEPARATED]
ModelOut = Annotated[Path, Parameter(name=["--out", "-o"])]
Count = types.PositiveInt | None


def _read_names(_: object, tokens: Sequence[Token]) -> tuple[str, ...]:
    """Read names separated by commas, a name that holds one in quotes."""
    (row,) = csv.reader([",".join(token.value for token in tokens)], skipinitialspace=True)
    return tuple(name.strip() for name in row)


@Parameter(name="*")
@dataclasses.dataclass(frozen=True)
class CsvFormat:
    """Options for reading CSV files.

    Attributes:
        missing: One more text that means "missing" in a CSV file, such as "?"; may be repeated.
        not_missing: A text that means "missing" by default, such as NA, and does not here; may be
            repeated.
        sep: Separator of the cells of a CSV file; by default recognized among commas, semicolons,
            tabs and vertical bars.
        decimal: Decimal mark of numbers in a CSV file; by default a point, or a comma where numbers
            have one.
        encoding: Encoding of a CSV file; by default UTF-8, UTF-16, or else Windows-1252.
        header: Whether the first row of a CSV file holds the names of the columns; by default a
            file whose first row looks like data is refused. Without a header columns are named x0,
            x1 and so on.
        names: Names of the columns of a CSV file, separated by commas, in place of those of its
            header.
        stray_quotes: Quotation marks that are not closed in their line are characters of a cell.
    """

    missing: Words = ()
    not_missing: Words = ()
    sep: Annotated[
        str | None, Parameter(converter=_read_separator, n_tokens=1, validator=_one_character)
    ] = None
    decimal: Annotated[str | None, Parameter(validator=_one_character)] = None
    encoding: str | None = None
    header: Annotated[bool | None, Parameter(negative="--no-header")] = None
    names: Annotated[
        tuple[str, ...] | None,
        Parameter(converter=_read_names, n_tokens=1, show_default=False),
    ] = None
    stray_quotes: Flag = False


@Parameter(name="*")
@dataclasses.dataclass(frozen=True)
class Features:
    """Which columns are features.

    Attributes:
        drop: Columns that are not features, such as patient_id, separated by commas.
        columns: The only columns to use as features, separated by commas.
    """

    drop: Listed = ()
    columns: Listed = ()


@Parameter(name="*")
@dataclasses.dataclass(frozen=True)
class Sampling:
    """How long NUTS samples; None: as long as by default."""

    draws: Annotated[
        Count, Parameter(help=f"Kept draws of each chain of NUTS, by default {DRAWS:,}.")
    ] = None
    warmup: Annotated[
        Count,
        Parameter(help=f"Discarded draws of each chain of NUTS, by default {WARMUP:,}."),
    ] = None
    chains: Annotated[
        Count, Parameter(help=f"Independent chains of NUTS, by default {CHAINS}.")
    ] = None


AS_SHOWN, ALL_COLUMNS, DEFAULT_LENGTH = CsvFormat(), Features(), Sampling()
"""Nothing was typed."""
