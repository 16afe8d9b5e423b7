"""What every sentence says to type is typed, and does what it says: the error is gone."""

import ast
import inspect
import warnings
from pathlib import Path

import pytest
from cures import ROWS

from bayesgen import errors
from bayesgen.errors.base import Sentence

pytestmark = pytest.mark.usefixtures("no_type_checks")

KINDS = {
    name: kind
    for name, kind in vars(errors).items()
    if inspect.isclass(kind) and issubclass(kind, errors.BayesgenError | errors.BayesgenWarning)
}
CONSTRUCTORS = [
    f"{name}.{method}"
    for name, kind in KINDS.items()
    for method, built in vars(kind).items()
    if isinstance(built, classmethod | Sentence)
]


def met(call, key, monkeypatch):
    """Return the sentence of one constructor that a call raises, or warns with."""
    name, method = key.split(" ")[0].split(".")
    kind, sentences = KINDS[name], []
    make = getattr(kind, method)

    def recorded(*arguments, **named):
        out = make(*arguments, **named)
        sentences.append(str(out))
        return out

    monkeypatch.setattr(kind, method, recorded)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if issubclass(kind, errors.BayesgenWarning):
            call()
            reported = [str(one.message) for one in caught]
        else:
            with pytest.raises(kind) as raised:
                call()
            reported = [str(raised.value)]
    monkeypatch.undo()
    assert sentences, f"{key} is not what was met, but {reported}"
    return (
        reported[0]
        if reported[0] not in sentences and kind is errors.InvalidPrior
        else sentences[-1]
    )


SLOW = {"NoClosedForm.missing_cells", "LeftOut.too_wide"}
EVERY = [pytest.param(k, marks=pytest.mark.slow) if k in SLOW else k for k in ROWS]


@pytest.mark.parametrize("key", EVERY)
def test_cure_of_a_sentence_works(key, monkeypatch):
    provoke, typed, cure = ROWS[key]
    sentence = met(provoke, key, monkeypatch)
    assert typed in sentence, sentence
    cure()


FILES = "names a file that is damaged, foreign or out of place; tests/test_persist*.py"
STORY = (
    "a line of the user's own program; tests/user_program/test_user_program_refusals.py meets each"
)
CHECKPOINT = "another run's checkpoint; tests/inference/test_checkpoint.py"
ABSENT = "columns absent or unknown at predict; tests/table/test_absent_columns.py types each cure"
SUSPECT = "columns that are no features; tests/table/test_suspicious_columns.py types each cure"
DRAWS = "needs more draws; tests/inference/test_monte_carlo_error.py types each cure"
NO_ROW = {
    **dict.fromkeys((c for c in CONSTRUCTORS if c.split(".")[0] == "InvalidModelFile"), FILES),
    **dict.fromkeys((c for c in CONSTRUCTORS if c.split(".")[0] == "UnsavableModel"), FILES),
    **dict.fromkeys((c for c in CONSTRUCTORS if c.startswith("UnwritableFile.")), FILES),
    **dict.fromkeys((c for c in CONSTRUCTORS if "Program" in c.split(".")[0]), STORY),
    **dict.fromkeys((c for c in CONSTRUCTORS if "Checkpoint" in c.split(".")[0]), CHECKPOINT),
    "MissingPackage.named": "needs an environment without the package",
    **dict.fromkeys(("AbsentColumns.named", "NoRows.without_columns"), ABSENT),
    "UnknownColumns.unseen": ABSENT,
    **dict.fromkeys(
        ("IdentifierColumn.ascending", "IdentifierColumn.unnamed", "TextNumbers.cells"), SUSPECT
    ),
    **dict.fromkeys(("NotNumeric.cells", "NotNumeric.text"), SUSPECT),
    "InvalidSource.taken": "needs Spark; tests/estimators/test_spark.py types its cure",
    "NoEvidence.invalid_prior": "repeats the sentence about the prior; test_displays.py",
    "NoEvidence.no_closed_form": "its cure compiles; tests/inference/test_closed_form.py",
    "UnknownColumns.wrong_number": "columns absent or unknown at predict; test_errors.py",
    "UnknownColumns.two_numbers": "draws a picture; tests/explain/test_plots.py",
    "InvalidTable.no_rows": "nothing to type: the filter that produced it is not known",
    "InvalidTable.no_columns": "nothing to type: the selection that produced it is not known",
    "InvalidValues.no_covariance": "nothing to type: see test_multivariate_normal_statistics.py",
    "UnsupportedTable.sparse_of": "SciPy's matrices hold numbers and booleans only",
    **dict.fromkeys(("LowSampleSize.probabilities", "LowSampleSize.densities"), DRAWS),
    "UnsupportedInference.no_closed_form": "its cure compiles; tests/inference/test_svi.py",
    "UnsupportedInference.missing_cells": "its cure compiles; test_hyperparameter_sampling.py",
    "UnreliableLeaveOneOut.of_stack": "its cure cross-validates; test_stack_duration.py warns",
    "UnreliableLeaveOneOut.rows": "its cure samples ten times; test_user_program.py warns",
    "EmptyDocuments.counts": "nothing to type",
    "LongFit.about": "takes a minute; tests/estimators/test_stack_duration.py types its cure",
}
"""Constructors of sentences whose cure is not tried here, and why."""


def test_every_sentence_has_a_row_or_a_reason():
    tried = {key.split(" ")[0] for key in ROWS}
    assert tried | NO_ROW.keys() == set(CONSTRUCTORS) | {"UnsupportedInference.because"}
    assert not tried & NO_ROW.keys()


def calls():
    """Yield each call of a constructor in the library: where, the constructor, its arguments."""
    for path in Path(inspect.getfile(errors)).parents[1].rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and (key := ast.unparse(node.func)) in CONSTRUCTORS:
                yield f"{path}:{node.lineno}", key, node


def test_every_call_fills_the_fields_of_its_sentence():
    met = set()
    for where, key, node in calls():
        name, method = key.split(".")
        sentence = vars(KINDS[name])[method]
        met.add(key)
        if isinstance(sentence, Sentence) and not any(
            isinstance(argument, ast.Starred) for argument in node.args
        ):
            filled = [*sentence.order[: len(node.args)], *(word.arg for word in node.keywords)]
            assert len(node.args) <= len(sentence.order), where
            assert len(filled) == len(set(filled)), where
            assert set(sentence.order) - set(sentence.defaults) <= set(filled), where
            assert set(filled) <= set(sentence.order), where
    assert len(met) > 150
