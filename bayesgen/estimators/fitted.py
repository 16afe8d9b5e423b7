"""A fitted model: simulated rows, ArviZ trees, and predictions of its rows, each left out."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import cast

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array, issparse

from bayesgen import arguments, diagnose, explain, predict
from bayesgen.classes import Spec, prior_of_learning
from bayesgen.errors import InvalidArgument, NoAttribute, UnsupportedOperation, Words, words_of
from bayesgen.errors.data import many_sparse_columns, sparse_for, too_few_classes
from bayesgen.errors.operations import COMPARE, unsupported
from bayesgen.estimators.likelihood_checks import check_sparse
from bayesgen.estimators.program_text import model_functions
from bayesgen.estimators.state import TrainingState
from bayesgen.estimators.training_rows import UNLABELLED, TrainingRows
from bayesgen.inference import (
    Draws,
    Pooled,
    Posterior,
    Readout,
    Report,
    any_missing,
    log_class_probabilities,
)
from bayesgen.inference.components import take_rows
from bayesgen.inference.leave_one_out import LabelledRows, leave_one_out
from bayesgen.inference.mixture import averaged_scores
from bayesgen.inference.scores import Scores, normalized
from bayesgen.likelihoods import Likelihood
from bayesgen.likelihoods.column_sets import dependence_of
from bayesgen.membership import Entries, expected
from bayesgen.predict import ReadRows
from bayesgen.prevalence import LeftOutRows, Prevalence, class_prior_of
from bayesgen.schema import GROUPS, Reading, Schema
from bayesgen.table import Name, Table, copies_of
from bayesgen.typing import (
    DataFrame,
    DataTree,
    ELPDData,
    Encoded,
    Labels,
    Membership,
    Self,
    Traceable,
    Weights,
)

DRAWS = 1000
REPLICATES = 100
ROWS_A_POWER = 4.0
"""Rows a column below which powers of columns rule out left-out rows. Log loss of left-out and of
new rows with 60 or 200 rows: .49, .52 and .53, .56 at ten rows a column; .50, .57 and .51, .57 at
four; .53, .61 and .53, .62 at two; .53, .63 and .50, .64 at one."""
ROW = ("row",)
KEPT_BYTES = 32_000_000
"""Memory of simulated rows up to which they are kept: 1,000 rows of a stack of ten members of 400
columns each."""
SPARSE_CELLS = 500
"""Columns of sparse rows that `relevance` reads: of 300 rows of counts in 7 s."""


@dataclasses.dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model.

    state: of its rows. class_prior: of the classes, as it was stated. inferred: the posterior; None
    where the rows determine none, or where inference waits until it is asked for. unseen: what
    becomes of new levels, "missing" or "error". estimator: its name in sentences. left_out:
    predictions of rows of the fit, each from the others, where the fit made them, as a stack does.
    """

    state: TrainingState
    class_prior: Spec
    inferred: Posterior | None = None
    unseen: str = dataclasses.field(default="missing", kw_only=True)
    estimator: str = dataclasses.field(default="Classifier", kw_only=True)
    left_out: LeftOutRows | None = dataclasses.field(default=None, kw_only=True)

    def __getstate__(self) -> dict[str, object]:
        """Return the fields alone: what is kept of answers is computed anew."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @property
    def is_determined(self) -> bool:
        """Whether the rows determine a posterior: they have labels, and there are two classes."""
        return len(self.state.classes) >= 2 and bool(self.state.statistics.count.any())

    @property
    def posterior(self) -> Posterior:
        """The posterior.

        Raises:
            NoAttribute: the rows are of a single class, or have no label.
        """
        if self.inferred is None:
            there = self.state.classes[self.state.statistics.count > 0]
            raise too_few_classes(there.tolist(), kind=NoAttribute)
        return self.inferred

    # -- the same, otherwise -----------------------------------------------------------------------

    def with_class_prior(self, class_prior: Spec | Prevalence) -> Self:
        """Return the same model under other class probabilities."""
        stated, prior = class_prior_of(class_prior, self.state.classes, self.state.statistics.count)
        posterior = self.posterior.with_classes(prior)
        return dataclasses.replace(self, inferred=posterior, class_prior=stated)

    def under_frequencies(self) -> Self:
        """Return the same model whose rows are left out under their class frequencies.

        Powers, weights and scores are learned so, whatever class probabilities are stated.
        """
        return dataclasses.replace(self, class_prior=prior_of_learning(self.class_prior))

    def read_by(self, readout: Readout) -> Self:
        """Return the model with another readout."""
        posterior = dataclasses.replace(self.posterior, readout=readout)
        return dataclasses.replace(self, inferred=posterior)

    def after(self, seconds: float) -> Self:
        """Return the model with the time of a call in its report, if inference has run."""
        if self.inferred is None:
            return self
        report = dataclasses.replace(self.inferred.report, seconds=seconds)
        return self.with_report(report)

    def with_report(self, report: Report) -> Self:
        """Return the model with another report."""
        return dataclasses.replace(self, inferred=self.posterior.with_report(report))

    def with_details(self, details: Mapping[str, float]) -> Self:
        """Return the model with more details in its report."""
        report = self.posterior.report
        report = dataclasses.replace(report, details=report.details | dict(details))
        return self.with_report(report)

    # -- rows as it reads them ---------------------------------------------------------------------

    @property
    def schema(self) -> Schema:
        """The columns of the fit."""
        return self.state.schema

    @property
    def names(self) -> list[Name]:
        """The columns that are read: those of the fit but identifiers."""
        return [name for name in self.schema.names if name not in self.schema.aside]

    @property
    def parts(self) -> tuple["Fitted", ...]:
        """The models that it averages: itself, or the members of a stack."""
        return (self,)

    @property
    def derived(self) -> dict[Name, Reading]:
        """The source column of each derived column: a bin, which has its name, or an indicator."""
        return self.schema.derived()

    @property
    def groups(self) -> Name | None:
        """The column of groups, which is no feature."""
        return self.schema.blocks[GROUPS][0].name if GROUPS in self.schema.blocks else None

    def own_table(self, table: Table, raw: Callable[[], object]) -> Table:
        """Return the table of the columns that the blocks read, some of which may be derived.

        raw: function that returns the same rows as they were passed.
        """
        return table

    def own_rows(self, rows: TrainingRows) -> TrainingRows:
        """Return training rows with the columns that the blocks read."""
        return rows.as_read_by(self.own_table)

    def read(self, table: Table, raw: Callable[[], object] | None = None) -> ReadRows:
        """Return rows as the posterior reads them.

        Args:
            table: the rows, with the columns that the blocks read.
            raw: the same rows as they were passed, for programs of the user's own in a stack.
        """
        posterior = self.posterior
        if table.is_sparse:
            check_sparse(self.state.likelihoods)
        encoded = self.schema.encode(table, unseen=self.unseen, estimator=self.estimator)
        return ReadRows(posterior, encoded, table.n_rows)

    def cells(self, what: str) -> dict[Name, explain.Cell]:
        """Return the encoded position of each column, and of its missing pattern beside it.

        what: the method that needs them.

        Raises:
            UnsupportedOperation: a program of the user's own reads rows as a whole.
        """
        places: dict[Name, explain.Cell] = {}
        for block, j in self.state.column_positions().values():
            source = self.schema.blocks[block][j].reads
            places[source] = (*places.get(source, ()), (block, j))
        pattern = self.state.pattern_positions()
        cells: dict[Name, explain.Cell] = {}
        for name in self.schema.names:
            if name in places:
                cells[name] = places[name]
            if name in pattern:
                column, (block, j) = pattern[name]
                if self.posterior.components.selection(block).reads(j):
                    cells[column.name] = ((block, j),)
        if not cells:
            raise unsupported(
                f"{what} of a program of your own",
                "it reads a row as a whole, and may not handle missing cells",
                "Read the columns by likelihoods instead.",
            )
        return cells

    def rows_of_cells(
        self, table: Table, what: str, raw: Callable[[], object] | None = None
    ) -> explain.Rows:
        """Return rows whose cells can be hidden one by one.

        Args:
            table: as `read` takes it.
            what: the method that needs them.
            raw: as `read` takes it.
        """
        cells, rows = self.cells(what), self.read(table, raw)
        encoded = rows.encoded
        if any(issparse(x) for x in encoded.values()) and len(cells) > SPARSE_CELLS:
            raise many_sparse_columns(what, len(cells), SPARSE_CELLS)
        # as floats, among which a hidden cell is NaN
        encoded = {n: x.toarray().astype(float) if issparse(x) else x for n, x in encoded.items()}
        return explain.Rows(rows.posterior, encoded, rows.n_rows, table, self.schema, cells)

    def imputable(
        self, table: Table, what: str, raw: Callable[[], object] | None = None
    ) -> explain.Rows:
        """Return rows whose missing cells can be imputed; arguments as `rows_of_cells`.

        Raises:
            UnsupportedOperation: columns are read as others derived from them, which nothing maps
                back.
        """
        rows = self.rows_of_cells(table, what, raw)
        if table.is_sparse:
            raise sparse_for(what)
        if self.derived:
            raise unsupported(
                f"{what} of columns that are read as indicators or bins",
                "a normal distribution over indicators does not draw levels, and a bin is not a "
                "number",
                "Use a classifier that reads the columns as they are, such as NaiveBayes().",
            )
        return rows

    def origins(self) -> dict[str, np.ndarray]:
        """Return the offsets that encoding subtracts from the informative columns of blocks."""
        return self.state.origins(self.posterior.reader)

    def without_pattern(self, encoded: Encoded) -> Encoded:
        """Return encoded rows whose missing pattern is marginalized."""
        blank = {name: np.full_like(encoded[name], np.nan) for name in self.pattern_blocks()}
        return {**encoded, **blank}

    def pattern_blocks(self) -> list[str]:
        """Return the blocks of encoded rows that hold the missing pattern."""
        return self.state.pattern_blocks()

    @functools.cached_property
    def density_columns(self) -> frozenset:
        """The columns, with kinds, that the density is over; none if they are derived."""
        if self.derived:
            return frozenset()
        blocks, places = self.schema.blocks, self.state.column_positions().items()
        columns = [(name, blocks[block][j].kind) for name, (block, j) in places]
        pattern = self.state.pattern_positions().values()
        return frozenset(columns + [(column.name, column.kind) for column, _ in pattern])

    @functools.cached_property
    def imputes(self) -> bool:
        """Whether columns are read directly, and the cells of each can be imputed."""
        if self.derived or not self.state.column_positions():
            return False
        try:
            for block in self.posterior.families:
                self.posterior.components.require_imputable(block)
        except UnsupportedOperation:
            return False
        return True

    # -- simulated rows ----------------------------------------------------------------------------

    def simulate(
        self, n: int, rng: np.random.Generator, own: int | None = None
    ) -> tuple[dict[str, Traceable], Labels]:
        """Return n encoded rows of the posterior predictive, and their class codes.

        own: the class of all rows, by code; None: classes are drawn too.
        """
        simulated, y = predict.simulate(self.posterior, n, rng, own)
        return self.state.restored(self.posterior.reader, simulated, n), y

    def sampled(
        self, n: int, random_state: object, own: int | None = None, *, gaps: bool = True
    ) -> tuple[object, Labels]:
        """Return n rows as `simulate` draws them, in the container of the fit, and class codes.

        Args:
            n: number of rows.
            random_state: seed.
            own: as in `simulate`.
            gaps: whether cells may be missing, where the missing pattern is modeled.
        """
        encoded, y = self.simulate(n, arguments.generator(random_state), own)
        encoded = encoded if gaps else self.without_pattern(encoded)
        return self.schema.decode(encoded, n), y

    def reference(self, n: int, seed: int) -> Encoded:
        """Return n `simulated` rows, with which others are compared; the last ones are kept.

        They take most of the time of a comparison and do not depend on what is compared.
        """
        asked, last = (n, seed), vars(self).get("_last_reference")
        if last is not None and last[0] == asked:
            return last[1]
        rows = self.simulated(n, seed)
        if sum(_n_bytes(x) for x in rows.values()) <= KEPT_BYTES:
            # set at once: threads that ask together make the same rows
            vars(self)["_last_reference"] = asked, rows
        return rows

    def simulated(self, n: int, seed: int) -> Encoded:
        """Return n encoded rows of the posterior predictive."""
        return self.simulate(n, np.random.default_rng(seed))[0]

    # -- parameters --------------------------------------------------------------------------------

    def axis_labels(self) -> diagnose.AxisLabels:
        """Return the user's labels for the axes of parameters."""
        reader, state = self.posterior.reader, self.state
        features = {name: state.columns(reader, name) for name in reader.selections}
        levels = {name: state.level_names(reader, name) for name in reader.selections}
        return diagnose.AxisLabels(state.classes.tolist(), features, levels)

    def named(self, params: diagnose.Params, labels: diagnose.AxisLabels) -> diagnose.Group:
        """Return parameters under the user's names and in the user's units."""
        families = self.posterior.families
        origin = self.state.origins(self.posterior.reader)
        moved = {
            name: family.shift_params(dict(params[name]), origin[name])
            for name, family in families.items()
            if name in params
        }
        return diagnose.parameters({"class": params["class"], **moved}, families, labels)

    def prior_draws(
        self, rng: np.random.Generator, draws: int, encoded: Encoded, y: Labels
    ) -> diagnose.Params:
        """Return prior draws of every parameter."""
        model = self.state.problem(self.class_prior).model
        return diagnose.prior_draws(model, rng, draws)

    @property
    def prior_families(self) -> dict[str, Likelihood]:
        """The likelihood of each block before the rows, which are the kernels of some."""
        return self.state.problem(self.class_prior).model.blocks

    def log_priors(self, draws: Draws, encoded: Encoded, y: Labels) -> dict[str, np.ndarray]:
        """Return the log prior density of each part at the draws; empty for maximum likelihood."""
        if self.posterior.report.method == "mle":
            return {}
        model = self.state.problem(self.class_prior).model
        return diagnose.log_priors(model, draws.params)

    def summary(
        self, random_state: object, draws: int, options: dict, member: str | None = None
    ) -> DataFrame:
        """Return arviz's summary of every parameter.

        Args:
            random_state: seed.
            draws: of a closed-form posterior.
            options: of the summary.
            member: of a stack.

        Raises:
            InvalidArgument: a member of what is no stack.
        """
        if member is not None:
            raise InvalidArgument(
                "member={member!r}: {estimator} is no stack, and has no members.",
                "Leave member= out.",
                member=member,
                estimator=self.estimator,
            )
        rng, labels = arguments.generator(random_state), self.axis_labels()
        posterior = diagnose.draws_of(self.posterior, rng, draws)
        groups = {"posterior": self.named(posterior.params, labels)}
        return diagnose.summary(diagnose.datatree(groups, labels.coords(), {}), options)

    def dependence(self) -> DataFrame | None:
        """Return how probably each column depends on the class; None where all count as such."""
        names, values = [], []
        for block, family in self.posterior.families.items():
            if (found := dependence_of(family)) is not None:  # not of the missing pattern
                names += self.state.columns(self.posterior.reader, block)
                values.append(np.stack(found))
        if not values:
            return None
        probability, factor = np.concatenate(values, axis=1)
        return diagnose.frame({"probability": probability, "log_bayes_factor": factor}, names)

    def functions(self, name: str) -> list[str]:
        """Return the model as functions of NumPyro, the last one of a name."""
        return model_functions(self.state, self.class_prior, name)

    def log_evidence(self) -> float:
        """Return log p(rows, labels), parameters integrated out.

        Raises:
            NoAttribute: the fit was not exact, or a prior or likelihood has no evidence.
        """
        try:
            problem = self.state.problem(self.class_prior)
        except InvalidArgument as error:
            raise NoAttribute("log_evidence_: {reason}", reason=words_of(error)) from error
        problem.model.require_evidence()
        if self.state.statistics.groups:
            raise NoAttribute(
                "log_evidence_ rests on one prior for all rows, and the guesses of groups come "
                "from the rows of other groups.",
                f"Instead, {COMPARE}",
            )
        if self.state.unlabelled is not None:
            raise NoAttribute(
                "log_evidence_ is a closed form, and there is none where rows have no label: "
                "it would be a sum over all their possible labels.",
                f"Instead, {COMPARE}",
            )
        if any_missing(problem.model, problem.statistics):
            raise NoAttribute(
                "log_evidence_ is a closed form, and there is none where fitted rows have "
                "missing values in a joint block.",
                f"Instead, {COMPARE}",
            )
        inference = self.posterior.report.method
        if inference != "exact":
            kept = "draws them, which does not give the integral"
            if inference in ("mle", "map"):
                kept = "keeps a single point"
            raise NoAttribute(
                "log_evidence_ is log p(rows, labels) with parameters integrated out, and "
                "inference={inference!r} {kept}.",
                "Fit with inference='exact'.",
                inference=inference,
                kept=kept,
            )
        return problem.model.log_evidence(problem.statistics) + self.state.log_abs_det_jacobian

    # -- rows --------------------------------------------------------------------------------------

    def datatree(
        self,
        encoded: Encoded,
        y: Labels,
        random_state: object,
        draws: int,
        replicates: int | str,
    ) -> DataTree:
        """Return an arviz DataTree of parameters, rows, and tables simulated for their labels.

        Args:
            encoded: rows.
            y: their class codes.
            random_state: seed.
            draws: of a closed-form posterior, and of the prior.
            replicates: simulated tables; "draws": one for each draw of the posterior.

        Raises:
            InvalidData: "draws" with missing cells.
        """
        encoded, y, _ = _labelled(encoded, y, np.zeros(len(y)))
        rng, labels = arguments.generator(random_state), self.axis_labels()
        posterior = diagnose.draws_of(self.posterior, rng, draws)
        prior = self.prior_draws(rng, draws, encoded, y)
        conditional, joint = diagnose.log_likelihoods(posterior, encoded, y)
        groups = {
            "posterior": self.named(posterior.params, labels),
            "prior": self.named(prior, labels),
            "log_prior": diagnose.Group(self.log_priors(posterior, encoded, y)),
            "observed_data": (observed := self.observed(encoded)),
            "sample_stats": diagnose.Group(posterior.sample_stats),
            "log_likelihood_joint": diagnose.Group({"xy": joint}, {"xy": ROW}),
            "constant_data": diagnose.Group({"y": y}, {"y": ROW}, samples=()),
        }
        by_draw = isinstance(replicates, str) and replicates == diagnose.DRAWS
        if by_draw:
            # a row leaves with all of its cells, whichever of them is looked at
            diagnose.require_complete(observed)
            joints = dict.fromkeys(observed.arrays, joint)
            groups["log_likelihood"] = diagnose.Group(joints, dict.fromkeys(joints, ROW))
        models = {
            "posterior": (posterior.params, posterior.families),
            "prior": (prior, self.prior_families),
        }
        for name, (params, families) in models.items():
            n = diagnose.DRAWS if by_draw and name == "posterior" else replicates
            n = REPLICATES if by_draw and name == "prior" else n
            simulated, shape = diagnose.replicated(params, families, y, rng, n)
            groups[f"{name}_predictive"] = self._tables(simulated, shape, len(y))
        report = self.posterior.report
        attrs = {"inference": report.method, "verdict": report.verdict}
        exact = self.leaves_rows_out
        if exact:
            attrs["leave_one_out"] = diagnose.EXACT
        if not by_draw:
            name = "log_likelihood_conditional" if exact else "log_likelihood"
            groups[name] = diagnose.Group({"y": conditional}, {"y": ROW})
        return diagnose.datatree(groups, labels.coords(), attrs)

    def observed(self, encoded: Encoded) -> diagnose.Group:
        """Return the group of observed rows, by column."""
        cells = self._by_column({name: encoded[name] for name in self.posterior.reader.selections})
        return diagnose.Group(cells, dict.fromkeys(cells, ROW), samples=())

    def _tables(
        self, simulated: dict[str, np.ndarray], shape: tuple[int, int], n_rows: int
    ) -> diagnose.Group:
        """Return simulated tables (replicate, row, feature) by column; shape: (chain, draw)."""
        if not simulated:
            return diagnose.Group({})
        n = len(next(iter(simulated.values())))
        flat = {name: x.reshape(n * n_rows, -1) for name, x in simulated.items()}
        encoded = self.state.restored(self.posterior.reader, flat, n * n_rows)
        cells = self._by_column({name: encoded[name] for name in simulated})
        shaped = {name: part.reshape(*shape, n_rows) for name, part in cells.items()}
        return diagnose.Group(shaped, dict.fromkeys(shaped, ROW))

    def _by_column(self, encoded: Encoded) -> dict[Name, np.ndarray]:
        """Return encoded rows by column: numbers in their own units, codes of levels or NaN."""
        out = {}
        for name, x in encoded.items():
            x = csr_array(x).toarray() if issparse(x) else x
            x = np.where(x < 0, np.nan, x) if x.dtype.kind == "i" else x
            shifted = x + self.state.schema.origin(name)
            for j, column in enumerate(self.state.schema.blocks[name]):
                out[column.name] = shifted[:, j]
        return out

    # -- leave-one-out -----------------------------------------------------------------------------

    @property
    def leaves_rows_out(self) -> bool:
        """Whether rows can be left out exactly."""
        try:
            self.require_left_out("loo")
        except UnsupportedOperation:
            return False
        return True

    def require_left_out(self, what: str, otherwise: str | None = None) -> None:
        """Raise unless rows can be left out exactly, powers of columns included.

        The powers stay when a row leaves, and so many of them can tell which rows were left out.

        Args:
            what: the method or argument that needs it.
            otherwise: the remedy if the model has no closed form.

        Raises:
            UnsupportedOperation: with the remedy.
        """
        self.posterior.components.require_leave_one_out(what, otherwise)
        readout, n_rows = self.posterior.readout, float(self.state.statistics.count.sum())
        if isinstance(readout, Pooled) and readout.share == 1:
            columns = readout.pool.n_free
            if n_rows < ROWS_A_POWER * columns:
                raise UnsupportedOperation(
                    "{what} of a model whose {columns:,} powers of columns were learned from "
                    "{n_rows:,.0f} rows: with fewer than {most:g} rows a column these powers tell "
                    "left-out rows apart, and what is said of them is better than of new rows.",
                    "Pass temper='learn', one power for all columns, or score held-out rows by "
                    "bg.compare({{'this': clf}}, X, y).",
                    what=Words(what),
                    columns=columns,
                    n_rows=n_rows,
                    most=ROWS_A_POWER,
                )

    def leave_one_out(self, rows: LabelledRows) -> Scores:
        """Return the scores of rows of the fit, each given the others."""
        problem, unlabelled = self.state.problem(self.class_prior), self.state.unlabelled
        with self.state.naming_columns(problem):
            if unlabelled is None:
                return leave_one_out(problem, rows)
            scores = [leave_one_out(problem.plus(part), rows) for part in unlabelled.added]
            return averaged_scores(scores, unlabelled.shares)

    def require_loo(self) -> None:
        """Raise unless rows can be left out, exactly or by reweighting draws."""
        self.posterior.components.require_loo()
        if not self.posterior.components.reweighable:
            self.require_left_out("loo()")

    def log_densities(self, rows: LabelledRows) -> diagnose.LeaveOneOut:
        """Return the log densities of the rows of the fit, each given the others."""
        components = self.posterior.components
        if components.reweighable:
            if rows.y.ndim == 2:
                raise unsupported(
                    "loo of soft labels, given draws",
                    "importance weights leave out a row of one class",
                    "Use inference='exact', or cross-validate by bg.compare.",
                )
            draws, gone = cast(Draws, components), rows.left_out
            return diagnose.left_out_by_importance(draws, gone.encoded, gone.y, gone.away)
        return diagnose.LeaveOneOut(self.posterior.log_joint_from(self.leave_one_out(rows)))

    def left_out_rows(self, rows: LabelledRows, weight: Weights) -> LeftOutRows:
        """Return predictions of the rows of the fit that are left out, each from the others.

        weight: of each of these.
        """
        if self.posterior.components.reweighable:
            joint = self.log_densities(rows).joint
            log_proba = log_class_probabilities(joint, self.posterior.log_classes())
        else:
            log_proba = normalized(self.posterior.log_proba(self.leave_one_out(rows)))
        return LeftOutRows.of(log_proba, rows.left_out.y, weight)

    def loo(self, rows: LabelledRows, kind: str) -> DataFrame | ELPDData:
        """Return leave-one-out log densities of the rows of the fit.

        Args:
            rows: all that have a label.
            kind: "rows" or "elpd".

        Raises:
            UnsupportedOperation: these are not the rows of the fit.
        """
        encoded, y, weight = rows.encoded, rows.y, rows.weight
        check_rows_of_fit(self.state.classes, self.state.statistics.count, y, weight)
        left_out = self.log_densities(rows)
        predict.warn_impossible_rows(left_out.joint)
        log_classes = self.posterior.log_classes()
        log_proba = expected(log_class_probabilities(left_out.joint, log_classes), y)
        if kind == "rows":
            return diagnose.frame(
                {"log_proba": log_proba, "log_joint": expected(left_out.joint, y)}
            )
        whole = self.posterior.log_joint(encoded, len(y))
        before = expected(log_class_probabilities(whole, log_classes), y)
        return diagnose.elpd(log_proba, before, weight, left_out)


