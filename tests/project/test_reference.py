"""The reference names everything that is public, and docstrings leave no argument out."""

import inspect
import re

import pytest
from pages import ROOT

import bayesgen as bg
from bayesgen.estimators.classifier import Classifier

REFERENCE = "\n".join(p.read_text("utf-8") for p in (ROOT / "docs" / "reference").glob("*.md"))
LISTED = set(re.findall(r"^ +(?:\w+\.)*(\w+)$", REFERENCE, re.MULTILINE)) | set(
    re.findall(r"^\.\. auto\w+:: (?:\w+\.)*(\w+)$", REFERENCE, re.MULTILINE)
)
PUBLIC = {
    name: getattr(bg, name)
    for name in dir(bg)
    if getattr(getattr(bg, name), "__module__", "").startswith("bayesgen.")
    and not name.startswith("__")
}
CLASSES = [found for found in PUBLIC.values() if inspect.isclass(found)]


def entries(cls, section):
    """Return the names that a section of a docstring describes."""
    text = re.split(rf"^{section}:\n", inspect.getdoc(cls), flags=re.MULTILINE)
    body = re.split(r"^\S", text[1], maxsplit=1, flags=re.MULTILINE)[0] if len(text) > 1 else ""
    found = re.findall(r"^    ((?:\w+, )*\w+): ", body, flags=re.MULTILINE)
    return {name for names in found for name in names.split(", ")}


def test_every_public_name_is_listed():
    assert len(PUBLIC) > 20
    assert set(PUBLIC) - LISTED == set()


def test_every_method_of_classifiers_is_listed():
    methods = inspect.getmembers(Classifier, inspect.isfunction)
    names = {n for n, m in methods if n[0] != "_" and m.__module__.startswith("bayesgen.")}
    assert len(names) > 40
    assert names - LISTED == set()


@pytest.mark.parametrize("module", ["calibrate", "datasets", "plots"])
def test_modules_are_shown_whole(module):
    assert f"automodule:: bayesgen.{module}\n   :members:\n   :imported-members:" in REFERENCE


def test_docstrings_describe_every_argument():
    own = [cls for cls in CLASSES if cls is not bg.Comparison]
    missed = {
        cls.__name__: set(inspect.signature(cls).parameters) - entries(cls, "Args") for cls in own
    }
    assert {name: arguments for name, arguments in missed.items() if arguments} == {}
    assert [cls for cls in own if ": ...\n" in cls.__doc__] == []


def test_docstrings_describe_what_a_fit_sets():
    classifiers = [cls for cls in CLASSES if hasattr(cls, "predict_proba")]
    assert len(classifiers) > 5
    told = {"classes_", "inference_", "report_", "n_features_in_"}
    assert [cls for cls in classifiers if not told <= entries(cls, "Attributes")] == []


def test_every_entry_of_a_docstring_is_one_name():
    modules = (bg, bg.calibrate, bg.plots, bg.datasets)
    found = {kind for module in modules for _, kind in inspect.getmembers(module, inspect.isclass)}
    classes = [cls for cls in found if cls.__module__.startswith("bayesgen.")]
    assert len(classes) > 35
    assert {cls.__name__: faults for cls in classes if (faults := crammed(cls.__doc__))} == {}
    assert crammed("Rows.\n\nArgs:\n    rows: their number. names: theirs.\n    All are positive.")


def crammed(docstring):
    """Return the entries of a docstring that napoleon would not read as one name each."""
    faults, inside = [], False
    for line in inspect.cleandoc(docstring or "").splitlines():
        inside = line in {"Args:", "Attributes:"} or (inside and line.startswith("    "))
        entry = inside and re.match(r"    \S", line)
        if entry and not re.match(r"    ((\w+, )*\w+): ", line):
            faults.append(line)
        if inside and re.search(r"\. [a-z_]+(, [a-z_]+)*: ", line):
            faults.append(line)
    return faults
