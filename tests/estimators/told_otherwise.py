"""Tables told otherwise: other names, another order, other units, columns that say nothing.

Each change returns the same rows as somebody else would write them; no probability may move.
"""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np
import pandas as pd
from stacked_tables import holed, interacting, passengers


@dataclasses.dataclass(frozen=True)
class Told:
    """Rows of a fit, then new rows, and the class that is asked for, which a change may rename.

    positive: numbers whose sign has a meaning.
    """

    X: pd.DataFrame
    y: np.ndarray
    asked: object
    weight: np.ndarray | None = None
    positive: tuple[str, ...] = ()

    def proba(self, classifier: object) -> np.ndarray:
        """Fit a classifier; return P of the class asked for, of rows of the fit and of new ones."""
        weight = {} if self.weight is None else {"sample_weight": self.weight}
        classifier.fit(self.X[: len(self.y)], self.y, **weight)
        return classifier.predict_proba(self.X)[:, list(classifier.classes_).index(self.asked)]

    @property
    def numbers(self) -> list[str]:
        return list(self.X.select_dtypes("number"))

    @property
    def levels(self) -> list[str]:
        return list(self.X.select_dtypes(exclude="number"))

    def of_numbers(self) -> "Told":
        return dataclasses.replace(self, X=self.X[self.numbers])

    def with_columns(self, change: Callable[[str], pd.Series], names: list[str]) -> "Told":
        return dataclasses.replace(self, X=self.X.assign(**{name: change(name) for name in names}))


# -- tables ----------------------------------------------------------------------------------------


def product_of_numbers(n=90):
    """Return rows whose class is the sign of a product of two numbers, which a forest sees."""
    rng = np.random.default_rng(0)
    kind = np.random.default_rng(1).choice([*"abc"], n + 20, p=[0.5, 0.3, 0.2])
    X = pd.DataFrame(rng.normal(size=(n + 20, 3)), columns=["u", "v", "w"])
    X["v"] += 0.5 * X["u"]
    X["w"] = np.exp(X["w"])
    odds = (2.5 * np.sign(X["u"] * X["v"]) + 0.4 * X["u"])[:n]
    X["kind"] = kind
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "yes", "no").astype(object)
    return Told(X, y, "yes")


def pairs_of_levels(n=120):
    """Return rows of levels, a pair of which says more than each, one of them in two ways."""
    X, y = interacting(n + 10)
    X["e"] = np.where(X["c"] == "0", "low", "high")
    return Told(X, y[:n].astype(object), "yes")


def gaps_and_levels():
    """Return rows of levels and two numbers with gaps, some of which are weighed."""
    X, y = passengers(18)
    rng = np.random.default_rng(1)
    X["fare"] = np.exp(rng.normal(size=len(X)) + (X["passengerClass"] == "1st"))
    X["deck"] = rng.choice([*"ABCDE"], len(X))
    y = y.to_numpy(object)[: len(X) - 8]
    weight = rng.choice([0.5, 1.0, 2.0], len(y))
    return Told(holed(X, 0.15)[0], y, "yes", weight)


def whole_numbers(n=60):
    """Return three classes and numbers that many rows share; new rows lie halfway between."""
    rng = np.random.default_rng(4)
    k = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    size = rng.poisson(2 + k + 2 * rng.integers(0, 2, n))
    X = pd.DataFrame({"size": size, "age": 5 * rng.integers(1, 9, n), "dose": rng.choice(4, n) / 4})
    X["sex"] = np.where(rng.random(n) < 0.3 + 0.2 * k, "f", "m")
    new = X[:20].assign(size=X["size"][:20] + 0.5, age=X["age"][:20] + 2.5)
    X = pd.concat([X.astype({"size": float, "age": float}), new], ignore_index=True)
    return Told(X, np.array([*"pqr"], object)[k], "q")


