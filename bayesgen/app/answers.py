"""Answers to a row as plain data, which the page shows and JSON carries."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bayesgen.app.model import Case, Row, ServedModel, remarking
from bayesgen.errors import InvalidData, UnsupportedOperation

Values = dict[str, Any]
SHARE = 0.9
"""Probability of the intervals, and coverage of the sets."""
MOST_SETS = 100
"""Rows of a request for which the fit is made again with each of them: 9 ms a row of 1,309."""
RARE = 0.01
"""Typicality of rows that are strange: less typical than 1 in 100."""
LEAST = 0.05
"""Nats of evidence that are a line: 1.05 times the odds, shown as 1.1."""
INFINITE = 1000.0
"""Nats of evidence that stand for infinitely many, a number that JSON has not."""
LONGEST = 12
"""Lines of a list."""
VALUES = 100
"""Drawn values of each empty field."""


def probabilities(model: ServedModel, rows: Sequence[Row], case: Case) -> tuple[list, list[str]]:
    """Return for each row probabilities, intervals, prediction set and decision, and remarks.

    A refused interval or set is None, with the reason among the remarks; without costs, so is the
    decision of least cost.

    case: the circumstances of all rows.
    """
    classifier, table, remarks = model.under(case.prevalence), model.table(rows), []
    proba = intervals = sets = None
    decisions: list = [None] * len(rows)
    with remarking(remarks):
        proba = classifier.predict_proba(table)
    if proba is None:
        raise InvalidData("{words}", words=remarks[0])
    with remarking(remarks):
        intervals = classifier.predict_interval(table, SHARE).tolist()
    with remarking(remarks):
        if len(rows) > MOST_SETS:
            _, method = classifier.predict_set(table[:1], SHARE, return_method=True)
            if method == "full":
                problem = "more than {most} rows of a request get no sets."
                raise UnsupportedOperation(problem, most=MOST_SETS)
        sets = classifier.predict_set(table, SHARE).tolist()
    if case.costs is not None:
        best, loss = classifier.decide(table, case.costs, return_loss=True)
        pairs = zip(best.tolist(), loss.tolist(), strict=True)
        decisions = [{"decision": label, "expected": cost} for label, cost in pairs]
    names = list(map(str, model.labels))
    answers = [
        {
            "predicted": model.labels[int(p.argmax())],
            "probabilities": dict(zip(names, p.tolist(), strict=True)),
            "intervals": intervals and dict(zip(names, intervals[i], strict=True)),
            "set": sets and [name for name, inside in zip(names, sets[i], strict=True) if inside],
            "decision": decisions[i],
            "remarks": model.remarks(row),
        }
        for i, (row, p) in enumerate(zip(rows, proba, strict=True))
    ]
    return answers, remarks


def answer(model: ServedModel, case: Case) -> Values:
    """Return the probabilities of a row, and the decision of least cost if costs are stated."""
    (found,), remarks = probabilities(model, [case.row], case)
    return found | {"remarks": found["remarks"] + remarks}


def strange(model: ServedModel, case: Case) -> Values:
    """Return how typical a row is, and whether it is too strange to believe its probabilities."""
    found: Values = {"typicality": None, "strange": False, "remarks": []}
    with remarking(found["remarks"]):
        typical = float(model.classifier.typicality(model.table([case.row]))[0])
        found |= {"typicality": typical, "strange": typical < RARE}
    return found


def why(model: ServedModel, case: Case) -> Values:
    """Return the weights of evidence of the fields for the most probable class, largest first."""
    classifier, table = model.under(case.prevalence), model.table([case.row])
    label, lines = classifier.predict(table).tolist()[0], []
    others = [str(other) for other in model.labels if other != label]
    against = others[0] if len(others) == 1 else "the mean of the classes"
    found: Values = {"of": label, "against": against, "weights": lines, "remarks": []}
    with remarking(found["remarks"]):
        weights = classifier.evidence(table, target=label).drop(columns="(prior)").iloc[0]
        cells = {field.name: case.row.get(field.key) for field in model.fields}
        finite = np.clip(weights, -INFINITE, INFINITE).tolist()
        for name, nats in zip(map(str, weights.index), finite, strict=True):
            if abs(nats) > LEAST:
                words = {"cell": cells.get(name), "odds": odds(nats)}
                lines.append({"field": name, "nats": nats} | words)
        lines.sort(key=lambda line: -abs(line["nats"]))
    return found


def odds(nats: float) -> str:
    """Return the factor that multiplies odds, in words."""
    if abs(nats) > math.log(1000):
        return "over 1,000 times the odds" if nats > 0 else "under 0.001 times the odds"
    return f"{math.exp(nats):.2g} times the odds"


def next_measurements(model: ServedModel, case: Case) -> Values:
    """Return the empty fields by what they are expected to be worth, less what they cost.

    Without costs of decisions the unit is nats, from which no cost of a field is subtracted.
    """
    classifier, table = model.under(case.prevalence), model.table([case.row])
    priced, lines = case.costs is not None, []
    unit = "cost" if priced else "nats"
    found: Values = {"unit": unit, "fields": lines, "measure_first": None, "remarks": []}
    with remarking(found["remarks"]):
        values = classifier.feature_value(table, case.costs).iloc[0]
        for field in model.fields:
            value = float(values.get(field.key, math.nan))
            if case.row.get(field.key) is None and not math.isnan(value):
                line = {"field": field.name, "value": value, "cost": field.cost}
                lines.append(line | {"gain": value - (field.cost or 0) * priced})
        lines.sort(key=lambda line: -line["gain"])
        _add_changes(model, case, lines[:LONGEST])
    if priced and lines and lines[0]["gain"] > 0:
        found["measure_first"] = lines[0]["field"]
    return found


def _add_changes(model: ServedModel, case: Case, lines: list[Values]) -> None:
    """Add to lines what values of their fields, drawn given the others, would change.

    The probability of the most probable class, now and from `low` to `high` after nine in ten of
    them; `other`, the share of values after which another class is more probable. Values are drawn
    for each class, as many as it is probable.
    """
    classifier, (row,) = model.under(case.prevalence), model.table([case.row])
    keys = [f.key for line in lines for f in model.fields if f.name == line["field"]]
    now, drawn = classifier.predict_proba([row])[0], []
    for k, times in enumerate(np.rint(VALUES * now).astype(int).tolist()):
        if times and keys:
            alone = model.under(tuple(np.eye(len(now))[k].tolist()))
            table: Any = alone.impute([row] * times, random_state=0)
            drawn += [{**row, key: cell} for key in keys for cell in table[key].tolist()]
    proba, lead = classifier.predict_proba(drawn or [row]), int(now.argmax())
    for line, key in zip(lines, keys, strict=True):
        part = proba[[cells[key] is not None for cells in drawn]]
        low, high = np.quantile(part[:, lead], [0.05, 0.95]).tolist()
        change = {"of": model.labels[lead], "now": float(now[lead]), "low": low, "high": high}
        line["change"] = change | {"other": float((part.argmax(axis=1) != lead).mean())}


PARTS: Mapping[str, Callable[[ServedModel, Case], Values]] = {
    "answer": answer,
    "strange": strange,
    "why": why,
    "next": next_measurements,
}
"""What is answered of a row, in the order of asking."""
