"""The class prior: class probabilities, stated or with a Dirichlet prior."""

import copy
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int
from scipy.special import gammaln

from bayesgen.arguments import by_label
from bayesgen.errors import InvalidArgument
from bayesgen.errors.arguments import (
    not_summing_to_one,
    wrong_classes,
    wrong_number_of_probabilities,
)
from bayesgen.likelihoods import supports
from bayesgen.likelihoods.base import Arrays
from bayesgen.likelihoods.dirichlet import (
    dirichlets,
    log_gammas,
    log_ratios,
    log_sums,
    simplexes_transform,
)
from bayesgen.likelihoods.weighted import of_one_each, shuffled
from bayesgen.typing import Series, Traceable, Transform

Counts = Float[np.ndarray, " class"]
Spec = float | int | str | np.ndarray | Sequence[float | int] | Mapping | Series


@dataclasses.dataclass(frozen=True, eq=False)
class ClassPrior(Arrays):
    r"""y ~ Categorical(probs), with probs ~ Dirichlet(rows * probs) or known.

    Update with n_k rows of each class: rows' = rows + n, probs' = (rows probs + n_k) / rows'.
    rows = infinity means that probs are known and are not updated.

    Exact. Source: Gelman et al., Bayesian Data Analysis (3rd ed.), section 3.4.
    """

    probs: Counts
    rows: float
    axes: ClassVar = {"probs": ("class",), "rows": ()}

    strengths: ClassVar[tuple[str, ...]] = ("rows",)

    @property
    def is_fixed(self) -> bool:
        """Whether the class probabilities are given rather than learned."""
        return isinstance(self.rows, float) and bool(np.isinf(self.rows))

    def posterior(self, count: Counts) -> "ClassPrior":
        """Return the prior updated by the weight of each class."""
        if self.is_fixed:
            return self
        rows = self.rows + count.sum()
        return ClassPrior((self.rows * self.probs + count) / rows, rows)

    def weakened(self, rows: float) -> "ClassPrior":
        """Return the prior of strength r with strength r s / (r + s); rows: s."""
        return ClassPrior(self.probs, self.rows / (1 + self.rows / rows))

    def log_evidence(self, count: Counts) -> float:
        """Return log p(labels), as a sequence."""
        if self.is_fixed:
            return float((count[count > 0] * _log(self.probs[count > 0])).sum())
        before, after = self.rows * self.probs, self.rows * self.probs + count
        return float(
            gammaln(self.rows) - gammaln(after.sum()) + (gammaln(after) - gammaln(before)).sum()
        )

    def log_predictive(self) -> Counts:
        """Return log P(y = k), shape (class,)."""
        return _log(self.probs)

    def draw(self, rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
        """Return n draws of the class probabilities, (draw, class)."""
        if self.is_fixed:
            return {"probs": np.broadcast_to(self.probs, (n, len(self.probs)))}
        logs = log_gammas(rng, self.rows * self.probs, n)
        return {"probs": np.exp(logs - log_sums(logs, (logs.shape[1],)))}

    def log_density_draws_given_row(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[Int[np.ndarray, "draw row"]], Float[np.ndarray, "draw row class"]]:
        """Return own -> log P(y = k given probs), probs updated by one row of class own."""
        if self.is_fixed:
            return lambda own: np.broadcast_to(_log(self.probs), (*own.shape, len(self.probs)))
        logs = log_gammas(rng, self.rows * self.probs, n)
        extra = np.log(rng.exponential(size=(n, 1)))

        def log_density(own: np.ndarray) -> np.ndarray:
            mine = own[..., None] == np.arange(logs.shape[1])
            updated = np.logaddexp(logs[:, None], np.where(mine, extra[..., None], -np.inf))
            return updated - np.logaddexp.reduce(updated, axis=-1, keepdims=True)

        return log_density

    def mode(self) -> dict[str, np.ndarray]:
        """Return probs: the mode in log-odds."""
        return {"probs": self.probs}

    def maximum_likelihood(self, count: Counts) -> dict[str, np.ndarray]:
        """Return class frequencies, or the probabilities that are known."""
        return {"probs": self.probs if self.is_fixed else count / count.sum()}

    def story(self) -> dict[str, object]:
        """Sample the class probabilities (site "class.probs"), unless they are known."""
        import numpyro

        if self.is_fixed:
            return {"probs": self.probs}
        prior = dirichlets()(self.rows * self.probs, (len(self.probs),))
        return {"probs": numpyro.sample("class.probs", prior)}

    def log_scale_free_jacobian(self, params: dict) -> Traceable:
        """Return sum of log probs: the Jacobian of softmax."""
        if self.is_fixed:
            return np.zeros(())
        return params["probs"].__array_namespace__().log(params["probs"]).sum()

    def whitening(self, count: Counts) -> dict[str, tuple[np.ndarray, ...]]:
        """Return which classes are free, and center and width of their posterior log-ratios."""
        if self.is_fixed:
            return {}
        after = self.posterior(count)
        return {"probs": log_ratios(after.rows * after.probs, (len(count),))}

    def bijector(self, parameter: str, *arrays: Traceable) -> Transform:
        """Return the softmax of center + width u."""
        return simplexes_transform()(*arrays, arrays[0].shape[-1:])


@dataclasses.dataclass(frozen=True, eq=False)
class ClassPriorMixture(ClassPrior):
    """Class probabilities under one of several priors, each weighted by its evidence.

    probs are their mean, and rows those of a Dirichlet distribution of the same total variance.

    members: the priors. log_weight: of each, shape (member,).
    """

    members: tuple[ClassPrior, ...]
    log_weight: Float[np.ndarray, " member"]

    @classmethod
    def of(
        cls, members: Sequence[ClassPrior], log_weight: Float[np.ndarray, " member"]
    ) -> "ClassPriorMixture":
        """Return the mixture of priors; log_weight: up to a constant."""
        log_weight = log_weight - np.logaddexp.reduce(log_weight)
        weight, each = np.exp(log_weight), np.stack([member.probs for member in members])
        probs, strength = weight @ each, np.array([member.rows for member in members])
        within = weight @ ((each * (1 - each)).sum(axis=1) / (strength + 1))
        variance = within + weight @ ((each - probs) ** 2).sum(axis=1)
        rows = float((probs * (1 - probs)).sum() / variance - 1) if variance else np.inf
        return cls(probs, rows, tuple(members), log_weight)

    def _evidences(self, count: Counts) -> Float[np.ndarray, " member"]:
        evidences = [member.log_evidence(count) for member in self.members]
        return self.log_weight + np.array(evidences)

    def posterior(self, count: Counts) -> "ClassPriorMixture":
        """Return every prior updated, weights multiplied by the evidence."""
        members = [member.posterior(count) for member in self.members]
        return self.of(members, self._evidences(count))

    def log_evidence(self, count: Counts) -> float:
        """Return log p(labels), as a sequence."""
        return float(np.logaddexp.reduce(self._evidences(count)))

    def draw(self, rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
        """Return n draws of the class probabilities, (draw, class), each of one prior."""
        counts, order = rng.multinomial(n, np.exp(self.log_weight)), rng.permutation(n)
        sizes = zip(self.members, counts.tolist(), strict=True)
        return shuffled([member.draw(rng, size) for member, size in sizes], order)

    def log_density_draws_given_row(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[Int[np.ndarray, "draw row"]], Float[np.ndarray, "draw row class"]]:
        """Return own -> log P(y = k given probs), prior and probs updated by one row of class own.

        The row multiplies the weight of a prior by its probability of the class.
        """
        level = rng.random((n, 1))
        scores = [lambda x, m=m: np.tile(m.log_predictive(), (len(x), 1)) for m in self.members]
        draws = [m.log_density_draws_given_row(rng, n) for m in self.members]
        log_density = of_one_each(
            self.log_weight, scores, [lambda _, own, draw=draw: draw(own) for draw in draws], level
        )
        # labels alone are read of a row, so any array as long as the rows stands for these
        return lambda own: log_density(own[0], own)


def is_stated(spec: Spec) -> bool:
    """Return whether a `class_prior=` argument states class probabilities: whether it is no number.

    A number is the strength of a prior that the rows update.
    """
    return not isinstance(spec, int | float | np.number)


def states_frequencies(spec: Spec) -> bool:
    """Return whether a `class_prior=` argument states frequencies other than those of the fit."""
    return is_stated(spec) and not (isinstance(spec, str) and spec == "empirical")


def prior_of_learning(spec: Spec) -> Spec:
    """Return the class prior under which a fit learns: a number as it is, else 1 row per class.

    Powers, pools and weights are learned from rows left out, whose class frequencies are those of
    the table, so they are learned under these. Under other probabilities they would make up for the
    difference. Class probabilities that are stated take their place in the result.
    """
    return LEARNING if is_stated(spec) else spec


LEARNING = 1.0
"""Dirichlet rows per class while a fit learns whose class probabilities are stated."""


def class_prior(spec: Spec, classes: np.ndarray, count: Counts, *, frequencies: bool) -> ClassPrior:
    """Return the class prior for a `class_prior=` argument.

    Args:
        spec: a number (Dirichlet rows per class), "empirical", "uniform", an array in the order of
            classes, or {class: probability}, also as a Series, whose index is the classes.
        classes: the labels in order.
        count: weight of each class in the training rows.
        frequencies: whether a number means class frequencies (maximum likelihood ignores prior
            strengths).

    Raises:
        InvalidArgument: a prior strength not above 0, or probabilities not positive or not summing
            to one.
    """
    size = len(classes)
    if isinstance(spec, str):
        if spec not in ("empirical", "uniform"):
            raise InvalidArgument(
                "class_prior is {value!r}; allowed are a number of rows per class, "
                "'empirical', 'uniform', an array of probabilities and {{class: probability}}.",
                "Pass class_prior='uniform'.",
                value=spec,
            )
        return even_classes(size) if spec == "uniform" else ClassPrior(count / count.sum(), np.inf)
    if isinstance(spec, int | float | np.number):
        supports.require("class_prior", "rows per class", spec, "positive")
        if frequencies:
            return ClassPrior(count / count.sum(), np.inf)
        return ClassPrior(np.full(size, 1 / size), float(spec) * size)
    return ClassPrior(given_probabilities(spec, classes), np.inf)


def even_classes(n_classes: int) -> ClassPrior:
    """Return even class probabilities, which are known."""
    return ClassPrior(np.full(n_classes, 1 / n_classes), np.inf)


def stated_prior(spec: Spec, classes: np.ndarray, count: Counts) -> ClassPrior:
    """Return class probabilities that are known.

    Args:
        spec: "uniform", "empirical", an array or {class: probability}, also as a Series.
        classes: the labels in order.
        count: weight of each class in the rows of the fit.
    """
    if isinstance(spec, str):
        return class_prior(spec, classes, count, frequencies=False)
    return ClassPrior(given_probabilities(spec, classes), np.inf)


def kept(spec: Spec) -> Spec:
    """Return a `class_prior=` argument to keep: the caller may edit an array or a dict later."""
    return copy.deepcopy(spec)


def given_probabilities(spec: Spec, classes: np.ndarray) -> Counts:
    """Return probabilities stated by a user, checked: one per class, from 0 to 1, sum one."""
    stated = by_label("class_prior", spec)
    if isinstance(stated, Mapping):
        wanted = list(classes)
        if set(stated) != set(wanted):
            raise wrong_classes(list(stated), wanted, index=stated is not spec)
        stated = [stated[c] for c in wanted]
    probs = np.array(stated, dtype=float)  # a copy: the caller may edit an array later
    if probs.shape != (len(classes),):
        raise wrong_number_of_probabilities(probs.shape, list(classes))
    supports.require("class_prior", "probabilities", probs, "fraction")
    if abs(probs.sum() - 1) > 1e-8:
        raise not_summing_to_one("class_prior", probs.sum())
    return probs


def require_possible(spec: Spec, classes: np.ndarray) -> None:
    """Reject stated probabilities of 0 for classes with training rows.

    Raises:
        InvalidArgument: names the classes.
    """
    if isinstance(spec, str | int | float | np.number):
        return
    impossible = classes[given_probabilities(spec, classes) == 0]
    if len(impossible):
        raise InvalidArgument(
            "class_prior is {value!r}; y has rows of {labels:named class}, and a class of the fit "
            "needs a probability above 0.",
            "Pass class_prior='empirical'; after the fit clf.with_class_prior({value!r}) rules "
            "it out.",
            value=by_label("class_prior", spec),
            labels=impossible.tolist(),
        )


def _log(probs: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(probs)
