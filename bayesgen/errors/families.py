"""Sentences about families that keep rows: any NumPyro distribution, and kernel densities."""

from collections.abc import Iterable

from bayesgen.errors.base import BayesgenError, Count, listed, rows, shown


class InvalidDistribution(BayesgenError, ValueError):
    """Family was given something that is no density of one number with numbers as parameters."""

    @classmethod
    def not_a_class(cls, value: object) -> "InvalidDistribution":
        """An instance, a function or something else stands where a class belongs."""
        return cls(
            f"Family takes a class of numpyro.distributions, such as dist.Gamma; got "
            f"{_name(value)}. Pass Family(dist.Gamma), without parameters: these are learnt."
        )

    @classmethod
    def many_numbers(cls, family: str, parameter: str | None) -> "InvalidDistribution":
        """A cell, or a parameter, is a vector or a matrix."""
        what = "one draw" if parameter is None else f"its parameter {parameter!r}"
        return cls(
            f"Family(dist.{family}): {what} is more than one number; a cell is one number and so "
            "is each parameter. Use bg.MultivariateNormal() for vectors and bg.Categorical() for "
            "levels."
        )

    @classmethod
    def must_be_fixed(cls, family: str, parameter: str, why: str) -> "InvalidDistribution":
        """A parameter cannot be learnt by moving it a little."""
        return cls(
            f"Family(dist.{family}): {parameter!r} {why}, so that it cannot be learnt by "
            f"gradients. State it: Family(dist.{family}, fixed={{{parameter!r}: ...}})."
        )

    @classmethod
    def moving_support(cls, family: str, parameters: Iterable) -> "InvalidDistribution":
        """Which values are possible depends on a parameter that is to be learnt."""
        names = list(parameters)
        return cls(
            f"Family(dist.{family}): which values are possible depends on its parameters "
            f"({listed(names)}), and at such an edge no gradient is zero. State the one that moves "
            f"the edge, for example Family(dist.{family}, fixed={{{names[0]!r}: ...}})."
        )

    @classmethod
    def unknown_parameter(
        cls, family: str, argument: str, name: object, known: Iterable
    ) -> "InvalidDistribution":
        """priors= or fixed= names what the distribution has not."""
        return cls(
            f"Family(dist.{family}): {argument}= names {shown(name)}; its parameters are "
            f"{listed(known)}. Name one of these."
        )

    @classmethod
    def fixed_value(
        cls, family: str, name: str, value: object, allowed: str
    ) -> "InvalidDistribution":
        """fixed= states a value that the parameter cannot have."""
        return cls(
            f"Family(dist.{family}): fixed= states {name}={shown(value)}; {allowed} are allowed. "
            f"Pass one of them, or leave {name!r} out to learn it."
        )

    @classmethod
    def nothing_free(cls, family: str) -> "InvalidDistribution":
        """Every parameter is fixed."""
        return cls(
            f"Family(dist.{family}): every parameter is fixed, so that classes cannot differ. "
            "Leave one out of fixed=."
        )

    @classmethod
    def not_a_prior(cls, family: str, name: str, value: object) -> "InvalidDistribution":
        """A prior is no distribution of one number."""
        return cls(
            f"Family(dist.{family}): the prior of {name!r} is {_name(value)}; an instance of a "
            "continuous distribution of one number is needed, the same for every class and column. "
            f"Pass priors={{{name!r}: dist.LogNormal(0, 1)}}; columns that need priors of their "
            "own need a Family each."
        )

    @classmethod
    def prior_support(
        cls, family: str, name: str, prior: str, value: object, allowed: str
    ) -> "InvalidDistribution":
        """A prior gives mass to what the parameter cannot be."""
        return cls(
            f"Family(dist.{family}): the prior of {name!r}, dist.{prior}, allows {shown(value)}; "
            f"{allowed} are allowed. Pass a prior of such numbers."
        )


class OutOfSupport(BayesgenError, ValueError):
    """Fitted rows hold values that a distribution cannot give."""

    @classmethod
    def cell(
        cls,
        column: object,
        value: object,
        row: Count,
        *,
        count: Count,
        likelihood: str,
        support: str,
    ) -> "OutOfSupport":
        """`value` stands in row `row`, counted from 0 over rows with weight; `count` are like it.

        support: in words, what the likelihood allows ("numbers above 0").
        """
        are = "is" if count == 2 else "are"
        more = f" ({rows(count - 1)} more {are} like it)" if count > 1 else ""
        return cls(
            f"column {shown(column)} holds {shown(value)} in row {row:,}{more}; {likelihood} "
            f"allows {support} only. Mend these cells or make them missing, or choose another "
            f"likelihood, likelihood={{{shown(column)}: bg.Normal()}}."
        )


def _name(value: object) -> str:
    if isinstance(value, str):
        return shown(value)
    return getattr(value, "__name__", None) or f"an instance of {type(value).__name__}"
