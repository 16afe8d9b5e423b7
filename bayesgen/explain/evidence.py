"""Weight of evidence: each cell's contribution to the log-odds of a class, in nats.

The chain rule splits log p(x, y = k) into log P(y = k) and one log p(x_j given the cells before it,
y = k) for each cell, so that the parts sum to the whole under every posterior. Where columns are
independent given the class the order is irrelevant, and a part is the log Bayes factor of its cell.

In joint blocks the order matters: "columns" uses the order of the table; "shapley" averages over
all orders of the columns of a block, exactly in blocks of up to 8 columns, and by 64 pairs of an
order and its reverse in larger ones. A cell that is not shown is integrated out, given the class.

In a stack the weighted mean over members makes features dependent: its columns are one block, shown
to all members at once, and a cell adds log p(y = target given x_before and x_j) /
p(y = against given the same) - the same without x_j, of the tempered mean. Draws are averaged
before logarithms are taken, so that rows sum to log-odds for them too, and features are dependent
by Monte Carlo error alone. A row that is impossible under every class has only the contribution of
the prior.

Of more than two classes without a target, rows summed by class and exponentiated are in proportion
to `predict_proba`; cells are measured against the mean of the classes (of logs that are finite).

The ends of a posterior share are quantiles of the same numbers given theta, over 1,000 draws. A
value usually lies between them but need not, since it is not a mean over theta.

Source: Good (1985), Weight of evidence: a brief survey, Bayesian Statistics 2, 249-269; Shapley
(1953), A value for n-person games, Contributions to the Theory of Games II, 307-317.
"""

import dataclasses
from collections.abc import Callable, Hashable, Iterator, Mapping
from math import factorial
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesgen import diagnose
from bayesgen.arguments import is_number
from bayesgen.errors.arguments import not_one_of, out_of_range
from bayesgen.explain.cells import Cell, Rows, is_missing
from bayesgen.inference import Posterior
from bayesgen.inference.components import take_rows
from bayesgen.likelihoods.base import blanked, row_chunks
from bayesgen.predict import require_posterior
from bayesgen.schema import GROUPS
from bayesgen.table import Name
from bayesgen.typing import DataFrame, Encoded

DRAWS = 1000
PRIOR = "(prior)"
FLOATS = 4_000_000
"""Log joints, or cells of rows, held at once: 32 MB."""

EXACT = 8
"""Columns up to which all orders are used: 2^8 subsets are evaluated."""
PAIRS = 64
"""Sampled orders of larger groups, each with its reverse."""

Score = Callable[[Encoded, int], np.ndarray]
"""(encoded rows, their number) -> log p(shown cells, y = k), shape (row, class) or
(row, draw, class)."""

Contrast = Callable[[np.ndarray], np.ndarray]
"""(..., class) -> (..., contrast)"""

Contributions = Float[np.ndarray, "statistic part row *draw contrast"]
"""Contributions of the class prior and then of each column: their mean over orders, the least and
the greatest of them, and the Monte Carlo standard error of the mean, 0 unless orders are sampled.
"""


# -- orders in which the cells of a group are shown ------------------------------------------------


class Step(NamedTuple):
    """A cell shown after others: versions of a row without and with it, and its share of orders."""

    cell: int
    before: int
    after: int
    share: float


@dataclasses.dataclass(frozen=True, eq=False)
class Orders:
    """Orders in which the cells of a group are shown, as steps between versions of a row.

    shown: the cells of the group that each version shows. steps: from one version to another.
    """

    shown: Bool[np.ndarray, "version cell"]
    steps: list[Step]


def in_turn(*orders: Int[np.ndarray, " turn"]) -> Orders:
    """Return the steps of a few orders, each of which has an equal share."""
    size, share = len(orders[0]), 1 / len(orders)
    shown = [np.argsort(order) < np.arange(size + 1)[:, None] for order in orders]
    steps = [
        Step(int(cell), i * (size + 1) + turn, i * (size + 1) + turn + 1, share)
        for i, order in enumerate(orders)
        for turn, cell in enumerate(order)
    ]
    return Orders(np.concatenate(shown), steps)


