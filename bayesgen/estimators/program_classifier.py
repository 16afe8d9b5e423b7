"""Classifier backed by a user's NumPyro program: its rows, training state and fitted model."""

import copy
import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import TypeVar, cast

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from bayesgen import diagnose
from bayesgen.classes import class_prior, require_possible
from bayesgen.errors import InvalidData, InvalidProgram, NotConverged, warn
from bayesgen.errors.data import complex_array, levels_for_a_program, no_rows_in_table, sparse_for
from bayesgen.errors.operations import no_evidence_in_closed_form, unsupported
from bayesgen.errors.wording import to_type
from bayesgen.estimators.fitted import ROW, Fitted
from bayesgen.estimators.state import TrainingState
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.inference import Draws, Method, Posterior
from bayesgen.likelihoods import Likelihood
from bayesgen.model import ModelStatistics
from bayesgen.schema import BlockSpec, Schema, check_columns, in_numbers
from bayesgen.table import (
    Table,
    fill_table,
    free,
    from_dicts,
    read_table,
    require_container,
)
from bayesgen.typing import Encoded, Labels, Traceable
from bayesgen.user_program import (
    OWNER,
    SINGLE,
    ProgramDraws,
    ProgramRows,
    UserProgram,
    named_axes,
    prior_draws,
    simulate,
)
from bayesgen.user_program import infer as infer_program
from bayesgen.user_program.program import LABEL
from bayesgen.user_program.refusals import HEAD

DICT = "dict"

T = TypeVar("T")
"""A table of any kind."""


@dataclasses.dataclass(frozen=True, eq=False)
class ProgramTable(Table):
    """Rows in the form a program takes: arrays by name, one named "x" unless container is "dict".

    frame: the DataFrame they were read from, if any.
    """

    arrays: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    frame: Table | None = None

    def take(self, rows: np.ndarray | slice) -> "ProgramTable":
        """Return the table of some rows."""
        arrays = {name: array[rows] for name, array in self.arrays.items()}
        frame = None if self.frame is None else self.frame.take(rows)
        return _table(arrays, self.container, frame)


@dataclasses.dataclass(frozen=True)
class ProgramSchema(Schema):
    """Schema of a program's arrays: dtype kind and row shape, by name.

    columns: of the DataFrame the rows came from, if any.
    """

    forms: Mapping[str, tuple[np.dtype, tuple[int, ...]]]
    columns: Schema | None

    @classmethod
    def of(cls, table: ProgramTable) -> "ProgramSchema":
        """Return the schema of a table."""
        forms = {name: (array.dtype, array.shape[1:]) for name, array in table.arrays.items()}
        if table.frame is None:
            return cls({}, (), table.container, forms, None)
        names = table.frame.names
        columns = Schema.learn(table.frame, {SINGLE: BlockSpec("numbers", names)})
        return cls({}, names, table.container, forms, columns)

    def encode(
        self, table: Table, unseen: str = "missing", *, estimator: str = "Classifier"
    ) -> dict[str, Traceable]:
        """Return the arrays of a table, whose kinds and shapes must match those of the fit.

        Raises:
            InvalidData: they do not.
        """
        table = cast(ProgramTable, table)
        if (table.container == DICT) != (self.container == DICT):
            words = {True: "a dict of arrays", False: "one array"}
            is_dict = table.container == DICT
            raise InvalidData(
                "X is {found}; at fit it was {wanted}.",
                "Pass {wanted} again.",
                found=words[is_dict],
                wanted=words[not is_dict],
            )
        arrays: Mapping[str, Traceable] = table.arrays
        if self.columns is not None and table.frame is not None:
            names = self.columns.names
            check_columns(names, names, self.columns.container, table.frame, estimator)
            # matches the columns by name, and finds absent ones missing
            arrays = self.columns.encode(table.frame, estimator=estimator)
        if set(arrays) != set(self.forms):
            raise InvalidData(
                "X has the arrays {found:listed 20}; the fit had {wanted:listed 20}.",
                "Pass a dict with these names.",
                found=arrays,
                wanted=self.forms,
            )
        return {name: self._array(name, arrays[name]) for name in self.forms}

    def _array(self, name: str, array: np.ndarray) -> np.ndarray:
        dtype, shape = self.forms[name]
        if array.shape[1:] != shape:
            raise InvalidData(
                "array {name!r} of X has rows of the shape {found}; at fit it was {wanted}.",
                "Pass the same columns.",
                name=name,
                found=array.shape[1:],
                wanted=shape,
            )
        if dtype.kind in "iu" and array.dtype.kind == "f" and not (array == np.rint(array)).all():
            raise InvalidData(
                "array {name!r} of X holds fractions or NaN, but held whole numbers at fit.",
                "Pass codes, with -1 where missing.",
                name=name,
            )
        return array.astype(dtype)

    def decode(self, encoded: Encoded, n_rows: int) -> object:
        """Return arrays in the container of the training rows: DataFrame, array or dict."""
        if self.columns is not None:
            return self.columns.decode({SINGLE: encoded[SINGLE].astype(float)}, n_rows)
        return dict(encoded) if self.container == DICT else encoded[SINGLE]


