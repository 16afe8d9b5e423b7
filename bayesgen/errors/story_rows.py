"""Sentences about rows that a user's program is given, and the densities it gives them."""

from collections.abc import Iterable

from bayesgen.errors.base import BayesgenError, Count, listed, shown, to_type


class StoryRows(BayesgenError, ValueError):
    """Rows that cannot be handed to a program."""

    @classmethod
    def text(cls, name: object) -> "StoryRows":
        """A column holds text or levels, which a program takes as codes."""
        return cls(
            f"column {shown(name)} does not hold numbers, and a program takes numbers. Pass a dict "
            "of arrays with levels as codes 0, 1, ... and -1 where missing: "
            f'{{"numbers": X[[...]].to_numpy(), "levels": codes}}.'
        )

    @classmethod
    def lengths(cls, lengths: dict) -> "StoryRows":
        """The arrays of a dict have different numbers of rows."""
        found = ", ".join(f"{shown(name)}: {length}" for name, length in lengths.items())
        return cls(
            f"the arrays of X have different numbers of rows ({found}); rows lie along the first "
            "axis of each. Cut them to the same rows."
        )

    @classmethod
    def names(cls, found: Iterable, wanted: Iterable) -> "StoryRows":
        """X has other arrays than at fit."""
        return cls(
            f"X has the arrays {listed(found, 20)}; fit saw {listed(wanted, 20)}. Pass a dict with "
            "these names."
        )

    @classmethod
    def container(cls, found: str, wanted: str) -> "StoryRows":
        """X is one array where fit saw a dict, or the other way round."""
        return cls(f"X is {found}; fit saw {wanted}. Pass {wanted} again.")

    @classmethod
    def shape(cls, name: str, found: tuple, wanted: tuple) -> "StoryRows":
        """A row has another shape than at fit."""
        return cls(
            f"array {shown(name)} of X has rows of the shape {found}; fit saw {wanted}. Pass the "
            "same columns."
        )

    @classmethod
    def fractions(cls, name: str) -> "StoryRows":
        """Codes are no whole numbers."""
        return cls(
            f"array {shown(name)} of X holds fractions or NaN where fit saw whole numbers. Pass "
            "codes, -1 where missing."
        )

    @classmethod
    def infinite(cls, name: object, count: Count) -> "StoryRows":
        """Cells are infinite."""
        return cls(
            f"Input X contains infinity: array {shown(name)} in {count:,} cells; numbers, and NaN "
            "where missing, are allowed. Replace them: X[numpy.isinf(X)] = numpy.nan."
        )


class StoryNotFinite(BayesgenError, ValueError):
    """A program gives rows no usable density."""

    @classmethod
    def missing(cls, site: str, where: Iterable[int]) -> "StoryNotFinite":
        """Rows with missing cells have no density."""
        lines = ("observed = ~jnp.isnan(x)", "x = jnp.where(observed, x, 0.0)")
        return cls(
            f"site {shown(site)} gives no density to row {listed(where)}, where cells are missing "
            "(NaN). The program has to say what that means: leave their factors out, "
            f"dist.Normal(...).mask(observed), after{to_type(*lines)}"
        )

    @classmethod
    def invalid(cls, site: str, where: Iterable[int], found: str) -> "StoryNotFinite":
        """The log density of whole rows is not finite."""
        return cls(
            f"site {shown(site)} gives the log density {found} in row {listed(where)}. The row "
            "holds a value that the distribution does not allow (its support), or the priors are "
            "centred far from the rows. Choose a distribution whose support holds the column, or "
            "other guesses."
        )

    @classmethod
    def elsewhere(cls, site: str | None) -> "StoryNotFinite":
        """The density of parameters, or a gradient, is not finite."""
        where = "its priors" if site is None else f"site {shown(site)}"
        return cls(
            f"the story has no finite density, or no finite gradient, at {where} where the fit "
            "starts. Look for a negative scale, a division by zero, or a NaN that is masked only "
            "after it was computed with; jnp.where comes first."
        )
