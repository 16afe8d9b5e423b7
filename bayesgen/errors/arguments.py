"""Sentences about arguments with values that are not allowed, and packages they need."""

import difflib
from collections.abc import Sequence

from bayesgen.errors.base import BayesgenError, Count, listed, shown

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
    def not_an_instance(cls, name: str, found: type) -> "InvalidArgument":
        """The argument is a class, and an instance of it is needed."""
        return cls(
            f"{name} is the class {found.__name__}; an instance is needed. Pass {found.__name__}()"
            f", with parentheses: {name}=bg.{found.__name__}()."
        )

    @classmethod
    def no_arguments(cls, name: str, value: object, argument: str) -> "InvalidArgument":
        """An argument of a likelihood is to be set where there is no likelihood."""
        return cls(
            f"{name} is {shown(value)}, which has no argument {argument!r}; a likelihood has. Set "
            f"one at once: set_params({name}=bg.Normal(), {name}__{argument}=...)."
        )

    @classmethod
    def no_block(cls, name: str, given: str, blocks: Sequence[str]) -> "InvalidArgument":
        """An argument is to be set of a likelihood whose columns the mapping does not have."""
        return cls(
            f"{name}__{given} names no likelihood of {name}; there are {listed(blocks, 20)}. "
            f"Write {name}__{blocks[0]}__... for an argument of the first."
        )

    @classmethod
    def unknown_to(cls, family: str, name: str, known: Sequence[str]) -> "InvalidArgument":
        """A likelihood has no argument of this name."""
        return cls(
            f"{family} has no argument {name!r}; it has {listed(known, 20)}." + _meant(name, known)
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


class UnknownArgument(BayesgenError, TypeError):
    """A constructor was given an argument that it does not have."""

    @classmethod
    def named(cls, made: str, name: str, known: Sequence[str]) -> "UnknownArgument":
        """`made` is the class, `name` the argument, `known` those that it has."""
        cure = _meant(name, known) or f" Its arguments are {listed(known, 20)}."
        return cls(f"{made}() has no argument {name!r}.{cure}")

    @classmethod
    def by_position(
        cls, made: str, found: Count, places: Sequence[str], known: Sequence[str]
    ) -> "UnknownArgument":
        """More arguments stand without a name than may."""
        rest = known[len(places)]
        may = f"only {listed(places)} may" if places else "none may"
        return cls(
            f"{made}() was given {found} arguments without a name; {may} stand without one. Name "
            f"them: {made}({rest}=...)."
        )


ELSEWHERE = {
    "priors": "class_prior",
    "prior": "class_prior",
    "fit_prior": "class_prior",
    "class_priors": "class_prior",
    "class_weight": "class_prior",
    "alpha": "rows_per_word",
    "reg_param": "covariance_rows",
    "shrinkage": "covariance_rows",
    "var_smoothing": "inference",
    "seed": "random_state",
    "method": "inference",
    "likelihoods": "likelihood",
    "estimators": "members",
}
"""What other libraries call an argument -> the one that stands for it here."""
OF_A_LIKELIHOOD = {
    "alpha": "bg.Categorical.laplace(1)",
    "rows_per_level": "bg.Categorical(rows_per_level=2)",
    "mean_rows": "bg.Normal(mean_rows=1)",
    "variance_rows": "bg.Normal(variance_rows=8)",
    "mean": "bg.Normal(mean=0)",
    "variance": "bg.Normal(variance=1)",
    "covariance_rows": "bg.MultivariateNormal(covariance_rows=8)",
    "prior": "bg.Normal(prior='reference')",
}
"""Arguments that belong to a likelihood, and how they are stated there."""


def _meant(name: str, known: Sequence[str]) -> str:
    """Return " Did you mean ...?" with what to type, or nothing."""
    if ELSEWHERE.get(name) in known:
        return f" Did you mean {ELSEWHERE[name]}?"
    if name in OF_A_LIKELIHOOD and "likelihood" in known:
        return (
            " The strength of a prior is an argument of the likelihood: "
            f"likelihood={OF_A_LIKELIHOOD[name]}."
        )
    close = difflib.get_close_matches(name, known, 1)
    return f" Did you mean {close[0]}?" if close else ""
