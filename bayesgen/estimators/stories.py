"""Rows for a program of the user's own, and a classifier whose story may be one."""

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted, validate_data

from bayesgen import diagnose
from bayesgen.classes import class_prior, require_possible
from bayesgen.errors import (
    InvalidStory,
    InvalidTable,
    InvalidValues,
    NoEvidence,
    NotConverged,
    StoryRefuses,
    StoryRows,
    UnsupportedInference,
    UnsupportedTable,
    warn,
)
from bayesgen.estimators.blocks import Spec
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.fitted import TrainingState
from bayesgen.estimators.looking import ROW
from bayesgen.estimators.tempering import Seen
from bayesgen.inference import Draws, Posterior
from bayesgen.inference.programs import Observed, infer_story
from bayesgen.inference.story_draws import OWNER, StoryDraws
from bayesgen.model import ModelStatistics
from bayesgen.schema import BlockSpec, Schema, check_columns
from bayesgen.table import (
    Table,
    check_labelled,
    free,
    is_frame,
    is_sparse,
    read_table,
    require_container,
)
from bayesgen.typing import Encoded, Self, Traceable
from bayesgen.user_story import SINGLE, UserStory, sizes_of

DICT = "dict"


@dataclasses.dataclass(frozen=True, eq=False)
class StoryTable(Table):
    """Rows as a program takes them: arrays by name, one under "x" unless container is "dict".

    frame: the table that they were read from, if there was one.
    """

    arrays: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    frame: Table | None = None

    def take(self, rows: np.ndarray | slice) -> "StoryTable":
        """Return the table of some rows."""
        arrays = {name: array[rows] for name, array in self.arrays.items()}
        return _table(arrays, self.container, self.frame)


@dataclasses.dataclass(frozen=True)
class StorySchema(Schema):
    """What a fit remembers of arrays: kind of number and shape of a row, by name.

    columns: of the frame that the rows came in, if it was one.
    """

    forms: Mapping[str, tuple[np.dtype, tuple[int, ...]]]
    columns: Schema | None

    @classmethod
    def of(cls, table: StoryTable) -> "StorySchema":
        """Return what a table teaches."""
        forms = {name: (array.dtype, array.shape[1:]) for name, array in table.arrays.items()}
        if table.frame is None:
            return cls({}, (), table.container, forms, None)
        names = table.frame.names
        columns = Schema.learn(table.frame, {SINGLE: BlockSpec("numbers", names)})
        return cls({}, names, table.container, forms, columns)

    def encode(
        self, table: Table, unseen: str = "missing", *, estimator: str = "Classifier"
    ) -> dict[str, Traceable]:
        """Return the arrays of a table, which must look as they did at fit.

        Raises:
            StoryRows: they do not.
        """
        if not isinstance(table, StoryTable):
            return super().encode(table, unseen, estimator=estimator)
        if (table.container == DICT) != (self.container == DICT):
            words = {True: "a dict of arrays", False: "one array"}
            is_dict = table.container == DICT
            raise StoryRows.container(words[is_dict], words[not is_dict])
        arrays: Mapping[str, Traceable] = table.arrays
        if self.columns is not None and table.frame is not None:
            # matches the columns by name, and finds absent ones missing
            arrays = self.columns.encode(table.frame, estimator=estimator)
        if set(arrays) != set(self.forms):
            raise StoryRows.names(arrays, self.forms)
        return {name: self._array(name, arrays[name]) for name in self.forms}

    def _array(self, name: str, array: np.ndarray) -> np.ndarray:
        dtype, shape = self.forms[name]
        if array.shape[1:] != shape:
            raise StoryRows.shape(name, array.shape[1:], shape)
        if dtype.kind in "iu" and array.dtype.kind == "f" and not (array == np.rint(array)).all():
            raise StoryRows.fractions(name)
        return array.astype(dtype)

    def decode(self, encoded: Encoded, n_rows: int) -> object:
        """Return arrays as the rows came in: a frame, an array, or a dict of arrays."""
        if self.columns is not None:
            return self.columns.decode({SINGLE: encoded[SINGLE].astype(float)}, n_rows)
        return dict(encoded) if self.container == DICT else encoded[SINGLE]


