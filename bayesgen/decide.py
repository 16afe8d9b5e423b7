"""Decisions: loss matrices, minimum expected loss, rejection of rows, and typicality."""

import dataclasses
import difflib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped

from bayesgen import arguments
from bayesgen.arguments import by_label, is_number
from bayesgen.errors import Cure, InvalidArgument, Words
from bayesgen.likelihoods.base import blanked, is_missing
from bayesgen.predict import ReadRows
from bayesgen.typing import DataFrame, Encoded, Joint

DRAWS = 1000
NOVELTY_DRAWS = 40
"""Simulated rows expected below a novelty threshold: its standard error is a sixth of it."""

Loss = Mapping | np.ndarray | list | DataFrame | None


@dataclasses.dataclass(frozen=True, eq=False)
class Losses:
    """The loss matrix: the cost of each decision under each true class.

    cost: (class, decision), in any unit. decisions: labels in the order of its columns, followed by
    the label of rejected rows where only atypical rows are rejected.
    """

    decisions: Shaped[np.ndarray, " label"]
    cost: Float[np.ndarray, "class decision"]

    def pairs(self, classes: np.ndarray) -> dict[tuple, float]:
        """Return {(true, decided): cost} of all pairs but right decisions without a cost."""
        return {
            (true, decided): cost
            for true, costs in zip(classes.tolist(), self.cost.tolist(), strict=True)
            for decided, cost in zip(self.decisions.tolist(), costs, strict=True)
            if true != decided or cost
        }

    def expected(self, proba: Joint) -> Float[np.ndarray, "row decision"]:
        """Return the posterior expected loss of each decision: the sum over classes of P cost."""
        return proba @ self.cost

    def best(self, proba: Joint) -> Int[np.ndarray, " row"]:
        """Return the position of the decision of minimum expected loss; ties go to the first."""
        expected = self.expected(proba)
        # sums in another order may differ in the last digits: a tie is a tie
        least = expected.min(axis=1, keepdims=True)
        slack = 1e-12 * np.abs(self.cost).max()
        return (expected <= least + slack).argmax(axis=1)

    def worst(self) -> float:
        """Return the largest expected loss of the best decision, over all probabilities.

        Example:
            >>> wrong = Losses(np.array(["no", "yes"]), np.array([[0.0, 1.0], [1.0, 0.0]]))
            >>> wrong.worst()
            0.5
        """
        from scipy.optimize import linprog  # slow to import

        n_classes, n_decisions = self.cost.shape
        # probabilities, and a bound below the expected loss of each decision: as large as possible
        found = linprog(
            np.eye(n_classes + 1)[-1] * -1,
            A_ub=np.column_stack([-self.cost.T, np.ones(n_decisions)]),
            b_ub=np.zeros(n_decisions),
            A_eq=[[1.0] * n_classes + [0.0]],
            b_eq=[1.0],
            bounds=[(0, 1)] * n_classes + [(None, None)],
        )
        return float(-found.fun)


def rule(
    loss: Loss,
    classes: np.ndarray,
    reject: float | int | None = None,
    novelty: float | None = None,
    reject_label: object = None,
) -> Losses:
    """Return the loss matrix for a `loss=` argument.

    Args:
        loss: None (a wrong class costs 1), a matrix (true class, decided class) in the order of
            `classes`, or {(true, decided): cost} for every pair of different labels; a right
            decision costs 0 unless stated. Decisions of a mapping need not be classes ("treat"). A
            DataFrame of pandas is such a mapping: true classes as index, decisions as columns.
        classes: labels, shape (class,).
        reject: cost of leaving a row undecided, or None for never.
        novelty: typicality below which a row is rejected regardless of its loss, or None for never.
        reject_label: label of rejected rows; None: "reject" among text, -1 among numbers.

    Raises:
        InvalidArgument: none of these, a matrix of another shape, costs that are not finite, pairs
            left out, labels that are not classes, a reject label that is a class; novelty is not
            between 0 and 1.
    """
    if novelty is not None:
        arguments.share("novelty", novelty, default=0.01)
    decisions, cost = _costs(loss, classes)
    if reject is None and novelty is None:
        return Losses(_labels(decisions), cost)
    label = _reject_label(reject_label, classes, decisions)
    if reject is not None:
        cost = np.column_stack([cost, np.full(len(classes), _price(reject, cost))])
    return Losses(_labels([*decisions, label]), cost)


