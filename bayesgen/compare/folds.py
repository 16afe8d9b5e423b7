"""Which rows are fitted and which are scored in each fold."""

import numpy as np
from jaxtyping import Int, Shaped

from bayesgen.errors import InvalidArgument, InvalidTarget, TooFewClasses
from bayesgen.typing import Labels

Fold = tuple[Int[np.ndarray, " _"], Int[np.ndarray, " _"]]
"""The positions of the rows to fit, and of those to score."""


def split(
    y: Labels, classes: Shaped[np.ndarray, " class"], cv: object, random_state: int | None
) -> tuple[list[Fold], tuple[str, ...]]:
    """Return the folds, and a sentence if there are fewer than were asked for.

    Args:
        y: class codes, shape (row,).
        classes: the labels they stand for, shape (class,).
        cv: a number of stratified, shuffled folds, or a scikit-learn splitter, or an iterable of
            (rows to fit, rows to score).
        random_state: seed of the shuffling; a splitter has its own.

    Raises:
        TooFewClasses: fewer than two classes.
        InvalidArgument: cv is a number below 2.
        InvalidTarget: a class has one row, which cannot be both fitted and scored.
    """
    if len(classes) < 2:
        raise TooFewClasses.found(classes.tolist())
    if not isinstance(cv, int):
        return _of_splitter(y, cv), ()
    if isinstance(cv, bool) or cv < 2:
        raise InvalidArgument.out_of_range("cv", cv, "a whole number of at least 2, or a splitter,")
    from sklearn.model_selection import StratifiedKFold

    folds, notes = _feasible(y, classes, cv)
    splitter = StratifiedKFold(folds, shuffle=True, random_state=random_state)
    return list(splitter.split(y, y)), notes


def _feasible(
    y: Labels, classes: Shaped[np.ndarray, " class"], cv: int
) -> tuple[int, tuple[str, ...]]:
    count = np.bincount(y, minlength=len(classes))
    fewest, label = int(count.min()), classes[[count.argmin()]].tolist()[0]
    if fewest < 2:
        raise InvalidTarget(
            f"class {label!r} has 1 row; cross-validation needs at least 2 of each class, one to "
            "fit and one to score. Leave the row out, or merge its class with another."
        )
    if fewest >= cv:
        return cv, ()
    note = (
        f"class {label!r} has only {fewest} rows, so there are {fewest} folds instead of {cv}: "
        "every fold scores at least one row of each class."
    )
    return fewest, (note,)


def _of_splitter(y: Labels, cv: object) -> list[Fold]:
    from sklearn.model_selection import check_cv

    every = np.arange(len(y))
    # boolean masks are allowed, as in scikit-learn
    return [(every[fit], every[scored]) for fit, scored in check_cv(cv).split(y[:, None], y)]
