"""Stacked classifier: members weighted and tempered by leave-one-out log scores."""

import copy
import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bayesgen import arguments, diagnose, explain, predict
from bayesgen.classes import Spec as ClassPriorSpec
from bayesgen.errors import (
    AbsentColumns,
    BayesgenError,
    BayesgenWarning,
    InvalidArgument,
    LeftOut,
    NoEvidence,
    NoRows,
    TooFewClasses,
    UnsupportedInference,
    UnsupportedTable,
    deduplicate_warnings,
    warn,
)
from bayesgen.errors.base import Code
from bayesgen.estimators import validation
from bayesgen.estimators.classifier import Classifier, restored_on_failure
from bayesgen.estimators.column_blocks import PATTERNS, Blocks
from bayesgen.estimators.diagnostics import Fitted
from bayesgen.estimators.pattern_members import pattern_cells, pattern_power
from bayesgen.estimators.stack_members import WIDEST, automatic, too_wide
from bayesgen.estimators.training import (
    TableEncoder,
    Temper,
    TrainingRows,
    joined,
    one_each,
    together,
)
from bayesgen.inference import (
    MixturePosterior,
    Pool,
    PooledPosterior,
    Posterior,
    PowerPosterior,
    Report,
    class_probabilities,
    pooling,
    stacking,
)
from bayesgen.inference.posterior import Scores, likelihood_of, take_rows
from bayesgen.inference.power_posterior import learned_powers, stated_powers
from bayesgen.model import Reader
from bayesgen.plots import WeightDisplay
from bayesgen.plots.style import Axes
from bayesgen.schema import Column, Schema
from bayesgen.table import (
    Name,
    SparseTable,
    Table,
    check_declared,
    check_labelled,
    concatenated,
    with_column,
)
from bayesgen.typing import (
    DataFrame,
    DataTree,
    Encoded,
    Joint,
    Labels,
    Self,
    Traceable,
    Weights,
    unchecked,
)

VERDICT = "Members are weighed by leave-one-out scores."
FOLDS = 10
"""Folds of rows by which members without a closed form are judged."""
JUDGED = 2000
"""Rows that judge members at most: of more rows as many are chosen, evenly spaced by class."""

ALLOWED = ("auto", Code("[bg.LDA()]"))
Members = str | Sequence[Classifier] | Mapping[str, Classifier]


@dataclasses.dataclass(frozen=True, eq=False)
class HeldOut:
    """What a member predicts of rows that it was not fitted to.

    scores: of the rows. log_proba: log P(y = k given x_i, other rows), (row, class). able: the rows
    whose missing values the member integrates over.
    """

    scores: Scores
    log_proba: Joint
    able: Bool[np.ndarray, " row"]


@dataclasses.dataclass(frozen=True, eq=False)
class Attempt:
    """The members that could be fitted, and their predictions of held-out rows, by name.

    judged: the rows that are held out. failed: why other members could not be fitted.
    """

    members: dict[str, Classifier]
    held_out: dict[str, HeldOut]
    judged: Int[np.ndarray, " judged"]
    failed: dict[str, str]


