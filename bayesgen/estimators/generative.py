"""The general classifier: one likelihood per block of columns, or a user's NumPyro program."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Literal, cast

import numpy as np

from bayesgen.classes import Spec as ClassPriorSpec
from bayesgen.errors import InvalidProgram, UnsupportedOperation
from bayesgen.errors.operations import unsupported
from bayesgen.estimators import program_classifier, unlabelled_fit
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.column_blocks import Blocks, Missing, Remainder, Spec, Unseen, assign
from bayesgen.estimators.fitted import Fitted
from bayesgen.estimators.program_classifier import FittedProgram, ProgramState, ProgramTable, T
from bayesgen.estimators.program_prior import ProgramPrior
from bayesgen.estimators.recipe import Recipe
from bayesgen.estimators.tempered import Temper
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.estimators.unlabelled_fit import Weight as Unlabelled
from bayesgen.estimators.unlabelled_fit import stated_weight
from bayesgen.inference import Asked
from bayesgen.likelihoods.description import source
from bayesgen.table import Name, Table
from bayesgen.typing import Joint
from bayesgen.user_program import ProgramRows


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class ProgramRecipe(Recipe):
    """The recipe of a program of the user's own.

    program: its function. read: rows as they were passed -> their table.
    """

    program: Callable
    read: Callable[..., Table]

    @property
    def is_program(self) -> bool:
        """Whether it is a program of the user's own, which reads a row as a whole."""
        return True

    def own_table(self, table: Table, raw: Callable[[], object]) -> Table:
        """Return the rows as the program takes them; see `Recipe.own_table`."""
        # a stack reads columns for all its members; a program reads the rows as they were passed
        return table if isinstance(table, ProgramTable) else self.read(raw(), reset=True)

    def first_state(self, rows: TrainingRows, classes: np.ndarray) -> ProgramState:
        """Return the training state of the program; see `Recipe.first_state`."""
        missing = None if self.missing == "ignorable" else self.missing
        stated = {
            "temper": self.temper,
            "power_transform": self.power_transform or None,
            "missing": missing,
            "bins": self.bins,
            "groups": self.groups,
        }
        for name, value in stated.items():
            if value is not None:
                raise unsupported(
                    f"{name}={value!r}",
                    "a program of your own decides this itself",
                    "Leave it out.",
                )
        weight = 0.0 if rows.unlabelled is None else stated_weight(self.unlabelled)
        return program_classifier.new_state(self.program, rows, classes, weight)

    def inferred(self, waiting: Fitted, seed: int) -> FittedProgram:
        """Return the program with draws of its parameters."""
        return program_classifier.inferred(waiting, self.inference, seed)

    def prior(self, rows: TrainingRows) -> ProgramPrior:
        """Return the prior of the program."""
        state = self.first_state(rows, rows.classes)
        encoded = cast(ProgramRows, state.rows).x
        return ProgramPrior(state, self.class_prior, self.inference, encoded, len(rows.codes))

    def semi_supervised(
        self, waiting: Fitted, seen: Sequence[TrainingRows], seed: int
    ) -> tuple[Fitted, Joint]:
        """Return the program, and what it expects rows without a label to be."""
        return unlabelled_fit.of_program(self.inferred(waiting, seed), seen, self.unlabelled)


@dataclasses.dataclass(eq=False, repr=False)
class GenerativeClassifier(Classifier):
    """General generative classifier: one likelihood per block of columns, or a NumPyro program.

    Args:
        likelihood: ...
        story: instead of a likelihood, a NumPyro program `model(x, y=None, *, n_classes, ...)` in
            the form of the gallery (models/README.md): the label is the site "y", everything that
            repeats over rows is in the plate "row", and a row's log density does not depend on
            other rows. Bind other keywords by functools.partial. X is then an array, a dict of
            arrays (rows along the first axis) or a DataFrame of numbers; missing values are passed
            to the program unchanged, and `impute` draws the cells that its masks exclude. A program
            has no closed form: inference="auto" means "nuts", "map" and "svi" find the mode against
            the scale-free measure (see bg.MAP), "mle" maximizes the likelihood. The program
            contains its own class prior, which `with_class_prior` can replace after the fit. `loo`
            reweights draws and so requires NUTS; partial_fit and log_evidence_ are not available.
        remainder, class_prior, inference, unseen, power_transform, bins, temper, missing: ...
        unlabelled, groups, random_state: ...

    Attributes:
        coef_, intercept_: ...
        classes_, inference_, report_, posterior_, log_evidence_, state_, temperature_: ...
        unlabelled_weight_, label_distributions_, transduction_: ...
        n_features_in_, feature_names_in_: number and names of the columns at fit.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_titanic_passengers()
        >>> clf = bg.GenerativeClassifier({("age",): bg.Normal(), ("sex", "passengerClass"):
        ...     bg.Categorical()}).fit(X, y)
        >>> clf.predict_proba(X.iloc[:2]).round(3)
        array([[0.135, 0.865],
               [0.506, 0.494]])

        A user program: log-normal petal lengths, with a spread shared by all classes.

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

    likelihood: Spec = "auto"
    _: dataclasses.KW_ONLY
    story: Callable | None = None
    remainder: Remainder = None
    class_prior: ClassPriorSpec = 1.0
    inference: Asked = "auto"
    power_transform: bool = False
    bins: int | Literal["auto"] | None = None
    temper: Temper = None
    missing: Missing = "ignorable"
    unseen: Unseen = "missing"
    unlabelled: Unlabelled = "learn"
    groups: Name | None = None
    random_state: object = None

    def _blocks(self, table: Table) -> Blocks:
        return assign(self.likelihood, table, self.remainder, self.groups)

    def program(self) -> str:
        """Return the model as a NumPyro program (see `Classifier.program`), or that of its user."""
        state = self._program_state()
        return super().program() if state is None else source(state.program.model)

    # -- a program in place of likelihoods -------------------------------------------------------

    def _program_state(self) -> ProgramState | None:
        """Return the training state of a program; None if unfitted or fitted with likelihoods."""
        state = self.state_ if hasattr(self, "fitted_") else None
        return state if isinstance(state, ProgramState) else None

    def _read(self, X: object, *, reset: bool) -> Table:
        if (self.story if reset else self._program_state()) is None:
            return super()._read(X, reset=reset)
        if not (isinstance(self.likelihood, str) and self.likelihood == "auto"):
            raise InvalidProgram(
                "story= and likelihood= are both given; a program already defines the "
                "distribution of the rows.",
                "Leave one of them out.",
            )
        return program_classifier.read(self, X, reset=reset)

    def _recipe(self) -> Recipe:
        if self.story is None:
            return super()._recipe()
        return ProgramRecipe(**self._options(), program=self.story, read=self._read)

    def _imputed(self, X: T, draws: int, rng: np.random.Generator) -> T | list[T]:
        program = self._fitted()
        if not isinstance(program, FittedProgram):
            return super()._imputed(X, draws, rng)
        table = cast(ProgramTable, self._read(X, reset=False))
        tables = program.impute(X, table, draws, rng)
        return tables[0] if draws == 1 else tables

    def _require_statistics(self, method: str) -> None:
        # likelihoods have statistics, a program in their place has none
        if self.story is not None or self._program_state() is not None:
            raise UnsupportedOperation(
                "{method} needs additive statistics, but a program of your own reads all rows "
                "at once.",
                "Fit all rows together: fit(X, y).",
                method=method,
            )
