"""Sentences about priors, inference and answers."""

from collections.abc import Iterable, Sequence

from bayesgen.errors.base import BayesgenError, BayesgenWarning, Count, Real, listed, rows, shown


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


class LeftOut(BayesgenWarning):
    """A member of a stack is not fitted, or could not be; the others go on without it."""

    @classmethod
    def too_wide(cls, names: list, columns: int, widest: int) -> "LeftOut":
        """Structures whose cost grows with the cube of the columns, and there are many columns."""
        return cls(
            f"the table has {columns:,} columns, and the cost of {listed(names, 20)} grows with "
            f"their cube: above {widest:,} columns they are left out of the stack. Pass "
            "members={'linear': bg.LDA(), ...} to fit what you want all the same."
        )

    @classmethod
    def member(cls, name: str, error: Exception) -> "LeftOut":
        """Fitting the member raised an error."""
        return cls(
            f"member {shown(name)} is left out of the stack: {str(error).rstrip('.')}. Leave it "
            "out of members= to silence this."
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


class InvalidPrior(BayesgenError, ValueError):
    """A guess, or the number of rows it is worth, that makes no prior."""

    @classmethod
    def not_positive(cls, family: str, name: str, value: object) -> "InvalidPrior":
        """A worth, a rate or a variance is not above 0."""
        return cls(
            f"{family}: {name} is {shown(value)}; finite numbers above 0 are allowed. Pass a "
            "positive one; for no prior at all use inference='mle'."
        )

    @classmethod
    def not_used(cls, family: str, name: str, cure: str) -> "InvalidPrior":
        """Something is stated that this prior has no place for."""
        return cls(f"{family} has no {name}, which is stated; it would change nothing. {cure}.")

    @classmethod
    def not_probabilities(cls, family: str, name: str, value: object) -> "InvalidPrior":
        """Something is not a set of probabilities."""
        return cls(
            f"{family}: {name} is {shown(value)}; probabilities above 0 and below 1 are allowed. "
            "Divide positive numbers by their sum."
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
            f"needed. Pass {name} + 1e-6 * numpy.diag({name}.diagonal()), or {name}=None for the "
            "columns' own."
        )

    @classmethod
    def not_diagonal(cls, family: str, name: str, wanted: str) -> "InvalidPrior":
        """A guess of the covariance has what its structure has not; `wanted` says what it has."""
        return cls(
            f"{family}: {name} is a matrix that is not {wanted}, which this covariance is. Pass a "
            f"number, or {name}=None for the columns' own."
        )

    @classmethod
    def reference_needs_rows(cls, family: str, n_rows: Count) -> "InvalidPrior":
        """The improper reference prior has no posterior with so few rows."""
        return cls(
            f"{family}(prior='reference') needs at least {n_rows} complete rows that differ in "
            f"every class, and a class has fewer. Use the default prior: {family}()."
        )


class UnsupportedInference(BayesgenError, ValueError):
    """This likelihood, or this table, cannot be served by the inference that was asked for."""

    @classmethod
    def no_closed_form(cls, family: str) -> "UnsupportedInference":
        """The family has no conjugate update."""
        return cls(
            f"{family} has no closed form; it can be sampled or optimised. Pass inference='nuts' "
            "or inference='map'."
        )

    @classmethod
    def holes(cls, family: str) -> "UnsupportedInference":
        """A joint block has missing cells at fit: no closed form."""
        return cls(
            f"{family} has no closed form while some fitted rows miss a cell; they can be filled "
            "by data augmentation or EM. Pass inference='auto' or inference='map'."
        )

    @classmethod
    def unknown(cls, value: object, allowed: Iterable) -> "UnsupportedInference":
        """The argument names no inference."""
        return cls(
            f"inference is {shown(value)}; allowed: {listed(allowed, 20)}. Pass inference='auto'."
        )

    @classmethod
    def because(cls, family: str, reason: str, cure: str) -> "UnsupportedInference":
        """Any other reason, with what to type."""
        return cls(f"{family}: {reason}. {cure}")


class NoPosterior(BayesgenError, ValueError):
    """Something that needs a posterior was asked of a point estimate."""

    @classmethod
    def point_estimate(cls, method: str, inference: str) -> "NoPosterior":
        """MLE and MAP give one set of parameters and no spread."""
        return cls(
            f"{method} needs a posterior, and inference={shown(inference)} gives one point without "
            "a spread. Fit with inference='exact' or inference='nuts'."
        )


class ImpossibleRows(BayesgenWarning):
    """Rows that have probability zero under every class."""

    @classmethod
    def found(cls, count: Count, n_rows: Count) -> "ImpossibleRows":
        """`count` of `n_rows` rows are answered by the class prior."""
        return cls(
            f"{count:,} of {rows(n_rows)} are impossible under every class (zero counts of the "
            "maximum likelihood estimate); they get the class prior. Fit with inference='map' or "
            "'exact'."
        )


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


class NoClosedForm(BayesgenWarning):
    """The exact posterior was asked for and had to be simulated."""

    @classmethod
    def holes(cls) -> "NoClosedForm":
        """Rows with holes in a joint block."""
        return cls(
            "some fitted rows miss a cell of a joint block, for which no closed form exists; the "
            "posterior was simulated by data augmentation (inference_ says so). Pass "
            "inference='auto' to choose this without a warning."
        )


class LowSampleSize(BayesgenWarning):
    """Predictions from draws rest on few of them."""

    @classmethod
    def found(cls, count: Count, n_rows: Count, smallest: Real) -> "LowSampleSize":
        """`count` of `n_rows` rows have a small effective sample size of draws."""
        return cls(
            f"{count:,} of {rows(n_rows)} lie so far from the data that their probabilities rest "
            f"on few draws (the smallest effective sample size is {smallest:.0f}). Use "
            "inference='exact', or NUTS(draws=...) with more draws."
        )


class NotConverged(BayesgenWarning):
    """An optimiser or a sampler stopped before its answer could be trusted."""

    @classmethod
    def optimiser(cls, steps: Count, gradient: Real) -> "NotConverged":
        """The gradient is not small at the last step."""
        return cls(
            f"the optimiser stopped after {steps:,} steps with a gradient norm of {gradient:.2g}; "
            "the estimate may be off. Use more steps, standardise the columns, or inference='nuts'."
        )

    @classmethod
    def sampler(cls, rhat: Real, ess: Real, divergences: Count) -> "NotConverged":
        """R-hat, effective sample size or divergences are bad."""
        return cls(
            f"the sampler has R-hat {rhat:.3f} (at most 1.01 is good), an effective sample size of "
            f"{ess:.0f} (at least 400 is good) and {divergences:,} divergences (0 is good). Pass "
            "NUTS(warmup=2000, draws=2000, target_accept=0.95)."
        )
