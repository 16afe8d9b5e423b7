"""The laws of readings, on every reading, and faults that they catch."""

import pytest
from reading_cases import CASES
from reading_faults import FAULTS
from reading_laws import LAWS

from bayesgen.schema.readings import READINGS

pytestmark = pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", CASES)
def test_every_reading_obeys(law, name):
    with CASES[name].registered:
        law(CASES[name])


@pytest.mark.parametrize(("law", "name", "owner", "attribute", "wrong"), FAULTS)
def test_a_fault_is_caught(law, name, owner, attribute, wrong, monkeypatch):
    right = owner.__dict__.get(attribute, getattr(owner, attribute))
    monkeypatch.setattr(owner, attribute, wrong(right))
    with CASES[name].registered, pytest.raises((Exception, pytest.fail.Exception)):
        law(CASES[name])


def test_every_reading_has_a_case_and_every_law_a_fault():
    read = set()
    for case in CASES.values():
        with case.registered:
            read |= set(map(type, case.learned(case.frame(1)).blocks["block"]))
    assert read >= set(READINGS)
    assert {fault.values[0] for fault in FAULTS} == set(LAWS)