def decisions(
    rule: Losses, proba: Joint, strange: np.ndarray | None, reject: float | int | None
) -> tuple[np.ndarray, Float[np.ndarray, " row"]]:
    """Return the decision of minimum expected loss for each row, and that loss.

    strange: atypical rows, rejected regardless of their loss, which is NaN without a cost `reject`.
    """
    decided = rule.best(proba)
    expected = rule.expected(proba)[np.arange(len(decided)), decided]
    if strange is not None:
        decided = np.where(strange, len(rule.decisions) - 1, decided)
        expected = np.where(strange, np.nan if reject is None else reject, expected)
    return rule.decisions[decided], expected


def enough_draws(novelty: float) -> int:
    """Return the number of simulated rows needed to resolve a novelty threshold."""
    return max(DRAWS, math.ceil(NOVELTY_DRAWS / novelty))


def typicality(rows: ReadRows, simulated: Encoded, draws: int) -> Float[np.ndarray, " row"]:
    """Return the share of simulated rows, the same cells missing, no likelier than each row.

    Its Monte Carlo standard error is sqrt(share (1 - share) / draws), at most 0.5 / sqrt(draws).
    """
    posterior, out = rows.posterior, np.empty(rows.n_rows)
    seen = posterior.log_density(rows.encoded, rows.n_rows)
    for some, missing in patterns(rows.encoded, rows.n_rows):
        masked = {name: blanked(simulated[name], columns) for name, columns in missing.items()}
        reference = posterior.log_density({**simulated, **masked}, draws)
        out[some] = np.searchsorted(np.sort(reference), seen[some], side="right") / draws
    return out


def _price(reject: object, cost: Float[np.ndarray, "class decision"]) -> float:
    """Return the cost of leaving a row undecided, which some decision must undercut."""
    least = float(cost.min())
    if is_number(reject) and reject >= least:
        return float(reject)
    raise InvalidArgument(
        "reject is {value!r}; a finite number of at least {least:g}, the smallest cost in "
        "loss, is allowed: below it every row would be rejected.",
        "Pass reject={more:g}, or None to decide every row.",
        value=reject,
        least=least,
        more=least + 0.1,
    )


def _costs(loss: Loss, classes: np.ndarray) -> tuple[list, np.ndarray]:
    labels = classes.tolist()
    if hasattr(loss, "columns"):
        return _from_frame(loss, labels)
    loss = by_label("loss", loss)
    if isinstance(loss, Mapping):
        return _from_pairs(loss, labels)
    if loss is None:
        return labels, 1.0 - np.eye(len(labels))
    try:
        cost = np.asarray(loss, dtype=float)
    except (TypeError, ValueError):
        raise _no_costs(loss) from None
    if cost.shape != (len(labels), len(labels)):
        raise InvalidArgument(
            "loss has the shape {shape}; the classes {labels:listed} need ({labels:len}, "
            "{labels:len}): a row for each true class, a column for each decision.",
            "Or pass {{(true, decided): cost}}.",
            shape=cost.shape,
            labels=labels,
        )
    _require_finite(cost, labels, labels)
    return labels, cost


def _from_frame(loss: Any, labels: list) -> tuple[list, np.ndarray]:
    """Return decisions and costs of a DataFrame by its labels, as those of a mapping.

    Raises:
        InvalidArgument: the index is not the classes, or a label stands twice.
    """
    index = getattr(loss, "index", [])  # which polars and Arrow have not
    if sorted(index, key=str) != sorted(labels, key=str) or not loss.columns.is_unique:
        raise InvalidArgument(
            "loss is a DataFrame with the index {index:listed}; the classes {labels:listed 20}, "
            "each once, are needed, and each decision once among the columns.",
            "Pass {{(true, decided): cost}}, or, if rows and columns are in the order of the "
            "classes, loss.to_numpy().",
            index=list(index),
            labels=labels,
        )
    rows = zip(index, loss.to_numpy().tolist(), strict=True)
    costs = {(k, d): c for k, row in rows for d, c in zip(loss.columns, row, strict=True)}
    return _from_pairs(costs, labels)


def _no_costs(found: object) -> InvalidArgument:
    return InvalidArgument(
        "loss holds {found!r}; allowed are numbers as a matrix (true class, decided class), a "
        "DataFrame with these labels, or {{(true, decided): number}}.",
        "Pass loss=None if every wrong class costs 1.",
        found=found,
    )


