"""What a stack says of missing cells: what they are worth, and what they may hold.

A cell is worth the expected gain of the stack's own answers,

    sum over values v of p(v given x) gain(mean of P(y given x, v), P(y given x, v)),

where p(v given x) is that of `impute`. What a stack says before a cell is known need not be the
mean of what it says after; that mean stands for it, so that no value is below 0. Levels and answers
of yes or no are summed exactly, numbers and counts simulated.
"""

import abc
import dataclasses
import functools
import warnings
from typing import Literal, overload

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesgen import arguments, explain
from bayesgen.errors import BayesgenWarning, UnsupportedInference, deduplicate_warnings
from bayesgen.estimators.asking import T, fill_missing
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.seeds import generator
from bayesgen.estimators.stack_rows import StackRows, with_density
from bayesgen.estimators.valuing import Asker, Valuing
from bayesgen.inference import Posterior, Stacked, class_probabilities
from bayesgen.inference.stacking import shares
from bayesgen.likelihoods.conditional_draws import require_fillable
from bayesgen.likelihoods.normal_statistics import row_chunks
from bayesgen.schema import Column
from bayesgen.table import Name, Table, with_column
from bayesgen.typing import Encoded, Joint

FLOATS = 2_000_000
"""Log joints held at once: 16 MB."""


class StackAsking(StackRows, Valuing, abc.ABC):
    """Which missing cell is worth asking for, and what it may hold, by members that can say.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_titanic_passengers()
        >>> stack = bg.StackedClassifier().fit(X[::5], y[::5])
        >>> stranger = X.iloc[:1].assign(sex=None, passengerClass=None)
        >>> stack.feature_value(stranger).idxmax(axis=1).tolist()
        ['sex']
    """

    @overload
    def impute(self, X: T, draws: Literal[1] = ..., *, random_state: object = ...) -> T: ...
    @overload
    def impute(self, X: T, draws: int, *, random_state: object = ...) -> list[T]: ...
    @deduplicate_warnings()
    def impute(self, X: T, draws: int = 1, *, random_state: object = None) -> T | list[T]:
        """Return the table with its missing cells drawn from p(missing given observed, data).

        As `GenerativeClassifier.impute`. Every row is filled in by one member, drawn with
        probability proportional to its weight times p(observed cells given data) under it, and by
        that member's own draws: so cells follow the density of `score_samples`. Members without
        such a density (over indicators, over other columns, stories of your own) or that cannot
        fill cells in (words of a text) are left out, and the others share their weight. Tempering
        changes no density of rows, and so no draw.

        Args:
            X: rows.
            draws: 1 returns one table; more return a list of tables, each filled in anew.
            random_state: seed.

        Raises:
            UnsupportedInference: no member can fill cells in.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> holes = X.iloc[:2].assign(petal_width=[0.2, None])
            >>> stack = bg.StackedClassifier([bg.LDA(), bg.QDA()]).fit(X, y)
            >>> stack.impute(holes, random_state=0).petal_width.round(1).tolist()[0]
            0.2
        """
        draws = arguments.count("draws", draws)
        rng = generator(random_state)
        _, encoded, n_rows = self._encode_rows(X)
        able, table = self._able("impute()"), self._read(X, reset=False)
        schema = next(iter(able.values()))._state_.schema
        tables = []
        for _ in range(draws):
            member = picked(self._likely(able, encoded, n_rows), rng.random(n_rows))
            written = self._filled(able, encoded, member, rng)
            tables.append(fill_missing(X, table, schema, written))
        return tables[0] if draws == 1 else tables

    # -- the pieces -----------------------------------------------------------------------------

    def _askers(self, X: object, gain: explain.Gain, draws: int) -> dict[Name, Asker]:
        posterior, encoded, _ = self._cells_of(X, "feature_value()")
        able, table = self._able("feature_value()"), self._read(X, reset=False)
        first = next(iter(able.values()))
        missing_cells = first._state_.schema.missing_cells(table)
        askers: dict[Name, Asker] = {}
        for name, place in first._column_positions().items():
            own, missing = missing_cells[name]
            asked = _Asked(self, posterior, table, name, own, place, gain, draws)
            askers[name] = functools.partial(asked.everywhere, able, encoded, missing)
        return askers

    def _able(self, what: str) -> dict[str, Classifier]:
        """Return the members that can fill cells in, and agree on what a row is."""
        dense = with_density(self.members_, self.weights_)
        able = {
            name: member
            for (name, member), kept in zip(self.members_.items(), dense, strict=True)
            if kept and member._column_positions() and not member._made() and _fills(member)
        }
        if not able:
            raise UnsupportedInference.because(
                f"{what} of this stack",
                "no member says how the missing cells of a row are distributed",
                "Add one that reads the columns as they are, such as bg.NaiveBayes().",
            )
        return able

    def _likely(
        self, able: dict[str, Classifier], encoded: Encoded, n_rows: int
    ) -> Float[np.ndarray, "row member"]:
        """Return how probable it is that a row comes from each member, given what it shows."""
        stack = self._untempered()
        some = np.array([name in able for name in self.members_])
        weights = np.array(list(self.weights_.values()))[some]
        share = shares(weights, stack.able(encoded, n_rows)[:, some])
        density = np.stack(
            [
                np.logaddexp.reduce(member.log_joint(rows, n_rows), axis=1)
                for member, rows in _of(stack, encoded, able)
            ],
            axis=1,
        )
        with np.errstate(divide="ignore"):
            share = np.log(share)
        joint = density + share
        never = np.isneginf(joint).all(axis=1, keepdims=True)
        return class_probabilities(np.where(never, share, joint), np.log(weights))

    def _filled(
        self,
        able: dict[str, Classifier],
        encoded: Encoded,
        member: Int[np.ndarray, " row"],
        rng: np.random.Generator,
    ) -> dict[Name, np.ndarray]:
        """Return whole columns as a person writes them, each row filled in by one member."""
        stack = self._untempered()
        out: dict[Name, np.ndarray] = {}
        for i, (posterior, rows) in enumerate(_of(stack, encoded, able)):
            at = np.flatnonzero(member == i)
            if not len(at):
                continue
            cells = explain.filled(posterior, explain.take(rows, at), len(at), rng)
            for name, values in list(able.values())[i]._written(cells).items():
                if name not in out:
                    out[name] = np.empty(len(member), dtype=values.dtype)
                out[name][at] = values
        return out


