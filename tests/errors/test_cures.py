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


ELSEWHERE = {}
"""Folders, modules or beginnings of sentences whose cures other tests type, and which."""


def sentences():
    """Yield (module, problem) of the sentences whose cure is code."""
    for path in PACKAGE.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") in vars(errors):
                problem, *cure = call.args or [None]
                code = cure and re.search(r"\w\(|\w=\S", ast.unparse(cure[0]).removeprefix("Cure("))
                if isinstance(problem, ast.Constant) and code:
                    yield path.relative_to(PACKAGE).as_posix(), problem.value


def test_every_sentence_with_code_to_type_has_a_case():
    if len(MET) < len(CASES):
        pytest.skip("needs all cases of this file")
    met = set().union(*MET)
    missed = {
        (module, problem)
        for module, problem in sentences()
        if problem not in met and not any(map(f"{module}: {problem}".startswith, ELSEWHERE))
    }
    assert not missed
