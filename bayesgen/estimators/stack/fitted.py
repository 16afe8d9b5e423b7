"""A fitted stack: its members, their weighted mean, and leave-one-out given all of them."""

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np
from jaxtyping import Float
from sklearn.utils import check_random_state

from bayesgen import arguments, diagnose, explain
from bayesgen.calibrate import log_loss_at
from bayesgen.classes import Spec
from bayesgen.errors import (
    BayesgenError,
    BayesgenWarning,
    InvalidArgument,
    NoAttribute,
    deduplicate_warnings,
    warn,
)
from bayesgen.errors.arguments import not_one_of
from bayesgen.errors.operations import unsupported
from bayesgen.estimators.fitted import Fitted
from bayesgen.estimators.judged_rows import LOSS
from bayesgen.estimators.stack.interactions import relative_scores
from bayesgen.estimators.stack.weighed import WeighedStack
from bayesgen.estimators.training_rows import TableEncoder
from bayesgen.inference import Mixture, Posterior, Report
from bayesgen.inference.leave_one_out import LabelledRows
from bayesgen.inference.mixture import MemberScores
from bayesgen.inference.relative_density import RelativeDensity
from bayesgen.inference.scores import normalized
from bayesgen.interactions import NONE, Interactions
from bayesgen.model import Reader
from bayesgen.predict import ReadRows
from bayesgen.prevalence import LeftOutRows, Prevalence
from bayesgen.schema import Reading
from bayesgen.table import Name, Table, concatenated, read_table, with_column
from bayesgen.typing import (
    DataFrame,
    DataTree,
    ELPDData,
    Encoded,
    Joint,
    Keys,
    Labels,
    Membership,
    Self,
    Traceable,
    Weights,
)

EXCESS = 0.9
"""Nats by which the leave-one-out score of a stack exceeds that of refits, in all: .02 to .04 a row
with 30 rows."""


