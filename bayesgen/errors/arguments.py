"""Errors about arguments: values, losses, priors, distributions, and missing packages."""

import difflib
from collections.abc import Sequence

from bayesgen.errors.base import BayesgenError, Count, Real, Sentence, listed, shown

_EXAMPLE = "'linear': bg.LDA()"


class InvalidArgument(BayesgenError, ValueError):
    """An argument has a value that is not allowed."""

    not_one_of = Sentence(
        "{name} is {value!r}; allowed: {allowed:listed 20}. Pass {name}={allowed[0]!r}."
    )
    out_of_range = Sentence("{name} is {value!r}; allowed: {allowed}. {cure}")

    @classmethod
    def not_named(cls, found: object) -> "InvalidArgument":
        """Classifiers to compare are not given as a mapping of names."""
        several = found if isinstance(found, list | tuple) else []
        own = [f"'{type(c).__name__} {i}': classifiers[{i}]" for i, c in enumerate(several)]
        return cls(
            f"classifiers is of type {type(found).__name__}; a mapping of at least one name to a "
            f"classifier is needed. Pass {{{', '.join(own) or _EXAMPLE}}}."
        )

    not_an_instance = Sentence(
        "{name} is the class {found.__name__}; an instance is needed. Pass {found.__name__}(), "
        "with parentheses: {name}=bg.{found.__name__}()."
    )
    no_arguments = Sentence(
        "{name} is {value!r}, which has no argument {argument!r}; only a likelihood has one. Set "
        "both at once: set_params({name}=bg.Normal(), {name}__{argument}=...)."
    )
    no_block = Sentence(
        "{name}__{given} names no likelihood of {name}; it has {blocks:listed 20}. Write "
        "{name}__{blocks[0]}__... for an argument of the first."
    )

    @classmethod
    def unknown_to(cls, family: str, name: str, existing: Sequence[str]) -> "InvalidArgument":
        """A likelihood has no argument of this name."""
        return cls(
            f"{family} has no argument {name!r}; it has {listed(existing, 20)}."
            + _meant(name, existing)
        )

    no_member_left = Sentence(
        "none of the members {names:listed 20} could be fitted (the warnings say why). Pass "
        "members={{'name': classifier}} that suit the columns."
    )


class MissingPackage(BayesgenError, ImportError):
    """A required package is not installed."""

    named = Sentence(
        "{what} need the package {package}, which is not installed. Type: pip install "
        "'bayesgen[{extra}]'",
        order="package what extra",
    )


class UnknownArgument(BayesgenError, TypeError):
    """A constructor was called with an unknown argument."""

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
    "num_samples": "draws",
    "num_warmup": "warmup",
    "tune": "warmup",
    "num_chains": "chains",
    "target_accept_prob": "target_accept",
    "progress_bar": "progress",
}
"""Names of arguments in other libraries -> their counterparts here."""
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
    """A loss, or a cost of rejecting, does not determine a decision."""

    wrong_shape = Sentence(
        "loss has the shape {shape}; the classes {labels:listed} need ({labels:len}, "
        "{labels:len}): a row for each true class, a column for each decision. Or pass "
        "{{(true, decided): cost}}."
    )
    not_finite = Sentence(
        "loss: the cost of {where!r} is {cost}; finite numbers are allowed. Pass a large cost for "
        "what must not happen."
    )

    @classmethod
    def of_rejecting(cls, reject: object, least: Real) -> "InvalidLoss":
        """The cost of rejecting is not a number, or below every cost of a decision."""
        return cls(
            f"reject is {shown(reject)}; a finite number of at least {least:g}, the smallest cost "
            "in loss, is allowed: below it every row would be rejected. Pass "
            f"reject={least + 0.1:g}, or None to decide every row."
        )

    unknown_class = Sentence(
        "loss names the true class {label!r}; the classes are {labels:listed 20}. Write pairs as "
        "(true, decided)."
    )
    pairs_left_out = Sentence(
        "loss has no cost for the (true, decided) pairs {pairs:listed 3}; every pair of different "
        "labels needs one. Add them, 0 where nothing is lost."
    )
    label_taken = Sentence(
        "reject_label {label!r} is a class or a decision already. Pass another one, such as "
        "reject_label='undecided'."
    )
    empty = Sentence(
        "loss is empty; pass a cost for every pair of the classes {labels:listed 20}, or None for "
        "a cost of 1 for every wrong class."
    )