@dataclasses.dataclass(frozen=True, eq=False)
class _Asked:
    """One column of which cells are asked for.

    name: of the column at fit. own: in the table. place: in the first member that fills cells in.
    """

    stack: StackAsking
    posterior: Posterior
    table: Table
    name: Name
    own: Name
    place: explain.Place
    gain: explain.Gain
    draws: int

    def everywhere(
        self,
        able: dict[str, Classifier],
        encoded: Encoded,
        missing: Bool[np.ndarray, " row"],
        rng: np.random.Generator,
    ) -> explain.Asked:
        """Return the expected gain in all rows, NaN where the cell is not missing."""
        value, error = np.full((2, len(missing)), np.nan)
        for part in row_chunks(int(missing.sum()), self.rows_at_once(able)):
            rows = np.flatnonzero(missing)[part]
            value[rows], error[rows] = self.worth(able, encoded, rows, rng)
        return explain.Asked(value, error)

    def rows_at_once(self, able: dict[str, Classifier]) -> int:
        """Return of how many rows the answers to all values are held at once."""
        column = self._column(able)
        width = len(self.stack.classes_) * len(self.stack.members_)
        return max(1, FLOATS // (width * max(self._simulated(column), len(_listed(column)))))

    def worth(
        self,
        able: dict[str, Classifier],
        encoded: Encoded,
        rows: Int[np.ndarray, " asked"],
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the expected gain in some rows, and its standard errors."""
        name, first = next(iter(able.items()))
        column, posterior = self._column(able), explain.untempered(first._fitted_posterior())
        nothing = np.zeros(len(rows))
        if not len(rows) or not explain.has_a_say(posterior, self.place):
            return nothing, nothing
        if _listed(column):
            own = self.stack._untempered().by_member(encoded)[name]
            every = np.arange(len(_listed(column)))
            if column.kind == "levels":
                every = every[explain.kept_levels(posterior, own, self.place, len(every))]
            joints = self._joints(np.repeat(every, len(rows)), np.tile(rows, len(every)), column)
            return explain.summed(joints.reshape(len(every), len(rows), -1), self.gain), nothing
        n = self._simulated(column)
        many = np.tile(rows, n)
        joint = self._joints(self._drawn(able, encoded, rows, n, rng), many, column)
        after = class_probabilities(joint, self.posterior.log_classes()).reshape(n, len(rows), -1)
        gains = self.gain(np.broadcast_to(after.mean(axis=0), after.shape), after)
        return gains.mean(axis=0), gains.std(axis=0, ddof=1) / np.sqrt(n)

    def _simulated(self, column: Column) -> int:
        return 1 if _listed(column) else self.draws * len(self.stack.classes_)

    def _column(self, able: dict[str, Classifier]) -> Column:
        block, j = self.place
        return next(iter(able.values()))._state_.schema.blocks[block][j]

    def _drawn(
        self,
        able: dict[str, Classifier],
        encoded: Encoded,
        rows: np.ndarray,
        n: int,
        rng: np.random.Generator,
    ) -> Float[np.ndarray, " cell"]:
        """Return n drawn cells of each row, members taking turns by how likely they are."""
        likely = self.stack._likely(able, explain.take(encoded, rows), len(rows))
        # evenly spread: fewer members too many, or too few, than by independent picks
        place = (np.arange(n)[:, None] + rng.random((n, len(rows)))) / n
        member = picked(np.tile(likely, (n, 1)), place.ravel())
        many = explain.take(encoded, np.tile(rows, n))
        return self.stack._filled(able, many, member, rng)[self.name]

    def _joints(self, values: np.ndarray, rows: np.ndarray, column: Column) -> Joint:
        """Return log joints of rows with other values in the column, codes of its levels or not."""
        levels = _listed(column)
        if levels and not any(isinstance(level, str | bool) for level in levels):
            # whole numbers, which other members may read as such
            values, levels = np.array(levels)[values], ()
        table = with_column(self.table.take(rows), self.own, values, levels)
        with warnings.catch_warnings():
            # levels that were not seen at fit have been told of
            warnings.simplefilter("ignore", BayesgenWarning)
            encoded = {
                f"{name}/{block}": x
                for name, member in self.stack.members_.items()
                for block, x in member._encode_plain(table).items()
            }
        return self.posterior.log_joint(encoded, len(rows))


def picked(
    probs: Float[np.ndarray, "row member"], place: Float[np.ndarray, " row"]
) -> Int[np.ndarray, " row"]:
    """Return the position that each place between 0 and 1 falls on."""
    steps = probs.cumsum(axis=1)
    return np.minimum((place[:, None] * steps[:, -1:] >= steps).sum(axis=1), probs.shape[1] - 1)


def _of(stack: Stacked, encoded: Encoded, able: dict[str, Classifier]) -> list:
    """Return posteriors of some members, each with the rows as it reads them."""
    rows = stack.by_member(encoded)
    return [(stack.members[name], rows[name]) for name in able]


def _listed(column: Column) -> tuple:
    """Return everything that a column may hold; () of numbers and counts."""
    return (0, 1) if column.kind == "binary" and not column.levels else column.levels


def _fills(member: Classifier) -> bool:
    """Return whether every likelihood of a member can fill cells in."""
    try:
        for family in member._fitted_posterior().families.values():
            require_fillable(family)
    except UnsupportedInference:
        return False
    return True
