"""Pages that change the library: their changes fit it, do what they say and break no law."""

import pytest
from changes import CHANGED, apply, changed, copied, hunks, run
from pages import ROOT, page

PAGES = {
    "docs/how-to/add-a-verb.md": (
        "tests/sources/test_source_answers.py",
        "tests/cli/test_cli_predict.py",
        "tests/errors/test_calls.py",
        "tests/estimators/test_unfitted.py",
        "tests/project/test_reference.py",
        "tests/project/test_house.py",
        "tests/project/test_layers.py",
        "tests/project/test_ways.py",
        "tests/table/test_inputs_unchanged.py",
    ),
    "docs/how-to/add-an-option-of-the-stack.md": (
        "tests/estimators/test_parameters.py",
        "tests/estimators/test_stack_laws.py",
        "tests/estimators/test_stacked_refusals.py",
        "tests/estimators/test_stated_class_prior.py",
        "tests/project/test_house.py",
        "tests/project/test_layers.py",
        "tests/project/test_reference.py",
    ),
}
"""Page -> the tests with the laws that then hold what it adds."""


@pytest.mark.parametrize("name", PAGES)
def test_changes_fit_the_library(name):
    """Each change has one place, and the page names the files of the laws."""
    files = {}
    for path, lines in hunks(page(name)):
        source = files.get(path, (ROOT / path).read_text(encoding="utf-8"))
        files[path] = changed(source, lines)
    for path, source in files.items():
        if path.endswith(".py"):
            compile(source, path, "exec")
    assert len(files) > 1
    assert all(f"`{law}`" in page(name) for law in PAGES[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_what_a_page_adds_works_and_obeys_the_laws(name, tmp_path):
    copied(tmp_path)
    files = apply(page(name), tmp_path)
    modules = sorted(file for file in files if file.startswith("bayesgen/"))
    examples = CHANGED.findall(page(name))
    assert examples
    for code in examples:
        run(tmp_path, "-c", code)
    run(tmp_path, "-m", "pytest", "-q", "-n", "0", "--doctest-modules", *modules, *PAGES[name])
    for check in (["check"], ["format", "--check"]):
        run(tmp_path, "-m", "ruff", *check, "--no-cache", *modules)


def test_a_change_without_a_place_is_named():
    with pytest.raises(AssertionError, match="0 places hold\ndef lost"):
        changed("def found():\n", [" def lost():", "+    pass"])
