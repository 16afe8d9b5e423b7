"""The reading on the page "Add a reading": every law."""

import re

import numpy as np
import package_size
import pytest
from pages import blocks, page
from reading_cases import NUMBERS, Case, cut, gappy, powered
from reading_laws import LAWS, law_impute, law_round_trip
from test_ways import require_short

pytestmark = pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
CODE = [c for language, c in blocks(page("docs/how-to/add-a-reading.md")) if language == "python"]
SCOPE = {"__name__": "page"}
exec(CODE[0], SCOPE)
Duration = SCOPE["Duration"]


def durations(rng):
    drawn = rng.normal(995, 30, 40).round().astype(int)
    return gappy([f"{x // 60}:{x % 60:02d}" for x in drawn]).astype("str")


def form(text):
    return re.sub(r"\d+", "1", text)


CASES = {
    "durations": Case(durations, NUMBERS, form=form, reading=Duration),
    "not centred": Case(durations, {"kind": "numbers"}, form=form, reading=Duration),
    "power": Case(
        durations,
        NUMBERS,
        powered,
        united=False,
        arguments={"power_transform": True},
        form=form,
        reading=Duration,
    ),
    "bins": Case(
        durations,
        {"kind": "levels", "binned": True},
        cut,
        own=False,
        likelihood="Categorical",
        arguments={"bins": 4},
        reading=Duration,
    ),
    "beside indicators": Case(
        durations, {**NUMBERS, "indicators": True}, form=form, reading=Duration
    ),
    "counts": Case(
        durations, {"kind": "counts"}, likelihood="Poisson", form=form, reading=Duration
    ),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", CASES)
def test_every_law_holds(law, name):
    with CASES[name].registered:
        law(CASES[name])


@pytest.mark.parametrize(
    ("law", "attribute", "wrong"),
    [
        (law_round_trip, "numbers", lambda right: lambda self, found: right(self, found) / 60),
        (law_impute, "decode", lambda right: lambda self, x: np.full(len(x), "late")),
    ],
)
def test_what_a_stranger_gets_wrong_breaks_a_law(law, attribute, wrong, monkeypatch):
    monkeypatch.setattr(Duration, attribute, wrong(getattr(Duration, attribute)))
    with CASES["durations"].registered, pytest.raises((AssertionError, ValueError)):
        law(CASES["durations"])


def test_the_class_on_the_page_is_short():
    lines = CODE[0][CODE[0].index("class Duration") :].splitlines()
    assert len([line for line in lines if line.strip()]) <= 32


def test_columns_of_numbers_do_not_ask_it():
    with CASES["durations"].registered:
        for name, call in package_size.calls().items():
            require_short(name, call)