@dataclasses.dataclass(frozen=True, eq=False)
class StoryLearned(TrainingState):
    """What rows have said to a program: how they look and the classes. rows: to fit, then None."""

    schema: StorySchema
    story: UserStory
    rows: Observed | None


class StoryTeller(Classifier):
    """A classifier that composes its story from likelihoods, or takes a program as its story."""

    story: Callable | None
    likelihood: Spec

    def _read(self, X: object, *, reset: bool) -> Table:
        if self.story is None:
            return super()._read(X, reset=reset)
        if not (isinstance(self.likelihood, str) and self.likelihood == "auto"):
            raise InvalidStory.with_likelihood()
        table = read(self, X, reset=reset)
        if not reset:
            self._check_columns(table)
        return table

    def _check_columns(self, table: Table) -> None:
        schema = self._state_.schema
        if not isinstance(schema, StorySchema):
            super()._check_columns(table)
        elif schema.columns is not None and isinstance(table, StoryTable) and table.frame:
            names, container = schema.columns.names, schema.columns.container
            check_columns(names, names, container, table.frame, type(self).__name__)

    def _learned(
        self, table: Table, labels: np.ndarray, classes: np.ndarray, weight: np.ndarray
    ) -> TrainingState:
        if self.story is None or not isinstance(table, StoryTable):
            return super()._learned(table, labels, classes, weight)
        check_labelled(classes)
        if not callable(self.story):
            raise InvalidStory.not_a_program(self.story)
        schema = StorySchema.of(table)
        story = UserStory(self.story, len(classes), table.container != DICT)
        rows = Observed(schema.encode(table), np.searchsorted(classes, labels), weight)
        count = np.bincount(rows.y, weight, minlength=len(classes)).astype(float)
        return StoryLearned(schema, {}, classes, ModelStatistics(count, {}), story, rows)

    def _infer(self, learned: TrainingState, seed: int) -> Posterior:
        if not isinstance(learned, StoryLearned) or learned.rows is None:
            return super()._infer(learned, seed)
        for name, value in (("temper", self.temper), ("numbers", self.numbers)):
            if value is not None:
                raise UnsupportedInference.because(
                    f"{name}={value!r}", "a story of your own says what it means", "Leave it out."
                )
        number = isinstance(self.class_prior, int | float | np.number)
        if number and self.class_prior != 1.0:
            raise InvalidStory.with_class_prior(self.class_prior)
        posterior = infer_story(learned.story, learned.rows, self.inference, seed)
        if not posterior.report.converged:
            warn(NotConverged(posterior.report.verdict))
        if number:
            return posterior
        count = learned.statistics.count
        require_possible(self.class_prior, learned.classes)
        known = class_prior(self.class_prior, learned.classes, count, frequencies=False)
        return posterior.with_classes(known)

    def _finish_fit(
        self, learned: TrainingState, seed: int, seen: tuple[Seen, ...] | None = None
    ) -> Self:
        super()._finish_fit(learned, seed, seen)
        if isinstance(learned, StoryLearned):
            self._state_ = dataclasses.replace(learned, rows=None)
        return self

    def _simulate(
        self, n: int, rng: np.random.Generator
    ) -> tuple[dict[str, Traceable], np.ndarray]:
        learned, posterior = self._state_, self._fitted_posterior()
        if not (isinstance(learned, StoryLearned) and isinstance(posterior, StoryDraws)):
            return super()._simulate(n, rng)
        forms = learned.schema.forms
        shapes = {name: shape for name, (_, shape) in forms.items()}
        made, y = posterior.simulate(n, rng, sizes_of(learned.story, shapes))
        found = {name: array.shape[1:] for name, array in made.items()}
        if found != shapes:
            raise InvalidStory.wrong_simulation(f"their shapes are {found}, not {shapes}")
        return {name: made[name].astype(dtype) for name, (dtype, _) in forms.items()}, y

    def _prior(
        self, rng: np.random.Generator, draws: int, encoded: Encoded, y: np.ndarray
    ) -> diagnose.Params:
        posterior = self._fitted_posterior()
        if not isinstance(posterior, StoryDraws):
            return super()._prior(rng, draws, encoded, y)
        return diagnose.chained(posterior.prior(draws, rng, encoded, y), draws)

    def _log_priors(
        self, posterior: Draws, encoded: Encoded, y: np.ndarray
    ) -> dict[str, np.ndarray]:
        if not isinstance(posterior, StoryDraws):
            return super()._log_priors(posterior, encoded, y)
        return {} if self.inference_ == "mle" else posterior.log_priors(encoded, y)

    def _shown(self, params: diagnose.Params, words: diagnose.Words) -> diagnose.Group:
        group = super()._shown(params, words)
        sites = {free(site, group.arrays): value for site, value in params.get(OWNER, {}).items()}
        return diagnose.Group({**group.arrays, **sites}, group.dims)

    def _observed(self, encoded: Encoded, n_rows: int) -> diagnose.Group:
        if self.story is None:
            return super()._observed(encoded, n_rows)
        return diagnose.Group(dict(encoded), dict.fromkeys(encoded, ROW), samples=())

    def partial_fit(
        self, X: object, y: object, classes: ArrayLike | None = None, sample_weight: object = None
    ) -> Self:
        """Add rows to what was fitted (see `Classifier`); a story of your own refuses."""
        if self.story is not None:
            raise StoryRefuses.partial_fit()
        return super().partial_fit(X, y, classes, sample_weight)

    @property
    def log_evidence_(self) -> float:
        """Log p(rows, labels), parameters integrated out: a closed form of exact fits."""
        check_is_fitted(self, "_state_")
        if self.story is not None:
            raise NoEvidence.no_closed_form("a program of your own")
        return super().log_evidence_


