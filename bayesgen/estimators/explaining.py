"""What a fitted classifier says of its reasons: the weight of evidence of every cell.

Where columns are independent given the class (naive Bayes) the cells that were read before make no
difference. In joint blocks they do: "columns" reads them in the table's order, blocks in the order
of their first columns; "shapley" averages over all orders in which a block's columns can be read,
exactly in blocks of up to 8 columns, and by 64 pairs of an order and its reverse beyond.

In a stack the weighted mean over members makes every cell lean on all others: its columns are one
block, shown to all members at once, and a cell adds log p(y = target given x_before and x_j) /
p(y = against given the same) - the same without x_j, of the tempered mean. Draws are averaged
before logarithms are taken, so that rows sum to log-odds for them too, and their cells lean on each
other by Monte Carlo error alone. A row that is impossible under every class has the prior and no
more.

Of more than two classes without a target, rows summed by class and exponentiated are in proportion
to `predict_proba`; cells are measured against the mean of the classes (of logs that are finite).

The ends of a posterior share are those of the same numbers given theta, over 1,000 draws. A value
lies between them by custom, not by necessity: it is no mean over theta.

Source: Good (1985), Weight of evidence: a brief survey, Bayesian Statistics 2, 249-269; Shapley
(1953), A value for n-person games, Contributions to the Theory of Games II, 307-317.
"""

import abc
from collections.abc import Hashable, Sequence
from typing import Literal, overload

import numpy as np
from scipy.sparse import issparse

from bayesgen import diagnose, explain
from bayesgen.arguments import is_number
from bayesgen.errors import InvalidArgument, UnsupportedInference, UnsupportedTable
from bayesgen.estimators.deciding import Deciding
from bayesgen.estimators.seeds import generator
from bayesgen.inference import Posterior
from bayesgen.likelihoods.conditional_draws import together
from bayesgen.predict import log_joint, require_posterior
from bayesgen.table import Name, is_frame
from bayesgen.typing import DataFrame, Encoded, Traceable

DRAWS = 1000
PRIOR = "(prior)"


