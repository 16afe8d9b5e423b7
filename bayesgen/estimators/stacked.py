"""Stacked classifier: members weighted and tempered by leave-one-out log scores."""

import dataclasses
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from bayesgen import arguments, plots
from bayesgen.classes import Spec as ClassPriorSpec
from bayesgen.classes import class_prior, is_stated, require_possible
from bayesgen.errors import (
    BayesgenError,
    BayesgenWarning,
    CountsAsMissing,
    Cure,
    InvalidArgument,
    UnsupportedOperation,
    deduplicate_warnings,
    warn,
    words_of,
)
from bayesgen.errors.arguments import not_one_of
from bayesgen.errors.data import sparse_for
from bayesgen.errors.operations import unsupported
from bayesgen.errors.wording import Code
from bayesgen.estimators import parameters, validation
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.column_blocks import PATTERNS, Blocks, Missing, Unseen, features
from bayesgen.estimators.estimator import LAST_FITTED, ColumnsOfFit
from bayesgen.estimators.fitted import Fitted
from bayesgen.estimators.fitting import fitting, labels_in_column
from bayesgen.estimators.judged_rows import (
    JudgedRows,
    judged_rows,
)
from bayesgen.estimators.prior_model import PriorModel
from bayesgen.estimators.sources.fit import LabelledSource
from bayesgen.estimators.stack.duration import announce
from bayesgen.estimators.stack.fitted import (
    FittedStack,
)
from bayesgen.estimators.stack.kept_rows import rows_together, rows_without
from bayesgen.estimators.stack.member import FittedMember, Member
from bayesgen.estimators.stack.reservoir import Sample, drawn
from bayesgen.estimators.stack.source import ALL, SAMPLED, add_all_rows
from bayesgen.estimators.stack.structures import Structure, automatic, too_wide
from bayesgen.estimators.stack.weighed import WeighedStack
from bayesgen.estimators.stack.weighing import Weighing, weighed_stack
from bayesgen.estimators.tempered import Temper
from bayesgen.estimators.training_rows import TrainingRows, fewer_than_two_classes
from bayesgen.estimators.unlabelled_fit import Weight as Unlabelled
from bayesgen.estimators.updates.accumulation import with_its_rows
from bayesgen.estimators.updates.forgetting import too_few_left
from bayesgen.estimators.updates.merging import require_same_model, united_classes
from bayesgen.inference import Asked
from bayesgen.inference.mixture import MemberScores
from bayesgen.inference.powers import stated_powers
from bayesgen.plots.style import Axes
from bayesgen.progress_bar import Progress, progress_bar
from bayesgen.schema import UNSEEN, check_spreads
from bayesgen.table import (
    Name,
    Table,
    check_declared,
    check_mark,
)
from bayesgen.typing import (
    DataFrame,
    Joint,
    Self,
    unchecked,
)

if TYPE_CHECKING:
    from bayesgen.plots import WeightDisplay
else:  # loaded where something is drawn
    WeightDisplay = Any

S = TypeVar("S")
T = TypeVar("T")

ALLOWED = ("auto", Code("['naive', 'linear']"), Code("[bg.LDA()]"))
SHARED = ("class_prior", "unseen", "unlabelled", "random_state")
"""Arguments that automatic members take from the stack."""
ROWS_OF_TWO = Cure(
    "Check the selection of rows. Members are weighed by rows of at least two classes: until the "
    "second one arrives, use bg.NaiveBayes().partial_fit(X, y, classes=[...]).",
    "Check the rows of the file, and --target.",
)
POOLS = ("learn", None)
LONG = 1.0
"""Seconds of a fit after which a bar is shown."""
MembersSpec = str | Sequence[str] | Sequence[Classifier] | Mapping[str, Classifier]


