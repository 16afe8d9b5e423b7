"""Rules of docs/explanation/architecture.md: cycles, ancestors, private names, words, length."""

import ast
import functools
import importlib
import inspect
import json
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import package_size
import pytest

import bayesgen

ROOT = Path(__file__).parents[2]
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / "bayesgen").rglob("*.py"))
}
SOURCES = sorted(
    path
    for part in ("bayesgen", "models", "benchmarks", "tests")
    for path in (ROOT / part).rglob("*.py")
)
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "models/*.md", "benchmarks/*.md", "notebooks/*.ipynb")
    for path in ROOT.glob(pattern)
)

MOST_ANCESTORS = {"likelihoods": 6, "estimators": 3}
"""Ancestors of ours that a class may have, by folder; 2 elsewhere."""
ELSEWHERE = {"_repr_html_", "_mask", "_exit"}
"""IPython's display; numpyro's masks, which have no public accessor; os._exit, which is public."""
NAMES = frozenset(
    {"hole", "holes", "bend", "bends", "bent", "inert", "worth", "worths", "told", "said"}
    | {"climb", "leap", "peak", "made", "plain", "known", "learnt"}
    | {"asking", "looking", "valuing", "undoing"}
)
"""Words of no file, class, function or argument: architecture.md has the field's."""
"""A line of the table of sizes: folder, and lines."""
PROSE = re.compile(r"\b(holes?|bent|inert|worths|(?:an?|the|its) worth|learnt)\b", re.IGNORECASE)


@functools.cache
def parsed(source: str) -> ast.Module:
    """Return the syntax tree of a source, which several rules read."""
    return ast.parse(source)


@functools.cache
def nodes_of(source: str) -> tuple[ast.AST, ...]:
    """Return the nodes of the tree of a source."""
    return tuple(ast.walk(parsed(source)))


def imported(source: str) -> Iterator[str]:
    """Yield every module of ours that a module imports, inside functions too."""
    for node in nodes_of(source):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bayesgen"):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in MODULES else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the modules that import each other, in whatever order a search meets them."""
    done: set[str] = set()
    found: list[list[str]] = []

    def visit(module: str, path: list[str]) -> None:
        if module in path:
            found.append([*path[path.index(module) :], module])
        elif module not in done:
            for below in sorted(graph.get(module, ())):
                visit(below, [*path, module])
            done.add(module)

    for module in sorted(graph):
        visit(module, [])
    return found


def reaches(module: str, source: str) -> list[str]:
    """Return the private names that a module uses and no module of its folder has.

    Names that another library or IPython keeps private are in ELSEWHERE.
    """
    folder = ".".join(module.split(".")[:2])
    own = private_names(source) | private_names_of(folder)
    nodes = nodes_of(source)
    used = [n for n in nodes if isinstance(n, ast.Attribute) and re.match(r"_(?!_)", n.attr)]
    allowed = own | ELSEWHERE
    found = [ast.unparse(n) for n in used if n.attr not in allowed and not _is_self(n.value)]
    taken = [n for n in nodes if isinstance(n, ast.ImportFrom)]
    others = [
        n for n in taken if (n.module or "").startswith("bayesgen") and folder not in n.module
    ]
    return found + [a.name for n in others for a in n.names if a.name.startswith("_")]


@functools.cache
def private_names_of(folder: str) -> set[str]:
    """Return the private names of all modules of a folder."""
    sources = [p.read_text(encoding="utf-8") for m, p in MODULES.items() if m.startswith(folder)]
    return set().union(*(private_names(text) for text in sources))


def private_names(source: str) -> set[str]:
    """Return the private functions, classes, fields and attributes that a module has itself."""
    nodes = nodes_of(source)
    own = {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    own |= {n.target.id for n in nodes if isinstance(n, ast.AnnAssign) and _is_name(n.target)}
    return own | {n.attr for n in nodes if isinstance(n, ast.Attribute) and _is_self(n.value)}


def _is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name)


def _is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def packed(source: str) -> list[str]:
    """Return the local tuples that are unpacked into the arguments of a call.

    Arguments that travel together are a concept without a name, and nobody checks their order.
    """
    functions = [n for n in nodes_of(source) if isinstance(n, ast.FunctionDef)]
    return sorted({name for f in functions for name in _tuples(f) & _unpacked(f)})


def _tuples(function: ast.FunctionDef) -> set[str]:
    """Return the names that a function gives to tuples and to generators of arguments."""
    pairs = []
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                several = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                pairs += (
                    list(zip(target.elts, node.value.elts, strict=True))
                    if several
                    else [(target, node.value)]
                )
    kinds = ast.Tuple | ast.GeneratorExp
    return {t.id for t, value in pairs if isinstance(t, ast.Name) and isinstance(value, kinds)}


def _unpacked(function: ast.FunctionDef) -> set[str]:
    """Return the names that calls in a function unpack; a shape is one, and its order its own."""
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    calls = [call for call in calls if getattr(call.func, "attr", "") != "reshape"]
    stars = [arg.value for call in calls for arg in call.args if isinstance(arg, ast.Starred)]
    return {star.id for star in stars if isinstance(star, ast.Name)}


def words(name: str) -> set[str]:
    """Return the words of a name, of either style."""
    return {part.lower() for part in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)}


