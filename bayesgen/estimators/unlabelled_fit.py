"""Fits to rows of which some have no label: which inference runs, and what it needs of them."""

import dataclasses
from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from bayesgen.arguments import is_number
from bayesgen.classes import Spec, class_prior, require_possible
from bayesgen.errors import (
    InvalidArgument,
    NoClosedForm,
    UnlabelledHurts,
    UnsupportedInference,
    warn,
)
from bayesgen.estimators.likelihood_checks import check_encoded
from bayesgen.estimators.training import (
    TrainingRows,
    TrainingState,
    joined,
    judges_of_pattern,
    one_each,
    raise_singular,
    together,
)
from bayesgen.inference import (
    MAP,
    MLE,
    NUTS,
    Augmentation,
    Exact,
    Expected,
    Method,
    Posterior,
    choose,
    method_of,
)
from bayesgen.inference import unlabelled_rows as unlabelled
from bayesgen.inference import unlabelled_weights as weights
from bayesgen.inference.unlabelled_draws import sampled
from bayesgen.inference.unlabelled_rows import ExpectedLabels, UnlabelledRows
from bayesgen.inference.unlabelled_weights import LabelledRows
from bayesgen.model import Model, ModelStatistics, Reader
from bayesgen.typing import Joint

LEARN = "learn"
Weight = str | float | int | None
"""The argument unlabelled=: "learn", the weight of an unlabeled row, or None: refuse such rows."""

MOST_SAMPLED = 20_000
"""Unlabeled rows up to which inference="auto" samples labels: 4 x 1,200 sweeps of 10,000 rows of 10
columns take half a minute (measured)."""

HARM = 1.0
"""Standard errors by which labeled rows left out must lose for a warning."""


@dataclasses.dataclass(frozen=True, eq=False)
class UnlabelledFit:
    """The result of inference from rows of which some have no label.

    state: with what was made of the unlabeled rows. posterior: of all. labels: P(y = k given x_i)
    of the unlabeled rows, given all rows.
    """

    state: TrainingState
    posterior: Posterior
    labels: Joint


