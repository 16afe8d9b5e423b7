"""Sentences about arguments with values that are not allowed, and packages they need."""

from bayesgen.errors.base import BayesgenError, listed, shown

_EXAMPLE = "'linear': bg.LDA()"


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
    def out_of_range(cls, name: str, value: object, allowed: str, cure: str) -> "InvalidArgument":
        """The value is outside a range in words ("a number above 0"); the cure is what to type."""
        return cls(f"{name} is {shown(value)}; allowed: {allowed}. {cure}")

    @classmethod
    def not_named(cls, found: object) -> "InvalidArgument":
        """Classifiers to compare are no mapping of names."""
        several = found if isinstance(found, list | tuple) else []
        own = [f"'{type(c).__name__} {i}': classifiers[{i}]" for i, c in enumerate(several)]
        return cls(
            f"classifiers is of type {type(found).__name__}, without names; a mapping of at least "
            f"one name to a classifier is needed. Pass {{{', '.join(own) or _EXAMPLE}}}."
        )

    @classmethod
    def not_made(cls, name: str, found: type) -> "InvalidArgument":
        """The argument is a class, and an instance of it is needed."""
        return cls(
            f"{name} is the class {found.__name__}; an instance is needed. Pass {found.__name__}()"
            f", with parentheses: {name}=bg.{found.__name__}()."
        )

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