class InvalidPrior(BayesgenError, ValueError):
    """A prior guess or a prior strength is not allowed."""

    outside = Sentence("{family}: {name} {holds} {value!r}; {allowed} are allowed. {cure}.")
    not_used = Sentence("{family} has no {name}, so stating it would have no effect. {cure}.")
    impossible_class = Sentence(
        "class_prior is {value!r}; y has rows of class {labels:listed}, which needs a probability "
        "above 0 to be fitted. Pass class_prior='empirical'; after the fit "
        "clf.with_class_prior({value!r}) rules it out."
    )
    does_not_sum_to_one = Sentence(
        "{where}: the probabilities sum to {total}; they must sum to one within 1e-8. Divide them "
        "by their sum."
    )
    wrong_shape = Sentence(
        "{family}: {name} has the shape {found}; a single number, or an array that broadcasts to "
        "{wanted}, is allowed (classes first, then features). Reshape it to {wanted}."
    )
    not_a_number = Sentence(
        "{family}: {name} has the shape {found}; it is one number for all classes and columns. "
        "Pass a single number."
    )
    not_a_sequence = Sentence(
        "{family}: {name} has the shape {found}; it is a sequence of numbers, {meaning}. Pass a "
        "list, {name}=[{example}]."
    )
    wrong_classes = Sentence(
        "class_prior names the classes {found:listed}; y has {wanted:listed}. Give each of these a "
        "probability."
    )
    prevalence = Sentence(
        "prior is {value!r}; Dirichlet rows of the classes {labels:listed 20} are needed: a number "
        "above 0 for each of them, {{class: rows}}, or an array in this order, of at least 0 and "
        "not all 0 (a class of 0 is excluded). Pass prior=1.0."
    )
    unknown_class_prior = Sentence(
        "class_prior is {value!r}; allowed are a number of rows per class, 'empirical', 'uniform', "
        "an array of probabilities and {{class: probability}}. Pass class_prior='uniform'."
    )
    not_positive_definite = Sentence(
        "{family}: {name} is not symmetric and positive definite; a covariance matrix is needed. "
        "Pass {name} + 1e-6 * numpy.diag({name}.diagonal()), or {name}=None for that of the "
        "columns."
    )
    not_diagonal = Sentence(
        "{family}: {name} is a matrix that is not {wanted}, as this covariance must be. Pass a "
        "number, or {name}=None for that of the columns."
    )
    reference_needs_rows = Sentence(
        "{family}(prior='reference') needs at least {n_rows} distinct complete rows in every "
        "class, and a class has fewer. Use the default prior: {family}()."
    )


class InvalidDistribution(BayesgenError, ValueError):
    """A distribution, prior or fixed value is not usable in `Family`, which requires scalars."""

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

    must_be_fixed = Sentence(
        "Family(dist.{family}): {parameter!r} {why}, so it cannot be learned by gradients. State "
        "it: Family(dist.{family}, fixed={{{parameter!r}: ...}})."
    )
    moving_support = Sentence(
        "Family(dist.{family}): the support depends on its parameters ({parameters:listed}); at "
        "its edge no gradient is zero. State the parameter that moves the edge, for example "
        "Family(dist.{family}, fixed={{{parameters[0]!r}: ...}})."
    )
    unknown_parameter = Sentence(
        "Family(dist.{family}): {argument}= names {name!r}; its parameters are {existing:listed}. "
        "Name one of these."
    )
    fixed_value = Sentence(
        "Family(dist.{family}): fixed= states {name}={value!r}; {allowed} are allowed. Pass one of "
        "them, or leave {name!r} out to learn it."
    )
    nothing_free = Sentence(
        "Family(dist.{family}): every parameter is fixed, so classes cannot differ. Leave one out "
        "of fixed=."
    )

    @classmethod
    def not_a_prior(cls, family: str, name: str, value: object) -> "InvalidDistribution":
        """A prior is not a distribution of one number."""
        return cls(
            f"Family(dist.{family}): the prior of {name!r} is {_name(value)}; an instance of a "
            "continuous distribution of one number is needed, the same for every class and column. "
            f"Pass priors={{{name!r}: dist.LogNormal(0, 1)}}; columns that need priors of their "
            "own need a Family each."
        )

    prior_support = Sentence(
        "Family(dist.{family}): the prior of {name!r}, dist.{prior}, allows {value!r}; {allowed} "
        "are allowed. Pass a prior on such numbers."
    )


def _name(value: object) -> str:
    if isinstance(value, str):
        return shown(value)
    return getattr(value, "__name__", None) or f"an instance of {type(value).__name__}"