class StackedClassifier(Classifier):
    r"""Stack of several generative classifiers, weighted and tempered by exact leave-one-out.

    P(y given x) = mean over powers eta of Q(y given x)^eta, normalized, where Q is the weighted
    mean of the members' class probabilities. The weights maximize the sum over rows of
    log Q(y_i given x_i, the rows without i); powers are weighted by the same score. Members with a
    closed form need no refit for this.

    If a class has a single row, leaving it out leaves the class empty: its prior predictive, with
    the guesses of the other rows, is used. (Under class_prior="empirical" every member rules the
    class out, and the row does not affect the weights.) A row of weight 2 counts as two rows, one
    of which is left out; a row without any observed cell gets the class prior, unless the missing
    pattern tells more (missing=).

    A row with missing values is predicted by the members that integrate over them, that is by all
    but trees, with their weights renormalized. (Trees sum over up to 64 combinations of missing
    levels, and are otherwise used only if no other member is left.) This holds both for learning
    the weights and for every prediction.

    A stack has every method of a classifier. `impute` and `feature_value` use the members that have
    a distribution over the cells: each row is imputed by one of them, drawn with probability
    proportional to its weight times p(observed cells given data) under it. Members over indicators,
    other columns or words of a text do not take part, and the others share their weight. `loo`
    keeps the weights and powers learned from all rows.

    The price of tempering is coherence: the probabilities are no longer those of one generative
    model. A power below 1 means that the model counts evidence more than once (`temperature_`).

    Sources: Yao, Vehtari, Simpson and Gelman (2018), Bayesian Analysis 13, 917-1007; Miller and
    Dunson (2019), Journal of the American Statistical Association 114, 1113-1125.

    Args:
        members: "auto" (naive, linear, quadratic and tree-shaped structures that suit the columns
            and whether numbers are missing), a sequence of classifiers, or {name: classifier}.
            Members without a closed form (NUTS, a user program) are scored by 10-fold
            cross-validation.
        temper: "learn", None (the weighted mean as it is), or a power above 0.
        missing: what it tells about the class that a cell is missing: "ignorable", nothing;
            "informative", as much to every member as one more likelihood; "learn", a power of that
            likelihood, learned for each member by leave-one-out (see `NaiveBayes`). The last two
            are wrong where the reason why cells are missing changes.
        class_prior, unseen, random_state: ...
        The last four apply to automatic members.

    Attributes:
        members_: the fitted members by name.
        left_out_: the reasons why other members were left out, by name: fitting failed, or the
            table has more than 100 columns, for which structures of cubic cost are not tried (each
            with a warning).
        weights_: their weights by name, which sum to one.
        temperature_: divisor of the log-odds (1: the stack was not overconfident).
        classes_: the labels in sorted order, shape (class,).
        n_features_in_, feature_names_in_: number and names of the columns at fit.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> stack = bg.StackedClassifier().fit(X, y)
        >>> stack.predict(X.iloc[[0, 149]]).tolist(), round(sum(stack.weights_.values()), 6)
        (['setosa', 'virginica'], 1.0)
        >>> parts = stack.evidence(X.iloc[[70]], "virginica", "versicolor", order="shapley")
        >>> parts.drop(columns="(prior)").idxmax(axis=1).item()
        'petal_width'
        >>> rows = X.iloc[:2].assign(petal_width=[0.2, None])
        >>> stack.impute(rows, random_state=0).petal_width.iloc[0]
        np.float64(0.2)
    """

    @unchecked  # no validation in __init__; fit validates (scikit-learn's convention)
    def __init__(
        self,
        members: Members = "auto",
        *,
        temper: Temper = "learn",
        pool: str | None = "learn",
        class_prior: ClassPriorSpec = 1.0,
        missing: str = "learn",
        unseen: str = "missing",
        random_state: object = None,
    ) -> None:
        self.members = members
        self.temper = temper
        self.pool = pool
        self.class_prior = class_prior
        self.missing = missing
        self.unseen = unseen
        self.random_state = random_state

    # -- fitting -----------------------------------------------------------------------------------

    @restored_on_failure
    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Fit every member to rows X and labels y, then weight and temper them; returns self.

        Raises:
            BayesgenError: invalid rows, or no member could be fitted.
        """
        start = time.perf_counter()
        rows = self._training_rows(X, y, sample_weight, reset=True)
        return self._fit_stack(rows, rows.classes, start)

    @restored_on_failure
    def partial_fit(
        self, X: object, y: object, classes: ArrayLike | None = None, sample_weight: object = None
    ) -> Self:
        """Add rows: members add statistics; weights and powers are relearned from all rows.

        The rows are kept for this purpose. The columns of the first call determine the automatic
        members. `classes` declares classes before their rows arrive; the first call must contain
        rows of at least two classes.
        """
        first, start = not hasattr(self, "members_"), time.perf_counter()
        if not first and not self._training:
            raise NoRows.to_learn_from("a stack")
        rows = self._training_rows(X, y, sample_weight, reset=first)
        these = rows.classes if classes is None else np.unique(classes)
        every = these if first else np.union1d(self.classes_, these)
        check_labelled(every)
        check_declared(rows.classes, every)
        if first:
            return self._fit_stack(rows, every, start)
        members = {name: _with_its_rows(member) for name, member in self.members_.items()}
        seen = (*self._training, rows)
        added = self._attempted(members, seen, every, first=False)
        return self._finish_stack(added, seen, every, start, self.left_out_)

    def _fit_stack(self, rows: TrainingRows, classes: np.ndarray, start: float) -> Self:
        """Fit every member to the first rows."""
        arguments.seed(self.random_state)
        if len(rows.classes) < 2:
            raise TooFewClasses.found(rows.classes.tolist())
        members = {name: clone(m) for name, m in self._listed(rows.table).items()}
        wide = self._without_wide(rows.table)
        fitted = self._attempted(members, (rows,), classes, first=True)
        return self._finish_stack(fitted, (rows,), classes, start, wide)

    def _blocks(self, table: Table) -> Blocks:
        return {
            f"{name}/{block}": spec
            for name, member in self._listed(table).items()
            for block, spec in member._blocks(table).items()
        }

    def _listed(self, table: Table) -> dict[str, Classifier]:
        """Return the members by name."""
        if not isinstance(self.members, Mapping | Sequence) or not self.members:
            raise InvalidArgument.not_one_of("members", self.members, ALLOWED)
        if isinstance(self.members, Mapping):
            return {name: _own(member) for name, member in self.members.items()}
        if isinstance(self.members, str):
            arguments.one_of("members", self.members, ALLOWED)
            options = {"unseen": self.unseen, "random_state": self.random_state}
            reads = arguments.one_of("missing", self.missing, PATTERNS) != "ignorable"
            # the stack learns how much the pattern counts from what it asks of members anyway
            options["missing"] = "informative" if reads else "ignorable"
            return automatic(table, class_prior=self.class_prior, **options)
        return {f"{type(m).__name__} {i}": _own(m) for i, m in enumerate(self.members, start=1)}

    def _without_wide(self, table: Table) -> dict[str, str]:
        """Return the structures skipped for a table with too many columns, with a warning."""
        names = too_wide(table) if isinstance(self.members, str) else []
        if not names:
            return {}
        warning = LeftOut.too_wide(names, len(table.names), WIDEST)
        warn(warning)
        return dict.fromkeys(names, str(warning))

    def _attempted(
        self,
        members: Mapping[str, Classifier],
        seen: tuple[TrainingRows, ...],
        classes: np.ndarray,
        *,
        first: bool,
    ) -> Attempt:
        """Return the members that could be fitted, with their leave-one-out predictions."""
        found, held, failed = {}, {}, {}
        judged = judged_rows(together(seen, classes)[0])
        with deduplicate_warnings(AbsentColumns):  # which were warned of when the rows were read
            for name, member in members.items():
                try:
                    own = [member._own_rows(rows, reset=first) for rows in seen]
                    if first:
                        member._fit_rows(own[-1], classes)
                    else:
                        member._finish_fit(*member._accumulate(own[-1], classes))
                    one = held_out(member, seen, own, classes, judged)
                    if self.missing == "learn" and isinstance(self.members, str):
                        learned = pattern_power(member, one.scores, own, judged)
                        one = dataclasses.replace(one, log_proba=learned.log_proba(one.scores))
                        member._posterior = learned
                except (BayesgenError, np.linalg.LinAlgError, FloatingPointError) as error:
                    failed[name] = str(error)
                    warn(LeftOut.member(name, error))
                    continue
                for noted in ("n_features_in_", "feature_names_in_"):
                    if noted in vars(self):
                        setattr(member, noted, getattr(self, noted))
                found[name], held[name] = member, one
        if not found:
            raise InvalidArgument.no_member_left(list(members))
        return Attempt(found, held, judged, failed)

    def _finish_stack(
        self,
        fitted: Attempt,
        seen: tuple[TrainingRows, ...],
        classes: np.ndarray,
        start: float,
        before: dict[str, str],
    ) -> Self:
        """Weight the members by their leave-one-out predictions; set all fitted attributes."""
        codes, weight = (part[fitted.judged] for part in together(seen, classes))
        members, own = fitted.members, (np.arange(len(codes)), codes)
        log_proba = np.stack([one.log_proba for one in fitted.held_out.values()])
        able = np.stack([one.able for one in fitted.held_out.values()], axis=1)
        share = stacking.weights_of(log_proba[:, *own], weight, able)
        parts = {name: fitted_posterior(member) for name, member in members.items()}
        report = Report("stacked", 0.0, converged=True, verdict=_verdict(parts))
        mixture = mixture_of(members, share, report)
        scores = mixture.scores_from(
            {name: one.scores for name, one in fitted.held_out.items()}, log_proba, able
        )
        self._powers = self._chosen_powers(scores, codes, weight)
        posterior = tempered(mixture, self._powers)
        self._pool, self._pool_share = self._chosen_pool(mixture, posterior, scores, codes, weight)
        self._seed = arguments.drawn_seed(self.random_state)
        posterior = pooled(posterior, self._pool, self._pool_share, self._seed)
        self.members_, self.classes_ = members, classes
        self._training = tuple(rows.to_keep(table=True) for rows in seen)
        self.weights_ = dict(zip(members, share.tolist(), strict=True))
        self.left_out_ = before | fitted.failed
        self.inference_ = "stacked"
        details = {f"weight of {name}": weight for name, weight in self.weights_.items()}
        details |= {"rows that weigh members": float(len(codes))}
        left_out = posterior.log_proba(scores)[own]
        details["leave-one-out log loss"] = -_mean(left_out, weight)
        details |= {
            f"leave-one-out log loss of {name}": -_mean(one.log_proba[own], weight)
            for name, one in fitted.held_out.items()
        }
        seconds = time.perf_counter() - start
        self.report_ = dataclasses.replace(report, seconds=seconds, details=details)
        return self

    def _chosen_powers(
        self, scores: Scores, codes: Labels, weight: Weights
    ) -> Float[np.ndarray, "2 power"] | None:
        """Return powers and their weights; None without tempering."""
        if self.temper is None:
            return None
        if self.temper != "learn":
            return np.stack(stated_powers(self.temper))
        return np.stack(learned_powers(scores.log_classes, scores.joint, codes, weight))

    def _chosen_pool(
        self,
        mixture: MixturePosterior,
        mean: Posterior,
        scores: Scores,
        codes: Labels,
        weight: Weights,
    ) -> tuple[Pool | None, float]:
        """Return a log-linear pool of the members' scores and its weight beside their mean."""
        if self.pool is None:
            return None, 0.0
        if self.pool != "learn":
            raise InvalidArgument.not_one_of("pool", self.pool, ["learn", None])
        own = np.arange(len(codes)), codes
        priors = pooling.stack_priors(len(mixture.members), scores.parts.shape[1])
        pool, left_out = pooling.learned_pool(
            scores.parts, scores.log_classes, codes, weight, **priors
        )
        both = np.stack([mean.log_proba(scores)[own], left_out[own]])
        share = stacking.weights_of(both, weight, prior_rows=pooling.BLEND_ROWS)
        return pool, float(share[1])

    # -- the posterior, and rows as its members read them ------------------------------------------

    def _mixture(self) -> MixturePosterior:
        """Return the weighted mean of the members, before tempering and pooling."""
        check_is_fitted(self)
        return mixture_of(self.members_, np.array(list(self.weights_.values())), self.report_)

    def _fitted_posterior(self) -> Posterior:
        posterior = tempered(self._mixture(), self._powers)
        return pooled(posterior, self._pool, self._pool_share, self._seed)

    def _read(self, X: object, *, reset: bool) -> Table:
        table = validation.read(self, X, reset=reset)
        if isinstance(table, SparseTable):
            raise UnsupportedTable.sparse_for(type(self).__name__)
        if not reset:
            self._check_columns(table)
        return table

    def _read_encoded(self, X: object) -> tuple[Table, dict[str, Traceable]]:
        table = self._read(X, reset=False)
        return table, StackEncoder(self.members_).encode(table, lambda: X)

    def _column_names(self) -> tuple[Name, ...]:
        found = (tuple(member._column_names()) for member in self.members_.values())
        return next((names for names in found if names), ())

    def _used_columns(self) -> set[Name]:
        return {name for member in self.members_.values() for name in member._used_columns()}

    def _pattern_blocks(self) -> list[str]:
        parts = self.members_.items()
        return [f"{name}/{block}" for name, m in parts for block in m._pattern_blocks()]

    def _schema(self) -> Schema:
        return next(iter(self.members_.values()))._schema()

    def _fitted(self) -> Fitted:
        posterior, mixture = self._fitted_posterior(), self._mixture()
        state = next(iter(self.members_.values())).state_
        return FittedStack(state, posterior, self.class_prior, self.members_, mixture)

    def _every_cell(self) -> dict[Name, explain.Cell]:
        """Return the encoded positions of each column, in every member that reads it."""
        places: dict[Name, list[explain.Place]] = {name: [] for name in self._column_names()}
        for name, member in self.members_.items():
            derived = member._derived_columns()
            for column, (block, j) in member.state_.column_positions().items():
                source = derived[column].name if column in derived else column
                places.setdefault(source, []).append((f"{name}/{block}", j))
        patterns = pattern_cells(self.members_)
        cells: dict[Name, explain.Cell] = {}
        for column, cell in places.items():
            cells |= {column: tuple(cell)} if cell else {}
            cells |= patterns.get(column, {})
        return cells

    def _cells(self, what: str) -> dict[Name, explain.Cell]:
        for name, member in self.members_.items():
            if not member.state_.column_positions():
                raise UnsupportedInference.because(
                    f"{what} of a stack with the member {name!r}",
                    "a program of your own reads a row as a whole; no cell of it can be blanked",
                    "Leave it out of members=, or read the columns by likelihoods.",
                )
        return self._every_cell()

    def _imputable_rows(self, X: object, what: str) -> "StackRows":
        rows = self._rows_of_cells(X, what)
        mixture = self._mixture()
        able = [name for name, fills in zip(self.members_, mixture.imputers, strict=True) if fills]
        if not able:
            raise UnsupportedInference.because(
                f"{what} of this stack",
                "no member says how the missing cells of a row are distributed",
                "Add one that reads the columns as they are, such as bg.NaiveBayes().",
            )
        columns: dict[Name, list[tuple[explain.Place, Column]]] = {}
        for name in able:
            state = self.members_[name].state_
            for column, (block, j) in state.column_positions().items():
                place = (f"{name}/{block}", j), state.schema.blocks[block][j]
                columns.setdefault(column, []).append(place)
        schema = self.members_[able[0]].state_.schema
        parts = rows.posterior, rows.encoded, rows.n_rows, rows.table, schema, rows.cells
        return StackRows(*parts, columns, StackEncoder(self.members_))

    # -- results beyond those of the posterior -----------------------------------------------------

    def sample(self, n: int = 1, random_state: object = None) -> tuple[object, np.ndarray]:
        """Return n simulated rows, in the container type of the training table, and their labels.

        Each row is simulated by one of the members with a density over the columns, drawn by
        weight.
        """
        return self._sampled(n, random_state, gaps=True)

    def _sampled(self, n: int, random_state: object, *, gaps: bool) -> tuple[object, np.ndarray]:
        mixture = self._mixture()
        weights = mixture.weights * np.array(mixture.densities)
        n, rng = arguments.count("n", n), check_random_state(arguments.seed(random_state))
        counts = rng.multinomial(n, weights / weights.sum())
        parts = [
            member._sampled(int(count), rng, gaps=gaps)
            for member, count in zip(self.members_.values(), counts, strict=True)
            if count
        ]
        tables, labels = zip(*parts, strict=True)
        return concatenated(tables), np.concatenate(labels)

    def _simulated(self, n: int) -> dict[str, Traceable]:
        return self._encode_rows(self._sampled(n, 0, gaps=False)[0])[1]

    @unchecked  # options are those of the members
    def to_datatree(self, X: object = None, y: object = None, **options: Any) -> DataTree:
        """Return an xarray.DataTree of the weights and of each member's tree, by member name.

        X, y, options: of the members' `to_datatree`.
        """
        check_is_fitted(self)
        trees = {n: member.to_datatree(X, y, **options) for n, member in self.members_.items()}
        return diagnose.trees_of_members(trees, self.weights_)

    @unchecked  # options are those of the members
    def summary(self, **options: Any) -> DataFrame:
        """Return a DataFrame of every member's parameters, by "member/parameter".

        options: of the members' `summary`.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> stack = bg.StackedClassifier([bg.LDA(), bg.NaiveBayes()]).fit(X, y)
            >>> table = stack.summary(kind="stats", ci_prob=0.9)
            >>> round(float(table.loc["LDA 1/normal.mean[setosa, petal_length]", "mean"]), 1)
            1.5
        """
        check_is_fitted(self)
        tables = {name: member.summary(**options) for name, member in self.members_.items()}
        return diagnose.summary_of_members(tables)

    @property
    def log_evidence_(self) -> float:
        """Not available for a stack: raises AttributeError."""
        check_is_fitted(self)
        raise NoEvidence(
            "log_evidence_ is of one model, and a stack is several, weighted by leave-one-out. Ask "
            "its members: stack.members_['name'].log_evidence_, or compare stack.loo()."
        )

    @property
    def posterior_(self) -> Posterior:
        """The members' posteriors in the units of the columns, weighted and tempered."""
        check_is_fitted(self)
        origin = {
            f"{name}/{block}": own
            for name, member in self.members_.items()
            for block, own in member.state_.kept_origin(fitted_posterior(member).reader).items()
        }
        return self._fitted_posterior().shifted(origin)

    def with_class_prior(self, class_prior: ClassPriorSpec) -> Self:
        """Return a fitted copy with other, known class probabilities (label shift)."""
        check_is_fitted(self)
        members = {name: m.with_class_prior(class_prior) for name, m in self.members_.items()}
        other = copy.copy(self)
        other.class_prior, other.members_ = class_prior, members
        return other

    def plot_weights(self, ax: Axes = None) -> WeightDisplay:
        """Draw the members' weights and the temperature."""
        return WeightDisplay.from_estimator(self, ax=ax)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether the stack is fitted."""
        return hasattr(self, "members_")


# -- members ---------------------------------------------------------------------------------------


def fitted_posterior(member: Classifier) -> Posterior:
    """Return the posterior of a member fitted to at least two classes."""
    return cast(Posterior, member._posterior)


def judged_rows(codes: Labels) -> Int[np.ndarray, " judged"]:
    """Return the rows that judge members: all, or JUDGED of them, evenly spaced by class."""
    if len(codes) <= JUDGED:
        return np.arange(len(codes))
    by_class = np.argsort(codes, kind="stable")
    return np.sort(by_class[np.arange(JUDGED) * len(codes) // JUDGED])


def held_out(
    member: Classifier,
    seen: Sequence[TrainingRows],
    own: Sequence[TrainingRows],
    classes: np.ndarray,
    judged: Int[np.ndarray, " judged"],
) -> HeldOut:
    """Return what a fitted member predicts of rows when it is fitted without them.

    Uses exact leave-one-out where the member has a closed form; otherwise each of ten folds is
    predicted by a member fitted to the other nine. Of a row of weight 2, weight 1 is left out.

    Args:
        member: fitted to the rows.
        seen: the rows of each call of fit or partial_fit.
        own: the same, as the member reads them.
        classes: of the result; a class absent from a fold's training rows has probability 0.
        judged: positions of the rows to predict.

    Raises:
        UnsupportedInference: rows came in several calls, and the member has no closed form.
    """
    posterior = fitted_posterior(member)
    encoded = joined([rows.encode(member.state_.schema, member.unseen) for rows in own])
    able = posterior.is_marginal(take_rows(encoded, judged), len(judged))
    if member.inference_ in ("exact", "expected"):
        codes, weight = together(own, member.classes_)
        parts = encoded, codes, weight, one_each(weight)
        scores = member.state_.leave_one_out(
            member.class_prior, posterior.reader, *parts, judged=judged
        )
        return HeldOut(scores, posterior.log_proba(scores), able)
    if len(seen) > 1:
        raise UnsupportedInference.because(
            f"partial_fit with a member {type(member).__name__}",
            "only closed forms can leave a row out",
            "Call fit with all rows.",
        )
    log_proba, log_classes = _by_folds(member, seen[0], classes)[judged], posterior.log_classes()
    parts = likelihood_of(log_proba, log_classes)[:, None]
    return HeldOut(Scores(log_proba, log_classes, parts), log_proba, able)


def _by_folds(member: Classifier, rows: TrainingRows, classes: np.ndarray) -> Joint:
    # imported lazily: a third of all that a fresh process loads for an exact fit, which needs none
    # of it
    from sklearn.model_selection import KFold

    size = len(rows.codes)
    out = np.full((size, len(classes)), -np.inf)
    folds = KFold(min(FOLDS, size), shuffle=True, random_state=0)
    for others, fold in folds.split(rows.codes):
        again = clone(member)
        fitted = again._own_rows(rows.only(others), reset=True)
        again._fit_rows(fitted, fitted.classes)
        tested = again._own_rows(rows.only(fold), reset=False)
        encoded = tested.encode(again.state_.schema, again.unseen)
        parts = predict.joint_and_prior(fitted_posterior(again), encoded, len(fold))
        proba = class_probabilities(*parts)
        with np.errstate(divide="ignore"):
            out[np.ix_(fold, np.searchsorted(classes, again.classes_))] = np.log(proba)
    return out


def tempered(mixture: MixturePosterior, powers: np.ndarray | None) -> Posterior:
    """Return the weighted mean under powers, shape (2, power); None: as it is."""
    if powers is None:
        return mixture
    return PowerPosterior(mixture.reader, mixture.report, mixture, *powers)


def pooled(posterior: Posterior, pool: Pool | None, share: float, seed: int) -> Posterior:
    """Return the posterior blended with a log-linear pool, if there is one."""
    if pool is None:
        return posterior
    parts = posterior.reader, posterior.report, posterior, pool, share, seed
    return PooledPosterior(*parts)


def mixture_of(
    members: Mapping[str, Classifier], weights: np.ndarray, report: Report
) -> MixturePosterior:
    """Return the posterior of fitted members under their weights."""
    densities = with_density(members, dict(zip(members, weights.tolist(), strict=True)))
    parts = {name: fitted_posterior(member) for name, member in members.items()}
    imputers = tuple(
        dense and _imputes(member)
        for dense, member in zip(densities, members.values(), strict=True)
    )
    most = max(parts, key=lambda name: len(parts[name].families))
    split = (most,) if len(parts[most].families) > 1 else ()
    return MixturePosterior(Reader({}, {}), report, parts, weights, densities, imputers, split)


def with_density(
    members: Mapping[str, Classifier], weights: Mapping[str, float]
) -> tuple[bool, ...]:
    """Return which members have a density over the same columns: those of p(x).

    Densities over other columns, over indicators derived from levels, or over counts where other
    members model numbers have different units, so a mean of them is not a density. p(x) is defined
    by the largest set of members that read columns alike, ties being broken by weight; where no
    member reads columns one by one, by all.
    """
    seen = {name: _density_of(member) for name, member in members.items()}
    weight = {key: sum(weights[n] for n in members if seen[n] == key) for key in seen.values()}
    best = max(weight, key=lambda key: (len(key), weight[key]))
    return tuple(seen[name] == best for name in members)


def _density_of(member: Classifier) -> frozenset:
    """Return the columns, with kinds, of a member's density; none if they are derived."""
    if member._derived_columns():
        return frozenset()
    state = member.state_
    places = state.column_positions().items()
    columns = [(name, state.schema.blocks[b][j].kind) for name, (b, j) in places]
    pattern = [(column.name, column.kind) for column, _ in state.pattern_positions().values()]
    return frozenset(columns + pattern)


