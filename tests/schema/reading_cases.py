"""Every reading of a column, with rows that it reads: what its laws need to know of it."""

import contextlib
import dataclasses
from collections.abc import Callable

import numpy as np
import pandas as pd
import percent

from bayesgen.schema import BlockSpec, PowerTransform, Schema
from bayesgen.schema.readings import Bins, Numbers, Reading
from bayesgen.schema.readings.power_transform import with_power
from bayesgen.table import read_table

N = 40
GAPS = np.arange(N) % 7 == 3


def gappy(values: object) -> pd.Series:
    return pd.Series(values).mask(GAPS)


@dataclasses.dataclass(frozen=True)
class Case:
    """A reading.

    cells: of a seed, what two columns hold, which one block reads. spec: of the block, but for its
    columns. finished: what is learned from all rows at once. own: whether cells come back as they
    were; else other cells stand for them. united: whether columns learned apart can be united.
    likelihood: of bayesgen that reads it; "" for none that imputes. arguments: of its classifier.
    form: of a text of its cells, which those that are imputed have too: what is left of it without
    what varies. reading: that is registered for it.
    """

    cells: Callable[[np.random.Generator], object]
    spec: dict
    finished: Callable[[Reading], Reading] = lambda column: column
    own: bool = True
    united: bool = True
    likelihood: str = "Normal"
    arguments: dict = dataclasses.field(default_factory=dict)
    form: Callable[[str], str] = str
    reading: type[Numbers] = percent.Percent

    def frame(self, seed: int) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        return pd.DataFrame({"a": self.cells(rng), "b": self.cells(rng)})

    def learned(self, frame: pd.DataFrame) -> Schema:
        blocks = {"block": BlockSpec(names=("a", "b"), **self.spec)}
        schema = Schema.learn(read_table(frame), blocks)
        columns = tuple(map(self.finished, schema.blocks["block"]))
        return dataclasses.replace(schema, blocks={"block": columns})

    @property
    def registered(self) -> contextlib.AbstractContextManager:
        return percent.registered(self.reading)


def text(rng):
    return gappy(rng.choice(["low", "mid", "high"][: int(rng.integers(2, 4))], N))


def cut(column):
    return column.with_edges((995.0, 1000.0, 1005.0)) if isinstance(column, Bins) else column


def cut_percentages(column):
    return column.with_edges((30.0, 50.0, 65.0))


def powered(column):
    return with_power(column, (0.5, PowerTransform(3.0, 0.5)))


def measured(rng):
    return gappy(1000 + 10 * rng.normal(size=N))


def percentages(rng):
    return gappy([f"{x:.10g} %" for x in (50 + 20 * rng.normal(size=N)).round(1)]).astype("str")


NUMBERS = {"kind": "numbers", "centred": True}
CASES = {
    "numbers": Case(measured, {"kind": "numbers"}, likelihood="KernelDensity"),
    "centred": Case(measured, NUMBERS),
    "power": Case(measured, NUMBERS, powered, united=False, arguments={"power_transform": True}),
    "counts": Case(lambda rng: gappy(rng.poisson(3, N)), {"kind": "counts"}, likelihood="Poisson"),
    "booleans": Case(
        lambda rng: gappy(rng.random(N) < 0.5).astype("boolean"),
        {"kind": "binary"},
        likelihood="Bernoulli",
    ),
    "0 and 1": Case(
        lambda rng: gappy(rng.integers(0, 2, N)), {"kind": "binary"}, likelihood="Bernoulli"
    ),
    "two categories": Case(
        lambda rng: pd.Categorical(gappy(rng.choice(["yes", "no"], N)), ["yes", "no"]),
        {"kind": "binary"},
        likelihood="Bernoulli",
    ),
    "text": Case(text, {"kind": "levels"}, likelihood="Categorical"),
    "whole numbers": Case(
        lambda rng: rng.integers(2, 5 + rng.integers(3), N),
        {"kind": "levels"},
        likelihood="Categorical",
    ),
    "categories": Case(
        lambda rng: pd.Categorical(text(rng), ["high", "mid", "low", "none"]),
        {"kind": "levels"},
        likelihood="Categorical",
    ),
    "bins": Case(
        measured,
        {"kind": "levels", "binned": True},
        cut,
        own=False,
        likelihood="Categorical",
        arguments={"bins": 4},
    ),
    "indicators": Case(text, {**NUMBERS, "indicators": True}, own=False, likelihood=""),
    "numbers beside indicators": Case(measured, {**NUMBERS, "indicators": True}),
    "pattern": Case(measured, {"kind": "missing"}, own=False, arguments={"missing": "informative"}),
    "percent": Case(percentages, NUMBERS, form=percent.form),
    "percent, power": Case(
        percentages,
        NUMBERS,
        powered,
        united=False,
        arguments={"power_transform": True},
        form=percent.form,
    ),
    "percent, bins": Case(
        percentages,
        {"kind": "levels", "binned": True},
        cut_percentages,
        own=False,
        likelihood="Categorical",
        arguments={"bins": 4},
    ),
    "percent, counts": Case(
        lambda rng: gappy([f"{x} %" for x in rng.poisson(3, N)]).astype("str"),
        {"kind": "counts"},
        likelihood="Poisson",
        form=percent.form,
    ),
    "percent beside indicators": Case(
        percentages, {**NUMBERS, "indicators": True}, form=percent.form
    ),
}
