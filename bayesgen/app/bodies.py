"""Bodies of requests, JSON or a form, as rows: what cannot be read is refused in one sentence."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

from bayesgen.app.fields import number_of
from bayesgen.app.model import Case, Row, ServedModel
from bayesgen.errors import InvalidData
from bayesgen.errors.wording import listed

MOST_BYTES = 1_000_000
MOST_ROWS = 10_000
CLOSE = 0.5
"""Percentage points by which prevalences may miss 100."""


def rows_of_json(body: bytes, model: ServedModel) -> list[Row]:
    """Return the rows of a JSON object, or of a list of such.

    Raises:
        InvalidData: it is no JSON, or no such rows.
    """
    try:
        found = json.loads(body, parse_constant=_refused, object_pairs_hook=once)
    except InvalidData:
        raise
    except (ValueError, RecursionError):
        raise InvalidData("this is no JSON.") from None
    rows = found if isinstance(found, list) else [found]
    if not rows or not all(isinstance(row, dict) for row in rows):
        problem = 'a row, such as {{"{name}": null}}, or a list of at least one row is needed.'
        raise InvalidData(problem, name=model.names[0])
    if len(rows) > MOST_ROWS:
        problem = "{found:,} rows are more than the {most:,} that a request may have."
        raise InvalidData(problem, found=len(rows), most=MOST_ROWS)
    return list(_read(rows, model))


def _read(rows: list[dict[str, object]], model: ServedModel) -> Iterator[Row]:
    fields = {field.name: field for field in model.fields}
    for i, row in enumerate(rows):
        try:
            if unknown := row.keys() - fields:
                problem = "{unknown!r} is no column of the model, which has {names}."
                raise InvalidData(problem, unknown=min(unknown)[:80], names=listed(model.names))
            yield {fields[name].key: fields[name].stated(cell) for name, cell in row.items()}
        except InvalidData as error:
            raise error.at(row=i) if len(rows) > 1 else error from None


def _refused(constant: str) -> None:
    raise InvalidData("{constant} is no JSON; null means not measured.", constant=constant)


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return what is stated by name.

    Raises:
        InvalidData: a name stands twice.
    """
    if len(stated := dict(pairs)) < len(pairs):
        raise InvalidData("a column, or a field, is stated twice.")
    return stated


def case_of_form(body: bytes, model: ServedModel) -> Case:
    """Return the row, prevalence and costs of a form.

    Raises:
        InvalidData: a field that the page has not, or that cannot be read.
    """
    try:
        typed = dict(parse_qsl(body.decode(), errors="strict"))
    except ValueError:
        raise InvalidData("this is no form.") from None
    row = {f.key: f.typed(typed.pop(f"x.{f.name}", "")) for f in model.fields}
    return case_of_fields(typed, model, row)


def case_of_fields(typed: dict[str, str], model: ServedModel, row: Row) -> Case:
    """Return a row with the prevalence and costs of fields of a form, or of an address.

    Raises:
        InvalidData: a field that the page has not, or that cannot be read.
    """
    shares = [typed.pop(f"prevalence.{label}", "").strip() for label in model.labels]
    pairs = [(i, j) for i in range(len(shares)) for j in range(len(shares)) if i != j]
    costs = [typed.pop(f"cost.{i}.{j}", "").strip() for i, j in pairs]
    if typed:
        raise InvalidData("{name!r} is no field of this form.", name=min(typed)[:80])
    if any(costs) and not all(costs):
        raise InvalidData("costs: fill in every field, or none.")
    stated = [(model.labels[i], model.labels[j]) for i, j in pairs] if any(costs) else []
    numbers = [number_of(text, "cost") for text in costs[: len(stated)]]
    return Case(row, _prevalence(shares), dict(zip(stated, numbers, strict=True)) or None)


def _prevalence(shares: list[str]) -> tuple[float, ...] | None:
    """Return probabilities of classes from percentages; one empty field has the rest."""
    if not any(shares):
        return None
    known = [number_of(text.rstrip("% "), "prevalence") for text in shares if text]
    rest = 100 - sum(known)
    if len(known) < len(shares) - 1:
        raise InvalidData("prevalence: fill in all classes but one, or none.")
    if min(*known, rest + CLOSE) < 0 or (len(known) == len(shares) and rest > CLOSE):
        raise InvalidData("prevalence: the classes sum to {sum:g} %, not to 100.", sum=sum(known))
    parts = iter(known)
    stated = [next(parts) if text else max(rest, 0.0) for text in shares]
    return tuple(share / sum(stated) for share in stated)
