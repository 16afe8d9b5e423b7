"""Fits to labeled and unlabeled rows: choice of inference, and its inputs."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import NoReturn, cast

import numpy as np
from jaxtyping import Float, Int

from bayesgen.arguments import is_number
from bayesgen.classes import Spec, require_possible
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
from bayesgen.estimators.judged_rows import judged_rows
from bayesgen.estimators.likelihood_checks import check_encoded
from bayesgen.estimators.training import TrainingState
from bayesgen.estimators.training_rows import UNLABELLED, TrainingRows, joined
from bayesgen.inference import (
    MAP,
    MLE,
    NUTS,
    Augmentation,
    Draws,
    Exact,
    Expected,
    Method,
    choose,
    method_of,
)
from bayesgen.inference import unlabelled_rows as unlabelled
from bayesgen.inference.leave_one_out import LabelledRows, leave_one_out
from bayesgen.inference.unlabelled_draws import sampled
from bayesgen.inference.unlabelled_rows import (
    ROWS,
    WEIGHT,
    ExpectedLabels,
    Inferred,
    UnlabelledRows,
    first_shares,
)
from bayesgen.inference.unlabelled_weights import learned, own_logs
from bayesgen.likelihoods.remainder import is_whole
from bayesgen.problem import Problem
from bayesgen.typing import Joint, Weights

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
) -> tuple[TrainingState, Inferred]:
    """Return the state and what inference made of labeled and unlabeled rows.

    The state has what is expected of the unlabeled rows. Warns of doubtful results.

    Args:
        state: of the labeled rows.
        seen: all rows, of every call that kept them.
        inference: the inference= argument.
        prior: of the classes.
        weight: of an unlabeled row.
        seed: of simulated draws.
        unseen: the argument of the classifier.
    """
    if all(rows.unlabelled is None for rows in seen):
        components = state.infer(inference, prior, seed)
        if seen:
            missing_pattern_warning.warn_of(state, prior, seen[-1])
        return state, Inferred(components)
    rows = _unlabelled_rows(state, seen, unseen)
    if not state.likelihoods:
        # of a program of the user's own
        components = state.infer(inference, prior, seed)
        labels = unlabelled.mean_labels(cast(Draws, components), rows.encoded, rows.n_rows)
        details = {ROWS: float(rows.n_rows), WEIGHT: stated_weight(weight)}
        components.report.details.update(details)
        return state, Inferred(components, labels)
    for name, part in state.likelihoods.items():
        if part.keeps_rows:
            refuse(
                f"{part.title} of block {name!r}", "its density rests on labeled rows themselves"
            )
    method = _method(inference, state, weight, rows)
    require_possible(prior, state.classes)
    problem = state.problem(prior)
    with state.naming_columns(problem):
        shares = first_shares(problem, rows)
        guesses = state.statistics + rows.statistics(state.likelihoods, shares)
        completed = dataclasses.replace(state, unlabelled=ExpectedLabels(guesses))
        judged = judged_rows(seen, state.classes, len(state.schema.used()))
        labelled = state.labelled(seen, unseen).judging(judged.rows)
        given_all = _Inference(completed, prior, rows, labelled, judged.weight, seed)
        state, inferred = given_all.fit(method, weight)
    state.warn_of(inferred.components)
    return state, inferred


def stated_weight(weight: Weight) -> float:
    """Return the weight of unlabeled rows for a program of the user's own.

    Raises:
        UnsupportedOperation: it is not stated.
    """
    if isinstance(weight, str):
        why = "their weight is learned by leave-one-out, which needs a closed form"
        refuse("story=", why, "State it: unlabelled=1.")
    return float(cast(float, weight))


def distributions(seen: Sequence[TrainingRows], classes: np.ndarray, labels: Joint | None) -> Joint:
    """Return P(y_i = k given all rows) of rows with a label and without.

    labels: those of the rows without one, in order; None: there are none.

    Raises:
        NoAttribute: no rows were kept.
    """
    if not seen:
        raise NoAttribute(
            "label_distributions_ and transduction_ describe the rows of the fit, and a "
            "classifier that was fitted in parts, copied or loaded keeps none.",
            "Call fit with all rows.",
        )
    codes = np.concatenate([rows.codes_among(classes) for rows in seen])
    out = (codes[:, None] == np.arange(len(classes))).astype(float)
    if labels is not None:
        out[codes == UNLABELLED] = labels
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
    expected = isinstance(weight, str) or not is_whole((weight or 0.0) * rows.weight)
    if expected and isinstance(method, Augmentation):
        cure = "Use inference='expected', or unlabelled=1."
        refuse(f"inference={inference!r}", "labels are drawn at whole weights alone", cure)
    expected |= automatic and bool(weight) and rows.n_rows > MOST_SAMPLED
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
    calls = [rows.unlabelled for rows in seen if rows.unlabelled is not None]
    encoded = joined([rows.encode(state.schema, unseen) for rows in calls])
    check_encoded(encoded, state.schema, state.likelihoods, 0)
    n_levels = {name: state.schema.n_levels(name) for name in state.likelihoods}
    weight = np.concatenate([rows.weight for rows in calls])
    return UnlabelledRows(encoded, weight, len(state.classes), n_levels)


@dataclasses.dataclass(frozen=True, eq=False)
class _Inference:
    """Inference from labeled and unlabeled rows, the model completed from all of them.

    state: of the labeled rows, with the statistics that complete guesses. prior: of the classes.
    rows: those without a label. labelled: those with a label that were kept, of which some judge.
    weight: of the judges. seed: of draws.
    """

    state: TrainingState
    prior: Spec
    rows: UnlabelledRows
    labelled: LabelledRows
    weight: Weights
    seed: int

    @functools.cached_property
    def problem(self) -> Problem:
        """The problem of the labeled rows."""
        return self.state.problem(self.prior)

    @functools.cached_property
    def judges(self) -> LabelledRows:
        """The labeled rows that judge, with their weights as judges."""
        return dataclasses.replace(self.labelled.left_out, weight=self.weight)

    @functools.cached_property
    def few(self) -> Int[np.ndarray, " few"]:
        """The classes of fewer than two labeled rows, by position."""
        count = np.bincount(self.labelled.y, minlength=len(self.state.classes))
        return np.flatnonzero(count < 2)

    def fit(self, method: Method, weight: Weight) -> tuple[TrainingState, Inferred]:
        """Return state and inference under a stated weight of unlabeled rows, or a learned one."""
        best = self
        if weight == LEARN and len(self.few):
            warn(
                UnlabelledHurts(
                    "class {label!r} has fewer than two labeled rows, too few to learn the weight "
                    "of unlabeled rows, which are therefore used only for prior guesses.",
                    Cure(
                        "Label more rows, or state their weight: unlabelled=0.1.",
                        "Label more rows, or state their weight: --unlabelled 0.1.",
                    ),
                    label=self.state.classes[self.few[:1]].tolist()[0],
                )
            )
            weight = 0.0
        if isinstance(weight, str):
            best = self.with_likelier_guesses()
            draws = method.draws if isinstance(method, Exact | Expected) else Expected.draws
            inferred = learned(Expected(draws), best.problem, self.judges, self.rows, self.seed)
        else:
            weight = float(weight or 0.0)
            inferred = self.inferred(method, weight)
            details = {ROWS: float(self.rows.n_rows), WEIGHT: weight}
            inferred.components.report.details.update(details)
        guesses = cast(ExpectedLabels, best.state.unlabelled).guesses
        return dataclasses.replace(self.state, unlabelled=inferred.expected(guesses)), inferred

    def with_likelier_guesses(self) -> "_Inference":
        """Return the inference with guesses from labeled rows alone, if these predict better.

        Labeled rows judge, each left out, and guesses from labeled rows are completed without it.
        Under a wrong model unlabeled rows can be harmful as guesses already: naive Bayes of crabs
        with 10 labels a class lost .16 nat by them at a weight near 0.
        """
        alone = dataclasses.replace(self.state, unlabelled=None)
        scores = alone.leave_one_out(self.prior, self.labelled)
        gain = own_logs(scores, self.judges) - self._left_out_logs(self.problem)
        if gain @ self.weight <= STRONG:
            return self
        state = dataclasses.replace(alone, unlabelled=ExpectedLabels(alone.statistics))
        return dataclasses.replace(self, state=state)

    def inferred(self, method: Method, weight: float) -> Inferred:
        """Return what a method makes of the rows at a stated weight of those without a label."""
        problem, rows, seed = self.problem, self.rows.times(weight), self.seed
        shares = first_shares(problem, rows)
        if not weight:
            added = rows.statistics(problem.model.blocks, shares)
            components = choose(method, problem).infer(problem, seed)
            return Inferred(components, shares, (added,))
        if isinstance(method, MLE | MAP):
            return unlabelled.estimate(method, problem, rows, shares)
        maximum = unlabelled.maximize(MAP(), problem, rows, shares)
        added = rows.statistics(problem.model.blocks, maximum.shares)
        self._warn_of_harm(problem.plus(added), weight)
        if isinstance(method, Expected):
            closed = method.infer(problem.plus(added), seed)
            report = unlabelled.reported(closed, rows.n_rows, maximum)
            closed = dataclasses.replace(closed, report=report)
            return Inferred(closed, maximum.shares, (added,))
        sampler = method if isinstance(method, Augmentation) else Augmentation(method.draws)
        inferred = sampled(sampler, problem, rows, seed)
        return dataclasses.replace(inferred, added=(added,))

    def _left_out_logs(self, problem: Problem) -> Float[np.ndarray, " judge"]:
        """Return log P(y_i given x_i, the other rows of a problem) of the judges."""
        return own_logs(leave_one_out(problem, self.judges), self.judges)

    def _warn_of_harm(self, whole: Problem, weight: float) -> None:
        """Warn if labeled rows left out are predicted worse than without unlabeled rows.

        Labeled rows of earlier calls may not have been kept; then nothing is judged.

        whole: the problem of all rows, expected labels in place of those that lack one. weight: of
            a row without a label.
        """
        kept, fitted = self.labelled.weight.sum(), self.problem.statistics.count.sum()
        if len(self.few) or not np.isclose(kept, fitted):
            return
        gap = self._left_out_logs(self.problem) - self._left_out_logs(whole)
        share = self.weight / self.weight.sum()
        loss = float(gap @ share)
        # standard error of a weighted mean
        error = float(np.sqrt(share**2 @ (gap - loss) ** 2))
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
