"""Weight of evidence: each cell's contribution to the log-odds of a class, in nats.

The chain rule splits log p(x, y = k) into log P(y = k) and one log p(x_j given the cells before it,
y = k) for each cell, so that the parts sum to the whole under every posterior. Where columns are
independent given the class the order is irrelevant, and a part is the log Bayes factor of its cell.

In joint blocks the order matters: "columns" uses the order of the table; "shapley" averages over
all orders of the columns of a block, exactly in blocks of up to 8 columns, and by 64 pairs of an
order and its reverse in larger ones.

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
import functools
import itertools
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from math import factorial

import numpy as np

from bayesgen import diagnose
from bayesgen.arguments import is_number
from bayesgen.errors.arguments import not_one_of, out_of_range
from bayesgen.explain.cells import Cell, Rows, Score, blank, is_missing, show
from bayesgen.inference import Posterior
from bayesgen.inference.components import take_rows
from bayesgen.likelihoods.base import row_chunks
from bayesgen.predict import log_joint, require_posterior
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

Ask = Callable[[Sequence[Encoded]], np.ndarray]
"""The rows with different cells shown -> log p(shown cells, y = k), (version, row, ..., class)."""

Contrast = Callable[[np.ndarray], np.ndarray]
"""(..., class) -> (..., contrast)"""


@dataclasses.dataclass(frozen=True, eq=False)
class Turn:
    """A cell that is shown after others.

    place: its position in the group. weight: among all orders. sample: number of the sampled order.
    before, after: log p(shown, y = k) without and with it, (row, ..., class). The first turn of a
    group comes before all others of the group.
    """

    place: int
    weight: float
    sample: int
    before: np.ndarray
    after: np.ndarray

    def added(self) -> np.ndarray:
        """Return after - before; 0 where `before` is already impossible."""
        never = np.isneginf(self.before)
        return np.where(never, 0.0, self.after - np.where(never, 0.0, self.before))


@dataclasses.dataclass(frozen=True, eq=False)
class Explained:
    """Contributions of the class prior and then of each cell, in the order of the groups.

    mean: (part, row, contrast), with draws (part, row, draw, contrast). least, most: over the
    orders that were read. error: Monte Carlo standard error of `mean` where orders were sampled,
    else 0.
    """

    mean: np.ndarray
    least: np.ndarray
    most: np.ndarray
    error: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class Reading:
    """The order in which cells are shown, and the contrast of classes.

    groups: columns in the order in which they are shown; those of a group depend on each other.
    contrast: of classes. every_order: whether to average over all orders of the cells of a group,
    or to use one. rng: for sampled orders, where a group is too large for all.
    """

    groups: Sequence[Sequence[Cell]]
    contrast: Contrast
    every_order: bool
    rng: np.random.Generator

    @property
    def versions(self) -> int:
        """Return how many versions of a row, with different cells shown, are scored at once."""
        largest = max((len(group) for group in self.groups), default=1)
        return 2**largest if self.every_order and largest <= EXACT else largest + 1

    def turns(
        self, ask: Ask, shown: Encoded, encoded: Encoded, group: Sequence[Cell]
    ) -> Iterator[Turn]:
        """Yield the contributions of the cells of a group to those shown before."""
        if not self.every_order or len(group) == 1:
            return in_turn(ask, shown, encoded, group)
        if len(group) <= EXACT:
            return in_every_order(ask, shown, encoded, group)
        return in_some_orders(ask, shown, encoded, group, self.rng)


# -- contributions of cells, over the orders in which the cells of a group are shown -------------


def in_turn(ask: Ask, shown: Encoded, encoded: Encoded, group: Sequence[Cell]) -> Iterator[Turn]:
    """Yield the contribution of each cell to those before it."""
    versions = itertools.accumulate(
        group, lambda before, cell: show(before, encoded, [cell]), initial=shown
    )
    for i, (before, after) in enumerate(itertools.pairwise(ask(list(versions)))):
        yield Turn(i, 1.0, 0, before, after)


def in_every_order(
    ask: Ask, shown: Encoded, encoded: Encoded, group: Sequence[Cell]
) -> Iterator[Turn]:
    """Yield the contribution of each cell to each subset of the others, weighted by orders.

    A subset S precedes a cell in |S|! (m - |S| - 1)! / m! of the orders of m cells. Source: Shapley
    (1953), A value for n-person games, Contributions to the Theory of Games II, 307-317.
    """
    m = len(group)
    subsets = list(itertools.product((False, True), repeat=m))
    versions = [show(shown, encoded, itertools.compress(group, subset)) for subset in subsets]
    found = dict(zip(subsets, ask(versions), strict=True))
    for subset, before in found.items():
        size = sum(subset)
        weight = factorial(size) * factorial(m - size - 1) / factorial(m) if size < m else 0.0
        for i in (i for i, inside in enumerate(subset) if not inside):
            more = (*subset[:i], True, *subset[i + 1 :])
            yield Turn(i, weight, 0, before, found[more])


def in_some_orders(
    ask: Ask,
    shown: Encoded,
    encoded: Encoded,
    group: Sequence[Cell],
    rng: np.random.Generator,
) -> Iterator[Turn]:
    """Yield the contribution of each cell in sampled orders, and in the reverse of each."""
    for sample in range(PAIRS):
        order = rng.permutation(len(group))
        for turn in (order, order[::-1]):
            cells = [group[i] for i in turn]
            for one in in_turn(ask, shown, encoded, cells):
                yield Turn(int(turn[one.place]), 0.5 / PAIRS, sample, one.before, one.after)


# -- weights of evidence --------------------------------------------------------------------------


def explained(
    score: Score,
    encoded: Encoded,
    n_rows: int,
    reading: Reading,
    width: int,
    tails: tuple[float, float] | None = None,
    powers: np.ndarray | float = 1.0,
) -> Explained:
    """Return the contributions of the class prior and of every cell.

    Args:
        score: log joints of shown cells.
        encoded: rows, blank where missing.
        n_rows: their number.
        reading: in which order, and for which classes.
        width: numbers that `score` returns for each row.
        tails: for a score with draws: quantiles in place of least and most; `mean` is then over
            draws.
        powers: for a score with draws: the power of each draw's evidence, (draw,) or one.
    """
    parts = []
    cells = sum(x.shape[1] for x in encoded.values())
    for part in row_chunks(n_rows, max(1, FLOATS // (reading.versions * max(width, cells)))):
        ask = functools.partial(_ask, score, len(range(n_rows)[part]))
        found = _explained(ask, take_rows(encoded, part), reading)
        parts.append(found if tails is None else _shares(found, tails, powers))
    return _stacked(parts, np.concatenate, axis=1)


def _ask(score: Score, n_rows: int, versions: Sequence[Encoded]) -> np.ndarray:
    """Return the log joints of all versions of the rows, scored in one call."""
    together = {name: np.concatenate([rows[name] for rows in versions]) for name in versions[0]}
    found = score(together, n_rows * len(versions))
    return found.reshape(len(versions), n_rows, *found.shape[1:])


def _shares(found: Explained, tails: tuple[float, float], powers: np.ndarray | float) -> Explained:
    """Return mean and quantiles over draws, which are the axis after the rows."""
    each = found.mean.copy()
    with np.errstate(invalid="ignore"):
        each[1:] *= np.asarray(powers)[..., None]
        low, high = np.quantile(each, tails, axis=2)
        mean = each.mean(axis=2)
    return Explained(mean, low, high, np.zeros_like(mean))


def _stacked(parts: list[Explained], join: Callable[..., np.ndarray], **options: int) -> Explained:
    names = [field.name for field in dataclasses.fields(Explained)]
    return Explained(*(join([getattr(p, name) for p in parts], **options) for name in names))


def _explained(ask: Ask, encoded: Encoded, reading: Reading) -> Explained:
    shown = blank(encoded)
    if not any(reading.groups):
        return _stacked([_of_prior(reading.contrast(ask([shown])[0]))], np.stack)
    parts: list[Explained] = []
    for group in reading.groups:
        turns = reading.turns(ask, shown, encoded, group)
        first = next(turns)
        if not parts:  # nothing is shown before the first group
            parts.append(_of_prior(reading.contrast(first.before)))
        missing, every = (
            [is_missing(encoded, cell) for cell in group],
            itertools.chain([first], turns),
        )
        parts += _gathered(every, missing, reading.contrast, parts[0].mean)
        shown = show(shown, encoded, group)
    return _stacked(parts, np.stack)


def _of_prior(mean: np.ndarray) -> Explained:
    return Explained(mean, mean, mean, np.zeros_like(mean))


def _gathered(
    turns: Iterator[Turn], missing: list[np.ndarray], contrast: Contrast, like: np.ndarray
) -> list[Explained]:
    """Return mean, range and error of each cell's contribution; that of missing cells is 0."""
    shape = (len(missing), *like.shape)
    mean, squares = np.zeros(shape), np.zeros(shape)
    least, most = np.full(shape, np.inf), np.full(shape, -np.inf)
    samples = 0
    for _, those in itertools.groupby(turns, key=lambda turn: turn.sample):
        one = np.zeros(shape)
        for turn in those:
            i, more = turn.place, turn.added()
            more = contrast(np.where(missing[i].reshape(-1, *[1] * (more.ndim - 1)), 0.0, more))
            one[i] += turn.weight * more
            least[i], most[i] = np.minimum(least[i], more), np.maximum(most[i], more)
        mean, squares, samples = mean + one, squares + one**2, samples + 1
    with np.errstate(invalid="ignore"):
        spread = np.maximum(samples * squares - mean**2, 0.0) / max(samples - 1, 1)
    error = np.sqrt(spread) if samples > 1 else np.zeros(shape)
    return [Explained(mean[i], least[i], most[i], error[i]) for i in range(len(missing))]


