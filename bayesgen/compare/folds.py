"""Folds: the rows to fit and the rows to score, and fewer rows to fit drawn from them."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Int, Shaped

from bayesgen import arguments
from bayesgen.errors import Cure, InvalidArgument, InvalidData, Words
from bayesgen.errors.arguments import out_of_range
from bayesgen.errors.data import SELECTION, too_few_classes
from bayesgen.errors.notes import Note
from bayesgen.typing import Labels

FEWEST_ROWS = 2
"""Rows of every class that a subset keeps: with one, a class would have no variance of its own."""

Fold = tuple[Int[np.ndarray, " _"], Int[np.ndarray, " _"]]
"""The positions of the rows to fit, and of those to score."""


def split(
    y: Labels,
    classes: Shaped[np.ndarray, " class"],
    cv: object,
    random_state: int | None,
    groups: object = None,
) -> tuple[list[Fold], tuple[Note, ...]]:
    """Return the folds, and a sentence if there are fewer than were asked for.

    Args:
        y: class codes, shape (row,).
        classes: the labels they stand for, shape (class,).
        cv: a number of stratified, shuffled folds, or a scikit-learn splitter, or an iterable of
            (rows to fit, rows to score).
        random_state: seed of the shuffling; a splitter has its own.
        groups: one for each row, shape (row,); those of a number of folds stay together.

    Raises:
        InvalidData: fewer than two classes; a class has one row, or rows of one group, which cannot
            be both fitted and scored.
        InvalidArgument: cv is a number below 2, or needs groups; groups are not one for each row.
    """
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv

    codes = None if groups is None else _group_codes(groups, len(y))
    if len(classes) < 2:
        raise too_few_classes(classes.tolist(), cure=SELECTION)
    notes: tuple[Note, ...] = ()
    if not isinstance(cv, str) and (hasattr(cv, "split") or isinstance(cv, Iterable)):
        splitter = check_cv(cv)
        if codes is None and _needs_groups(splitter):
            raise InvalidArgument(
                f"cv is {splitter!r}, which needs the group of each row, and groups is None. Pass "
                "one for each row: compare(..., groups=X['patient'])."
            )
    else:
        folds = arguments.count("cv", cv, least=2, default=5)
        kind = StratifiedKFold if codes is None else StratifiedGroupKFold
        most, label = _most_folds(y, classes, codes)
        if most < folds:
            notes = (_fewer_folds(label, most, folds, "row" if codes is None else "group"),)
        splitter = kind(min(folds, most), shuffle=True, random_state=random_state)
    rows = np.arange(len(y))
    # boolean masks are allowed, as in scikit-learn
    return [(rows[fit], rows[test]) for fit, test in splitter.split(y[:, None], y, codes)], notes


def _group_codes(groups: object, n_rows: int) -> Int[np.ndarray, " row"]:
    array = np.asarray(groups)
    if array.shape != (n_rows,):
        raise InvalidArgument(
            f"groups has the shape {array.shape}, and X has {n_rows:,} rows; one group for each "
            f"row, the shape ({n_rows},), is needed. Pass a column, groups=X['patient']."
        )
    if missing := int(pd.isna(array).sum()):
        raise InvalidArgument(
            f"{{groups}} is missing in {missing:,} of {n_rows:,} rows; every row needs one.",
            "Leave these rows out, or give each a group of its own.",
            groups=Words("groups", "the column of --groups"),
        )
    return pd.factorize(array)[0]


def _needs_groups(splitter: object) -> bool:
    from sklearn.utils.metadata_routing import get_routing_for_object

    asks = getattr(get_routing_for_object(splitter), "split", None)
    return asks is not None and asks.requests.get("groups") is True


def _most_folds(
    y: Labels, classes: Shaped[np.ndarray, " class"], groups: Int[np.ndarray, " row"] | None
) -> tuple[int, object]:
    """Return how many folds can score every class, and the class that has the fewest rows."""
    units = np.arange(len(y)) if groups is None else groups
    counts = np.array([len(np.unique(units[y == code])) for code in range(len(classes))])
    fewest, label = int(counts.min()), classes[[counts.argmin()]].tolist()[0]
    if fewest < 2:
        unit = "row" if groups is None else "group"
        raise InvalidData(
            f"class {label!r} has 1 {unit}; cross-validation needs at least 2 of each class, one "
            f"to fit and one to score. Leave the {unit} out, or merge its class with another."
        )
    return fewest, label


def _fewer_folds(label: object, most: int, folds: int, unit: str) -> Note:
    scores = "scores" if unit == "row" else "can score"
    text = (
        f"class {label!r} has only {most} {unit}s, so there are {most} folds instead of {folds}: "
        f"every fold {scores} at least one {unit} of each class."
    )
    return Note(text, kind=f"too few {unit}s", classes=(label,))


def training_rows(argument: str, size: object, folds: list[Fold], y: Labels) -> int:
    """Return a number of rows to fit: as it is, or as a share of the smallest fold's.

    Raises:
        InvalidArgument: a share outside (0, 1], or a number above the rows of a fold or below two
            rows for each class.
    """
    fewest, most = _allowed(folds, y)
    share = isinstance(size, float | np.floating) and arguments.is_number(size)
    rows = round(size * most) if share else size
    if arguments.is_count(rows, fewest) and rows <= most:
        return int(rows)
    raise _invalid_size(argument, size, folds, y)


def all_training_rows(sizes: object, folds: list[Fold], y: Labels) -> list[int]:
    """Return several numbers of rows to fit, in rising order.

    Raises:
        InvalidArgument: as `training_rows`, or a single number.
    """
    if not isinstance(sizes, Iterable):
        raise _invalid_size("train_sizes", sizes, folds, y)
    return sorted({training_rows("train_sizes", size, folds, y) for size in sizes})


def _allowed(folds: list[Fold], y: Labels) -> tuple[int, int]:
    """Return the smallest and the largest number of rows to fit."""
    return FEWEST_ROWS * len(np.unique(y[y >= 0])), min(len(fit) for fit, _ in folds)


def _invalid_size(argument: str, size: object, folds: list[Fold], y: Labels) -> InvalidArgument:
    fewest, most = _allowed(folds, y)
    value = f"({fewest}, {most})" if argument == "train_sizes" else str(most)
    return out_of_range(
        Words(argument, "--train-rows"),
        size,
        Words(f"{fewest} to {most} rows, or such a share of {most} rows", f"{fewest} to {most}"),
        Cure(f"Pass {argument}={value}.", f"Choose --train-rows {most},all, or all alone."),
    )


def drawn(
    folds: list[Fold], size: int, y: Labels, seeds: Sequence[np.random.SeedSequence]
) -> list[Fold]:
    """Return folds that fit about `size` of their rows (`subset`) and score the same ones.

    Equal seeds, one for each fold, draw nested rows: those of a smaller size are among those of a
    larger one.
    """
    return [
        (fit[subset(y[fit], size, np.random.default_rng(seed))], scored)
        for (fit, scored), seed in zip(folds, seeds, strict=True)
    ]


def subset(y: Labels, size: int, rng: np.random.Generator) -> Int[np.ndarray, " _"]:
    """Return positions of about `size` rows drawn at random, the classes in proportion.

    Every class keeps at least two rows, or all it has, even where that takes more than `size`. A
    generator of the same seed gives nested subsets: those of a smaller size are among those of a
    larger one.

    Args:
        y: class codes, shape (row,).
        size: rows wanted, at least 1.
        rng: orders the rows at random.
    """
    count = np.bincount(y)
    shuffled = rng.permutation(len(y))
    by_class = shuffled[np.argsort(y[shuffled], kind="stable")]
    rank = np.arange(len(y)) - np.repeat(np.cumsum(count) - count, count)
    # the share of its class that stands before a row: taking the smallest keeps the proportions
    place = np.where(rank < FEWEST_ROWS, -1.0, (rank + rng.random(len(y))) / count[y[by_class]])
    kept = max(size, int((rank < FEWEST_ROWS).sum()))
    return np.sort(by_class[np.argsort(place, kind="stable")[:kept]])