def checked_weight(weight: object) -> Weight:
    """Return the argument unlabelled=, validated.

    Raises:
        InvalidArgument: neither "learn", None nor a number of at least 0.
    """
    if weight is None or (isinstance(weight, str) and weight == LEARN):
        return weight
    if not (is_number(weight) and np.isfinite(weight) and weight >= 0):
        allowed = "'learn', None or a weight of at least 0"
        raise InvalidArgument.out_of_range(
            "unlabelled", weight, allowed, "Pass unlabelled='learn'."
        )
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
        seen: all rows, of every call.
        inference: the inference= argument.
        prior: of the classes.
        weight: of an unlabeled row.
        seed: of simulated draws.
        unseen: the argument of the classifier.
    """
    for name, part in state.likelihoods.items():
        if part.keeps_rows:
            refuse(
                f"{part.title} of block {name!r}", "its density rests on labeled rows themselves"
            )
    method, rows = _method(inference, state, weight), _unlabelled_rows(state, seen, unseen)
    if isinstance(inference, str) and inference == "auto" and rows.n_rows > MOST_SAMPLED:
        method = Expected(draws=method.draws)
    require_possible(prior, state.classes)
    classes = class_prior(prior, state.classes, state.statistics.count, frequencies=False)
    origin = state.schema.origins()
    likelihoods = {n: part.shifted(-origin[n]) for n, part in state.likelihoods.items()}
    try:
        guesses = unlabelled.guess_statistics(classes, likelihoods, state.statistics, rows)
        state = dataclasses.replace(state, unlabelled=ExpectedLabels(guesses, (), np.empty(0)))
        parts = state.complete(prior, frequencies=False)
        if weight == LEARN:
            found = _learned(method, state, seen, rows, parts, seed, unseen)
        else:
            found = _stated(method, state, seen, rows, parts, seed, float(weight), unseen)
    except np.linalg.LinAlgError as error:
        joint = [name for name, part in likelihoods.items() if part.joint]
        columns = [c.name for name in joint for c in state.schema.blocks[name]]
        raise_singular(error, columns)
    state.warn_of(found.posterior)
    return found


def refuse(what: str, why: str, cure: str = "") -> NoReturn:
    """Refuse rows without a label."""
    cure = cure or "Leave these rows out: keep = pandas.notna(y); fit(X[keep], y[keep])."
    raise UnsupportedInference.because(f"rows without a label, and {what}", why, cure)


def _method(inference: str | Method, state: TrainingState, weight: Weight) -> Method:
    """Return the method for an inference= argument."""
    conjugate = all(part.conjugate for part in state.likelihoods.values())
    method = Exact() if isinstance(inference, str) and inference == "auto" else method_of(inference)
    if isinstance(method, NUTS) or (not conjugate and isinstance(method, Exact)):
        refuse("inference='nuts'", "NUTS does not sum over their classes yet", CURE_EXPECTED)
    if not conjugate:
        family = next(part for part in state.likelihoods.values() if not part.conjugate)
        refuse(family.title, "EM needs a closed form")
    if isinstance(method, MLE | MAP) and method.solver == "svi":
        refuse("inference='svi'", "gradients do not sum over their classes", "Use inference='map'.")
    if weight == LEARN and isinstance(method, MLE | MAP | Augmentation):
        refuse(
            f"unlabelled='learn' with inference={inference!r}",
            "their weight is learned by leave-one-out, which needs a closed form",
            "State it: unlabelled=1, or use inference='expected'.",
        )
    automatic = isinstance(inference, str) and inference == "auto"
    if weight and isinstance(method, Exact) and not automatic:
        learns = weight == LEARN
        warn(NoClosedForm.expected_labels() if learns else NoClosedForm.sampled_labels())
    return method


CURE_EXPECTED = "Use inference='expected', or leave these rows out."


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


def _labelled_rows(state: TrainingState, seen: Sequence[TrainingRows], unseen: str) -> LabelledRows:
    """Return the labeled rows that judge, at most as many as judge the missing pattern."""
    encoded = joined([rows.labelled.encode(state.schema, unseen) for rows in seen])
    codes, weight = together(seen, state.classes)
    rows = LabelledRows(encoded, codes, weight, one_each(weight))
    return rows.at(judges_of_pattern(len(codes)))


Parts = tuple[Model, ModelStatistics, Reader]


def _learned(
    method: Method,
    state: TrainingState,
    seen: Sequence[TrainingRows],
    rows: UnlabelledRows,
    parts: Parts,
    seed: int,
    unseen: str,
) -> UnlabelledFit:
    """Return the fit with the weight of unlabeled rows learned from the labeled ones."""
    model, statistics, reader = parts
    few = _class_of_few(state, seen)
    if few is not None:
        warn(UnlabelledHurts.too_few_labels(few))
        return _stated(method, state, seen, rows, parts, seed, 0.0, unseen)
    guesses = state.unlabelled.guesses
    judges = _labelled_rows(state, seen, unseen)
    own = Expected(draws=method.draws)
    found = weights.learned(own, model, statistics, guesses, reader, judges, rows, seed)
    state = dataclasses.replace(state, unlabelled=found.expected)
    return UnlabelledFit(state, found.posterior, found.labels)


def _class_of_few(state: TrainingState, seen: Sequence[TrainingRows]) -> object | None:
    """Return the label of a class with fewer than two labeled rows, if there is one."""
    codes, _ = together(seen, state.classes)
    few = np.flatnonzero(np.bincount(codes, minlength=len(state.classes)) < 2)
    return state.classes[few[:1]].tolist()[0] if len(few) else None


def _stated(
    method: Method,
    state: TrainingState,
    seen: Sequence[TrainingRows],
    rows: UnlabelledRows,
    parts: Parts,
    seed: int,
    weight: float,
    unseen: str,
) -> UnlabelledFit:
    """Return the fit at a stated weight of unlabeled rows."""
    model, statistics, reader = parts
    start, some = unlabelled.first_shares(model, statistics, reader, rows), rows.times(weight)
    if not weight:
        none = rows.times(0.0).statistics(reader.full, start)
        state = _with_added(state, none)
        posterior = choose(method, model, statistics).infer(model, statistics, reader, seed)
        posterior = dataclasses.replace(posterior, report=_noted(posterior.report, rows))
        return UnlabelledFit(state, posterior, start)
    if isinstance(method, MLE | MAP):
        posterior, labels = unlabelled.estimate(method, model, statistics, reader, some, start)
        posterior.report.details["unlabelled.weight"] = weight
        return UnlabelledFit(state, posterior, labels)
    found = unlabelled.maximize(MAP(), model, statistics, reader, some, start)
    added = some.statistics(reader.full, found.shares)
    state = _with_added(state, added)
    _warn_of_harm(state, seen, unseen, parts, rows.n_rows, weight)
    if not isinstance(method, Expected):
        own = method if isinstance(method, Augmentation) else Augmentation(draws=method.draws)
        posterior, labels = sampled(own, model, statistics, reader, some, seed)
        posterior.report.details["unlabelled.weight"] = weight
        return UnlabelledFit(state, posterior, labels)
    whole = unlabelled.kept(reader, added)
    posterior = unlabelled.expected_posterior(method, model, statistics, whole, reader, seed)
    report = unlabelled.reported(posterior, rows.n_rows, found)
    report.details["unlabelled.weight"] = weight
    return UnlabelledFit(state, dataclasses.replace(posterior, report=report), found.shares)


def _with_added(state: TrainingState, added: ModelStatistics) -> TrainingState:
    """Return the state with expected statistics of the unlabeled rows."""
    expected = dataclasses.replace(state.unlabelled, added=(added,), shares=np.ones(1))
    return dataclasses.replace(state, unlabelled=expected)


def _noted(report, rows: UnlabelledRows):
    details = report.details | {"unlabelled.rows": float(rows.n_rows), "unlabelled.weight": 0.0}
    return dataclasses.replace(report, details=details)


def _warn_of_harm(
    state: TrainingState,
    seen: Sequence[TrainingRows],
    unseen: str,
    parts: Parts,
    n_rows: int,
    weight: float,
) -> None:
    """Warn if labeled rows left out are predicted worse than without unlabeled rows.

    Labeled rows of earlier calls may not have been kept; then nothing is judged.
    """
    model, statistics, reader = parts
    whole = np.isclose(together(seen, state.classes)[1].sum(), statistics.count.sum())
    if not whole or _class_of_few(state, seen) is not None:
        return
    judges = _labelled_rows(state, seen, unseen)
    (added,) = state.unlabelled.added
    whole = statistics + unlabelled.kept(reader, added)
    logs = [
        weights.own_logs(weights.left_out(model, one, reader, judges), judges)
        for one in (statistics, whole)
    ]
    gap = logs[0] - logs[1]
    total = judges.weight.sum()
    loss = float(gap @ judges.weight / total)
    error = float(np.sqrt(judges.weight @ (gap - loss) ** 2) / total)
    if loss > HARM * error:
        warn(UnlabelledHurts.at_weight(n_rows, weight, loss))