def read(estimator: object, X: object, *, reset: bool) -> StoryTable:
    """Return rows as a program takes them; with `reset` scikit-learn notes names and number.

    X is an array with its rows along the first axis, a dict of such arrays, or a frame of numbers,
    which becomes one array. Cells of float are float64, NaN where missing.

    Raises:
        BayesgenError: what cannot be read.
    """
    if isinstance(X, Mapping):
        arrays = {name: _numbers(name, np.asarray(value)) for name, value in X.items()}
        lengths = {name: array.shape[0] if array.ndim else 0 for name, array in arrays.items()}
        if len(set(lengths.values())) != 1:
            raise StoryRows.lengths(lengths)
        return _table(arrays, DICT)
    require_container(X)
    if is_sparse(X):
        raise UnsupportedTable.sparse_for("A story of your own")
    if is_frame(X):
        frame = read_table(X)
        for column in frame.columns:
            if column.kind != "number":
                raise StoryRows.text(column.name)
        if reset:
            validate_data(estimator, X, skip_check_array=True)
        array = np.stack([column.values for column in frame.columns], axis=1)
        # codes of levels stay whole numbers
        whole = np.asarray(X).dtype.kind in "iu"
        return _table({SINGLE: array.astype(int) if whole else array}, frame.container, frame)
    options = {"dtype": None, "ensure_all_finite": False, "allow_nd": True}
    array = validate_data(estimator, X, reset=reset, **options)
    return _table({SINGLE: _numbers(SINGLE, array)}, "numpy")


def _table(
    arrays: Mapping[str, np.ndarray], container: str, frame: Table | None = None
) -> StoryTable:
    n_rows = len(next(iter(arrays.values())))
    if not n_rows:
        raise InvalidTable.no_rows(sum(array[:1].size for array in arrays.values()))
    return StoryTable((), n_rows, container, None, arrays, frame)


def _numbers(name: object, array: np.ndarray) -> np.ndarray:
    """Return an array of whole numbers, truth values or float64, NaN the only strange one."""
    if array.dtype.kind in "iub":
        return array
    if array.dtype.kind == "c":
        raise InvalidValues.complex_array()
    try:
        array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise StoryRows.text(name) from None
    infinite = int(np.isinf(array).sum())
    if infinite:
        raise StoryRows.infinite(name, infinite)
    return array
