"""What every sentence says to type is typed, and does what it says: the error is gone.

A case of `CURES` has a call that is refused, or warned of; what its sentence says to type; and, if
that is code, the call with it typed, which raises nothing and warns of nothing.
"""

import ast
import inspect
import re
import warnings
from pathlib import Path

import cures_merging
import cures_models
import cures_sources
import cures_tables
import cures_unlabelled
import pytest

from bayesgen import errors

pytestmark = pytest.mark.usefixtures("no_type_checks")
PACKAGE = Path(inspect.getfile(errors)).parents[1]


def cases():
    for module in (cures_tables, cures_models, cures_unlabelled, cures_sources, cures_merging):
        lines = module.CURES.strip().splitlines()
        starts = [i for i, line in enumerate(lines) if not line.startswith(" ")]
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
            call, typed, *cure = (line.strip() for line in lines[start:end])
            yield pytest.param(vars(module), call, typed, *(cure or [None]), id=f"{call}: {typed}")


CASES = list(cases())
KINDS = {name for name in vars(errors) if isinstance(getattr(errors, name), type)}
KINDS -= {"Cure", "Words"}
MET: list[set[str]] = []
"""The templates of the sentences that each case met."""


def messages(call, names):
    """Return what a call raises and warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            eval(call, names)
            raised = []
        except errors.BayesgenError as error:
            raised = [error]
    issued = [warning.message for warning in caught]
    return raised + [one for one in issued if isinstance(one, errors.BayesgenWarning)]


@pytest.mark.parametrize(("names", "call", "typed", "cure"), CASES)
def test_cure_of_a_sentence_works(names, call, typed, cure):
    met = messages(call, names)
    assert any(typed in str(message) for message in met), met
    assert all(message.written("shell") for message in met)
    MET.append({message.problem for message in met})
    if cure is not None:
        eval(cure, names)


PROGRAM, SOURCE = "tests/user_program/", "tests/sources/"
NOT_A_TABLE = "tests/table/test_not_tables.py"
ELSEWHERE = {
    "calibrate/targets.py": "tests/explain/test_calibrate_labels.py",
    "diagnose.py": "tests/user_program/test_user_program.py",
    "schema/suspects.py": "tests/table/test_suspicious_columns.py",
    "schema/text_cells.py": "tests/table/test_suspicious_columns.py",
    "plots/": "tests/explain/test_plots.py",
    **dict.fromkeys(
        ("persist/", "estimators/saving.py", "estimators/loading.py"), "tests/persist/"
    ),
    "errors/files.py: {where} is of type": "tests/persist/",
    "errors/files.py: cannot resume": "tests/inference/test_checkpoint.py",
    **dict.fromkeys(("user_program/", "estimators/program_classifier.py"), PROGRAM),
    "estimators/generative.py: {method} needs additive statistics": PROGRAM,
    "errors/data.py: column {name!r} does not hold numbers, and a program": PROGRAM,
    "inference/incomplete_rows.py": "tests/inference/test_incomplete_rows.py",
    "errors/operations.py: {family} has no closed form": "tests/inference/test_closed_form.py",
    "compare/cross_validation.py: {target} holds": "tests/cli/test_compare.py",
    "errors/data.py: X is of type": NOT_A_TABLE,
    "table/reading.py: X is ": NOT_A_TABLE,
    "errors/data.py: X is a dict": NOT_A_TABLE,
    **dict.fromkeys(("errors/sources.py", "sources/", "estimators/sources/"), SOURCE),
    "table/sparse.py: X is a sparse matrix of dtype": "SciPy's hold numbers and booleans only",
    "estimators/stack/fitted.py: the weights": "tests/estimators/test_stack_duration.py",
    "estimators/stack/structures.py: the table has": "tests/estimators/test_stacked_refusals.py",
}
"""Folders, modules or beginnings of sentences -> tests elsewhere that type their cures."""


def sentences():
    """Yield (module, problem) of the sentences whose cure is code."""
    for path in PACKAGE.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") in KINDS:
                problem, *cure = call.args or [None]
                code = cure and re.search(r"\w\(|\w=\S", ast.unparse(cure[0]).removeprefix("Cure("))
                if isinstance(problem, ast.Constant) and code:
                    yield path.relative_to(PACKAGE).as_posix(), problem.value


def test_every_sentence_with_code_to_type_has_a_case():
    if len(MET) < len(CASES):
        pytest.skip("needs all cases of this file")
    met = set().union(*MET)
    untried = (f"{module}: {problem}" for module, problem in sentences() if problem not in met)
    missed = [where for where in untried if not any(map(where.startswith, ELSEWHERE))]
    assert not missed, "\n".join(missed)