def _from_pairs(loss: Mapping, labels: list) -> tuple[list, np.ndarray]:
    pairs: dict[tuple, float] = {}
    for pair, cost in loss.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise _no_costs({pair: cost})
        try:
            pairs[pair] = float(cost)
        except (TypeError, ValueError):
            raise _no_costs({pair: cost}) from None
    if not pairs:
        raise InvalidArgument(
            "loss is empty; pass a cost for every pair of the classes {labels:listed 20}, or "
            "None for a cost of 1 for every wrong class.",
            labels=labels,
        )
    strange = [true for true, _ in pairs if true not in labels]
    if strange:
        raise InvalidArgument(
            "loss names the true class {label!r}; the classes are {labels:listed 20}.",
            "Write pairs as (true, decided).",
            label=strange[0],
            labels=labels,
        )
    decided, names = list(dict.fromkeys(decision for _, decision in pairs)), list(map(str, labels))
    # actions of the user's own replace the classes; classes come in their order
    decisions = [k for k in labels if k in decided] + [d for d in decided if d not in labels]
    if all(decision in labels for decision in decided):
        decisions = labels
    left_out = [(k, d) for k in labels for d in decisions if k != d and (k, d) not in pairs]
    for decision in decided if left_out else ():
        if decision not in labels and (close := difflib.get_close_matches(str(decision), names, 1)):
            raise InvalidArgument(
                "{loss} names the decision {decision!r}; the classes are {labels:listed 20}.",
                "Did you mean {close!r}? Actions need a cost under every class.",
                loss=Words("loss", "--cost"),
                decision=decision,
                labels=labels,
                close=labels[names.index(close[0])],
            )
    if left_out:
        raise InvalidArgument(
            "{loss} has no cost for the (true, decided) pairs {pairs:listed 3}; every pair of "
            "different labels needs one.",
            Cure(
                "Add them, 0 where nothing is lost.",
                "Add {pairs[0][0]}:{pairs[0][1]}=COST with the cost of this decision, 0 where "
                "nothing is lost.",
            ),
            loss=Words("loss", "--cost"),
            pairs=left_out,
        )
    cost = np.array([[pairs.get((k, d), 0.0) for d in decisions] for k in labels])
    _require_finite(cost, labels, decisions)
    return decisions, cost


def _require_finite(cost: np.ndarray, labels: list, decisions: list) -> None:
    wrong = np.argwhere(~np.isfinite(cost))
    if len(wrong):
        k, d = wrong[0]
        raise InvalidArgument(
            "{loss}: the cost of {where!r} is {cost}; finite numbers are allowed.",
            "Pass a large cost for what must not happen.",
            loss=Words("loss", "--cost"),
            where=(labels[k], decisions[d]),
            cost=float(cost[k, d]),
        )


def _reject_label(label: object, classes: np.ndarray, decisions: list) -> object:
    if label is None:
        text = classes.dtype.kind in "OU" or any(isinstance(d, str) for d in decisions)
        label = "reject" if text or classes.dtype.kind == "b" else -1
    if label in decisions or label in classes.tolist():
        raise InvalidArgument(
            "reject_label {label!r} is already a class or a decision.",
            "Pass another one, such as reject_label='undecided'.",
            label=label,
        )
    return label


def _labels(decisions: list) -> np.ndarray:
    """Return labels as an array of one type where they have one, of objects where they differ."""
    kinds = {type(decision) for decision in decisions}
    if len(kinds) == 1:
        return np.array(decisions)
    out = np.empty(len(decisions), dtype=object)
    out[:] = decisions
    return out


def patterns(encoded: Encoded, n_rows: int) -> list[tuple[np.ndarray, dict[str, np.ndarray]]]:
    """Return groups of rows with the same missing cells: (rows, block -> missing columns)."""
    missing = {
        name: is_missing(x).reshape(n_rows, -1)
        for name, x in encoded.items()
        if isinstance(x, np.ndarray)
    }
    if not any(h.any() for h in missing.values()):
        return [(np.arange(n_rows), {})]
    packed = np.packbits(np.concatenate(list(missing.values()), axis=1), axis=1)
    _, first, group = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    return [
        (np.flatnonzero(group.ravel() == g), {name: part[i] for name, part in missing.items()})
        for g, i in enumerate(first)
    ]
