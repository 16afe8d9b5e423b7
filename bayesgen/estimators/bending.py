"""Columns of numbers bent by powers that the rows choose, before any likelihood reads them."""

import dataclasses
import functools

import numpy as np

from bayesgen.errors import InvalidArgument
from bayesgen.estimators.fitted import TrainingState, add, learn
from bayesgen.estimators.tempering import Seen
from bayesgen.likelihoods import Likelihood
from bayesgen.model import log_abs_det_jacobian
from bayesgen.schema import Column, Schema
from bayesgen.schema.power_transform import learned as learned_transform

Numbers = str | None
"""None: as they are; or "yeo-johnson"."""


def check(numbers: Numbers) -> None:
    """Refuse what is no way to read numbers.

    Raises:
        InvalidArgument: neither None nor "yeo-johnson".
    """
    if numbers not in (None, "yeo-johnson"):
        raise InvalidArgument.not_one_of("numbers", numbers, ["yeo-johnson", None])


def learn_power_transforms(
    schema: Schema,
    likelihoods: dict[str, Likelihood],
    seen: tuple[Seen, ...],
    classes: np.ndarray,
    *,
    unseen: str,
) -> TrainingState:
    """Return what rows say of columns that are bent by the powers they choose.

    Powers are chosen from all rows together, so that any split of them gives the same.
    """
    bent = _bent(schema, likelihoods, seen, classes, unseen)
    parts = [
        learn(rows.table, bent, likelihoods, rows.labels, classes, rows.weight, unseen=unseen)
        for rows in seen
    ]
    power_transforms = bent.power_transforms()
    slopes = (
        np.sum(
            rows.weight[:, None]
            * log_abs_det_jacobian(power_transforms, bent.encode(rows.table, unseen))
        )
        for rows in seen
    )
    return dataclasses.replace(
        functools.reduce(add, parts), log_abs_det_jacobian=float(sum(slopes))
    )


def _bent(
    schema: Schema,
    likelihoods: dict[str, Likelihood],
    seen: tuple[Seen, ...],
    classes: np.ndarray,
    unseen: str,
) -> Schema:
    """Return the schema with a bend for each column of a likelihood that follows any origin."""
    plain = {
        name: tuple(dataclasses.replace(column, transform=None) for column in schema.blocks[name])
        for name, part in likelihoods.items()
        if part.kind == "numbers" and part.centred
    }
    some = dataclasses.replace(schema, blocks=plain)
    encoded = [some.encode(rows.table, unseen) for rows in seen]
    codes = np.searchsorted(classes, np.concatenate([rows.labels for rows in seen]))
    weight = np.concatenate([rows.weight for rows in seen])
    bent = {}
    for name, columns in plain.items():
        x = np.concatenate([part[name] for part in encoded])
        found = [learned_transform(cells, codes, weight) for cells in x.T]
        bent[name] = tuple(map(_with_transform, columns, found))
    return dataclasses.replace(schema, blocks={**schema.blocks, **bent})


def _with_transform(column: Column, found: tuple | None) -> Column:
    if found is None:
        return column
    centre, transform = found
    return dataclasses.replace(column, origin=column.origin + centre, transform=transform)
