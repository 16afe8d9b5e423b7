"""Invalid arguments: values, losses, priors and distributions, and packages they need."""

import difflib
from collections.abc import Iterable, Sequence

from bayesgen.errors.base import BayesgenError, Count, Real, listed, shown

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
            f"classifiers is of type {type(found).__name__}; a mapping of at least one name to a "
            f"classifier is needed. Pass {{{', '.join(own) or _EXAMPLE}}}."
        )

    @classmethod
    def not_an_instance(cls, name: str, found: type) -> "InvalidArgument":
        """The argument is a class; an instance of it is needed."""
        return cls(
            f"{name} is the class {found.__name__}; an instance is needed. Pass {found.__name__}()"
            f", with parentheses: {name}=bg.{found.__name__}()."
        )

    @classmethod
    def no_arguments(cls, name: str, value: object, argument: str) -> "InvalidArgument":
        """An argument of a likelihood is to be set where there is no likelihood."""
        return cls(
            f"{name} is {shown(value)}, which has no argument {argument!r}; only a likelihood has "
            f"one. Set both at once: set_params({name}=bg.Normal(), {name}__{argument}=...)."
        )

    @classmethod
    def no_block(cls, name: str, given: str, blocks: Sequence[str]) -> "InvalidArgument":
        """An argument is to be set of a likelihood whose columns the mapping does not have."""
        return cls(
            f"{name}__{given} names no likelihood of {name}; it has {listed(blocks, 20)}. "
            f"Write {name}__{blocks[0]}__... for an argument of the first."
        )

    @classmethod
    def unknown_to(cls, family: str, name: str, existing: Sequence[str]) -> "InvalidArgument":
        """A likelihood has no argument of this name."""
        return cls(
            f"{family} has no argument {name!r}; it has {listed(existing, 20)}."
            + _meant(name, existing)
        )

    @classmethod
    def no_member_left(cls, names: list) -> "InvalidArgument":
        """Every member of a stack failed."""
        return cls(
            f"none of the members {listed(names, 20)} could be fitted (the warnings say why). Pass "
            "members={'name': classifier} that suit the columns."
        )


class MissingPackage(BayesgenError, ImportError):
    """A package that is needed is not installed."""

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
    def named(cls, class_name: str, name: str, existing: Sequence[str]) -> "UnknownArgument":
        """`class_name` is the class, `name` the argument, `existing` those that it has."""
        cure = _meant(name, existing) or f" Its arguments are {listed(existing, 20)}."
        return cls(f"{class_name}() has no argument {name!r}.{cure}")

    @classmethod
    def by_position(
        cls, class_name: str, found: Count, places: Sequence[str], existing: Sequence[str]
    ) -> "UnknownArgument":
        """More arguments are positional than may be."""
        rest = existing[len(places)]
        may = f"only {listed(places)} may" if places else "none may"
        return cls(
            f"{class_name}() was given {found} positional arguments; {may} be positional. Name "
            f"them: {class_name}({rest}=...)."
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


def _meant(name: str, existing: Sequence[str]) -> str:
    """Return " Did you mean ...?" with what to type, or nothing."""
    if ELSEWHERE.get(name) in existing:
        return f" Did you mean {ELSEWHERE[name]}?"
    if name in OF_A_LIKELIHOOD and "likelihood" in existing:
        return (
            " The strength of a prior is an argument of the likelihood: "
            f"likelihood={OF_A_LIKELIHOOD[name]}."
        )
    close = difflib.get_close_matches(name, existing, 1)
    return f" Did you mean {close[0]}?" if close else ""


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
            "cost for what must not happen."
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
            f"loss has no cost for the (true, decided) pairs {listed(pairs, 3)}; every pair of "
            "different labels needs one. Add them, 0 where nothing is lost."
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
            "None for a cost of 1 for every wrong class."
        )