def wrong_names(path: str, source: str) -> list[str]:
    """Return wrong names of the file and of its classes, functions and arguments."""
    nodes = nodes_of(source)
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    names = [*Path(path).with_suffix("").parts]
    names += [node.name for node in nodes if isinstance(node, kinds)]
    names += [node.arg for node in nodes if isinstance(node, ast.arg)]
    return [name for name in names if words(name) & NAMES]


def prose(path: Path) -> str:
    """Return what a page or a module says, code blocks and code cells left out."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
        return "\n".join("".join(cell["source"]) for cell in cells)
    if path.suffix == ".md":
        return re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in nodes_of(text) if isinstance(node, documented)]
    shown = "\n".join(ast.get_docstring(node) or "" for node in nodes)
    shown = re.sub(r"^ *(>>>|\.\.\.).*$|`[^`\n]*`", "", shown, flags=re.MULTILINE)
    return shown + "\n".join(re.findall(r"^\s*#.*$", text, flags=re.MULTILINE))


def test_no_two_modules_import_each_other():
    graph = {m: set(imported(p.read_text(encoding="utf-8"))) for m, p in MODULES.items()}
    # a package's __init__ re-exports its modules; no module of a package imports its own __init__
    assert cycles(graph) == []


def test_no_class_has_many_ancestors_of_ours():
    found = {}
    for info in pkgutil.walk_packages(bayesgen.__path__, "bayesgen."):
        if info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        for name, cls in inspect.getmembers(module, inspect.isclass):
            ours = [c.__name__ for c in cls.__mro__[1:] if c.__module__.startswith("bayesgen.")]
            errors = cls.__module__.startswith("bayesgen.errors")
            most = MOST_ANCESTORS.get(info.name.split(".")[1], 2)
            if cls.__module__ == info.name and not errors and len(ours) > most:
                found[f"{info.name}.{name}"] = ours
    assert found == {}


def test_no_folder_reaches_into_the_private_names_of_another():
    found = {m: reaches(m, path.read_text(encoding="utf-8")) for m, path in MODULES.items()}
    assert {module: names for module, names in found.items() if names} == {}


def test_contracts_that_no_name_states_are_few():
    counts = package_size.sizes()
    assert counts["private attributes of other objects"] <= 20
    assert counts["methods that StackedClassifier overrides"] <= 15


def test_arguments_are_not_packed_in_tuples():
    found = {m: packed(p.read_text(encoding="utf-8")) for m, p in MODULES.items()}
    assert {module: names for module, names in found.items() if names} == {}


def test_names_are_the_words_of_the_field():
    found = {
        m: wrong_names(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
        for m, path in MODULES.items()
    }
    assert {module: names for module, names in found.items() if names} == {}


def test_prose_is_in_the_words_of_the_field():
    # most files have none of the words, not even in their code: only the others are parsed
    some = [p for p in (*SOURCES, *PAGES) if PROSE.search(p.read_text(encoding="utf-8"))]
    found = {str(path.relative_to(ROOT)): set(PROSE.findall(prose(path))) for path in some}
    assert {name: words for name, words in found.items() if words} == {}


@pytest.mark.parametrize(
    ("graph", "found"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b"}, "b": {"a"}}, [["a", "b", "a"]]),
        ({"a": {"b"}, "b": {"c"}, "c": {"b"}}, [["b", "c", "b"]]),
    ],
)
def test_planted_cycles_are_found(graph, found):
    assert cycles(graph) == found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def f(other):\n    return other._posterior", ["other._posterior"]),
        ("from bayesgen.model import _ordered", ["_ordered"]),
        ("class A:\n    def f(self, other):\n        return self._seed + other._seed", []),
        ("def _g(): ...\n\n\ndef f(x):\n    return _g() + x.__len__()", []),
    ],
)
def test_planted_reaches_are_found(source, found):
    assert reaches("bayesgen.plots.style", source) == found


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("parts = x, y\n    return g(*parts)", ["parts"]),
        ("seed, parts = 1, (x, y)\n    return g(seed, *parts)", ["parts"]),
        ("both = (h(a) for a in (x, y))\n    return g(*both)", ["both"]),
        ("parts = h(x)\n    return g(*parts), x.reshape(*x.shape[:-1], 1)", []),
    ],
)
def test_planted_packing_is_found(body, found):
    assert packed(f"def f(x, y):\n    {body}") == found


@pytest.mark.parametrize(
    ("path", "source", "found"),
    [
        ("bayesgen/known.py", "", ["known"]),
        ("bayesgen/a.py", "class HolesOf:\n    def was_bent(self, toldThem): ...", None),
        ("bayesgen/a.py", "def unknown(holder, weight): ...", []),
    ],
)
def test_planted_names_are_found(path, source, found):
    expected = ["HolesOf", "was_bent", "toldThem"] if found is None else found
    assert wrong_names(path, source) == expected


def test_planted_prose_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("A hole.\n\n```python\nholes = 1\n```\n`inert` is a name.\n", encoding="utf-8")
    assert PROSE.findall(prose(page)) == ["hole"]
    module = tmp_path / "module.py"
    module.write_text(
        '"""Learnt.\n\n>>> holes = 1\n"""\n\n# bent\nholes = "inert"\n', encoding="utf-8"
    )
    assert sorted(PROSE.findall(prose(module))) == ["Learnt", "bent"]
