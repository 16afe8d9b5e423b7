"""Sentences about arguments with values that are not allowed, and packages they need."""

from bayesgen.errors.base import BayesgenError, listed, shown


class InvalidArgument(BayesgenError, ValueError):
    """An argument has a value that is not among those allowed."""

    @classmethod
    def not_one_of(cls, name: str, value: object, allowed: tuple | list) -> "InvalidArgument":
        """The value is not one of a list."""
        return cls(
            f"{name} is {shown(value)}; allowed: {listed(allowed, 20)}. Pass "
            f"{name}={shown(allowed[0])}."
        )

    @classmethod
    def out_of_range(cls, name: str, value: object, allowed: str) -> "InvalidArgument":
        """The value is outside a range, told in words ("a number above 0 and below 1")."""
        return cls(f"{name} is {shown(value)}; {allowed} is allowed. Pass {name}=... within it.")

    @classmethod
    def no_member_left(cls, names: list) -> "InvalidArgument":
        """Every member of a stack failed."""
        return cls(
            f"none of the members {listed(names, 20)} could be fitted (the warnings say why). Pass "
            "members={'name': classifier} that suit the columns."
        )


class MissingPackage(BayesgenError, ImportError):
    """Something that was asked for needs a package that is not installed."""

    @classmethod
    def named(cls, package: str, what: str, extra: str) -> "MissingPackage":
        """`what` needs `package`, which an extra of this library brings."""
        return cls(
            f"{what} need the package {package}, which is not installed. Type: "
            f"pip install 'bayesgen[{extra}]'"
        )
