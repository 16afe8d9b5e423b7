"""Fits to labeled and unlabeled rows: choice of inference, and its inputs."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Literal, NoReturn, cast

import numpy as np
from jaxtyping import Float

from bayesgen.classes import Spec, require_possible
from bayesgen.errors import (
    BayesgenWarning,
    Cure,
    NoAttribute,
    UnlabelledHurts,
    Words,
    warn,
)
from bayesgen.errors.operations import unsupported
from bayesgen.errors.wording import shown
from bayesgen.estimators.fit import warn_of
from bayesgen.estimators.fitted import Fitted
from bayesgen.estimators.judged_rows import judged_rows, labelled_rows
from bayesgen.estimators.likelihood_checks import check_encoded
from bayesgen.estimators.state import TrainingState
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
    Posterior,
    choose,
    method_of,
)
from bayesgen.inference import unlabelled_rows as unlabelled
from bayesgen.inference.leave_one_out import LabelledRows, leave_one_out
from bayesgen.inference.unlabelled_rows import (
    ROWS,
    WEIGHT,
    ExpectedLabels,
    Inferred,
    UnlabelledRows,
    first_shares,
)
from bayesgen.inference.unlabelled_weights import learned, own_logs
from bayesgen.likelihoods.protocols import MaximumLikelihood
from bayesgen.membership import shares_of
from bayesgen.model import ModelStatistics
from bayesgen.problem import Problem
from bayesgen.typing import Joint

LEARN = "learn"
Weight = Literal["learn"] | float | int | None
"""The argument unlabelled=: "learn", the weight of an unlabeled row, or None: refuse such rows."""

WITHOUT_THEM = Cure(
    "Leave these rows out: keep = pandas.notna(y); fit({kept}).",
    "Leave these rows out of the file.",
)

STRONG = 3.0
"""Log-likelihood ratio, of labeled rows left out, from which guesses rest on labeled rows alone: 20
to 1, strong evidence (Kass and Raftery 1995, Journal of the American Statistical Association 90).
With 10 labels a class the mean log loss of naive Bayes on 15 tables was .648; .658 where guesses
always rest on all rows, .660 from a ratio of 1 on; .655 without unlabeled rows. (Weights were then
averaged in proportion to exp(score), and not stacked.)"""
HARM = 1.0
"""Standard errors by which labeled rows left out must lose for a warning."""


def semi_supervised(
    fitted: Fitted,
    seen: Sequence[TrainingRows],
    inference: str | Method,
    weight: Weight,
    seed: int,
) -> tuple[Fitted, Joint | None]:
    """Return the model of rows of which some have no label, and what these are expected to be.

    Its state has what is expected of them. Warns of doubtful results.

    Args:
        fitted: the model of the labeled rows, without a posterior.
        seen: all rows, of every call that kept them.
        inference: the inference= argument.
        weight: of an unlabeled row.
        seed: of simulated draws.
    """
    state, prior, unseen = fitted.state, fitted.class_prior, fitted.unseen
    if state.statistics.groups:
        refuse("groups=", "the priors of groups are guessed from labeled rows")
    rows = unlabelled_rows(state, seen, unseen)
    for name, part in state.likelihoods.items():
        if part.keeps_rows:
            refuse(
                f"{part.title} of block {name!r}", "its density rests on labeled rows themselves"
            )
    method = _method(inference, state, weight)
    require_possible(prior, state.classes)
    problem = state.problem(prior)
    with state.naming_columns(problem):
        shares = first_shares(problem, rows)
        guesses = state.statistics + rows.statistics(state.likelihoods, shares)
        completed = dataclasses.replace(state, unlabelled=ExpectedLabels(guesses))
        judged = judged_rows(seen, state.classes, len(state.schema.used()))
        labelled = labelled_rows(state, seen, unseen, judged)
        judges = dataclasses.replace(labelled.left_out, weight=judged.weight)
        few = np.flatnonzero(shares_of(labelled.y, len(state.classes)).sum(axis=0) < 2)
        if isinstance(weight, str) and len(few):
            warn(
                UnlabelledHurts(
                    "class {label!r} has fewer than two labeled rows, too few to learn the weight "
                    "of unlabeled rows, which are therefore used only for prior guesses.",
                    Cure(
                        "Label more rows, or state their weight: unlabelled=0.1.",
                        "Label more rows, or state their weight: --unlabelled 0.1.",
                    ),
                    label=state.classes[few[:1]].tolist()[0],
                )
            )
            weight = 0.0
        if isinstance(weight, str):
            completed = _with_likelier_guesses(completed, prior, labelled, judges)
            # other methods were refused
            closed_form = Expected(cast(Exact | Expected, method).draws)
            inferred = learned(closed_form, completed.problem(prior), judges, rows, seed)
        else:
            weight, problem = float(weight or 0.0), completed.problem(prior)
            inferred = _at_weight(method, inference, problem, rows.times(weight), seed)
            details = {ROWS: float(rows.n_rows), WEIGHT: weight}
            inferred.components.report.details.update(details)
            # rows of earlier calls may not have been kept: then nothing is judged
            all_kept = np.isclose(labelled.weight.sum(), state.statistics.count.sum())
            if weight and inferred.added and all_kept and not len(few):
                _warn_of_harm(problem, inferred.added[0], judges, details)
    guesses = cast(ExpectedLabels, completed.unlabelled).guesses
    expected = ExpectedLabels(guesses, inferred.added, inferred.shares)
    state = dataclasses.replace(state, unlabelled=expected)
    warn_of(state, inferred.components)
    posterior = Posterior(inferred.components)
    return dataclasses.replace(fitted, state=state, inferred=posterior), inferred.labels


def of_program(
    fitted: Fitted, seen: Sequence[TrainingRows], weight: Weight
) -> tuple[Fitted, Joint]:
    """Return the fitted program of a user's own, and what rows without a label are expected to be.

    Args:
        fitted: the program, which has summed over their classes.
        seen: all rows.
        weight: of an unlabeled row.
    """
    rows = unlabelled_rows(fitted.state, seen, fitted.unseen)
    draws = cast(Draws, fitted.posterior.components)
    labels = unlabelled.mean_labels(draws, rows.encoded, rows.n_rows)
    details = {ROWS: float(rows.n_rows), WEIGHT: stated_weight(weight)}
    return fitted.with_details(details), labels


def stated_weight(weight: Weight) -> float:
    """Return the weight of unlabeled rows for a program of the user's own.

    Raises:
        UnsupportedOperation: it is not stated.
    """
    if isinstance(weight, str):
        why = "their weight is learned by leave-one-out, which needs a closed form"
        refuse("story=", why, "State it: unlabelled=1.")
    return float(cast(float, weight))


def distributions(
    seen: Sequence[TrainingRows],
    classes: np.ndarray,
    labels: Float[np.ndarray, "unlabelled class"] | None,
) -> Joint:
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
    shares = [shares_of(rows.membership(classes), len(classes)) for rows in seen]
    out, codes = np.concatenate(shares), np.concatenate([rows.codes for rows in seen])
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


def _method(inference: str | Method, state: TrainingState, weight: Weight) -> Method:
    """Return the method for an inference= argument: closed forms rest on expected labels."""
    automatic = isinstance(inference, str) and inference == "auto"
    method = Exact() if automatic else method_of(inference)
    for part in state.likelihoods.values():
        no_maximum = isinstance(method, MLE) and not isinstance(part, MaximumLikelihood)
        if no_maximum or not part.conjugate:
            refuse(part.title, "it has no closed form")
    if isinstance(method, NUTS) or (weight and isinstance(method, Augmentation)):
        why = "posterior draws sum over their classes only in programs of your own"
        cure = Cure(
            "Use inference='auto', which replaces their labels by expected ones.",
            "Use --inference auto, which replaces their classes by expected ones.",
        )
        name = "nuts" if isinstance(method, NUTS) else "augmentation"
        refuse(Words(f"inference={shown(inference)}", f"--inference {name}"), why, cure)
    if isinstance(method, MLE | MAP) and method.solver == "svi":
        refuse("inference='svi'", "gradients do not sum over their classes", "Use inference='map'.")
    if weight == LEARN and isinstance(method, MLE | MAP):
        cure = Cure(
            "State it: unlabelled=1, or use inference='expected'.",
            "State it, such as --unlabelled 0.1, or leave --inference out.",
        )
        why = "their weight is learned by leave-one-out, which needs a closed form"
        python = f"unlabelled='learn' with inference={inference!r}"
        refuse(Words(python, f"--unlabelled learn with --inference {inference}"), why, cure)
    if not weight or not isinstance(method, Exact):
        return method
    if not automatic:
        warn(
            BayesgenWarning(
                "rows without a label rule out a closed form; their labels were replaced by "
                "expected ones{learned}{so}.",
                Cure(
                    "Pass inference='auto' to choose this without a warning.",
                    "Add --inference auto to choose this without a warning.",
                ),
                learned=", at weights learned from the labeled rows" * (weight == LEARN),
                so=Words(" (inference_ says so)", ""),
            )
        )
    return method if weight == LEARN else Expected(draws=method.draws)


def unlabelled_rows(
    state: TrainingState, seen: Sequence[TrainingRows], unseen: str
) -> UnlabelledRows:
    """Return the rows without a label as likelihoods read them."""
    calls = [rows.unlabelled for rows in seen if rows.unlabelled is not None]
    encoded = joined([rows.encode(state.schema, unseen) for rows in calls])
    check_encoded(encoded, state.schema, state.likelihoods, 0)
    n_levels = {name: state.schema.n_levels(name) for name in state.likelihoods}
    weight = np.concatenate([rows.weight for rows in calls])
    return UnlabelledRows(encoded, weight, len(state.classes), n_levels)


def _with_likelier_guesses(
    completed: TrainingState, prior: Spec, labelled: LabelledRows, judges: LabelledRows
) -> TrainingState:
    """Return the state with guesses from labeled rows alone, if these predict better.

    Labeled rows judge, each left out, and guesses from labeled rows are completed without it. Under
    a wrong model unlabeled rows can be harmful as guesses already: naive Bayes of crabs with 10
    labels a class lost .16 nat by them at a weight near 0.
    """
    alone = dataclasses.replace(completed, unlabelled=None)
    gain = own_logs(Fitted(alone, prior).leave_one_out(labelled), judges)
    gain -= _left_out_logs(completed.problem(prior), judges)
    if gain @ judges.weight <= STRONG:
        return completed
    return dataclasses.replace(alone, unlabelled=ExpectedLabels(alone.statistics))


def _left_out_logs(problem: Problem, judges: LabelledRows) -> Float[np.ndarray, " judge"]:
    """Return log P(y_i given x_i, the other rows of a problem) of the judges."""
    return own_logs(leave_one_out(problem, judges), judges)


def _at_weight(
    method: Method, inference: str | Method, problem: Problem, rows: UnlabelledRows, seed: int
) -> Inferred:
    """Return what a method makes of rows without a label at a stated weight.

    Args:
        method: for rows that weigh something.
        inference: the argument, which holds where they weigh nothing.
        problem: of the labeled rows.
        rows: that have no label.
        seed: of simulated draws.
    """
    shares = first_shares(problem, rows)
    if not rows.weight.any():
        added = rows.statistics(problem.model.blocks, shares)
        return Inferred(choose(inference, problem).infer(problem, seed), shares, (added,))
    if isinstance(method, MLE | MAP):
        return unlabelled.estimate(method, problem, rows, shares)
    maximum = unlabelled.maximize(MAP(), problem, rows, shares)
    # other methods were refused
    closed = cast(Expected, method).infer(problem.plus(maximum.added), seed)
    closed = dataclasses.replace(closed, report=unlabelled.reported(closed, maximum))
    return Inferred(closed, maximum.shares, (maximum.added,))


def _warn_of_harm(
    problem: Problem, added: ModelStatistics, judges: LabelledRows, details: Mapping[str, float]
) -> None:
    """Warn if labeled rows left out are predicted worse than without unlabeled rows.

    Args:
        problem: of the labeled rows.
        added: expected statistics of those that lack a label.
        judges: labeled rows that judge.
        details: number and weight of rows without a label, as in a report.
    """
    gap = _left_out_logs(problem, judges) - _left_out_logs(problem.plus(added), judges)
    share = judges.weight / judges.weight.sum()
    loss = float(gap @ share)
    # standard error of a weighted mean
    error = float(np.sqrt(share**2 @ (gap - loss) ** 2))
    if loss > HARM * error:
        warn(
            UnlabelledHurts(
                "with {count:,} unlabeled rows at weight {weight:g}, left-out labeled rows are "
                "predicted worse than without these, by {loss:.2g} nats per row: the model does "
                "not fit the unlabeled rows.",
                Cure("Use unlabelled='learn'.", "Use --unlabelled learn."),
                count=int(details[ROWS]),
                weight=details[WEIGHT],
                loss=loss,
            )
        )
