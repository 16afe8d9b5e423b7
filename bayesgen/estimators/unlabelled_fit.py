"""Fits to labeled and unlabeled rows: choice of inference, and its inputs."""

import dataclasses
from collections.abc import Sequence
from typing import NoReturn, cast

import numpy as np

from bayesgen.arguments import is_number
from bayesgen.classes import Spec, class_prior, require_possible
from bayesgen.errors import (
    BayesgenWarning,
    Cure,
    NoAttribute,
    UnlabelledHurts,
    Words,
    warn,
)
from bayesgen.errors.arguments import out_of_range
from bayesgen.errors.operations import unsupported
from bayesgen.estimators import missing_pattern_warning
from bayesgen.estimators.judged_rows import JudgedRows, judged_rows
from bayesgen.estimators.likelihood_checks import check_encoded
from bayesgen.estimators.training import TrainingState, raise_singular
from bayesgen.estimators.training_rows import UNLABELLED, TrainingRows, joined, one_each, together
from bayesgen.inference import (
    MAP,
    MLE,
    NUTS,
    Augmentation,
    Components,
    Draws,
    Exact,
    Expected,
    Method,
    choose,
    method_of,
)
from bayesgen.inference import unlabelled_rows as unlabelled
from bayesgen.inference import unlabelled_weights as weights
from bayesgen.inference.unlabelled_draws import sampled
from bayesgen.inference.unlabelled_rows import ROWS, WEIGHT, ExpectedLabels, UnlabelledRows
from bayesgen.inference.unlabelled_weights import LabelledRows
from bayesgen.likelihoods.remainder import is_whole
from bayesgen.model import ModelStatistics
from bayesgen.problem import Problem
from bayesgen.typing import Joint

LEARN = "learn"
Weight = str | float | int | None
"""The argument unlabelled=: "learn", the weight of an unlabeled row, or None: refuse such rows."""

WITHOUT_THEM = Cure(
    "Leave these rows out: keep = pandas.notna(y); fit(X[keep], y[keep]).",
    "Leave these rows out of the file.",
)

MOST_SAMPLED = 20_000
"""Unlabeled rows up to which inference="auto" samples labels: 4 x 1,200 sweeps of 10,000 rows of 10
columns take half a minute (measured)."""

STRONG = 3.0
"""Log-likelihood ratio, of labeled rows left out, from which guesses rest on labeled rows alone: 20
to 1, strong evidence (Kass and Raftery 1995, Journal of the American Statistical Association 90).
With 10 labels a class the mean log loss of naive Bayes on 15 tables was .648; .658 where guesses
always rest on all rows, .660 from a ratio of 1 on; .655 without unlabeled rows. (Weights were then
averaged in proportion to exp(score), and not stacked.)"""
HARM = 1.0
"""Standard errors by which labeled rows left out must lose for a warning."""


@dataclasses.dataclass(frozen=True, eq=False)
class UnlabelledFit:
    """The result of inference from labeled and unlabeled rows.

    state: with what was made of the unlabeled rows. components: of the posterior. labels: P(y = k
    given x_i) of the unlabeled rows, given all rows; None: every row has a label.
    """

    state: TrainingState
    components: Components
    labels: Joint | None = None


def checked_weight(weight: object) -> Weight:
    """Return the argument unlabelled=, validated.

    Raises:
        InvalidArgument: neither "learn", None nor a number of at least 0.
    """
    if weight is None or (isinstance(weight, str) and weight == LEARN):
        return weight
    if not (is_number(weight) and np.isfinite(weight) and weight >= 0):
        allowed = "'learn', None or a weight of at least 0"
        raise out_of_range("unlabelled", weight, allowed, "Pass unlabelled='learn'.")
    return weight


def infer(
    state: TrainingState,
    seen: Sequence[TrainingRows],
    inference: str | Method,
    prior: Spec,
    weight: Weight,
    seed: int,
    *,
    unseen: str,
) -> UnlabelledFit:
    """Return the posterior given labeled and unlabeled rows, with warnings about doubtful results.

    Args:
        state: of the labeled rows.
        seen: all rows, of every call that kept them.
        inference: the inference= argument.
        prior: of the classes.
        weight: of an unlabeled row.
        seed: of simulated draws.
        unseen: the argument of the classifier.
    """
    lacking = [rows.unlabelled for rows in seen if rows.unlabelled is not None]
    if lacking and not state.likelihoods:
        components = state.infer(inference, prior, seed)
        found = _of_program(components, lacking, state, float(cast(float, weight)), unseen)
        return UnlabelledFit(state, components, found)
    if not lacking:
        components = state.infer(inference, prior, seed)
        if seen:
            missing_pattern_warning.warn_of(state, prior, components.reader, seen[-1])
        return UnlabelledFit(state, components)
    for name, part in state.likelihoods.items():
        if part.keeps_rows:
            refuse(
                f"{part.title} of block {name!r}", "its density rests on labeled rows themselves"
            )
    rows = _unlabelled_rows(state, seen, unseen)
    method = _method(inference, state, weight, rows)
    require_possible(prior, state.classes)
    try:
        found = _Inference.of(state, seen, prior, rows, seed, unseen).result(method, weight)
    except np.linalg.LinAlgError as error:
        joint = [name for name, part in state.likelihoods.items() if part.joint]
        raise_singular(error, [c.name for name in joint for c in state.schema.blocks[name]])
    state.warn_of(found.components)
    return found


