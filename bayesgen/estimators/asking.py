"""What a fitted classifier says of missing cells: what they are worth, and what they may hold."""

import abc
from collections.abc import Mapping

import numpy as np
from sklearn.utils import check_random_state

from bayesgen import diagnose, explain
from bayesgen.decide import Loss, losses
from bayesgen.errors import InvalidArgument, UnsupportedInference
from bayesgen.estimators.explaining import Explaining, index_of
from bayesgen.estimators.looking import Looking
from bayesgen.schema import Column, Schema
from bayesgen.schema.blocks import decoded_cells
from bayesgen.table import Name, Table, fill_table, read_table
from bayesgen.typing import Encoded

CELLS = 256


class Asking(Looking, Explaining, abc.ABC):
    """Which missing cell is worth asking for, and what it may hold."""

    @abc.abstractmethod
    def _read(self, X: object, *, reset: bool) -> Table:
        """Return the table of rows."""

    def feature_value(
        self,
        X: object,
        loss: Loss = None,
        *,
        draws: int = CELLS,
        return_error: bool = False,
        random_state: object = 0,
    ) -> object:
        """Return what each missing cell is worth: how much measuring it is expected to tell.

        A DataFrame (row, feature), NaN where a cell is observed. Without a loss the value is the
        expected fall of the entropy of the class, in nats: the mutual information of cell and class
        given what the row shows (Lindley 1956). With a loss it is the expected fall of the least
        expected loss, in the unit of the loss (Raiffa and Schlaifer 1961): 0 for cells that could
        not change the decision. Never below 0. Values do not add up: two cells may tell the same.

        Levels and answers of yes or no are summed exactly, counts up to a probability of 1e-9;
        numbers are simulated from p(x_j given what the row shows, y = k), `draws` for each class.

        Args:
            X: rows; an absent column is missing in all of them.
            loss: as in `decide`.
            draws: simulated cells for each class, of each missing number, at least 2.
            return_error: also return a DataFrame of Monte Carlo standard errors; 0 of sums.
            random_state: seed of simulated cells.

        Raises:
            InvalidLoss: a loss from which no decision follows.
            UnsupportedInference: a likelihood that cannot fill its cells (words of a text), or a
                story of your own.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_titanic_passengers()
            >>> clf = bg.NaiveBayes().fit(X, y)
            >>> stranger = X.iloc[:1].assign(sex=None, passengerClass=None)
            >>> clf.feature_value(stranger).round(3)
                 sex  age  passengerClass
            0  0.138  NaN           0.047
        """
        check_draws(draws, 2)
        gain = gain_of(loss, self.classes_)
        posterior, encoded, n_rows = self._cells_of(X, "feature_value()")
        table = self._own_columns(X, "feature_value()")
        schema = self._learned_.schema
        holes = schema.holes(table)
        seed = check_random_state(random_state).randint(2**31 - 1)
        values, errors = {}, {}
        for name, (block, j) in self._places().items():
            column = schema.blocks[block][j]
            asked = explain.worth(
                posterior,
                encoded,
                n_rows,
                (block, j),
                gain,
                asked=np.flatnonzero(holes[name][1]),
                kind=column.kind,
                size=len(column.levels),
                draws=int(draws),
                rng=np.random.default_rng((seed, len(values))),
            )
            values[name], errors[name] = asked.value, asked.error
        index = index_of(X)
        frame = diagnose.frame(values, index)
        return (frame, diagnose.frame(errors, index)) if return_error else frame

    def impute(self, X: object, draws: int = 1, *, random_state: object = None) -> object:
        """Return the table with its missing cells drawn from p(missing given observed, data).

        The class of a row is drawn from what the row shows, then its cells given that class, with
        the parameters integrated out: rows are filled in one by one, each from the predictive
        distribution that `score_samples` is the density of. Observed cells come back bit for bit,
        in the same kind of table with the same index and, where they can hold it, types; an absent
        column is added. Cells of columns that no likelihood reads, or that say nothing (constant or
        never observed at fit), stay missing.

        Args:
            X: rows.
            draws: 1 returns one table; more return a list of tables, each filled in anew.
            random_state: seed.

        Raises:
            UnsupportedInference: a likelihood that cannot fill its cells (words of a text), or a
                story of your own.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> holes = X.iloc[:2].assign(petal_width=[0.2, None])
            >>> bg.QDA().fit(X, y).impute(holes, random_state=0).petal_width.round(1).tolist()
            [0.2, 0.2]
        """
        check_draws(draws, 1)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
        posterior, encoded, n_rows = self._cells_of(X, "impute()")
        table = self._own_columns(X, "impute()")
        filled = (explain.filled(posterior, encoded, n_rows, rng) for _ in range(draws))
        tables = [self._put(X, table, cells) for cells in filled]
        return tables[0] if draws == 1 else tables

    # -- the pieces -----------------------------------------------------------------------------

    def _own_columns(self, X: object, what: str) -> Table:
        """Return the table of X, of whose columns none may have been made of another."""
        table = self._read(X, reset=False)
        made = set(table.names) - set(read_table(X, unread=lambda names: names).names)
        if made:
            raise UnsupportedInference.because(
                f"{what} of levels that are read as numbers",
                "a normal distribution over indicators draws no level",
                "Use a classifier that reads levels, such as NaiveBayes().",
            )
        return table

    def _places(self) -> dict[Name, explain.Place]:
        """Return where each column that a block reads is encoded, in the order of the table."""
        schema = self._learned_.schema
        found = {
            column.name: (block, j)
            for block, columns in schema.blocks.items()
            for j, column in enumerate(columns)
        }
        return {name: found[name] for name in schema.names if name in found}

    def _every_place(self) -> dict[Name, explain.Cell]:
        """Return the place of each column."""
        return {name: (place,) for name, place in self._places().items()}

    def _made(self) -> dict[Name, Column]:
        """Return the column of the table behind each column that was made of it."""
        return {}

    def _put(self, X: object, table: Table, filled: Encoded) -> object:
        """Return the table with the holes of its columns filled from encoded rows."""
        return fill_holes(X, table, self._learned_.schema, self._written(filled))

    def _written(self, encoded: Encoded) -> dict[Name, np.ndarray]:
        """Return the cells of encoded rows by column, as a person writes them."""
        blocks = self._learned_.schema.blocks
        return {
            name: decoded_cells(blocks[block][j], encoded[block][:, j])
            for name, (block, j) in self._places().items()
        }


def check_draws(draws: object, least: int) -> None:
    """Refuse what is no number of draws."""
    if not isinstance(draws, int | np.integer) or draws < least:
        raise InvalidArgument.out_of_range("draws", draws, f"a whole number from {least}")


def gain_of(loss: Loss, classes: np.ndarray) -> explain.Gain:
    """Return what is gained by knowing more: entropy, or loss where there is one."""
    if loss is None:
        return explain.information
    rule = losses(loss, classes, reject=None, reject_label=None, novelty=False)
    return explain.saving(rule.cost)


def fill_holes(
    X: object, table: Table, schema: Schema, written: Mapping[Name, np.ndarray]
) -> object:
    """Return X, of which `table` was read, with holes of its columns filled from whole columns."""
    levels = {c.name: c.levels for part in schema.blocks.values() for c in part if c.declared}
    holes, cells, declared = schema.holes(table), {}, {}
    for name, values in written.items():
        own, missing = holes[name]
        cells[own] = missing, values
        if name in levels:
            declared[own] = levels[name]
    by_name = set(table.names) <= set(schema.names)
    names = [n for n in schema.names if n in cells or n in table.names]
    return fill_table(X, table.container, names if by_name else table.names, cells, declared)
