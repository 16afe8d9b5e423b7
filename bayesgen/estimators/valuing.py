"""What measuring a missing cell is worth, whoever answers: one classifier, or a stack of them."""

import abc
from collections.abc import Callable, Mapping
from typing import Literal, overload

import numpy as np

from bayesgen import arguments, diagnose, explain
from bayesgen.decide import Loss, losses
from bayesgen.errors import deduplicate_warnings
from bayesgen.estimators.explaining import Explaining, index_of
from bayesgen.estimators.seeds import drawn_seed
from bayesgen.table import Name
from bayesgen.typing import DataFrame

CELLS = 256

Asker = Callable[[np.random.Generator], explain.Asked]


class Valuing(Explaining, abc.ABC):
    """Which missing cell is worth asking for; a subclass says how a column is asked."""

    @abc.abstractmethod
    def _askers(self, X: object, gain: explain.Gain, draws: int) -> Mapping[Name, Asker]:
        """Return by column what says how much its missing cells are expected to gain."""

    @overload
    def feature_value(
        self,
        X: object,
        loss: Loss = ...,
        *,
        draws: int = ...,
        return_error: Literal[False] = ...,
        random_state: object = ...,
    ) -> DataFrame: ...
    @overload
    def feature_value(
        self,
        X: object,
        loss: Loss = ...,
        *,
        draws: int = ...,
        return_error: Literal[True],
        random_state: object = ...,
    ) -> tuple[DataFrame, DataFrame]: ...
    @deduplicate_warnings()
    def feature_value(
        self,
        X: object,
        loss: Loss = None,
        *,
        draws: int = CELLS,
        return_error: bool = False,
        random_state: object = 0,
    ) -> DataFrame | tuple[DataFrame, DataFrame]:
        """Return what each missing cell is worth: how much measuring it is expected to tell.

        A DataFrame (row, feature), NaN where a cell is observed, else at least 0: the expected fall
        of the entropy of the class, in nats (Lindley 1956), or with a loss of the least expected
        loss, in its unit (Raiffa and Schlaifer 1961). Values do not add up: cells may tell the
        same. Levels and counts (up to a probability of 1e-9) are summed, numbers simulated.

        Args:
            X: rows; an absent column is missing in all of them.
            loss: as in `decide`.
            draws: simulated cells for each class, of each missing number, at least 2.
            return_error: also return a DataFrame of Monte Carlo standard errors; 0 of sums.
            random_state: seed of simulated cells.

        Raises:
            InvalidLoss: a loss from which no decision follows.
            UnsupportedInference: nothing can fill the cells: words of a text, a story of your own.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_titanic_passengers()
            >>> stranger = X.iloc[:1].assign(sex=None, passengerClass=None)
            >>> bg.NaiveBayes().fit(X, y).feature_value(stranger).round(3)
                 sex  age  passengerClass
            0  0.138  NaN           0.047
        """
        draws = arguments.count("draws", draws, least=2, default=CELLS)
        askers = self._askers(X, gain_of(loss, self.classes_), draws)
        found = worths(askers, random_state)
        values = diagnose.frame({name: one.value for name, one in found.items()}, index_of(X))
        errors = diagnose.frame({name: one.error for name, one in found.items()}, index_of(X))
        return (values, errors) if return_error else values


def worths(askers: Mapping[Name, Asker], random_state: object) -> dict[Name, explain.Asked]:
    """Return the worth of cells by column; each column has random numbers of its own."""
    seed = drawn_seed(random_state)
    return {
        name: ask(np.random.default_rng((seed, i))) for i, (name, ask) in enumerate(askers.items())
    }


def gain_of(loss: Loss, classes: np.ndarray) -> explain.Gain:
    """Return what is gained by knowing more: entropy, or loss where there is one."""
    if loss is None:
        return explain.information
    rule = losses(loss, classes, reject=None, reject_label=None, novelty=False)
    return explain.saving(rule.cost)