def weights_of_evidence(
    rows: Rows,
    contrast: Contrast,
    order: str,
    rng: np.random.Generator,
    interval: float | str | None,
    *,
    return_error: bool,
) -> tuple[Reading, list[np.ndarray]]:
    """Return the order of cells, and the contributions of the prior and of every cell.

    Weights, lower and upper ends if wanted, errors if wanted, each of shape (part, row, contrast).

    Args:
        rows: whose cells are shown one by one.
        contrast: of classes.
        order: "columns" or "shapley".
        rng: random numbers of sampled orders and draws.
        interval: posterior share, or "orders", of the ends.
        return_error: whether Monte Carlo standard errors are wanted.
    """
    posterior, encoded, n_rows = rows.posterior, rows.encoded, rows.n_rows
    shapley = order == "shapley"
    reading = Reading(_groups(posterior, rows.cells, shapley=shapley), contrast, shapley, rng)
    # warns where few draws support a row
    joint = log_joint(posterior, encoded, n_rows)
    never, n_classes = np.isneginf(joint).all(axis=1), joint.shape[1]
    found = explained(posterior.log_joint, encoded, n_rows, reading, n_classes)
    out = [found.mean, *[found.least, found.most] * (interval == "orders")]
    if isinstance(interval, float | int):
        require_posterior(posterior, "evidence(interval=...)")
        tails = (1 - interval) / 2, (1 + interval) / 2
        draws = posterior.log_joint_draws(rng, DRAWS)
        width = n_classes * draws.n_draws
        each = explained(draws.score, encoded, n_rows, reading, width, tails, draws.powers)
        out += [each.least, each.most]
    out += [found.error] * return_error
    for array in out:
        array[1:, never] = 0.0
    return reading, out