@dataclasses.dataclass(frozen=True, eq=False)
class ProgramState(TrainingState):
    """Training state of a program. rows: training rows; None after the fit."""

    schema: ProgramSchema
    program: UserProgram
    rows: ProgramRows | None

    def simulate(
        self, values: Mapping[str, np.ndarray], rng: np.random.Generator
    ) -> tuple[dict[str, Traceable], Labels]:
        """Return a row in the form at fit, and its class code, for each draw of the sites' values.

        Raises:
            InvalidProgram: the simulated rows do not match the form of its input.
        """
        shapes = {name: shape for name, (_, shape) in self.schema.forms.items()}
        rows, y = simulate(self.program, values, int(rng.integers(2**31)), shapes)
        return {name: rows[name].astype(dtype) for name, (dtype, _) in self.schema.forms.items()}, y


@dataclasses.dataclass(frozen=True, eq=False)
class FittedProgram(Fitted):
    """A fitted program: the schema of its rows, and its posterior."""

    state: ProgramState

    def own_table(self, table: Table, raw: Callable[[], object]) -> Table:
        """Return the rows as the program takes them; see `Fitted.own_table`."""
        return table if isinstance(table, ProgramTable) else read(None, raw())

    def log_evidence(self) -> float:
        """Raise: log p(rows, labels) of a program has no closed form.

        Raises:
            NoAttribute: always.
        """
        raise no_evidence_in_closed_form("a program of your own")

    @property
    def draws(self) -> ProgramDraws:
        """The draws of its parameters."""
        return cast(ProgramDraws, self.posterior.components)

    def simulate(
        self, n: int, rng: np.random.Generator, own: int | None = None
    ) -> tuple[dict[str, Traceable], Labels]:
        """Return n simulated encoded rows, and their class codes (own: that of all rows).

        Raises:
            InvalidProgram: the simulated rows do not match the form of its input.
        """
        values = self.draws.parameters(rng, n)[OWNER]
        if own is not None:
            values = values | {LABEL: np.full((n, 1), own)}
        return self.state.simulate(values, rng)

    def impute(self, X: T, table: ProgramTable, draws: int, rng: np.random.Generator) -> list[T]:
        """Return independent imputations of X, from which `table` was read.

        Raises:
            UnsupportedOperation: a missing cell that the program does not mark.
            InvalidProgram: the program does not return its input rows.
        """
        encoded = self.state.schema.encode(table)
        filled = (self.draws.impute(encoded, table.n_rows, rng) for _ in range(draws))
        return [self._put(X, table, encoded, rows) for rows in filled]

    def _put(self, X: T, table: ProgramTable, encoded: Encoded, filled: Encoded) -> T:
        """Return X with the imputed cells of encoded rows."""
        # NaN differs from itself
        cells = {name: (encoded[name] != filled[name], filled[name]) for name in encoded}
        columns = self.state.schema.columns
        if columns is not None and table.frame is not None:
            named = columns.missing_cells(table.frame)
            changed, values = cells[SINGLE]
            by_column = {
                named[column.name][0]: (changed[:, j], values[:, j])
                for j, column in enumerate(columns.blocks[SINGLE])
            }
            names = tuple(dict.fromkeys([*table.frame.names, *by_column]))
            return cast(T, fill_table(X, table.container, names, by_column, {}))
        if isinstance(X, Mapping):
            return cast(T, {name: _replaced(array, *cells[name]) for name, array in X.items()})
        return cast(T, _replaced(X, *cells[SINGLE]))

    def named(self, params: diagnose.Params, labels: diagnose.AxisLabels) -> diagnose.Group:
        """Return the parameters of the program under unused names, and the class probabilities."""
        group = super().named(params, labels)
        names = {site: free(site, group.arrays) for site in params.get(OWNER, {})}
        sites = {names[site]: value for site, value in params.get(OWNER, {}).items()}
        axes = self.axes if sites else {}
        dims = {names[site]: axes[site] for site in names.keys() & axes.keys()}
        return diagnose.Group({**group.arrays, **sites}, {**group.dims, **dims})

    def axis_labels(self) -> diagnose.AxisLabels:
        """Return the user's labels for the axes of parameters."""
        labels, columns = super().axis_labels(), self.state.schema.columns
        if columns is None:
            return labels
        return dataclasses.replace(labels, features={SINGLE: list(columns.names)})

    @functools.cached_property
    def axes(self) -> dict[str, tuple[str | None, ...]]:
        """The names of the axes of each parameter, where rows are a table of named columns."""
        columns = self.state.schema.columns
        return {} if columns is None else named_axes(self.state.program, len(columns.names))

    def prior_draws(
        self, rng: np.random.Generator, draws: int, encoded: Encoded, y: Labels
    ) -> diagnose.Params:
        """Return draws of every parameter from its prior, by owner, (chain, draw, ...)."""
        return diagnose.chained(prior_draws(self.state.program, encoded, y, rng, draws), draws)

    @property
    def prior_families(self) -> dict[str, Likelihood]:
        """No likelihood: a program simulates its rows as a whole."""
        return {}

    def log_priors(self, draws: Draws, encoded: Encoded, y: Labels) -> dict[str, np.ndarray]:
        """Return the log prior density of each parameter at the draws; empty for an MLE."""
        is_mle = self.posterior.report.method == "mle"
        return {} if is_mle else self.draws.log_priors(encoded, y)

    def observed(self, encoded: Encoded) -> diagnose.Group:
        """Return the group of observed rows, in the form the program takes."""
        columns = () if self.state.schema.columns is None else (f"{SINGLE}.feature",)
        return diagnose.Group(dict(encoded), dict.fromkeys(encoded, (*ROW, *columns)), samples=())