@dataclasses.dataclass(frozen=True, eq=False)
class Members:
    """The fitted members of a stack, which read the same tables, and its interactions.

    split: those whose blocks are terms of a log-linear pool, in addition to all members.
    """

    by_name: Mapping[str, Fitted]
    split: tuple[str, ...]
    interactions: Interactions = NONE

    def mixture(self, weights: np.ndarray, probabilities: np.ndarray, report: Report) -> Mixture:
        """Return the weighted mean of their posteriors.

        probabilities: of each, that it is nearest to the truth.
        """
        reader, joint = self.interactions.reads, self.interactions.joint
        densities = self._with_density(weights[: len(self.by_name)])
        parts = {name: member.posterior for name, member in self.by_name.items()}
        members = zip(densities, self.by_name.values(), strict=True)
        imputers = tuple(dense and member.imputes for dense, member in members)
        pairs = self.interactions.pairs
        terms, reads = ({reader: pairs} if pairs else {}), {}
        if joint is not None:
            log_class, reads = parts[reader].log_classes(), {joint.title: reader}
            parts[joint.title] = Posterior(RelativeDensity(Reader({}), report, joint, log_class))
            densities, imputers = (*densities, False), (*imputers, False)
        return Mixture(
            *(Reader({}), report, parts, weights, probabilities, densities, imputers),
            *(self.split, terms, reads),
        )

    def _with_density(self, weights: np.ndarray) -> tuple[bool, ...]:
        """Return which members have a density over the same columns: those of p(x).

        Densities over other columns, over indicators derived from levels, or over counts where
        other members model numbers have different units, so a mean of them is not a density. p(x)
        is defined by the largest set of members that read columns alike, ties being broken by
        weight; where no member reads columns one by one, by all.
        """
        columns = [member.density_columns for member in self.by_name.values()]
        weight = dict.fromkeys(columns, 0.0)
        for key, share in zip(columns, weights.tolist(), strict=True):
            weight[key] += share
        best = max(weight, key=lambda key: (len(key), weight[key]))
        return tuple(key == best for key in columns)

    def encode(self, table: Table, raw: Callable[[], object]) -> dict[str, Traceable]:
        """Return the rows of a table by "member/block"; shared encodings are computed once.

        It is here that levels meet those of the fit: members warn of those that it had not, once.

        raw: the same rows as they were passed, for programs of the user's own.
        """
        encoder, encoded = TableEncoder(table), {}
        with deduplicate_warnings():
            for name, member in self.by_name.items():
                own = member.own_table(table, raw)
                alike = encoder if own is table else TableEncoder(own)
                rows = alike.encode(member.schema, member.unseen, member.estimator)
                encoded |= {f"{name}/{block}": x for block, x in rows.items()}
        return encoded

    # -- cells -------------------------------------------------------------------------------------

    def cells(self, columns: tuple[Name, ...], what: str) -> dict[Name, explain.Cell]:
        """Return the encoded positions of columns, and of their missing pattern, in every member.

        what: the method that needs them. Raises if a program of the user's own is a member.
        """
        places: dict[Name, list[explain.Place]] = {name: [] for name in columns}
        patterns: dict[Name, tuple[Name, list[explain.Place]]] = {}
        for name, member in self.by_name.items():
            positions, derived = member.state.column_positions(), member.derived
            if not positions:
                raise unsupported(
                    f"{what} of a stack with the member {name!r}",
                    "a program of your own reads a row as a whole, so single cells cannot be "
                    "removed",
                    "Leave it out of members=, or read the columns by likelihoods.",
                )
            for column, (block, j) in positions.items():
                source = derived[column].name if column in derived else column
                places.setdefault(source, []).append((f"{name}/{block}", j))
            for source, (column, (block, j)) in member.state.pattern_positions().items():
                if member.posterior.components.selection(block).reads(j):
                    patterns.setdefault(source, (column.name, []))[1].append((f"{name}/{block}", j))
        cells: dict[Name, explain.Cell] = {}
        for column, cell in places.items():
            if cell:
                cells[column] = tuple(cell)
            if column in patterns:
                pattern, cell = patterns[column]
                cells[pattern] = tuple(cell)
        return cells

    def imputable(self, rows: explain.Rows, imputers: tuple[bool, ...], what: str) -> "StackRows":
        """Return rows whose missing cells can be imputed; raise if no member can.

        imputers: which members can. what: the method that needs the rows.
        """
        # a forest, the last of them, fills no cell
        able = [name for name, fills in zip(self.by_name, imputers, strict=False) if fills]
        if not able:
            raise unsupported(
                f"{what} of this stack",
                "no member models the distribution of the missing cells of a row",
                "Add one that reads the columns as they are, such as bg.NaiveBayes().",
            )
        columns: dict[Name, list[tuple[explain.Place, Reading]]] = {}
        for name in able:
            state = self.by_name[name].state
            for column, (block, j) in state.column_positions().items():
                place = (f"{name}/{block}", j), state.schema.blocks[block][j]
                columns.setdefault(column, []).append(place)
        return StackRows(
            rows.posterior,
            rows.encoded,
            rows.n_rows,
            rows.table,
            self.by_name[able[0]].state.schema,
            rows.cells,
            columns,
            self,
        )


@dataclasses.dataclass(frozen=True, eq=False)
class StackRows(explain.Rows):
    """Rows encoded for all members of a stack, with substitution of column values.

    columns: the encoded positions and kinds of the columns whose cells can be imputed.
    """

    columns: Mapping[Name, list[tuple[explain.Place, Reading]]]
    members: Members

    def places(self, name: Name) -> list[tuple[explain.Place, Reading]]:
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
        return self.decoded_column(encoded, name, in_units=True)

    def decoded_values(self, name: Name, values: np.ndarray) -> np.ndarray:
        """Return cells of a column as the user's own, which numbers are already."""
        return values if self.kind(name) == "numbers" else super().decoded_values(name, values)

    def with_values(self, rows: np.ndarray, name: Name, values: np.ndarray) -> Encoded:
        """Return some of the encoded rows with other values or level codes in one column."""
        levels: tuple = self.places(name)[0][1].levels or self.listed(name)
        if levels and not any(isinstance(level, str | bool) for level in levels):
            # whole numbers, which other members may read as such
            values, levels = np.array(levels)[values], ()
        column = self.missing()[name][0]
        table = with_column(self.table.take(rows), column, values, levels)
        # encoding the rows has warned of levels that were not seen at fit
        with deduplicate_warnings(BayesgenWarning):
            return self.members.encode(table, lambda: None)