def _n_bytes(x: Traceable) -> int:
    """Return the memory of encoded rows, which may be sparse."""
    return sum(part.nbytes for part in (x.data, x.indices, x.indptr)) if issparse(x) else x.nbytes


def check_rows_of_fit(
    classes: np.ndarray, count: np.ndarray, y: Membership, weight: Weights
) -> None:
    """Reject rows that cannot be subtracted because they are not those of the fit.

    count: weight of the fitted rows of each class.
    """
    entries = Entries.of(y, weight)
    found = np.bincount(entries.code, entries.weight, minlength=len(count))
    other = np.flatnonzero(~np.isclose(found, count, rtol=1e-6, atol=0))
    if len(other):
        k = other[0]
        raise UnsupportedOperation(
            "each row of the fit is left out in turn, but class {label!r} has {found:g} rows "
            "here (sum of weights) and had {fitted:g} in the fit.",
            "Pass exactly the rows, labels and weights of the fit; for other rows use "
            "predict_log_proba.",
            label=classes[k : k + 1].tolist()[0],
            found=found[k],
            fitted=count[k],
        )


def rows_of_table(table: Table, encoded: Encoded, y: Membership, weight: Weights) -> LabelledRows:
    """Return the rows of a fit that have a label, each to be left out with its copies.

    Args:
        table: all rows.
        encoded: the same.
        y: their class codes, or shares of the classes.
        weight: their weights.
    """
    there = np.flatnonzero(y != UNLABELLED if y.ndim == 1 else y.any(axis=1))
    if len(there) < len(y):
        table, encoded, y, weight = (
            table.take(there),
            take_rows(encoded, there),
            y[there],
            weight[there],
        )
    equal = copies_of([table], y, weight)
    return LabelledRows(encoded, y, weight, equal.away, copies=equal.content)


def _labelled(
    encoded: Encoded, y: Membership, weight: Weights
) -> tuple[
    Encoded,
    Int[np.ndarray, " labelled"] | Float[np.ndarray, "labelled class"],
    Float[np.ndarray, " labelled"],
]:
    """Return the rows that have a label."""
    there = np.flatnonzero(y != UNLABELLED if y.ndim == 1 else y.any(axis=1))
    return (
        (encoded, y, weight)
        if len(there) == len(y)
        else (take_rows(encoded, there), y[there], weight[there])
    )
