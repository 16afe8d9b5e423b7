"""Every reading of a column, with rows that it reads: what its laws need to know of it."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from decorations import FORMS

from bayesgen.schema import BlockSpec, PowerTransform, Schema
from bayesgen.schema.readings import READINGS, Bins, Indicator, Numbers, Reading
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
    what varies. reading: that is registered for it, if the package does not have it.
    """

    cells: Callable[[np.random.Generator], object]
    spec: dict
    finished: Callable[[Reading], Reading] = lambda column: column
    own: bool = True
    united: bool = True
    likelihood: str = "Normal"
    arguments: dict = dataclasses.field(default_factory=dict)
    form: Callable[[str], str] = str
    reading: type[Numbers] | None = None

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
        """Let blocks of numbers take its reading, if the package does not have it."""
        return contextlib.nullcontext() if self.reading is None else registered(self.reading)


@contextlib.contextmanager
def registered(cls: type[Numbers]) -> Iterator[None]:
    """Let blocks of numbers take a reading: the line that a new one needs."""
    READINGS.insert(READINGS.index(Indicator), cls)
    try:
        yield
    finally:
        READINGS.remove(cls)


def text(rng):
    return gappy(rng.choice(["low", "mid", "high"][: int(rng.integers(2, 4))], N))


def cut(column):
    return column.with_edges((995.0, 1000.0, 1005.0)) if isinstance(column, Bins) else column


def powered(column):
    return with_power(column, (0.5, PowerTransform(3.0, 0.5)))


def measured(rng):
    return gappy(1000 + 10 * rng.normal(size=N))


def decorated(name):
    """Return a function that draws numbers around 1,000, written as text."""
    form = FORMS[name]
    return lambda rng: form.column(gappy((1000 + 300 * rng.normal(size=N)).round(form.places)))


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
    **{
        name: Case(decorated(name), NUMBERS, form=FORMS[name].form, own=name != "padded")
        for name in FORMS
    },
    "money, power": Case(
        decorated("money"),
        NUMBERS,
        powered,
        united=False,
        arguments={"power_transform": True},
        form=FORMS["money"].form,
    ),
    "comma, bins": Case(
        decorated("comma"),
        {"kind": "levels", "binned": True},
        cut,
        own=False,
        likelihood="Categorical",
        arguments={"bins": 4},
    ),
    "years, counts": Case(
        decorated("years"), {"kind": "counts"}, likelihood="Poisson", form=FORMS["years"].form
    ),
    "blanks beside indicators": Case(
        decorated("blanks"), {**NUMBERS, "indicators": True}, form=FORMS["blanks"].form
    ),
}
