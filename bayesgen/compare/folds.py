"""Folds: training and held-out rows, at full and at smaller training sizes."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Int, Shaped

from bayesgen import arguments
from bayesgen.errors import Cure, InvalidArgument, InvalidData, Words
from bayesgen.errors.arguments import out_of_range
from bayesgen.errors.data import too_few_classes
from bayesgen.errors.notes import Note
from bayesgen.typing import Labels

FEWEST_ROWS = 2
"""Rows of every class that a subset keeps: with one, a class would have no variance of its own."""

Fold = tuple[Int[np.ndarray, " _"], Int[np.ndarray, " _"]]
"""The positions of the rows to fit, and of those to score."""

Split = tuple[str, Fold]
"""A fold and the words that an error names it by."""


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
        InvalidData: fewer than two classes.
        InvalidArgument: cv is a number below 2, or needs groups; groups are not one for each row.
        InvalidData: a class has one row, or rows of one group, which cannot be both fitted and
            scored.
    """
    together = None if groups is None else _groups(groups, len(y))
    if len(classes) < 2:
        raise too_few_classes(classes.tolist())
    if not isinstance(cv, str) and (hasattr(cv, "split") or isinstance(cv, Iterable)):
        return _of_splitter(y, cv, together), ()
    cv = arguments.count("cv", cv, least=2, default=5)
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    folds, notes = _feasible(y, classes, cv, together)
    kind = StratifiedKFold if together is None else StratifiedGroupKFold
    splitter = kind(folds, shuffle=True, random_state=random_state)
    return list(splitter.split(y, y, together)), notes


def _groups(groups: object, n_rows: int) -> Int[np.ndarray, " row"]:
    """Return the number of each row's group."""
    array = np.asarray(groups)
    if array.shape != (n_rows,):
        raise InvalidArgument(
            f"groups has the shape {array.shape}, and X has {n_rows:,} rows; one group for each "
            f"row, the shape ({n_rows},), is needed. Pass a column, groups=X['patient']."
        )
    missing = int(pd.isna(array).sum())
    if missing:
        raise InvalidArgument(
            f"{{groups}} is missing in {missing:,} of {n_rows:,} rows; every row needs one.",
            "Leave these rows out, or give each a group of its own.",
            groups=Words("groups", "the column of --groups"),
        )
    return pd.factorize(array)[0]


def _feasible(
    y: Labels,
    classes: Shaped[np.ndarray, " class"],
    cv: int,
    groups: Int[np.ndarray, " row"] | None,
) -> tuple[int, tuple[Note, ...]]:
    """Return the feasible number of folds with every class, and a note if it was reduced."""
    apart = np.arange(len(y)) if groups is None else groups
    count = np.array([len(np.unique(apart[y == k])) for k in range(len(classes))])
    unit = "row" if groups is None else "group"
    fewest, label = int(count.min()), classes[[count.argmin()]].tolist()[0]
    if fewest < 2:
        raise InvalidData(
            f"class {label!r} has 1 {unit}; cross-validation needs at least 2 of each class, one "
            f"to fit and one to score. Leave the {unit} out, or merge its class with another."
        )
    if fewest >= cv:
        return cv, ()
    text = (
        f"class {label!r} has only {fewest} {unit}s, so there are {fewest} folds instead of {cv}: "
        f"every fold {'scores' if groups is None else 'can score'} at least one {unit} of each "
        "class."
    )
    return fewest, (Note(text, kind=f"too few {unit}s", classes=(label,)),)


def _of_splitter(y: Labels, cv: object, groups: Int[np.ndarray, " row"] | None) -> list[Fold]:
    from sklearn.model_selection import check_cv

    splitter, every = check_cv(cv), np.arange(len(y))
    if groups is None and _needs_groups(splitter):
        raise InvalidArgument(
            f"cv is {cv!r}, which needs the group of each row, and groups is None. Pass one for "
            "each row: compare(..., groups=X['patient'])."
        )
    # boolean masks are allowed, as in scikit-learn
    parts = splitter.split(y[:, None], y, groups)
    return [(every[fit], every[scored]) for fit, scored in parts]


def _needs_groups(splitter: object) -> bool:
    from sklearn.utils.metadata_routing import get_routing_for_object

    asks = getattr(get_routing_for_object(splitter), "split", None)
    return asks is not None and asks.requests.get("groups") is True


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


def training_sizes(sizes: Sequence[int | float], folds: list[Fold], y: Labels) -> tuple[int, ...]:
    """Return numbers of rows to fit, ascending: as they are, or as shares of the smallest fold's.

    Raises:
        InvalidArgument: a share outside (0, 1], or a number above the rows of a fold or below two
            rows for each class.
    """
    if not isinstance(sizes, Iterable):
        raise _invalid_size("train_sizes", sizes, folds, y)
    return tuple(sorted({_size("train_sizes", size, folds, y) for size in sizes}))


def training_size(size: int | float, folds: list[Fold], y: Labels) -> int:
    """Return a number of rows to fit: as it is, or as a share of the smallest fold's.

    Raises:
        InvalidArgument: as `training_sizes`.
    """
    return _size("train_size", size, folds, y)


def _size(argument: str, size: object, folds: list[Fold], y: Labels) -> int:
    fewest, most = _allowed(folds, y)
    share = isinstance(size, float | np.floating) and arguments.is_number(size)
    rows = round(size * most) if share else size
    if not arguments.is_count(rows, fewest) or rows > most:
        raise _invalid_size(argument, size, folds, y)
    return int(rows)


def _allowed(folds: list[Fold], y: Labels) -> tuple[int, int]:
    """Return the fewest and the most rows that a fold can fit."""
    return FEWEST_ROWS * len(np.unique(y)), min(len(fit) for fit, _ in folds)


def _invalid_size(argument: str, size: object, folds: list[Fold], y: Labels) -> InvalidArgument:
    fewest, most = _allowed(folds, y)
    value = f"({fewest}, {most})" if argument == "train_sizes" else str(most)
    return out_of_range(
        Words(argument, "--train-rows"),
        size,
        Words(f"{fewest} to {most} rows, or such a share of {most} rows", f"{fewest} to {most}"),
        Cure(f"Pass {argument}={value}.", f"Choose --train-rows {most},all, or all alone."),
    )


def folds_at(folds: list[Fold], size: int, y: Labels, random_state: int | None) -> list[Fold]:
    """Return folds that fit about `size` of their rows (`subset`) and score the same ones."""
    rngs = np.random.default_rng(random_state).spawn(len(folds))
    return [
        (fit[subset(y[fit], size, rng)], scored)
        for (fit, scored), rng in zip(folds, rngs, strict=True)
    ]


def splits_at(
    folds: list[Fold], sizes: tuple[int, ...], y: Labels, random_state: int | None
) -> list[Split]:
    """Return the folds, then the folds at each training size.

    Smaller folds fit about `size` of their rows (`subset`) and score the same ones; the rows of a
    smaller size are among those of a larger one.
    """
    named = [(f"fold {number} of {len(folds)}", fold) for number, fold in enumerate(folds, start=1)]
    # one seed for all sizes, also where none was given
    seed = int(np.random.default_rng(random_state).integers(2**63))
    seeds = np.random.SeedSequence(seed).spawn(len(folds))
    smaller = [
        (f"{words} at {size} rows", (fit[subset(y[fit], size, np.random.default_rng(own))], scored))
        for size in sizes
        for (words, (fit, scored)), own in zip(named, seeds, strict=True)
    ]
    return [*named, *smaller]