@dataclasses.dataclass(frozen=True, eq=False)
class FittedStack(Fitted):
    """Fitted members.

    state: of the first one. members: all. weighed: what was learned of them. columns: those of the
    table.
    """

    members: Members = dataclasses.field(kw_only=True)
    weighed: WeighedStack = dataclasses.field(kw_only=True)
    columns: tuple[Name, ...] = dataclasses.field(kw_only=True)

    @classmethod
    def of(
        cls, by_name: Mapping[str, Fitted], weighed: WeighedStack, unseen: str, estimator: str
    ) -> "FittedStack":
        """Return fitted members, weighed.

        Args:
            by_name: the members.
            weighed: what was learned of them.
            unseen: what becomes of new levels.
            estimator: the name of the classifier in sentences.
        """
        members = Members(by_name, weighed.split, weighed.interactions)
        weights, probabilities = (
            np.array(list(of_members.values()))
            for of_members in (weighed.weights, weighed.probabilities or weighed.weights)
        )
        mixture = members.mixture(weights, probabilities, weighed.report)
        names = (tuple(member.schema.names) for member in by_name.values())
        return cls(
            next(iter(by_name.values())).state,
            weighed.class_prior,
            Posterior(mixture, weighed.readout),
            unseen=unseen,
            estimator=estimator,
            left_out=weighed.left_out,
            members=members,
            weighed=weighed,
            columns=next((columns for columns in names if columns), ()),
        )

    # -- the same, otherwise -----------------------------------------------------------------------

    def with_report(self, report: Report) -> Self:
        """Return the model with another report."""
        weighed = self.weighed.with_report(report)
        return dataclasses.replace(super().with_report(report), weighed=weighed)

    def with_class_prior(self, class_prior: Spec | Prevalence) -> "FittedStack":
        """Return the same model under other class probabilities, those of every member."""
        members = {
            name: member.with_class_prior(class_prior)
            for name, member in self.members.by_name.items()
        }
        if isinstance(class_prior, Prevalence):
            class_prior = class_prior.draws.mean(axis=0)
        weighed = self.weighed.with_class_prior(class_prior)
        return FittedStack.of(members, weighed, self.unseen, self.estimator)

    # -- rows as the members read them -------------------------------------------------------------

    def log_evidence(self) -> float:
        """Raise: the evidence is that of one model.

        Raises:
            NoAttribute: always.
        """
        raise NoAttribute(
            "log_evidence_ belongs to one model, but a stack combines several, weighted by "
            "leave-one-out. Read it from the members: stack.members_['name'].log_evidence_, or "
            "compare stack.loo()."
        )

    def origins(self) -> dict[str, np.ndarray]:
        """Return the offsets that encoding subtracts from columns, by "member/block"."""
        return {
            f"{name}/{block}": origin
            for name, member in self.members.by_name.items()
            for block, origin in member.origins().items()
        }

    @property
    def names(self) -> list[Name]:
        """The columns that any member reads."""
        return list(dict.fromkeys(n for m in self.members.by_name.values() for n in m.names))

    @property
    def parts(self) -> tuple[Fitted, ...]:
        """The members."""
        return tuple(self.members.by_name.values())

    @property
    def derived(self) -> dict[Name, Reading]:
        """No column: cells are imputed by members that read the columns as they are."""
        return {}

    def read(self, table: Table, raw: Callable[[], object] | None = None) -> ReadRows:
        """Return rows as the members read them; arguments as `Fitted.read`."""
        encoded = self.members.encode(table, raw or (lambda: None))
        return ReadRows(self.posterior, encoded, table.n_rows)

    def cells(self, what: str) -> dict[Name, explain.Cell]:
        """Return the encoded positions of each column, and of its missing pattern beside it."""
        return self.members.cells(self.columns, what)

    def pattern_blocks(self) -> list[str]:
        """Return the blocks of encoded rows that hold the missing pattern."""
        members = self.members.by_name.items()
        return [f"{name}/{block}" for name, m in members for block in m.state.pattern_blocks()]

    def imputable(
        self, table: Table, what: str, raw: Callable[[], object] | None = None
    ) -> "StackRows":
        """Return rows whose missing cells some member can impute; see `Fitted.imputable`."""
        rows = self.rows_of_cells(table, what, raw)
        imputers = cast(Mixture, self.posterior.components).imputers
        return self.members.imputable(rows, imputers, what)

    # -- simulated rows, and parameters ------------------------------------------------------------

    def sampled(
        self, n: int, random_state: object, own: int | None = None, *, gaps: bool = True
    ) -> tuple[object, Labels]:
        """Return n rows and class codes, each row drawn from one member; see `Fitted.sampled`.

        Members with a density over the columns are drawn with probability proportional to their
        weights, or, of rows of one class, to these times P(class given data).
        """
        shares = cast(Mixture, self.posterior.components).density_shares(own)
        shares = shares[: len(self.members.by_name)]  # a forest, the last one, has no density
        rng = check_random_state(arguments.seed(random_state))
        counts = rng.multinomial(n, shares)
        parts = [
            member.sampled(int(count), rng, own, gaps=gaps)
            for member, count in zip(self.members.by_name.values(), counts, strict=True)
            if count
        ]
        tables, codes = zip(*parts, strict=True)
        return concatenated(tables), np.concatenate(codes)

    def simulated(self, n: int, seed: int) -> Encoded:
        """Return n encoded rows of the posterior predictive, without missing cells."""
        rows, _ = self.sampled(n, seed, gaps=False)
        return self.read(read_table(rows), lambda: rows).encoded

    def dependence(self) -> DataFrame | None:
        """Return how probably columns depend on the class, of the first member that learned it."""
        frames = (member.dependence() for member in self.members.by_name.values())
        return next((frame for frame in frames if frame is not None), None)

    def summary(
        self, random_state: object, draws: int, options: dict, member: str | None = None
    ) -> DataFrame:
        """Return the members, the greatest weight first, or the parameters of one of them.

        Raises:
            InvalidArgument: no member has this name, or options without one.
        """
        members = self.members.by_name
        if member is not None:
            if not isinstance(member, str) or member not in members:
                raise not_one_of("member", member, list(members))
            table = members[member].summary(random_state, draws, options)
            return diagnose.StackSummary(table)
        for option in options:
            raise InvalidArgument(
                "summary() of a stack is about its members, and {option}= about parameters.",
                "Name a member: summary(member={name!r}, {option}=...).",
                option=option,
                name=next(iter(members)),
            )
        columns = ["weight", "leave_one_out_log_loss", "log_linear_weight", "log_evidence"]
        table = self.members_table()[columns]
        by_weight = table.sort_values("weight", ascending=False, kind="stable")
        return diagnose.StackSummary(by_weight)

    def members_table(self) -> DataFrame:
        """Return the members and interactions; see `StackedClassifier.members_table`."""
        details, weights = self.weighed.report.details, dict(self.weighed.weights)
        loss, evidence = {name: details[f"{LOSS} of {name}"] for name in weights}, {}
        for name, member in self.members.by_name.items():
            with contextlib.suppress(NoAttribute):
                if not member.derived:
                    evidence[name] = member.log_evidence()
        log_linear = self.weighed.pair_weights
        names = list(log_linear or weights)
        return diagnose.table_of_members(names, loss, evidence, weights, log_linear)

    def datatree(
        self,
        encoded: Encoded,
        y: Labels,
        random_state: object,
        draws: int,
        replicates: int | str,
    ) -> DataTree:
        """Return an arviz DataTree of the weights, and of each member's tree, by its name."""
        cells = cast(Mixture, self.posterior.components).by_member(encoded)
        trees = {
            name: member.datatree(cells[name], y, random_state, draws, replicates)
            for name, member in self.members.by_name.items()
        }
        return diagnose.trees_of_members(trees, dict(self.weighed.weights))

    def functions(self, name: str) -> list[str]:
        """Return the functions of members, with a comment in place of those that have none."""
        parts = []
        for member, fitted in self.members.by_name.items():
            try:
                parts += fitted.functions(f"{name}_{member}")
            except BayesgenError as error:
                parts.append(f"# {member}: {error}")
        return parts

    # -- leave-one-out -----------------------------------------------------------------------------

    def loo(self, rows: LabelledRows, kind: str) -> DataFrame | ELPDData:
        """Return leave-one-out log densities, with a warning where they are to be compared."""
        if kind == "elpd":
            n_rows = int((rows.weight > 0).sum())
            warn(
                BayesgenWarning(
                    "the weights and powers of a stack were learned from the rows that loo() "
                    "leaves out, so its elpd is too high compared with single models, by about "
                    "{excess:.3f} nats a row with {n_rows:rows}.",
                    "Cross-validate with bg.compare({{'stack': bg.StackedClassifier()}}, X, y).",
                    excess=EXCESS / n_rows,
                    n_rows=n_rows,
                )
            )
        return super().loo(rows, kind)

    def log_densities(self, rows: LabelledRows) -> diagnose.LeaveOneOut:
        """Return the log densities of the rows of the fit, each given the others.

        Weights and powers stay.
        """
        mixture = cast(Mixture, self.posterior.components)
        left_out, interactions = {}, self.members.interactions
        by_member, gone = mixture.by_member(rows.encoded), rows.left_out
        y, away = gone.y, interactions.unit * gone.away
        cells = mixture.by_member(gone.encoded)
        for name, member in self.members.by_name.items():
            posterior = mixture.members[name]
            own = dataclasses.replace(rows, encoded=by_member[name])
            scores = member.leave_one_out(own)
            left_out[name] = MemberScores(scores, posterior.readout)
        if (joint := interactions.joint) is not None:
            log_density = joint.left_out(cells[joint.title], y, away)
            scores = left_out[interactions.reads].scores
            left_out[joint.title] = relative_scores(log_density, scores)
        of_pairs = mixture.of_terms(cells, lambda term, x: term.left_out(x, y, away))
        stacked = mixture.scores_from(left_out, of_pairs)
        return diagnose.LeaveOneOut(self.posterior.log_joint_from(stacked))