def _replaced(array: object, changed: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return a copy of an array with some cells replaced."""
    out = np.array(array)
    out[changed] = values[changed]
    return out


def new_state(
    model: Callable, rows: TrainingRows, classes: np.ndarray, weight: float
) -> ProgramState:
    """Return the training state of a program; weight: of a row without a label.

    Raises:
        InvalidProgram: story= is not callable.
    """
    if not callable(model):
        raise InvalidProgram(
            "story is {found!r}; a function with numpyro.sample statements is needed.",
            "Pass the function itself, story=model, written as{code}",
            found=model,
            code=to_type(HEAD),
        )
    table = cast(ProgramTable, rows.table)
    schema = ProgramSchema.of(table)
    # a copy: the caller may edit an array that functools.partial bound; a function is its own copy
    program = UserProgram(copy.deepcopy(model), len(classes), table.container != DICT)
    labelled, other = rows.labelled, rows.unlabelled
    if labelled.shares is not None:
        raise unsupported(
            "soft labels of a program of your own",
            "it states the class of a row as one number",
            "Pass the most probable classes.",
        )
    y = labelled.codes_among(classes)
    count = np.bincount(y, labelled.weight, minlength=len(classes)).astype(float)
    unlabelled = None
    if other is not None and weight:
        unlabelled = {"x": schema.encode(other.table), "weight": weight * other.weight}
    observed = ProgramRows(schema.encode(labelled.table), y, labelled.weight, unlabelled)
    return ProgramState(schema, {}, classes, ModelStatistics(count, {}), program, observed)


def inferred(fitted: Fitted, inference: str | Method, seed: int) -> FittedProgram:
    """Return a fitted program with draws of its parameters, warning where they have not converged.

    Args:
        fitted: its state has the training rows, which the result does not keep.
        inference: the inference= argument.
        seed: of the draws.

    Raises:
        InvalidProgram: the program violates the required form, or the prior is a number.
    """
    state, prior = cast(ProgramState, fitted.state), fitted.class_prior
    number = isinstance(prior, int | float | np.number)
    if number and prior != 1.0:
        raise InvalidProgram(
            "class_prior is {value!r}, but a program states its own prior of the class "
            "probabilities.",
            "Bind it there, functools.partial(model, class_rows=...), or pass known "
            'probabilities, class_prior="uniform".',
            value=prior,
        )
    draws = infer_program(state.program, cast(ProgramRows, state.rows), inference, seed)
    if not draws.report.converged:
        warn(NotConverged("{outcome}", outcome=draws.report.outcome))
    if not number:
        require_possible(prior, state.classes)
        known = class_prior(prior, state.classes, state.statistics.count, frequencies=False)
        draws = draws.with_classes(known)
    state, posterior = dataclasses.replace(state, rows=None), Posterior(draws)
    return FittedProgram(state, prior, posterior, unseen=fitted.unseen, estimator=fitted.estimator)


def read(estimator: BaseEstimator | None, X: object, *, reset: bool = False) -> ProgramTable:
    """Return rows in the form a program takes; `reset` records column names and number.

    estimator: on which they are recorded, and with which later ones are compared; None: nothing is.

    X is an array with its rows along the first axis, a dict of such arrays, or a frame of numbers,
    which becomes one array. Cells of float are float64, NaN where missing.

    Raises:
        BayesgenError: rows that cannot be read.
    """
    if isinstance(X, Mapping):
        arrays = {name: _numbers(name, np.asarray(value)) for name, value in X.items()}
        lengths = {name: array.shape[0] if array.ndim else 0 for name, array in arrays.items()}
        if len(set(lengths.values())) != 1:
            raise InvalidData(
                "the arrays of X have different numbers of rows ({lengths}); rows lie along "
                "the first axis of each.",
                "Cut them to the same rows.",
                lengths=", ".join(f"{name!r}: {length}" for name, length in lengths.items()),
            )
        return _table(arrays, DICT)
    kind, X = require_container(X), from_dicts(X)
    if issparse(X):
        raise sparse_for("A program of your own")
    if kind == "frame":
        frame = in_numbers(read_table(X))
        for column in frame.columns:
            if column.kind != "number":
                raise levels_for_a_program(column.name)
        if estimator is not None and reset:
            validate_data(estimator, X, skip_check_array=True)
        array = np.stack([column.values for column in frame.columns], axis=1)
        # codes of levels stay whole numbers
        whole = np.asarray(X).dtype.kind in "iu"
        return _table({SINGLE: array.astype(int) if whole else array}, frame.container, frame)
    options = {"dtype": None, "ensure_all_finite": False, "allow_nd": True}
    if estimator is None:
        array = check_array(X, **options)
    else:
        array = validate_data(estimator, X, reset=reset, **options)
    return _table({SINGLE: _numbers(SINGLE, array)}, "numpy")


def _table(
    arrays: Mapping[str, np.ndarray], container: str, frame: Table | None = None
) -> ProgramTable:
    n_rows = len(next(iter(arrays.values())))
    if not n_rows:
        raise no_rows_in_table(sum(array[:1].size for array in arrays.values()))
    return ProgramTable((), n_rows, container, arrays=arrays, frame=frame)


def _numbers(name: object, array: np.ndarray) -> np.ndarray:
    """Return an array of integers, booleans or float64; NaN is the only non-finite value."""
    if array.dtype.kind in "iub":
        return array
    if array.dtype.kind == "c":
        raise complex_array()
    try:
        array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise levels_for_a_program(name) from None
    infinite = int(np.isinf(array).sum())
    if infinite:
        raise InvalidData(
            "Input X contains infinity: array {name!r} in {count:,} cells; numbers, and NaN "
            "where missing, are allowed.",
            "Replace them, in a dict array by array: X[numpy.isinf(X)] = numpy.nan.",
            name=name,
            count=infinite,
        )
    return array