class Explaining(Deciding, abc.ABC):
    """Why a row is given its class."""

    @overload
    def evidence(
        self,
        X: object,
        target: Hashable = ...,
        against: Hashable = ...,
        *,
        order: str = ...,
        interval: None = ...,
        return_error: Literal[False] = ...,
        random_state: object = ...,
    ) -> DataFrame: ...
    @overload
    def evidence(
        self,
        X: object,
        target: Hashable = ...,
        against: Hashable = ...,
        *,
        order: str = ...,
        interval: float | str | None = ...,
        return_error: bool = ...,
        random_state: object = ...,
    ) -> tuple[DataFrame, ...]: ...
    def evidence(
        self,
        X: object,
        target: Hashable = None,
        against: Hashable = None,
        *,
        order: str = "columns",
        interval: float | str | None = None,
        return_error: bool = False,
        random_state: object = 0,
    ) -> DataFrame | tuple[DataFrame, ...]:
        """Return what each cell of each row says for a class, in nats: its weight of evidence.

        A DataFrame (row, feature), in front "(prior)", the log-odds before anything is seen. A cell
        adds log p(x_j given x_before, y = target) - log p(x_j given x_before, y = against),
        parameters integrated out (Good 1985); missing cells, unseen levels and columns without a
        say add 0. Rows sum to the log-odds of the pair: `decision_function`, of two classes.

        Args:
            X: rows.
            target: the class spoken for; None: the second of two, or all, in columns of pairs.
            against: the class spoken against; None: the other of two, or the mean of all.
            order: "columns", or "shapley" for the mean over all orders of dependent columns.
            interval: also return lower and upper ends, of this posterior share or over "orders".
            return_error: also return, last, Monte Carlo standard errors; 0 where none was sampled.
            random_state: seed of sampled orders and draws.

        Raises:
            InvalidArgument: no such class, order or interval.
            NoPosterior, UnsupportedInference: an interval of a point; a story of your own.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_titanic_passengers()
            >>> bg.NaiveBayes().fit(X, y).evidence(X.iloc[:1]).round(2)
               (prior)   sex   age  passengerClass
            0    -0.48  1.45 -0.07            0.96
        """
        check_reading(order, interval)
        names, contrast = explain.contrast_of(self.classes_.tolist(), target, against)
        rows = self._cells_of(X, "evidence()")
        reading = self._reading(rows[0], contrast, order, random_state)
        arrays = _weighed(*rows, reading, interval, return_error=return_error)
        frames = [self._by_feature(array, reading.groups, names, X) for array in arrays]
        return frames[0] if len(frames) == 1 else tuple(frames)

    # -- the pieces -----------------------------------------------------------------------------

    @abc.abstractmethod
    def _every_place(self) -> dict[Name, explain.Cell]:
        """Return where each column is encoded: one place, unless several posteriors read it."""

    def _cells_of(self, X: object, what: str) -> tuple[Posterior, dict[str, Traceable], int]:
        """Return the posterior and encoded rows whose cells can be blanked one by one."""
        posterior, encoded, n_rows = self._encode_rows(X)
        if not self._every_place():
            raise UnsupportedInference.because(
                f"{what} of a story of your own",
                "it reads a row as a whole, and need not know what to do with missing cells",
                "Read the columns by likelihoods instead.",
            )
        if any(issparse(x) for x in encoded.values()):
            raise UnsupportedTable.sparse_for(what)
        return posterior, encoded, n_rows

    def _reading(
        self, posterior: Posterior, contrast: explain.Contrast, order: str, random_state: object
    ) -> explain.Reading:
        """Return in which order the columns are read, and for which classes."""
        shapley = order == "shapley"
        rng = generator(random_state)
        groups = self._groups(posterior, together_too=shapley)
        return explain.Reading(groups, contrast, every_order=shapley, rng=rng)

    def _groups(self, posterior: Posterior, *, together_too: bool) -> list[list[explain.Cell]]:
        """Return the columns in their order; those of joint blocks side by side if wanted."""
        groups: dict = {}
        for cell in self._every_place().values():
            family = posterior.families.get(cell[0][0])
            if not together_too or family is None or (len(cell) == 1 and not together(family)):
                key = cell
            else:
                key = cell[0][0] if len(cell) == 1 else "several posteriors"
            groups.setdefault(key, []).append(cell)
        return list(groups.values())

    def _by_feature(
        self,
        array: np.ndarray,
        groups: Sequence[Sequence[explain.Cell]],
        names: list,
        X: object,
    ) -> DataFrame:
        """Return (part, row, contrast) as a DataFrame with features in the table's order."""
        part = {cell: i for i, cell in enumerate((c for group in groups for c in group), start=1)}
        order = {PRIOR: 0, **{name: part[cell] for name, cell in self._every_place().items()}}
        columns = {
            (feature if name is None else (name, feature)): array[i, :, c]
            for c, name in enumerate(names)
            for feature, i in order.items()
        }
        return diagnose.frame(columns, index_of(X))


def check_reading(order: str, interval: float | str | None) -> None:
    """Refuse an order that is none, and an interval that the order does not have."""
    if order not in ("columns", "shapley"):
        raise InvalidArgument.not_one_of("order", order, ["columns", "shapley"])
    known = interval is None or _is_share(interval) or (interval, order) == ("orders", "shapley")
    if not known:
        raise InvalidArgument.out_of_range(
            "interval",
            interval,
            "a number above 0 and below 1, or 'orders' with order='shapley'",
            "Pass interval=0.9.",
        )


def _is_share(interval: object) -> bool:
    return is_number(interval) and 0 < interval < 1


def _weighed(
    posterior: Posterior,
    encoded: Encoded,
    n_rows: int,
    reading: explain.Reading,
    interval: float | str | None,
    *,
    return_error: bool,
) -> list[np.ndarray]:
    """Return what the prior and every cell say, lower and upper ends and errors if wanted."""
    # warns where few draws speak for a row
    joint = log_joint(posterior, encoded, n_rows)
    never, n_classes = np.isneginf(joint).all(axis=1), joint.shape[1]
    said = explain.explained(posterior.log_joint, encoded, n_rows, reading, n_classes)
    out = [said.mean, *[said.least, said.most] * (interval == "orders")]
    if isinstance(interval, float | int):
        require_posterior(posterior, "evidence(interval=...)")
        tails = (1 - interval) / 2, (1 + interval) / 2
        score, n_draws, powers = explain.drawn(posterior, reading.rng, DRAWS)
        width = n_classes * n_draws
        each = explain.explained(score, encoded, n_rows, reading, width, tails, powers)
        out += [each.least, each.most]
    out += [said.error] * return_error
    for array in out:
        array[1:, never] = 0.0
    return out


def index_of(X: object) -> object:
    """Return the index of a pandas frame, None of other tables."""
    return getattr(X, "index", None) if is_frame(X) else None