def _imputes(member: Classifier) -> bool:
    """Return whether a member reads columns directly and can impute the cells of each."""
    if member._derived_columns() or not member.state_.column_positions():
        return False
    posterior = fitted_posterior(member)
    try:
        for block in posterior.families:
            posterior.require_imputable(block)
    except UnsupportedInference:
        return False
    return True


@dataclasses.dataclass(frozen=True, eq=False)
class FittedStack(Fitted):
    """Fitted members and their untempered mixture; state: of the first member."""

    members: Mapping[str, Classifier]
    mixture: MixturePosterior

    def left_out(self, encoded: Encoded, y: Labels, weight: Weights) -> diagnose.LeaveOneOut:
        """Return the log densities of the rows of the fit, each given the others.

        Weights and powers stay.
        """
        mixture, found, log_proba = self.mixture, {}, []
        for name, rows in mixture.by_member(encoded).items():
            member, posterior = self.members[name], mixture.members[name]
            found[name] = member.state_.leave_one_out(
                member.class_prior, posterior.reader, rows, y, weight, weight
            )
            log_proba.append(posterior.log_proba(found[name]))
        able = mixture.able(encoded, len(y))
        scores = mixture.scores_from(found, np.stack(log_proba), able)
        return diagnose.LeaveOneOut(self.posterior.log_joint_from(scores))