def _groups(posterior: Posterior, cells: Mapping[Name, Cell], *, shapley: bool) -> list[list[Cell]]:
    """Return the columns in their order; if orders matter, dependent ones side by side."""
    if not shapley:
        return [list(cells.values())]
    groups: dict = {}
    for cell in cells.values():
        key = posterior.components.dependent_cells(cell[0][0])
        groups.setdefault(cell if key is None else key, []).append(cell)
    return list(groups.values())


def by_feature(
    array: np.ndarray, reading: Reading, cells: Mapping[Name, Cell], names: list, index: object
) -> DataFrame:
    """Return (part, row, contrast) as a DataFrame with features in the table's order.

    names: of the contrasts; [None] of one.
    """
    every = itertools.chain.from_iterable(reading.groups)
    part = {cell: i for i, cell in enumerate(every, start=1)}
    order = {PRIOR: 0, **{name: part[cell] for name, cell in cells.items()}}
    columns = {
        (feature if name is None else (name, feature)): array[i, :, c]
        for c, name in enumerate(names)
        for feature, i in order.items()
    }
    return diagnose.frame(columns, index)


def check_reading(order: str, interval: float | str | None) -> None:
    """Validate the order, and the interval that it allows."""
    if order not in ("columns", "shapley"):
        raise not_one_of("order", order, ["columns", "shapley"])
    valid = interval is None or _is_share(interval) or (interval, order) == ("orders", "shapley")
    if not valid:
        raise out_of_range(
            "interval",
            interval,
            "a number above 0 and below 1, or 'orders' with order='shapley'",
            "Pass interval=0.9.",
        )


def _is_share(interval: object) -> bool:
    return is_number(interval) and 0 < interval < 1


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