class InvalidPrior(BayesgenError, ValueError):
    """A guess, or the strength of a prior, that is not allowed."""

    @classmethod
    def not_positive(cls, family: str, name: str, value: object) -> "InvalidPrior":
        """A strength, a rate or a variance is not above 0."""
        return cls(
            f"{family}: {name} is {shown(value)}; finite numbers above 0 are allowed. Pass a "
            "positive one; for no prior at all use inference='mle'."
        )

    @classmethod
    def not_used(cls, family: str, name: str, cure: str) -> "InvalidPrior":
        """Something is stated that this prior does not have."""
        return cls(f"{family} has no {name}, so stating it would have no effect. {cure}.")

    @classmethod
    def not_probabilities(
        cls, family: str, name: str, value: object, allowed: str = "above 0 and below 1"
    ) -> "InvalidPrior":
        """Something is not a set of probabilities."""
        return cls(
            f"{family}: {name} is {shown(value)}; probabilities {allowed} are allowed. "
            "Divide positive numbers by their sum."
        )

    @classmethod
    def impossible_class(cls, value: object, labels: list) -> "InvalidPrior":
        """A class that y has is to have the probability 0."""
        return cls(
            f"class_prior is {shown(value)}; y has rows of class {listed(labels)}, "
            "which needs a probability above 0 to be fitted. Pass class_prior='empirical'; after "
            f"the fit clf.with_class_prior({shown(value)}) rules it out."
        )

    @classmethod
    def does_not_sum_to_one(cls, where: str, total: object) -> "InvalidPrior":
        """Probabilities sum to `total`."""
        return cls(
            f"{where}: the probabilities sum to {total}; they must sum to one within 1e-8. Divide "
            "them by their sum."
        )

    @classmethod
    def wrong_shape(cls, family: str, name: str, found: object, wanted: object) -> "InvalidPrior":
        """An array does not fit the block or the classes."""
        return cls(
            f"{family}: {name} has the shape {found}; a single number, or an array that broadcasts "
            f"to {wanted}, is allowed (classes first, then features). Reshape it to {wanted}."
        )

    @classmethod
    def wrong_classes(cls, found: Iterable, wanted: Iterable) -> "InvalidPrior":
        """Class probabilities are given for other classes than those of y."""
        return cls(
            f"class_prior names the classes {listed(found)}; y has {listed(wanted)}. Give each of "
            "these a probability."
        )

    @classmethod
    def unknown_class_prior(cls, value: object) -> "InvalidPrior":
        """class_prior is a word that means nothing."""
        return cls(
            f"class_prior is {shown(value)}; allowed are a number of rows per class, 'empirical', "
            "'uniform', an array of probabilities and {class: probability}. Pass "
            "class_prior='uniform'."
        )

    @classmethod
    def not_positive_definite(cls, family: str, name: str) -> "InvalidPrior":
        """A covariance is singular, indefinite or not symmetric."""
        return cls(
            f"{family}: {name} is not symmetric and positive definite; a covariance matrix is "
            f"needed. Pass {name} + 1e-6 * numpy.diag({name}.diagonal()), or {name}=None for "
            "that of the columns."
        )

    @classmethod
    def not_diagonal(cls, family: str, name: str, wanted: str) -> "InvalidPrior":
        """A guess of the covariance has what its structure has not; `wanted` says what it has."""
        return cls(
            f"{family}: {name} is a matrix that is not {wanted}, as this covariance must be. Pass "
            f"a number, or {name}=None for that of the columns."
        )

    @classmethod
    def reference_needs_rows(cls, family: str, n_rows: Count) -> "InvalidPrior":
        """The improper reference prior has no posterior with so few rows."""
        return cls(
            f"{family}(prior='reference') needs at least {n_rows} distinct complete rows in every "
            f"class, and a class has fewer. Use the default prior: {family}()."
        )


class InvalidDistribution(BayesgenError, ValueError):
    """Family was given something that is no density of one number with numbers as parameters."""

    @classmethod
    def not_a_class(cls, value: object) -> "InvalidDistribution":
        """An instance, a function or something else stands where a class belongs."""
        return cls(
            f"Family takes a class of numpyro.distributions, such as dist.Gamma; got "
            f"{_name(value)}. Pass Family(dist.Gamma), without parameters: they are learned."
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
        """A parameter cannot be learned by gradients."""
        return cls(
            f"Family(dist.{family}): {parameter!r} {why}, so it cannot be learned by "
            f"gradients. State it: Family(dist.{family}, fixed={{{parameter!r}: ...}})."
        )

    @classmethod
    def moving_support(cls, family: str, parameters: Iterable) -> "InvalidDistribution":
        """The support depends on a parameter that is to be learned."""
        names = list(parameters)
        return cls(
            f"Family(dist.{family}): the support depends on its parameters ({listed(names)}); "
            f"at its edge no gradient is zero. State the parameter that moves the edge, for "
            f"example Family(dist.{family}, fixed={{{names[0]!r}: ...}})."
        )

    @classmethod
    def unknown_parameter(
        cls, family: str, argument: str, name: object, existing: Iterable
    ) -> "InvalidDistribution":
        """priors= or fixed= names what the distribution has not."""
        return cls(
            f"Family(dist.{family}): {argument}= names {shown(name)}; its parameters are "
            f"{listed(existing)}. Name one of these."
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
            f"Family(dist.{family}): every parameter is fixed, so classes cannot differ. "
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
            f"{allowed} are allowed. Pass a prior on such numbers."
        )


def _name(value: object) -> str:
    if isinstance(value, str):
        return shown(value)
    return getattr(value, "__name__", None) or f"an instance of {type(value).__name__}"