@dataclasses.dataclass(frozen=True, eq=False)
class Listed:
    """A member that is to be fitted, and the classifier that it then is."""

    classifier: Classifier
    member: Member

    @classmethod
    def of(cls, classifier: Classifier, **how: Any) -> "Listed":
        """Return a member; how: the other fields of `Member`."""
        return cls(classifier, Member(classifier._recipe(), **how))

    def fitted(self, member: FittedMember) -> Classifier:
        """Return the classifier that holds a fitted model."""
        asks = bool(member.asked.recipe.learned_from((member.rows,)))
        rows = (member.rows.to_keep(table=asks),)
        stated, learned = member.fitted.class_prior, member.asked.recipe.class_prior
        self.classifier.class_prior = stated if is_stated(stated) else learned
        return self.classifier._hold(member.fitted, member.seed, rows, member.labels)


@dataclasses.dataclass(frozen=True, eq=False)
class Judged:
    """A fitted member, and what it predicts of the rows that are left out."""

    member: FittedMember
    scores: MemberScores


class StackedClassifier(Classifier):
    r"""Stack of several generative classifiers, pooled in two ways by exact leave-one-out.

    P(y given x) is a mean of two pools of the members. The linear one is the weighted mean Q of
    their class probabilities, tempered: the mean over powers eta of Q^eta, normalized. The
    log-linear one is proportional to P(y) times a product of powers of the members' densities and
    of those of single columns; it can discount columns that repeat each other. All weights, powers
    and the shares of the two pools are optimized, or averaged, by leave-one-out log score: the log
    probability of each row's class given its cells and the other rows. Members with a closed form
    need no refit for this. With few rows the linear pool has nearly all the weight.

    Two interactions may join automatic members, each where the score of rows left out rises by more
    than its standard error: a forest of trees with Dirichlet leaves, in both pools, and pairs of
    columns of levels, in the log-linear one. The forest predicts a row left out by the trees grown
    without it. Where columns outnumber rows, a linear discriminant ("discriminant") may join in
    place of both.

    If a class has a single row, leaving it out leaves the class empty; its prior predictive, with
    guesses from the other rows, is then used. Class probabilities that are stated replace those of
    the rows when all this is learned. A row leaves with its copies, and with all
    of its weight, unless chance explains equal rows (see "What is learned from rows left out" in
    the documentation). A row without any observed cell gets the class prior, unless the missing
    pattern is modeled (missing=). Members are scored on at most 2,000 rows (fewer if there are more
    than 20 columns), chosen within classes by content, not by their order.

    A stack has every method of a classifier. Densities (`score_samples`), `sample`, `impute` and
    `feature_value` are those of the linear pool: each row is imputed by a member drawn with
    probability proportional to its weight times p(observed cells given data). Members that model
    indicators, other columns or words are excluded, and their weight is shared among the others.
    `loo` keeps the weights and powers learned from all rows.

    The stack keeps its rows, in an order that their content determines: neither the order of rows
    nor their split into calls, merges and files saved with rows changes the fit (to 1e-9).

    Pooling sacrifices coherence: the probabilities are no longer those of a single generative
    model. A power below 1 indicates that the model counts evidence more than once (`temperature_`).

    Sources: Yao, Vehtari, Simpson and Gelman (2018), Bayesian Analysis 13, 917-1007; Miller and
    Dunson (2019), Journal of the American Statistical Association 114, 1113-1125; Genest and Zidek
    (1986), Statistical Science 1, 114-135.

    Args:
        members: "auto" (naive, linear, quadratic and kernel structures that suit the columns and
            whether numbers are missing), names of these, as in ["naive", "linear"] (those of a
            table are the keys of `members_`), {name: classifier}, or a sequence of classifiers,
            named by their classes in lower case ("lda", or "lda-1" and "lda-2"). Arguments of
            classifiers are nested parameters: `stack.set_params(lda__covariance_rows=5)`.
            Members without a closed form (NUTS, a user program) are scored by 10-fold
            cross-validation. Automatic members take class_prior, missing, unseen, unlabelled and
            random_state from the stack; others have their own, but class probabilities that the
            stack states are those of every member.
        temper: "learn", None (the weighted mean as it is), or a power above 0.
        pool: "learn" adds the log-linear pool; None: the linear one alone.
        missing: how the missing pattern enters the members: "ignorable", not at all; "informative",
            with a likelihood of its own in every member; "learn", with a power of that likelihood,
            learned for each member by leave-one-out (see `NaiveBayes`). The last two are invalid if
            the reason why cells are missing changes.
        groups: the column of groups of every member, all of which have a closed form (automatic
            kernels and interactions are left out); the members' weights are those of all groups.
            See `NaiveBayes`.
        random_state: seed of draws and of the trees of a forest: another seed grows others. Under
            None draws differ from fit to fit, and trees do not. Automatic members take it too.
        class_prior, unseen, unlabelled: ...
        progress: "auto" shows a bar in a terminal or a notebook, with the member that is being
            fitted, if a fit takes more than a second; True or False overrides this. A fit of
            automatic members that will take more than a minute begins with a warning that says
            about how long, and which members take less.

    Attributes:
        members_: the fitted members by name, without the interactions (see `members_table`).
        left_out_: the reasons why other members were left out, by name, each with a warning:
            fitting failed, or the table has more than 100 numeric columns or indicators of levels,
            so that structures of cubic cost were not tried.
        weights_: weights by name in the linear pool, which sum to one: of the members, and of
            "forest" or "discriminant" if it joined.
        pool_share_: the share of the log-linear pool.
        temperature_: divisor of the log-odds (1: the stack was not overconfident).
        classes_, inference_, report_, unlabelled_weight_, label_distributions_: ...
        transduction_: ...
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

    inference: Asked = "auto"
    """No argument: each member has its own."""
    _seed: int = 0

    @unchecked  # no validation in __init__; fit validates (scikit-learn's convention)
    def __init__(
        self,
        members: MembersSpec = "auto",
        *,
        temper: Temper = "learn",
        pool: Literal["learn"] | None = "learn",
        class_prior: ClassPriorSpec = 1.0,
        missing: Missing = "learn",
        unseen: Unseen = "missing",
        unlabelled: Unlabelled = "learn",
        groups: Name | None = None,
        random_state: object = None,
        progress: Progress = "auto",
    ) -> None:
        self.members = members
        self.temper = temper
        self.pool = pool
        self.class_prior = class_prior
        self.missing = missing
        self.unseen = unseen
        self.unlabelled = unlabelled
        self.groups = groups
        self.random_state = random_state
        self.progress = progress

    @property
    def weights_(self) -> dict[str, float]:
        """Weights by name in the linear pool, which sum to one."""
        return dict(self._weighed.weights)

    # -- parameters --------------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, object]:  # noqa: FBT001, FBT002
        """Return the constructor's arguments; with `deep`, also members and their arguments."""
        params = super().get_params(deep)
        return parameters.of_members(self.members) | params if deep else params

    def set_params(self, **params: object) -> Self:
        """Set arguments of the constructor, and members or their arguments, as in lda__mean_rows.

        Members are replaced by changed clones, so that other stacks of the same are unaffected.

        Raises:
            ValueError: no such argument or member.
        """
        if "members" in params:
            super().set_params(members=params.pop("members"))
        own = super().get_params(deep=False)
        self.members, others = parameters.split_members(self.members, own, params)
        return super().set_params(**others)

    def _refuses_negative(self) -> bool:
        members = parameters.by_name(self.members).values()
        known = [m._refuses_negative() for m in members if isinstance(m, Classifier)]
        return bool(known) and all(known)

    # -- fitting -----------------------------------------------------------------------------------

    @fitting
    @labels_in_column
    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Fit every member to rows X and labels y, then weight and temper them; returns self.

        With y="column", sources that are read part by part (see `Classifier.fit`) are read twice:
        members, their power transforms, bins and kernels are chosen on a stratified random sample
        of 20,000 rows, and members with a closed form then get the statistics of all rows. Weights,
        powers and the pool are learned by leave-one-out on the sampled rows
        (`report_.details["rows that weigh"]`).

        Raises:
            BayesgenError: invalid rows, or no member could be fitted.
        """
        rows = self._training_rows(X, y, sample_weight, reset=True)
        return self._fit_stack(rows, rows.classes)

    @fitting
    def partial_fit(
        self,
        X: object,
        y: object,
        classes: ArrayLike | None = None,
        sample_weight: object = None,
        *,
        discount: float = 1.0,
    ) -> Self:
        """Add rows: the stack is fitted anew to them and all rows so far, which it keeps.

        Any split into calls, in any order, gives the fit of all rows together, at the cost of that
        fit. `classes` declares classes before their rows arrive; the first call must contain rows
        of at least two classes. `discount` multiplies the weights of all rows so far.
        """
        first = not hasattr(self, "members_")
        earlier = () if first else self._discounted(discount)._kept()
        rows = self._training_rows(X, y, sample_weight, reset=first, classes=classes)
        declared = rows.classes if classes is None else np.unique(classes)
        if not first:
            declared = united_classes(self.classes_, declared)
            if self.unlabelled is not None:
                check_mark(self.classes_, declared)
        check_declared(rows.classes, declared)
        return self._fit_stack(rows_together((*earlier, rows)), declared)

    @fitting
    def merge(self, other: Self) -> Self:
        """Return a new stack, fitted to the rows that both kept; see `Classifier.merge`.

        A stack that was copied, or loaded from a file without rows, keeps none.

        Raises:
            UnsupportedOperation: the stacks differ in an argument or a column; one of them kept no
                rows.
        """
        require_same_model(self, other)
        (earlier,), (later,) = self._kept(), other._kept()
        self._check_columns(later.table)
        rows = rows_together((earlier, later))
        return with_its_rows(self)._fit_stack(rows, united_classes(self.classes_, other.classes_))

    @fitting
    def forget(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Remove rows, in place; returns self, fitted anew to the other rows.

        The rows are found by their cells and labels, with or without a label, and their weights are
        subtracted. Classes and levels left without rows are dropped, unless they were declared.

        Args:
            X: rows of the fit, each at most as often as it was fitted.
            y: their labels.
            sample_weight: their weights in the fit.

        Raises:
            UnsupportedOperation: a row is not among those of the fit, or the stack kept none.
            InvalidData: fewer than two classes would remain.
        """
        check_is_fitted(self)
        (rows,) = self._kept()
        forgotten = self._training_rows(X, y, sample_weight, reset=False)
        remaining = rows_without(rows, forgotten)
        if len(remaining.present) < 2:
            raise too_few_left(remaining.present.tolist())
        gone = np.setdiff1d(rows.classes, remaining.classes)
        return self._fit_stack(remaining, np.setdiff1d(self.classes_, gone))

    def _kept(self) -> tuple[TrainingRows, ...]:
        """Return the rows of the fit.

        Raises:
            UnsupportedOperation: none was kept.
        """
        if not self._training:
            raise UnsupportedOperation(
                "a stack is fitted anew to all rows, and one that was copied, loaded from a file "
                "without rows, or fitted to a source keeps none.",
                Cure(
                    "Call fit with all rows, or save the rows with it: clf.save(path, rows=True).",
                    "Fit all rows together by `bayesgen fit`.",
                ),
            )
        return tuple(rows.as_passed() for rows in self._training)

    def _fit_source(self, source: LabelledSource) -> Self:
        if self.groups is not None:
            raise unsupported(
                "groups= of a stack with a source that is read part by part",
                "its members are chosen on a sample, which may lack groups",
                "Read all rows at once, or fit bg.NaiveBayes(groups=...) to the source.",
            )
        seed = arguments.drawn_seed(self.random_state)
        source.source.require_again()
        with deduplicate_warnings():
            sample = drawn(source, seed, self.progress)
            rows = self._training_rows(sample.X, sample.y, sample.own * sample.share, reset=True)
            if sample.is_whole:
                return self._fit_stack(rows, rows.classes)
            return self._fit_sample(rows, sample, source)

    def _fit_sample(self, rows: TrainingRows, sample: Sample, source: LabelledSource) -> Self:
        """Fit members to a sample of a source, give them the statistics of all rows, weigh them.

        Their structure, power transforms, bins and kernels are those of the sample, each of whose
        rows is left out of the statistics with the weight that it has in them.
        """
        classes, rows = rows.classes, self._without_identifiers(rows)
        listed, wide = self._new_members(rows, classes), self._left_out_as_wide(rows.table)
        members, failed = self._tried(listed, lambda one: one.member.fit(rows, classes))
        # by which the rows of the source are read
        self.members_ = {name: listed[name].fitted(member) for name, member in members.items()}
        self.classes_, self.left_out_ = classes, wide | failed
        read = functools.partial(self._training_rows, reset=False)
        members = add_all_rows(members, source, read, sample.n_rows, self.progress)
        judged = judged_rows((rows,), classes, len(rows.table.names))
        unscaled = dataclasses.replace(rows, weight=sample.own)

        own = dataclasses.replace(judged, copies=unscaled.labelled.copies)

        def judge(member: FittedMember) -> Judged:
            of_all = member.takes_all_rows
            read = member.fitted.own_rows(unscaled if of_all else rows)
            member, scores = member.held_out(rows, read, classes, own if of_all else judged)
            return Judged(member.with_stated_prior(), scores)

        found, unjudged = self._tried(members, judge)
        left_out = self.left_out_ | unjudged
        self._finish_stack(listed, found, judged, rows, left_out)
        self._training = ()
        report, details = (
            self._weighed.report,
            {ALL: float(sample.n_rows), SAMPLED: float(len(sample.y))},
        )
        outcome = report.outcome + (
            " The rows that weigh them, and those of kernels, are "
            f"{len(sample.y):,} drawn within classes from {sample.n_rows:,}; other statistics are "
            "of all rows."
        )
        details = report.details | details
        report = dataclasses.replace(report, outcome=outcome, details=details)
        self._weighed = self._weighed.with_report(report)
        return self

    def _new_members(self, rows: TrainingRows, classes: np.ndarray) -> "dict[str, Listed]":
        """Return the members to fit to the first rows; classes: including those of the rows."""
        if len(rows.present) < 2:
            raise fewer_than_two_classes(rows, ROWS_OF_TWO)
        table = rows.labelled.table
        self._check_arguments(table, classes)
        if parameters.is_automatic(self.members):
            # whatever each of them reads: a forest of such columns would be all that is left
            check_spreads(rows.table)
            announce(table, len(rows.present), self._structures(table))
        return self._listed(table)

    def _check_arguments(self, table: Table, classes: np.ndarray) -> None:
        """Refuse arguments before any member is fitted, whose failure would speak of the member."""
        arguments.seed(self.random_state)
        arguments.one_of("pool", self.pool, POOLS)
        arguments.one_of("missing", self.missing, PATTERNS)
        arguments.one_of("unseen", self.unseen, UNSEEN)
        if not (isinstance(self.temper, str | None) and self.temper in ("learn", None)):
            stated_powers(self.temper)
        class_prior(self.class_prior, classes, np.ones(len(classes)), frequencies=False)
        require_possible(self.class_prior, classes)
        features(table, self.groups)

    def _noted_columns(self) -> dict[str, object]:
        """Return the attributes on the number and the names of the columns, for the members too."""
        noted = ("n_features_in_", "feature_names_in_")
        return {name: getattr(self, name) for name in noted if name in vars(self)}

    def _fit_stack(self, rows: TrainingRows, classes: np.ndarray) -> Self:
        """Fit every member to rows; classes: sorted, including those of the rows."""
        # by all rows, of which the next call may have more
        kept, rows = rows.by_content(), self._without_identifiers(rows).by_content()
        listed, wide = self._new_members(rows, classes), self._left_out_as_wide(rows.table)
        judged = judged_rows((rows,), classes, _width(rows.table))
        positions = rows.positions().tolist()

        def judge(one: Listed) -> Judged:
            with deduplicate_warnings(rows=positions):
                member = one.member.fit(rows, classes)
                member, scores = member.held_out(rows, member.rows, classes, judged)
                return Judged(member.with_stated_prior(), scores)

        found, failed = self._tried(listed, judge)
        self._finish_stack(listed, found, judged, rows, wide | failed)
        self._training = (kept.to_keep(table=True),)
        return self

    def _blocks(self, table: Table) -> Blocks:
        return {
            f"{name}/{block}": spec
            for name, listed in self._listed(table).items()
            for block, spec in listed.member.recipe.blocks(table).items()
        }

    def _listed(self, table: Table) -> "dict[str, Listed]":
        """Return new members by name, not fitted."""
        if not isinstance(self.members, Mapping | Sequence) or not self.members:
            raise not_one_of("members", self.members, ALLOWED)
        if not parameters.is_automatic(self.members):
            members = {
                name: self._with_groups(name, member)
                for name, member in parameters.by_name(self.members).items()
            }
            stated = self.class_prior if is_stated(self.class_prior) else None
            return {
                name: Listed.of(own, class_prior=own.class_prior if stated is None else stated)
                for name, own in members.items()
            }
        reads = self.missing != "ignorable"
        options: dict = {name: getattr(self, name) for name in (*SHARED, "groups")}
        # the stack learns how much the pattern counts from what it asks of members anyway
        options |= {"inference": "expected", "missing": "informative" if reads else "ignorable"}
        learns = self.missing == "learn"
        return {
            name: Listed.of(
                structure.classifier(**options),
                split_in_pool=structure.split_in_pool,
                learns_pattern=learns,
                columns_apart=structure.columns_apart,
                class_prior=self.class_prior,
            )
            for name, structure in self._structures(table).items()
        }

    def _with_groups(self, name: str, member: object) -> Classifier:
        """Return a clone of a member that reads the groups of the stack.

        Raises:
            UnsupportedOperation: it cannot.
        """
        own = clone(_checked_member(member))
        if self.groups is None:
            return own
        if "groups" not in own.get_params(deep=False):
            raise unsupported(
                f"groups= of a stack with the member {name!r}",
                f"{type(member).__name__} has no groups",
                "Leave it out of members=.",
            )
        return own.set_params(groups=self.groups)

    def _structures(self, table: Table) -> dict[str, Structure]:
        """Return the automatic members that suit a table, or those of them that were named."""
        suited = automatic(table, self.groups)
        if isinstance(self.members, str):
            arguments.one_of("members", self.members, ALLOWED)
            return suited
        for name in self.members:
            if name not in suited:
                raise InvalidArgument(
                    "members holds {name!r}; the members that suit the table are "
                    "{suited:listed 20}.",
                    "Pass members={some}.",
                    name=name,
                    suited=list(suited),
                    some=[*suited][:2],
                )
        return {str(name): suited[str(name)] for name in self.members}

    def _left_out_as_wide(self, table: Table) -> dict[str, str]:
        """Return the structures skipped for a table with too many columns, with new warnings."""
        reasons = too_wide(table) if isinstance(self.members, str) else {}
        known = vars(self).get("left_out_", {})
        for warning in dict.fromkeys(w for name, w in reasons.items() if name not in known):
            warn(warning)
        return {name: str(warning) for name, warning in reasons.items()}

    def _tried(
        self, members: Mapping[str, S], attempt: Callable[[S], T]
    ) -> tuple[dict[str, T], dict[str, str]]:
        """Return what an attempt at each member gives, and why others failed, with a warning.

        A progress bar names the member that is being fitted.
        """
        progress = arguments.one_of("progress", self.progress, ["auto", True, False])
        shown = progress_bar(len(members), progress, unit="member", delay=LONG)
        found: dict[str, T] = {}
        failed: dict[str, str] = {}
        # cells that were warned of when the rows were read
        with deduplicate_warnings(CountsAsMissing), shown as bar:
            for name, member in members.items():
                bar.set_description(name, refresh=False)
                bar.update(0)
                try:
                    found[name] = attempt(member)
                except (BayesgenError, np.linalg.LinAlgError, FloatingPointError) as error:
                    failed[name] = str(error)
                    warn(
                        BayesgenWarning(
                            "member {name!r} is left out of the stack: {reason}.",
                            Cure("Leave it out of members= to silence this warning.", ""),
                            name=name,
                            reason=words_of(error),
                        )
                    )
                bar.update()
        if not found:
            raise InvalidArgument(
                "none of the members {names:listed 20} could be fitted (the warnings say why).",
                Cure(
                    "Pass members={{'name': classifier}} that suit the columns.",
                    "Use --model naive-bayes, or leave columns out by --drop.",
                ),
                names=list(members),
            )
        return found, failed

    def _finish_stack(
        self,
        listed: "Mapping[str, Listed]",
        found: "Mapping[str, Judged]",
        judged: JudgedRows,
        rows: TrainingRows,
        left_out: dict[str, str],
    ) -> Self:
        """Weight the members that could be judged; set all fitted attributes."""
        members = {name: one.member for name, one in found.items()}
        judgements = {name: one.scores for name, one in found.items()}
        classes = next(iter(members.values())).state.classes
        pool = self.pool is not None
        seed = arguments.drawn_seed(self.random_state) if pool else 0
        asked = Weighing(
            self.temper,
            pool,
            interactions=pool and isinstance(self.members, str) and self.groups is None,
            seed=seed,
            # a fit without random_state repeats
            seed_of_trees=0 if self.random_state is None else seed,
            class_prior=self.class_prior,
        )
        weighed = weighed_stack(members, judgements, judged, rows, classes, asked)
        self.members_ = {name: listed[name].fitted(member) for name, member in members.items()}
        for classifier in self.members_.values():
            vars(classifier).update(self._noted_columns())
        self.classes_, self.left_out_ = classes, left_out
        self._weighed = weighed
        self._weighed = weighed.with_details(self._unlabelled_details(rows))
        return self

    def _unlabelled_details(self, rows: TrainingRows) -> dict[str, float]:
        """Return the number of rows without a label, and their mean weight in the members."""
        if rows.unlabelled is None:
            return {}
        shares = {name: self.weights_[name] for name in self.members_}
        mean = sum(w * self.members_[name].unlabelled_weight_ for name, w in shares.items())
        mean /= sum(shares.values())
        return {"unlabelled.rows": float(len(rows.unlabelled.codes)), "unlabelled.weight": mean}

    def _labels_found(self) -> Joint | None:
        unlabelled = [rows.unlabelled for rows in self._training]
        proba = [self.predict_proba(rows.raw()) for rows in unlabelled if rows is not None]
        return np.concatenate(proba) if proba else None

    # -- the posterior, and rows as its members read them ------------------------------------------

    @property
    def fitted_(self) -> FittedStack:
        """The fitted model: the members, and what was learned of them.

        It is kept while these are the same, with what it keeps for later questions.
        """
        weighed = vars(self).get("_weighed")
        if weighed is None:
            raise AttributeError("fitted_ exists after the fit")
        members = {name: member.fitted_ for name, member in self.members_.items()}
        last = vars(self).get(LAST_FITTED)
        if last is None or not _consists_of(last, members, weighed, self.unseen):
            last = FittedStack.of(members, weighed, self.unseen, type(self).__name__)
            vars(self)[LAST_FITTED] = last
        return last

    @fitted_.setter
    def fitted_(self, fitted: FittedStack) -> None:  # ty: ignore[incompatible-property-override]
        self._weighed, parts = fitted.weighed, fitted.members.by_name
        self.members_ = {name: one._holding(parts[name]) for name, one in self.members_.items()}
        vars(self)[LAST_FITTED] = self.fitted_  # no question changes the attributes

    def _read(self, X: object, *, reset: bool) -> Table:
        table = validation.read(self, X, reset=reset)
        if table.is_sparse:
            raise sparse_for(type(self).__name__)
        if not reset:
            self._check_columns(table)
        return table

    def _stated_columns(self) -> set[object]:
        if parameters.is_automatic(self.members) or not isinstance(
            self.members, Mapping | Sequence
        ):
            return set()
        own = [m for m in parameters.by_name(self.members).values() if isinstance(m, Classifier)]
        return set().union(*(member._stated_columns() for member in own))

    def _columns_of_fit(self) -> ColumnsOfFit:
        states = [member.state_ for member in self.members_.values()]
        names = next((state.schema.names for state in states if state.schema.names), ())
        used = set().union(*(state.schema.used() for state in states))
        return ColumnsOfFit(names, used, states[0].schema.container)

    def _prior_model(self, X: object, y: object) -> PriorModel:
        raise unsupported(
            "the prior of a stack",
            "every member has one of its own, and the weights of members have none that rows could "
            "be drawn from",
            "Ask a member, such as bg.LDA().",
        )

    def members_table(self) -> DataFrame:
        """Return a DataFrame of the members and interactions: their scores, evidence and weights.

        Columns: leave_one_out_log_loss, of each member alone, in nats; log_evidence, comparable
        between members that model the same columns, NaN if a member has none, or models bins or
        indicators, whose densities have other units; weight in the linear pool, NaN of pairs of
        columns, which have none; and log_linear_weight in the log-linear pool, averaged over its
        priors, NaN without that pool, whose share is `pool_share_`.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> stack = bg.StackedClassifier([bg.LDA(), bg.NaiveBayes()]).fit(X, y)
            >>> stack.members_table().leave_one_out_log_loss.round(2).to_dict()
            {'lda': 0.07, 'naivebayes': 0.13}
        """
        check_is_fitted(self)
        return self.fitted_.members_table()

    @property
    def pool_share_(self) -> float:
        """The share of the log-linear pool."""
        check_is_fitted(self)
        return self._weighed.pool_share

    def save(self, path: str | os.PathLike, *, rows: bool = False) -> None:
        """Write the fitted stack to a file, which `bayesgen.load` reads; see `Classifier.save`.

        Args:
            path: of the file.
            rows: whether the file holds the rows of the fit too, with labels and weights, so that
                the loaded stack has `partial_fit`, `merge` and `forget`. Without them a file still
                holds up to 1,000 rows as centers of the kernels of automatic members, of a
                forest digests and classes of up to 2,000, and of a discriminant its rows.

        Raises:
            InvalidFile: part of the model is not data; no file can be written to the path.
            UnsupportedOperation: rows=True, and the stack kept none.
        """
        from bayesgen.estimators.saving import save

        check_is_fitted(self)
        save(self, path, self._kept() if arguments.one_of("rows", rows, [True, False]) else ())

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the call of the constructor, and the number of rows of the fit that are inside."""
        call, n_rows = super().__repr__(N_CHAR_MAX), sum(len(rows.codes) for rows in self._training)
        return f"{call}  # holds {n_rows:,} rows" if n_rows else call

    def plot_weights(self, ax: Axes = None) -> WeightDisplay:
        """Draw the members' weights and the temperature."""
        return plots.WeightDisplay.from_estimator(self, ax=ax)


# -- members ---------------------------------------------------------------------------------------


def _consists_of(
    stack: FittedStack, members: Mapping[str, Fitted], weighed: WeighedStack, unseen: Unseen
) -> bool:
    """Return whether a fitted stack has these members and weights."""
    held = stack.members.by_name
    alike = [*held] == [*members] and all(held[name] is one for name, one in members.items())
    return alike and stack.weighed is weighed and stack.unseen == unseen


def _width(table: Table) -> int:
    """Return the number of columns whose cells differ."""
    return sum(column.varies for column in table.columns)


def _checked_member(member: object) -> Classifier:
    """Validate a member: a classifier of this library with its own statistics."""
    if isinstance(member, type):
        raise InvalidArgument(
            "members holds the class {kind}; an instance is needed.",
            "Pass {kind}(), with parentheses: members=[bg.{kind}()].",
            kind=member.__name__,
        )
    if not isinstance(member, Classifier) or isinstance(member, StackedClassifier):
        raise InvalidArgument(
            "members holds {found!r}; classifiers of this library that are no stacks are allowed, "
            "or names of automatic members alone: names and classifiers are not mixed.",
            "Pass members=[bg.LDA(), bg.NaiveBayes()], or members=['naive'].",
            found=member,
        )
    return member
