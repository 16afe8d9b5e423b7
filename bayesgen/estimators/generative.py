"""The general classifier: likelihoods for columns, or a NumPyro program of the user's own."""

import dataclasses
from collections.abc import Callable, Collection
from typing import cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from bayesgen import diagnose
from bayesgen.classes import Spec as ClassPriorSpec
from bayesgen.errors import InvalidProgram, NoEvidence, ProgramRefuses, UnsupportedInference
from bayesgen.estimators import program_classifier
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.column_blocks import Blocks, Spec, assign, reads_sparse, unread
from bayesgen.estimators.diagnostics import ROW
from bayesgen.estimators.program_classifier import FittedProgram, ProgramState, ProgramTable, T
from bayesgen.estimators.training import Temper, TrainingState
from bayesgen.estimators.validation import TrainingRows
from bayesgen.inference import DrawsPosterior, Method, Posterior
from bayesgen.table import Name, Names, Table
from bayesgen.typing import Encoded, Labels, Self, Traceable, unchecked
from bayesgen.user_program import ProgramPosterior


class GenerativeClassifier(Classifier):
    """A class prior times one likelihood per block of columns, or a NumPyro program of your own.

    Args:
        likelihood: "auto" (numbers -> Normal, everything else -> Categorical), one likelihood for
            all columns, or {column or (column, ...): likelihood}, columns by name or by position.
        story: instead of a likelihood, a NumPyro program `model(x, y=None, *, n_classes, ...)` in
            the form of the gallery (models/README.md): the label is the site "y", everything that
            repeats over rows is in the plate "row", and a row's log density is its own affair. Bind
            other keywords by functools.partial. X is then an array, a dict of arrays (rows along
            the first axis) or a frame of numbers; what is missing reaches the program as it is,
            and `impute` draws the cells that its masks leave out. `loo` weighs its draws, so it
            asks for NUTS; partial_fit and log_evidence_ refuse.
        remainder: columns that a mapping of likelihoods leaves out are refused (None), read as
            "auto" reads them ("auto"), or ignored ("drop"), even if absent.
        class_prior: Dirichlet rows per class (1.0), "empirical", "uniform", or probabilities as an
            array or {class: probability}. Under maximum likelihood a number means frequencies. A
            story states its own prior; known probabilities take its place after the fit.
        inference: "auto", "exact", "expected", "mle", "map", "svi" (bg.MAP(solver="svi")), "nuts",
            or bg.Exact(), bg.Expected(), bg.Augmentation(), bg.MLE(), bg.MAP(), bg.NUTS(). A
            program has no closed form: "auto" is "nuts", "map" and "svi" the mode against the
            scale-free measure (see bg.MAP), "mle" the highest density of rows.
        unseen: "missing" takes a level that fitting did not see as missing, with a warning;
            "error" refuses it.
        power_transform: True: columns of numbers that normal likelihoods read are
            power-transformed, each by a power that the rows choose, so that skewed ones look normal
            given the class (`bayesgen.schema.power_transform`). Densities are those of the cells as
            they came; parameters, and guesses that you state, those of transformed ones, which near
            a column's mean are the same.
            Powers stay when `loo` leaves a row out.
        temper: None, the story as it is; a power above 0 of the likelihood; or "learn": a power
            averaged over .1 to 2, and further where the rows prefer an end, by how well it predicts
            each row from the others (see `temperature_`).
        random_state: seed of simulated draws; they are drawn once a fit.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_titanic_passengers()
        >>> clf = bg.GenerativeClassifier({("age",): bg.Normal(), ("sex", "passengerClass"):
        ...     bg.Categorical()}).fit(X, y)
        >>> clf.predict_proba(X.iloc[:2]).round(3)
        array([[0.135, 0.865],
               [0.506, 0.494]])

        A program of your own: petals whose lengths are log-normal, with a spread that all share.

        >>> import jax.numpy as jnp
        >>> import numpyro
        >>> import numpyro.distributions as dist
        >>> def petals(x, y=None, *, n_classes):
        ...     probs = numpyro.sample("probs", dist.Dirichlet(jnp.ones(n_classes)))
        ...     spread = numpyro.sample("spread", dist.HalfNormal(1.0))
        ...     with numpyro.plate("class", n_classes):
        ...         length = numpyro.sample("length", dist.Normal(1.0, 1.0))
        ...     with numpyro.plate("row", len(x)):
        ...         y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        ...         size = dist.LogNormal(length[y], spread)
        ...         numpyro.sample("x", size, obs=x[:, 0])
        >>> X, y = bg.datasets.load_iris()
        >>> clf = bg.GenerativeClassifier(story=petals, inference="map")
        >>> clf = clf.fit(X[["petal_length"]], y)
        >>> clf.predict_proba(X[["petal_length"]].iloc[[0, 77, 149]]).round(2)
        array([[1.  , 0.  , 0.  ],
               [0.  , 0.33, 0.67],
               [0.  , 0.24, 0.76]])
    """

    @unchecked  # no validation in __init__; fit validates (scikit-learn's convention)
    def __init__(
        self,
        likelihood: Spec = "auto",
        *,
        story: Callable | None = None,
        remainder: str | None = None,
        class_prior: ClassPriorSpec = 1.0,
        inference: str | Method = "auto",
        power_transform: bool = False,
        temper: Temper = None,
        unseen: str = "missing",
        random_state: object = None,
    ) -> None:
        self.likelihood = likelihood
        self.story = story
        self.remainder = remainder
        self.class_prior = class_prior
        self.inference = inference
        self.power_transform = power_transform
        self.temper = temper
        self.unseen = unseen
        self.random_state = random_state

    def _unread(self, names: Names) -> Collection[Name]:
        return unread(self.likelihood, names, self.remainder)

    def _reads_sparse(self) -> bool:
        return reads_sparse(self.likelihood)

    def _blocks(self, table: Table) -> Blocks:
        return assign(self.likelihood, table, self.remainder)

    # -- a program in place of likelihoods -------------------------------------------------------

    def _program_state(self) -> ProgramState | None:
        """Return what a program was fitted to; None before a fit, and after one of likelihoods."""
        state = getattr(self, "state_", None)
        return state if isinstance(state, ProgramState) else None

    def _fitted_program(self) -> FittedProgram | None:
        state = self._program_state()
        return (
            None
            if state is None
            else FittedProgram(state, cast(ProgramPosterior, self._fitted_posterior()))
        )

    def _read(self, X: object, *, reset: bool) -> Table:
        state = None if reset else self._program_state()
        if (self.story if reset else state) is None:
            return super()._read(X, reset=reset)
        if not (isinstance(self.likelihood, str) and self.likelihood == "auto"):
            raise InvalidProgram.with_likelihood()
        table = program_classifier.read(self, X, reset=reset)
        if state is not None:
            program_classifier.require_columns(state.schema, table, type(self).__name__)
        return table

    def _own_table(self, table: Table, raw: Callable[[], object], *, reset: bool) -> Table:
        # a stack reads columns for all its members; a program reads the rows as they were passed
        if self.story is None or isinstance(table, ProgramTable):
            return super()._own_table(table, raw, reset=reset)
        return self._read(raw(), reset=reset)

    def _new_state(self, rows: TrainingRows, classes: np.ndarray) -> TrainingState:
        if self.story is None:
            return super()._new_state(rows, classes)
        return program_classifier.new_state(self.story, rows, classes)

    def _infer(self, state: TrainingState, seed: int) -> Posterior:
        if self.story is None:
            return super()._infer(state, seed)
        stated = {"temper": self.temper, "power_transform": self.power_transform or None}
        for name, value in stated.items():
            if value is not None:
                raise UnsupportedInference.because(
                    f"{name}={value!r}", "a program of your own says what it means", "Leave it out."
                )
        state = cast(ProgramState, state)
        return program_classifier.fit(state, self.inference, self.class_prior, seed)

    def _finish_fit(
        self,
        state: TrainingState,
        seed: int,
        seen: tuple[TrainingRows, ...] = (),
        *,
        whole: bool = False,
    ) -> Self:
        super()._finish_fit(state, seed, seen, whole=whole)
        if (fitted := self._program_state()) is not None:
            self.state_ = dataclasses.replace(fitted, rows=None)
        return self

    def _simulate(
        self, n: int, rng: np.random.Generator
    ) -> tuple[dict[str, Traceable], np.ndarray]:
        program = self._fitted_program()
        return super()._simulate(n, rng) if program is None else program.simulate(n, rng)

    def _prior(
        self, rng: np.random.Generator, draws: int, encoded: Encoded, y: Labels
    ) -> diagnose.Params:
        program = self._fitted_program()
        if program is None:
            return super()._prior(rng, draws, encoded, y)
        return program.sample_prior(draws, rng, encoded, y)

    def _log_priors(
        self, posterior: DrawsPosterior, encoded: Encoded, y: Labels
    ) -> dict[str, np.ndarray]:
        program = self._fitted_program()
        if program is None:
            return super()._log_priors(posterior, encoded, y)
        return program.log_priors(encoded, y)

    def _shown(self, params: diagnose.Params, words: diagnose.Words) -> diagnose.Group:
        return program_classifier.named(params, super()._shown(params, words))

    def _observed(self, encoded: Encoded, n_rows: int) -> diagnose.Group:
        if self._program_state() is None:
            return super()._observed(encoded, n_rows)
        return diagnose.Group(dict(encoded), dict.fromkeys(encoded, ROW), samples=())

    def _imputed(self, X: T, draws: int, rng: np.random.Generator) -> T | list[T]:
        program = self._fitted_program()
        if program is None:
            return super()._imputed(X, draws, rng)
        table = cast(ProgramTable, self._read(X, reset=False))
        tables = program.impute(X, table, draws, rng)
        return tables[0] if draws == 1 else tables

    def partial_fit(
        self, X: object, y: object, classes: ArrayLike | None = None, sample_weight: object = None
    ) -> Self:
        """Add rows to what was fitted (see `Classifier`); a program of your own refuses."""
        if self.story is not None or self._program_state() is not None:
            raise ProgramRefuses.partial_fit()
        return super().partial_fit(X, y, classes, sample_weight)

    @property
    def log_evidence_(self) -> float:
        """Log p(rows, labels), parameters integrated out: a closed form of exact fits."""
        check_is_fitted(self)
        if self._program_state() is not None:
            raise NoEvidence.no_closed_form("a program of your own")
        return super().log_evidence_