def wide(n=40, p=110):
    """Return fewer rows than columns, of which many say a little."""
    rng = np.random.default_rng(5)
    y = np.resize(["ill", "ill", "well"], n)
    x = rng.normal(size=(n, p)) + rng.normal(size=(n, 3)) @ rng.normal(size=(3, p))
    x += 1.2 * rng.normal(size=p) * (y == "ill")[:, None]
    X = pd.DataFrame(x, columns=[f"x{j}" for j in range(p)])
    X["kind"] = rng.choice([*"abc"], n)
    return Told(X, y[:32].astype(object), "ill")


TABLES: dict[str, Callable[[], Told]] = {
    "product": product_of_numbers,
    "pairs": pairs_of_levels,
    "gaps": gaps_and_levels,
    "whole": whole_numbers,
    "wide": wide,
}

# -- changes ---------------------------------------------------------------------------------------


def classes_renamed(told: Told) -> Told:
    """Return names in the reverse order of the alphabet: classes are sorted."""
    names = sorted(set(told.y))
    other = {name: f"class {len(names) - i}" for i, name in enumerate(names)}
    y = np.array([other[k] for k in told.y], object)
    return dataclasses.replace(told, y=y, asked=other[told.asked])


def columns_renamed(told: Told) -> Told:
    other = {name: f"column {900 - j}" for j, name in enumerate(told.X)}
    positive = tuple(other[name] for name in told.positive)
    return dataclasses.replace(told, X=told.X.rename(columns=other), positive=positive)


def columns_reordered(told: Told) -> Told:
    return dataclasses.replace(told, X=told.X.iloc[:, ::-1])


def levels_renamed(told: Told) -> Told:
    def renamed(name: str) -> pd.Series:
        levels = sorted(told.X[name].dropna().unique())
        other = {level: f"level {(5 * i + 3) % 7}" for i, level in enumerate(levels)}
        return told.X[name].astype(object).map(other)

    return told.with_columns(renamed, told.levels)


def levels_declared(told: Told) -> Told:
    """Return levels as declared categories, in the reverse order of the alphabet."""

    def declared(name: str) -> pd.Series:
        levels = sorted(told.X[name].dropna().unique(), reverse=True)
        return told.X[name].astype(object).astype(pd.CategoricalDtype(levels))

    return told.with_columns(declared, told.levels)


def numbers_reflected(told: Told) -> Told:
    names = [name for name in told.numbers if name not in told.positive]
    return told.with_columns(lambda name: -told.X[name], names)


def units_changed(told: Told) -> Told:
    factors = dict(zip(told.numbers, np.resize([3.7, 1e-3, 12.0], len(told.numbers)), strict=True))
    return told.with_columns(lambda name: told.X[name] * factors[name], told.numbers)


def constant_number(told: Told) -> Told:
    return dataclasses.replace(told, X=told.X.assign(amount=7.5))


def constant_level(told: Told) -> Told:
    return dataclasses.replace(told, X=told.X.assign(place="here"))


def never_observed(told: Told) -> Told:
    return dataclasses.replace(told, X=told.X.assign(blank=np.nan))


def levels_without_rows(told: Told) -> Told:
    """Return levels of which others are declared that no row has."""

    def declared(name: str) -> pd.Series:
        levels = sorted(told.X[name].dropna().unique())
        levels = ["first of none", *levels, "none"]
        return told.X[name].astype(object).astype(pd.CategoricalDtype(levels))

    return told.with_columns(declared, told.levels)


NAMES = (classes_renamed, columns_renamed, columns_reordered)
OF_NUMBERS = (numbers_reflected, units_changed)
OF_LEVELS = (levels_renamed, levels_declared)
SILENT = (constant_number, constant_level, never_observed)
CHANGES = (*SILENT, *OF_NUMBERS, *OF_LEVELS, *NAMES)
FOR_STACKS = (levels_without_rows, *CHANGES)
"""A declared level without rows has a part of the prior of other classifiers."""


def all_of(changes: tuple[Callable[[Told], Told], ...]) -> Callable[[Told], Told]:
    """Return one change that makes all changes in turn."""
    return lambda told: functools.reduce(lambda each, change: change(each), changes, told)