def in_every_order(size: int) -> Orders:
    """Return the steps of all orders of some cells.

    A subset S precedes a cell in |S|! (m - |S| - 1)! / m! of the orders of m cells. Source: Shapley
    (1953), A value for n-person games, Contributions to the Theory of Games II, 307-317.
    """
    # bit j of the number of a subset says whether it holds cell j
    shown = (np.arange(2**size)[:, None] >> np.arange(size) & 1).astype(bool)
    share = [factorial(n) * factorial(size - n - 1) / factorial(size) for n in range(size)]
    steps = [
        Step(cell, subset, subset + 2**cell, share[shown[subset].sum()])
        for subset, cell in np.argwhere(~shown).tolist()
    ]
    return Orders(shown, steps)


@dataclasses.dataclass(frozen=True, eq=False)
class Group:
    """Columns that depend on each other, by position, and samples of the orders to show them in."""

    columns: list[int]
    samples: list[Orders]


def _group(columns: list[int], rng: np.random.Generator, pairs: int) -> Group:
    size = len(columns)
    if not pairs or size == 1:
        return Group(columns, [in_turn(np.arange(size))])
    if size <= EXACT:
        return Group(columns, [in_every_order(size)])
    orders = [rng.permutation(size) for _ in range(pairs)]
    return Group(columns, [in_turn(order, order[::-1]) for order in orders])


