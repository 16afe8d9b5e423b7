"""Sentences about point estimates that had to be mended, and columns without any say."""

from collections.abc import Iterable, Sequence

from bayesgen.errors.base import BayesgenWarning, listed, shown


class DegenerateVariance(BayesgenWarning):
    """A variance of zero was raised to a floor."""

    @classmethod
    def floored(cls, column: object, cls_: object) -> "DegenerateVariance":
        """Maximum likelihood found (almost) no variance in a column of one class."""
        return cls(
            f"column {shown(column)} does not vary within class {shown(cls_)}; its variance was "
            "raised to the floor. Use inference='exact', or another share by "
            "MLE(variance_floor=1e-9)."
        )

    @classmethod
    def floored_block(cls, columns: Iterable, cls_: object | None) -> "DegenerateVariance":
        """The one variance of several columns was raised; `cls_` is None where classes share it."""
        where = "any class" if cls_ is None else f"class {shown(cls_)}"
        return cls(
            f"the columns {listed(columns)} do not vary within {where}; their common variance was "
            "raised to the floor. Use inference='exact', or another share by "
            "MLE(variance_floor=1e-9)."
        )


class PooledEstimate(BayesgenWarning):
    """A class has no observed cell in a column, so that the estimate of all classes stands in."""

    @classmethod
    def pooled_block(cls, columns: Iterable, cls_: object) -> "PooledEstimate":
        """Maximum likelihood has nothing to go by in any of the columns of a block."""
        return cls(
            f"the columns {listed(columns)} are never observed in class {shown(cls_)}; the "
            "estimate over all classes stands in. Use inference='exact', where the prior does that."
        )

    @classmethod
    def pooled(cls, column: object, cls_: object) -> "PooledEstimate":
        """Maximum likelihood has nothing to go by."""
        return cls(
            f"column {shown(column)} is never observed in class {shown(cls_)}; the estimate over "
            "all classes stands in. Use inference='exact', where the prior does that, or drop the "
            "column."
        )


class SingularCovariance(BayesgenWarning):
    """A covariance estimate was singular and had to be mended."""

    @classmethod
    def mended(cls, columns: Iterable, cls_: object | None = None) -> "SingularCovariance":
        """`cls_` is None for a covariance that the classes share."""
        where = (
            "the shared covariance" if cls_ is None else f"the covariance of class {shown(cls_)}"
        )
        return cls(
            f"{where} of the columns {listed(columns)} is singular (too few rows, or columns that "
            "repeat each other); the eigenvalues of its correlations were raised to 1e-9. Use "
            "inference='exact', where the prior makes it regular."
        )


class UninformativeColumn(BayesgenWarning):
    """A column says nothing about the classes."""

    @classmethod
    def column(cls, column: object) -> "UninformativeColumn":
        """The column is constant or never observed."""
        return cls(
            f"column {shown(column)} is constant or never observed; it contributes nothing for any "
            f"class. Leave it out, X.drop(columns={shown(column)}), or state a prior variance."
        )

    @classmethod
    def columns(cls, columns: Sequence) -> "UninformativeColumn":
        """Many columns are constant or never observed."""
        return cls(
            f"{len(columns):,} columns ({listed(columns)}) are constant or never observed; they "
            "contribute nothing for any class. Leave them out, or state prior guesses for them."
        )