def stated_weight(weight: Weight) -> float:
    """Return the weight of unlabeled rows for a program of the user's own.

    Raises:
        UnsupportedOperation: it is not stated.
    """
    if isinstance(weight, str):
        why = "their weight is learned by leave-one-out, which needs a closed form"
        refuse("story=", why, "State it: unlabelled=1.")
    return float(cast(float, weight))


def _of_program(
    components: Components,
    lacking: Sequence[TrainingRows],
    state: TrainingState,
    weight: float,
    unseen: str,
) -> Joint:
    """Return P(y = k given x_i, theta) of unlabeled rows, averaged over the draws of a program."""
    encoded = joined([rows.encode(state.schema, unseen) for rows in lacking])
    n_rows = sum(len(rows.codes) for rows in lacking)
    components.report.details.update({ROWS: float(n_rows), WEIGHT: weight})
    return unlabelled.mean_labels(cast(Draws, components), encoded, n_rows)


def distributions(seen: Sequence[TrainingRows], classes: np.ndarray, found: Joint | None) -> Joint:
    """Return P(y_i = k given all rows) of rows with a label and without.

    found: that of the rows without one, in order; None: there are none.

    Raises:
        NoAttribute: no rows were kept.
    """
    if not seen:
        raise NoAttribute(
            "label_distributions_ and transduction_ describe the rows of the fit, and a "
            "classifier that was fitted in parts, copied or loaded keeps none.",
            "Call fit with all rows.",
        )
    every = np.concatenate([rows.codes_among(classes) for rows in seen])
    out = (every[:, None] == np.arange(len(classes))).astype(float)
    if found is not None:
        out[every == UNLABELLED] = found
    # a stack fits rows in another order
    call = np.repeat(np.arange(len(seen)), [len(rows.codes) for rows in seen])
    return out[np.lexsort((np.concatenate([rows.positions() for rows in seen]), call))]


def refuse(what: str | Words, why: str, cure: str | Cure = WITHOUT_THEM) -> NoReturn:
    """Refuse rows without a label."""
    raise unsupported(
        Words("rows without a label, and ", "rows without a class, and ") + what, why, cure
    )


def _method(
    inference: str | Method, state: TrainingState, weight: Weight, rows: UnlabelledRows
) -> Method:
    """Return the method for an inference= argument.

    Labels are drawn for whole rows; where a weight is a fraction, or learned, they are expected.
    """
    automatic = isinstance(inference, str) and inference == "auto"
    method = Exact() if automatic else method_of(inference)
    for part in state.likelihoods.values():
        if not part.conjugate:
            refuse(part.title, "it has no closed form")
    if isinstance(method, NUTS):
        why = "it sums over their classes in programs of your own alone"
        cure = Cure(
            "Use inference='auto', which draws their labels.",
            "Use --inference auto, which draws their labels.",
        )
        refuse(Words("inference='nuts'", "--inference nuts"), why, cure)
    if isinstance(method, MLE | MAP) and method.solver == "svi":
        refuse("inference='svi'", "gradients do not sum over their classes", "Use inference='map'.")
    if weight == LEARN and isinstance(method, MLE | MAP | Augmentation):
        cure = Cure(
            "State it: unlabelled=1, or use inference='expected'.",
            "State it, such as --unlabelled 0.1, or leave --inference out.",
        )
        why = "their weight is learned by leave-one-out, which needs a closed form"
        python = f"unlabelled='learn' with inference={inference!r}"
        refuse(Words(python, f"--unlabelled learn with --inference {inference}"), why, cure)
    if isinstance(weight, str) or not weight:
        expected = bool(weight)
    else:
        expected = not is_whole(weight * rows.weight)
        if expected and isinstance(method, Augmentation):
            cure = "Use inference='expected', or unlabelled=1."
            refuse(f"inference={inference!r}", "labels are drawn at whole weights alone", cure)
        if isinstance(method, Exact) and automatic and rows.n_rows > MOST_SAMPLED:
            expected = True
    if weight and isinstance(method, Exact) and not automatic:
        what = "the posterior was simulated by data augmentation"
        if expected:
            what = "their labels were replaced by expected ones"
            what += ", at weights learned from the labeled rows" * (weight == LEARN)
        warn(
            BayesgenWarning(
                "rows without a label have no closed form; {what}{so}.",
                Cure(
                    "Pass inference='auto' to choose this without a warning.",
                    "Add --inference auto to choose this without a warning.",
                ),
                what=what,
                so=Words(" (inference_ says so)", ""),
            )
        )
    if expected and isinstance(method, Exact) and weight != LEARN:
        return Expected(draws=method.draws)
    return method