def left_out_rows(
    posterior: Posterior,
    judgements: Mapping[str, MemberScores],
    of_pairs: Sequence[Joint],
    y: Membership,
    weight: Weights,
    keys: Keys,
) -> LeftOutRows:
    """Return predictions of the rows that judge members, each from the others.

    They are under even class probabilities; weights, powers and the pool are those learned from all
    rows.

    Args:
        posterior: of the stack.
        judgements: what each member predicts of the rows.
        of_pairs: what each pair of columns says of them.
        y: classes of the rows.
        weight: of the rows.
        keys: of the rows by content, which tell them from rows that were not in the fit.
    """
    n_classes = len(posterior.log_classes())
    even = dict.fromkeys(judgements, np.full(n_classes, -np.log(n_classes)))
    log_proba = _under_classes(posterior, judgements, of_pairs, even)
    return LeftOutRows.of(log_proba, y, weight, keys)


def loss_under_prior(
    posterior: Posterior,
    judgements: Mapping[str, MemberScores],
    of_pairs: Sequence[Joint],
    y: Membership,
    weight: Weights,
) -> float:
    """Return the log loss of the rows that judge members in a population of stated frequencies.

    Args:
        posterior: of the stack, under the class probabilities that are stated.
        judgements: what each member predicts of the rows, under any.
        of_pairs: what each pair of columns says of them.
        y: classes of the rows.
        weight: of the rows.
    """
    members = cast(Mixture, posterior.components).members.items()
    stated = {name: member.log_classes() for name, member in members}
    log_proba = _under_classes(posterior, judgements, of_pairs, stated)
    frequencies = np.exp(posterior.log_classes())
    codes = range(len(frequencies))
    return log_loss_at(y, log_proba, codes, frequencies=frequencies, weight=weight)


def _under_classes(
    posterior: Posterior,
    judgements: Mapping[str, MemberScores],
    of_pairs: Sequence[Joint],
    log_classes: Mapping[str, Float[np.ndarray, " class"]],
) -> Joint:
    """Return log class probabilities of judged rows, with those of classes of each member."""
    under = {name: scores.under_classes(log_classes[name]) for name, scores in judgements.items()}
    mixture = cast(Mixture, posterior.components)
    return normalized(posterior.log_proba(mixture.scores_from(under, of_pairs)))
