"""What an editor knows: the README's lines and a user's program under a strict type checker."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from pages import blocks, page

import bayesgen as bg

PROGRAM = Path(__file__).parents[1] / "data" / "users_types.py"


def checked(path):
    """Return exit code and findings of ty, as a user's project of its own would have them."""
    command = [sys.executable, "-m", "ty", "check", "--output-format", "concise"]
    options = ["--error-on-warning", "--python", sys.prefix, "--project", str(path.parent)]
    found = subprocess.run([*command, *options, str(path)], capture_output=True, text=True)
    return found.returncode, found.stdout + found.stderr


def test_types_of_a_users_program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.read_text(encoding="utf-8"), encoding="utf-8")
    code, found = checked(path)
    assert code == 0, found


def test_types_of_the_readme_and_of_mistakes(tmp_path):
    """The lines of the README pass; a misspelt method and a wrong type do not."""
    path, wrong = tmp_path / "readme.py", tmp_path / "wrong" / "readme.py"
    lines = next(code for language, code in blocks(page("README.md")) if language == "python")
    path.write_text(lines, encoding="utf-8")
    code, found = checked(path)
    assert code == 0, found
    wrong.parent.mkdir()
    mistakes = "clf.predict_probability(rows)\nname: str = clf.summary()\nclf.loo(kind='waic')\n"
    wrong.write_text(f"{lines}\n{mistakes}", encoding="utf-8")
    code, found = checked(wrong)
    assert code == 1
    first = lines.count("\n") + 2
    for line in range(first, first + 3):
        assert f"readme.py:{line}:" in found
    assert "Found 3 diagnostics" in found


def test_version_is_that_of_the_package():
    assert bg.__version__ == version("bayesgen")


def test_package_is_marked_as_typed():
    assert (Path(bg.__file__).parent / "py.typed").is_file()


@pytest.mark.parametrize("module", ["pandas", "xarray", "arviz_stats"])
def test_types_import_nothing(module):
    """What only type checkers read is not imported with the library's names."""
    code = f"import bayesgen.typing, sys; assert {module!r} not in sys.modules"
    program = "import sys; sys.modules['bayesgen'] = type(sys)('bayesgen'); import importlib.util\n"
    program += f"sys.modules['bayesgen'].__path__ = [{str(Path(bg.__file__).parent)!r}]\n{code}"
    subprocess.run([sys.executable, "-c", program], check=True)