def _unlabelled_rows(
    state: TrainingState, seen: Sequence[TrainingRows], unseen: str
) -> UnlabelledRows:
    """Return the rows without a label as likelihoods read them."""
    some = [rows.unlabelled for rows in seen if rows.unlabelled is not None]
    encoded, schema = joined([rows.encode(state.schema, unseen) for rows in some]), state.schema
    check_encoded(encoded, schema, state.likelihoods, 0)
    n_levels = {
        name: schema.n_levels(name) if part.kind == "levels" else ()
        for name, part in state.likelihoods.items()
    }
    weight = np.concatenate([rows.weight for rows in some])
    return UnlabelledRows(encoded, weight, len(state.classes), n_levels)


@dataclasses.dataclass(frozen=True, eq=False)
class _Inference:
    """Inference from labeled and unlabeled rows, the model completed from all of them.

    state: of the labeled rows. seen: all rows. prior: of the classes. guesses: statistics that
    completed the model. problem: of the labeled rows. rows: those without a label. seed: of draws.
    unseen: the argument of the classifier.
    """

    state: TrainingState
    seen: Sequence[TrainingRows]
    prior: Spec
    guesses: ModelStatistics
    problem: Problem
    rows: UnlabelledRows
    seed: int
    unseen: str

    @classmethod
    def of(
        cls,
        state: TrainingState,
        seen: Sequence[TrainingRows],
        prior: Spec,
        rows: UnlabelledRows,
        seed: int,
        unseen: str,
    ) -> "_Inference":
        """Complete the model; prior: of the classes."""
        count, origin = state.statistics.count, state.schema.origins()
        classes = class_prior(prior, state.classes, count, frequencies=False)
        likelihoods = {name: p.shifted(-origin[name]) for name, p in state.likelihoods.items()}
        guesses = unlabelled.guess_statistics(classes, likelihoods, state.statistics, rows)
        expected = ExpectedLabels(guesses, (), np.empty(0))
        problem = dataclasses.replace(state, unlabelled=expected).problem(prior)
        return cls(state, seen, prior, guesses, problem, rows, seed, unseen)

    def with_likelier_guesses(self) -> "_Inference":
        """Return the inference with guesses from labeled rows alone, if these predict better.

        Labeled rows judge, each left out, and guesses from labeled rows are completed without it.
        Under a wrong model unlabeled rows can be harmful as guesses already: naive Bayes of crabs
        with 10 labels a class lost .16 nat by them at a weight near 0.
        """
        alone, judged = dataclasses.replace(self.state, unlabelled=None), self._judged()
        problem, rows = alone.problem(self.prior), self._labelled()
        judges = dataclasses.replace(rows.at(judged.rows), weight=judged.weight)
        scores = alone.leave_one_out(
            self.prior,
            problem.reader,
            rows.encoded,
            rows.y,
            rows.weight,
            rows.away,
            judged=judged.rows,
        )
        other = weights.left_out(self.problem, judges)
        gain = weights.own_logs(scores, judges) - weights.own_logs(other, judges)
        if gain @ judges.weight <= STRONG:
            return self
        return dataclasses.replace(self, guesses=self.state.statistics, problem=problem)

    def result(self, method: Method, weight: Weight) -> UnlabelledFit:
        """Return the fit under a stated weight of unlabeled rows, or a learned one."""
        if not isinstance(weight, str):
            return self._stated(method, float(weight or 0.0))
        few = self._class_of_few()
        if few is not None:
            warn(
                UnlabelledHurts(
                    "class {label!r} has fewer than two labeled rows, too few to learn the weight "
                    "of unlabeled rows, which are therefore used only for prior guesses.",
                    Cure(
                        "Label more rows, or state their weight: unlabelled=0.1.",
                        "Label more rows, or state their weight: --unlabelled 0.1.",
                    ),
                    label=few,
                )
            )
            return self._without(method)
        own = Expected(draws=method.draws) if isinstance(method, Exact | Expected) else Expected()
        best = self.with_likelier_guesses()
        judges = self._judges()
        found = weights.learned(own, best.problem, best.guesses, judges, self.rows, self.seed)
        state = dataclasses.replace(self.state, unlabelled=found.expected)
        return UnlabelledFit(state, found.components, found.labels)

    def _stated(self, method: Method, weight: float) -> UnlabelledFit:
        """Return the fit at a stated weight."""
        if not weight:
            return self._without(method)
        rows, start, problem = self.rows.times(weight), self._start(), self.problem
        if isinstance(method, MLE | MAP):
            draws, labels = unlabelled.estimate(method, problem, rows, start)
            draws.report.details[WEIGHT] = weight
            return UnlabelledFit(self._with_added(), draws, labels)
        found = unlabelled.maximize(MAP(), problem, rows, start)
        added = rows.statistics(problem.reader.full, found.shares)
        self._warn_of_harm(added, weight)
        if not isinstance(method, Expected):
            own = method if isinstance(method, Augmentation) else Augmentation(draws=method.draws)
            draws, labels = sampled(own, problem, rows, self.seed)
            draws.report.details[WEIGHT] = weight
            return UnlabelledFit(self._with_added(added), draws, labels)
        closed = method.infer(problem.plus(added), self.seed)
        report = unlabelled.reported(closed, self.rows.n_rows, found)
        report.details[WEIGHT] = weight
        closed = dataclasses.replace(closed, report=report)
        return UnlabelledFit(self._with_added(added), closed, found.shares)

    def _without(self, method: Method) -> UnlabelledFit:
        """Return the fit at weight 0: unlabeled rows complete guesses alone."""
        start = self._start()
        components = choose(method, self.problem).infer(self.problem, self.seed)
        components.report.details.update({ROWS: float(self.rows.n_rows), WEIGHT: 0.0})
        none = self.rows.times(0.0).statistics(self.problem.reader.full, start)
        return UnlabelledFit(self._with_added(none), components, start)

    def _start(self) -> Joint:
        """Return P(y = k given x_i, labeled rows) of the unlabeled rows."""
        return unlabelled.first_shares(self.problem, self.rows)

    def _with_added(self, *added: ModelStatistics) -> TrainingState:
        """Return the state with expected statistics of the unlabeled rows."""
        expected = ExpectedLabels(self.guesses, added, np.ones(len(added)))
        return dataclasses.replace(self.state, unlabelled=expected)

    def _judges(self) -> LabelledRows:
        """Return the labeled rows that judge, at most as many as judge the missing pattern."""
        chosen = self._judged()
        return dataclasses.replace(self._labelled().at(chosen.rows), weight=chosen.weight)

    def _judged(self) -> JudgedRows:
        """Return these rows, by their positions among the labeled ones."""
        return judged_rows(self.seen, self.state.classes, len(self.state.schema.used()))

    def _labelled(self) -> LabelledRows:
        """Return all labeled rows."""
        parts = [rows.labelled.encode(self.state.schema, self.unseen) for rows in self.seen]
        codes, weight = together(self.seen, self.state.classes)
        return LabelledRows(joined(parts), codes, weight, one_each(weight))

    def _class_of_few(self) -> object | None:
        """Return the label of a class with fewer than two labeled rows, if there is one."""
        codes, _ = together(self.seen, self.state.classes)
        few = np.flatnonzero(np.bincount(codes, minlength=len(self.state.classes)) < 2)
        return self.state.classes[few[:1]].tolist()[0] if len(few) else None

    def _warn_of_harm(self, added: ModelStatistics, weight: float) -> None:
        """Warn if labeled rows left out are predicted worse than without unlabeled rows.

        Labeled rows of earlier calls may not have been kept; then nothing is judged.

        added: expected statistics of the unlabeled rows.
        """
        seen = together(self.seen, self.state.classes)[1].sum()
        fitted = self.problem.statistics.count.sum()
        if not np.isclose(seen, fitted) or self._class_of_few() is not None:
            return
        judges = self._judges()
        logs = [
            weights.own_logs(weights.left_out(problem, judges), judges)
            for problem in (self.problem, self.problem.plus(added))
        ]
        gap, own = logs[0] - logs[1], judges.weight / judges.weight.sum()
        loss = float(gap @ own)
        # standard error of a weighted mean
        error = float(np.sqrt(own**2 @ (gap - loss) ** 2))
        if loss > HARM * error:
            warn(
                UnlabelledHurts(
                    "with {count:,} unlabeled rows at weight {weight:g}, left-out labeled rows are "
                    "predicted worse than without them, by {loss:.2g} nats per row: the model does "
                    "not fit the unlabeled rows.",
                    Cure("Use unlabelled='learn'.", "Use --unlabelled learn."),
                    count=self.rows.n_rows,
                    weight=weight,
                    loss=loss,
                )
            )