# -- weights of evidence --------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class Reading:
    """The cells that are shown one by one, the orders, and the contrast of classes.

    cells: of each column. groups: of the columns, in the order in which they are shown.
    """

    cells: list[Cell]
    groups: list[Group]
    contrast: Contrast

    @classmethod
    def of(cls, rows: Rows, contrast: Contrast, rng: np.random.Generator, pairs: int) -> "Reading":
        """Return the reading by pairs of orders of dependent columns; 0: in the table's."""
        cells = list(rows.cells.values())
        keys = [rows.components.dependent_cells(cell[0][0]) if pairs else "" for cell in cells]
        groups: dict[object, list[int]] = {}
        for i, (cell, key) in enumerate(zip(cells, keys, strict=True)):
            groups.setdefault(cell if key is None else key, []).append(i)
        return cls(cells, [_group(g, rng, pairs) for g in groups.values()], contrast)

    def contributions(
        self, score: Score, encoded: Encoded, n_rows: int, width: int
    ) -> Iterator[Contributions]:
        """Yield the contributions of the class prior and of every column, chunk by chunk of rows.

        Args:
            score: log joints of shown cells.
            encoded: rows, blank where missing.
            n_rows: their number.
            width: numbers that `score` returns for each row.
        """
        versions = (len(orders.shown) for group in self.groups for orders in group.samples)
        width = max(width, sum(x.shape[1] for x in encoded.values()))
        for part in row_chunks(n_rows, max(1, FLOATS // (max(versions, default=1) * width))):
            yield self._of_chunk(score, take_rows(encoded, part), len(range(n_rows)[part]))

    def _of_chunk(self, score: Score, encoded: Encoded, n_rows: int) -> Contributions:
        missing = [is_missing(encoded, cell) for cell in self.cells]
        shown = np.zeros((1, len(self.cells)), dtype=bool)
        # a row of which nothing is shown is like any other of its group
        alike = n_rows if any(name.endswith(GROUPS) for name in encoded) else 1
        blank = self._log_joints(score, take_rows(encoded, slice(alike)), alike, shown)[0]
        prior = np.repeat(self.contrast(blank), n_rows // alike, axis=0)
        mean, squares, error = np.zeros((3, 1 + len(self.cells), *prior.shape))
        least, most = np.full(mean.shape, np.inf), np.full(mean.shape, -np.inf)
        mean[0] = least[0] = most[0] = prior
        for group in self.groups:
            columns = np.array(group.columns)
            for orders in group.samples:
                versions = np.repeat(shown, len(orders.shown), axis=0)
                versions[:, columns] = orders.shown
                logs = self._log_joints(score, encoded, n_rows, versions)
                sample = np.zeros((len(columns), *prior.shape))
                for step in orders.steps:
                    i = columns[step.cell]
                    more = added(logs[step.before], logs[step.after])
                    more[missing[i]] = 0.0
                    more = self.contrast(more)
                    sample[step.cell] += step.share * more
                    least[1 + i] = np.minimum(least[1 + i], more)
                    most[1 + i] = np.maximum(most[1 + i], more)
                mean[1 + columns] += sample / len(group.samples)
                squares[1 + columns] += (sample / len(group.samples)) ** 2
            if (n := len(group.samples)) > 1:
                with np.errstate(invalid="ignore"):
                    spread = n * squares[1 + columns] - mean[1 + columns] ** 2
                    error[1 + columns] = np.sqrt(np.maximum(spread, 0.0) / (n - 1))
            shown[:, columns] = True
        return np.stack([mean, least, most, error])

    def _log_joints(
        self,
        score: Score,
        encoded: Encoded,
        n_rows: int,
        shown: Bool[np.ndarray, "version column"],
    ) -> np.ndarray:
        """Return log joints of all versions of the rows, scored at once: (version, row, ...)."""
        gaps = {
            name: np.full((len(shown), 1, x.shape[1]), not name.endswith(GROUPS))
            for name, x in encoded.items()
        }
        for column, cell in enumerate(self.cells):
            for block, j in cell:
                gaps[block][:, 0, j] = ~shown[:, column]
        together = {
            name: blanked(x, gaps[name]).reshape(-1, x.shape[1]) for name, x in encoded.items()
        }
        logs = score(together, n_rows * len(shown))
        return logs.reshape(len(shown), n_rows, *logs.shape[1:])


def added(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return after - before; 0 where `before` is already impossible."""
    never = np.isneginf(before)
    return np.where(never, 0.0, after - np.where(never, 0.0, before))


def weights_of_evidence(
    rows: Rows,
    contrast: Contrast,
    order: str,
    rng: np.random.Generator,
    interval: float | str | None = None,
    *,
    return_error: bool = False,
    pairs: int = PAIRS,
) -> list[Float[np.ndarray, "part row contrast"]]:
    """Return the contributions of the prior and of every column, in the order of `rows.cells`.

    Weights, lower and upper ends if wanted, errors if wanted.

    Args:
        rows: whose cells are shown one by one.
        contrast: of classes.
        order: "columns" or "shapley".
        rng: random numbers of sampled orders and draws.
        interval: posterior share, or "orders", of the ends.
        return_error: whether Monte Carlo standard errors are wanted.
        pairs: sampled orders of more than EXACT columns, each with its reverse.
    """
    posterior, encoded, n_rows = rows.posterior, rows.encoded, rows.n_rows
    reading = Reading.of(rows, contrast, rng, pairs if order == "shapley" else 0)
    # warns where few draws support a row
    joint = rows.log_joint()
    never, n_classes = np.isneginf(joint).all(axis=1), joint.shape[1]
    chunks = reading.contributions(posterior.log_joint, encoded, n_rows, n_classes)
    mean, least, most, error = np.concatenate(list(chunks), axis=2)
    out = [mean, *[least, most] * (interval == "orders")]
    if isinstance(interval, float | int):
        out.extend(_ends(posterior, reading, rows, interval, rng))
    out += [error] * return_error
    for array in out:
        array[1:, never] = 0.0
    return out


def _ends(
    posterior: Posterior, reading: Reading, rows: Rows, share: float, rng: np.random.Generator
) -> Float[np.ndarray, "end part row contrast"]:
    """Return the ends of central intervals over draws."""
    require_posterior(posterior, "evidence(interval=...)")
    draws = posterior.log_joint_draws(rng, DRAWS)
    width = len(posterior.log_classes()) * draws.n_draws
    ends = []
    for contributions in reading.contributions(draws.score, rows.encoded, rows.n_rows, width):
        mean = contributions[0]
        with np.errstate(invalid="ignore"):
            mean[1:] *= np.asarray(draws.powers)[..., None]
            ends.append(np.quantile(mean, [(1 - share) / 2, (1 + share) / 2], axis=2))
    return np.concatenate(ends, axis=2)


def by_feature(
    array: Float[np.ndarray, "part row contrast"],
    cells: Mapping[Name, Cell],
    names: list,
    index: object,
) -> DataFrame:
    """Return contributions as a DataFrame; names: of the contrasts, [None] of one."""
    columns = {
        (feature if name is None else (name, feature)): array[i, :, c]
        for c, name in enumerate(names)
        for i, feature in enumerate([PRIOR, *cells])
    }
    return diagnose.frame(columns, index)


def as_arrays(
    rows: Rows, parts: Float[np.ndarray, "part row contrast"], names: list
) -> dict[str, object]:
    """Return contributions as `Classifier.evidence_table`; names: as in `by_feature`."""
    values = parts[..., 0].T if names == [None] else np.moveaxis(parts, 0, 1)
    return {
        "values": values[:, 1:],
        "base_values": values[:, 0],
        "data": np.stack([rows.written(feature) for feature in rows.cells], axis=1),
        "feature_names": [str(feature) for feature in rows.cells],
    } | ({} if names == [None] else {"output_names": names})


def check_reading(order: str, interval: float | str | None) -> None:
    """Validate the order, and the interval that it allows."""
    if order not in ("columns", "shapley"):
        raise not_one_of("order", order, ["columns", "shapley"])
    is_share = is_number(interval) and 0 < interval < 1
    if not (interval is None or is_share or (interval, order) == ("orders", "shapley")):
        raise out_of_range(
            "interval",
            interval,
            "a number above 0 and below 1, or 'orders' with order='shapley'",
            "Pass interval=0.9.",
        )


def log_odds(target: int, against: int) -> Contrast:
    """Return the difference of two classes: a log Bayes factor; NaN where neither is possible."""

    def contrast(logs: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return logs[..., target, None] - logs[..., against, None]

    return contrast


def centred(logs: np.ndarray) -> np.ndarray:
    """Return every class minus the mean over the possible classes."""
    possible = ~np.isneginf(logs)
    total = np.where(possible, logs, 0.0).sum(axis=-1, keepdims=True)
    return logs - total / np.maximum(possible.sum(axis=-1, keepdims=True), 1)


def contrast_of(classes: list, target: Hashable, against: Hashable) -> tuple[list, Contrast]:
    """Return the classes with a column in a contrast, or [None] for one, and the contrast.

    With two classes it is the second against the first unless stated otherwise; with more, every
    class, or `target`, against their mean, unless both classes are named.

    Raises:
        InvalidArgument: an unknown class, a class against itself, or no target among several.
    """
    for word, name in (("target", target), ("against", against)):
        others = [label for label in classes if label != against or word == "against"]
        if name is not None and name not in others:
            raise not_one_of(word, name, others)
    if against is None and len(classes) > 2:
        if target is None:
            return classes, centred
        t = classes.index(target)
        return [None], lambda logs: centred(logs)[..., [t]]
    others = [label for label in classes if label != against]
    if target is None:
        if len(others) > 1 and against is not None:
            raise not_one_of("target", target, others)
        target = others[-1]
    if against is None:
        against = next(label for label in classes if label != target)
    return [None], log_odds(classes.index(target), classes.index(against))
