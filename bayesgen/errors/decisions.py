"""Sentences about losses and decisions."""

from collections.abc import Iterable

from bayesgen.errors.base import BayesgenError, Real, listed, shown


class InvalidLoss(BayesgenError, ValueError):
    """A loss, or the cost of rejecting, from which no decision follows."""

    @classmethod
    def wrong_shape(cls, shape: tuple, labels: list) -> "InvalidLoss":
        """A matrix is not (class, class)."""
        size = len(labels)
        return cls(
            f"loss has the shape {shape}; the classes {listed(labels)} need ({size}, {size}): a "
            "row for each true class, a column for each decision. Or pass {(true, decided): cost}."
        )

    @classmethod
    def not_finite(cls, where: object, cost: Real) -> "InvalidLoss":
        """A cost is NaN or infinite."""
        return cls(
            f"loss: the cost of {shown(where)} is {cost}; finite numbers are allowed. Pass a large "
            "one for what must not happen."
        )

    @classmethod
    def of_rejecting(cls, reject: object, least: Real) -> "InvalidLoss":
        """The cost of rejecting is no number, or below every cost of a decision."""
        return cls(
            f"reject is {shown(reject)}; a finite number of at least {least:g}, the smallest cost "
            "in loss, is allowed: below it every row would be rejected. Pass "
            f"reject={least + 0.1:g}, or None to decide every row."
        )

    @classmethod
    def unknown_class(cls, label: object, labels: list) -> "InvalidLoss":
        """The first label of a pair is no class."""
        return cls(
            f"loss names the true class {shown(label)}; the classes are {listed(labels, 20)}. "
            "Write pairs as (true, decided)."
        )

    @classmethod
    def pairs_left_out(cls, pairs: list[tuple]) -> "InvalidLoss":
        """Pairs of a true class and another decision have no cost."""
        return cls(
            f"loss says nothing of the (true, decided) pairs {listed(pairs, 3)}; every pair of "
            "different labels needs a cost. Add them, 0 where nothing is lost."
        )

    @classmethod
    def label_taken(cls, label: object) -> "InvalidLoss":
        """The label for rejected rows is a class or a decision already."""
        return cls(
            f"reject_label {shown(label)} is a class or a decision already. Pass another one, such "
            "as reject_label='undecided'."
        )

    @classmethod
    def empty(cls, labels: Iterable) -> "InvalidLoss":
        """A mapping without pairs."""
        return cls(
            f"loss is empty; pass a cost for every pair of the classes {listed(labels, 20)}, or "
            "None: a wrong class costs 1."
        )