@dataclasses.dataclass(frozen=True, eq=False)
class StackEncoder:
    """Encoder of tables for all members of a stack; shared encodings are computed once."""

    members: Mapping[str, Classifier]

    def encode(self, table: Table, raw: Callable[[], object]) -> dict[str, Traceable]:
        """Return the rows of a table by "member/block".

        raw: the same rows as they were passed, for programs of the user's own.
        """
        shared, encoded = TableEncoder(table), {}
        with deduplicate_warnings(AbsentColumns):  # which were warned of when the rows were read
            for name, member in self.members.items():
                own = member._own_table(table, raw, reset=False)
                encoder = shared if own is table else TableEncoder(own)
                kind = type(member).__name__
                rows = encoder.encode(member.state_.schema, member.unseen, kind)
                encoded |= {f"{name}/{block}": x for block, x in rows.items()}
        return encoded


@dataclasses.dataclass(frozen=True, eq=False)
class StackRows(explain.Rows):
    """Rows encoded for all members of a stack, with substitution of column values.

    columns: the encoded positions and kinds of the columns whose cells can be imputed. encoder: of
    the members.
    """

    columns: Mapping[Name, list[tuple[explain.Place, Column]]]
    encoder: StackEncoder

    def places(self, name: Name) -> list[tuple[explain.Place, Column]]:
        """Return the positions where a column can be imputed, with its schema column there."""
        return self.columns[name]

    @property
    def names(self) -> list[Name]:
        """The columns whose cells can be imputed."""
        return list(self.columns)

    def kind(self, name: Name) -> str:
        """Return the kind of a column for integration over its values; counts are simulated."""
        kind = super().kind(name)
        return "numbers" if kind == "counts" else kind

    def values(self, encoded: Encoded, name: Name) -> np.ndarray:
        """Return the cells of a column of imputed rows, in the user's units."""
        return self.decoded_column(encoded, name)

    def with_values(self, rows: np.ndarray, name: Name, values: np.ndarray) -> Encoded:
        """Return some of the encoded rows with other values or level codes in one column."""
        levels: tuple = self.places(name)[0][1].levels or self.listed(name)
        if levels and not any(isinstance(level, str | bool) for level in levels):
            # whole numbers, which other members may read as such
            values, levels = np.array(levels)[values], ()
        own = self.missing()[name][0]
        table = with_column(self.table.take(rows), own, values, levels)
        with deduplicate_warnings(
            BayesgenWarning
        ):  # levels that were not seen at fit have been warned of
            return self.encoder.encode(table, lambda: None)


def _verdict(posteriors: Mapping[str, Posterior]) -> str:
    """Return a sentence on how members are weighted, and which do not predict some rows."""
    names = [name for name, posterior in posteriors.items() if posterior.caveat]
    if not names:
        return VERDICT
    return (
        f"{VERDICT} Rows are answered without {', '.join(map(repr, names))} where these do not "
        "integrate over the missing values, unless no other member is left."
    )


def _with_its_rows(member: Classifier) -> Classifier:
    """Return a copy that includes the rows kept by the member, which ordinary copies lack.

    Fitting sets attributes anew and changes none in place.
    """
    other = object.__new__(type(member))
    vars(other).update(vars(member))
    return other


def _mean(values: np.ndarray, weight: Weights) -> float:
    return float(values @ weight / weight.sum())


def _own(member: object) -> Classifier:
    """Validate a member: a classifier of this library with its own statistics."""
    if isinstance(member, type):
        raise InvalidArgument.not_an_instance("member", member)
    if not isinstance(member, Classifier) or isinstance(member, StackedClassifier):
        raise InvalidArgument.not_one_of("member", member, [Code("bg.LDA()")])
    return member
