"""Every README line and every command, in an environment of the package and what it requires.

Arguments: names of parts. package, readme, library, samplers and commands, which are run where none
is named, are for an environment without extras: what an extra brings is absent, and must be asked
for by one sentence that names it. examples is for one with all extras and what the pages import
besides, page for one with the extra `app`, closed_forms for one without NumPyro.
"""

import contextlib
import doctest
import io
import json
import pkgutil
import re
import shlex
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import files, metadata
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from urllib.request import Request, urlopen

BIN = Path(sys.prefix) / "bin"
SENTENCES = {
    "app": 'pip install "bayesgen[app]"',
    "plots": 'pip install "bayesgen[plots]"',
    "numpyro": "pip install numpyro",
}


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return language and text of the blocks of a page."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^```(\w+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


BLOCKS = blocks(Path("README.md"))


def block(language: str, number: int) -> str:
    """Return the text of one block of the README."""
    return [text for found, text in BLOCKS if found == language][number]


def command(line: str, *, code: int = 0) -> str:
    """Run one command line and return what it printed; its exit code must be the one expected."""
    words = shlex.split(line)
    found = subprocess.run([BIN / words[0], *words[1:]], capture_output=True, text=True)
    assert found.returncode == code, (line, found.returncode, found.stdout, found.stderr)
    assert "Traceback" not in found.stderr, (line, found.stderr)
    return found.stdout + found.stderr


def package() -> None:
    """What is installed is the package, whole, and no extra with it."""
    import bayesgen as bg

    assert Path(bg.__file__).is_relative_to(sys.prefix), bg.__file__
    assert (Path(bg.__file__).parent / "py.typed").is_file()
    found = metadata("bayesgen")
    assert bg.__version__ == found["Version"] == command("bayesgen --version").strip()
    assert found["Author"] and found["License-Expression"] and found.get_all("License-File")
    urls = {line.split(",")[0] for line in found.get_all("Project-URL")}
    assert {"Documentation", "Changelog", "Issues", "Repository"} <= urls, urls
    for name in bg.datasets.names():
        X, y = getattr(bg.datasets, f"load_{name}")()
        assert X.shape[0] == len(y) > 0, name
    # nothing but the package, its metadata and the command
    places = {
        file.parts[0].removesuffix(f"-{bg.__version__}.dist-info") for file in files("bayesgen")
    }
    assert places <= {"bayesgen", ".."}, places
    assert set(found.get_all("Provides-Extra")) == {"app", "numpyro", "plots"}
    for absent in (
        "matplotlib",
        "starlette",
        "uvicorn",
        "arviz_plots",
        "polars",
        "pytest",
        "IPython",
    ):
        assert find_spec(absent) is None, absent


def readme() -> None:
    """The Python blocks run on a CSV file, and the first prints what the page says."""
    import bayesgen as bg

    X, y = bg.datasets.load_titanic_passengers()
    X.assign(survived=y).to_csv("passengers.csv", index=False)
    out, scope = io.StringIO(), {}
    with contextlib.redirect_stdout(out):
        exec(block("python", 0), scope)
    assert out.getvalue() == block("text", 0), out.getvalue()
    exec(block("python", 1), scope)


def library() -> None:
    """What needs other packages than a fit does: tables of draws, files, pages; or an extra."""
    import arviz_stats as az

    import bayesgen as bg

    X, y = bg.datasets.load_iris()
    lda, qda = bg.LDA(random_state=0).fit(X, y), bg.QDA(random_state=0).fit(X, y)
    assert len(lda.summary()) and len(qda.summary(kind="stats"))
    assert len(az.compare({"lda": lda.loo(kind="elpd"), "qda": qda.loo(kind="elpd")}))
    lda.save("lda.bgm")
    assert (bg.load("lda.bgm").predict_proba(X) == lda.predict_proba(X)).all()
    stack = bg.StackedClassifier([bg.LDA(), bg.QDA()]).fit(X, y)
    for owner in (lda, stack, bg.compare({"lda": lda}, X, y, cv=2)):
        assert owner._repr_html_()
        for name in (name for name in dir(owner) if name.startswith("plot_")):
            plot = getattr(owner, name)
            required = [p for p in signature(plot).parameters.values() if p.default is p.empty]
            wanted = [p for p in required if p.kind is p.POSITIONAL_OR_KEYWORD]
            refused("plots", plot, *[None] * len(wanted))


def refused(absent: str, ask: Callable, *arguments: object) -> None:
    """What needs an absent package is refused by its sentence, whatever the arguments."""
    from bayesgen.errors import MissingPackage

    try:
        ask(*arguments)
    except MissingPackage as error:
        assert SENTENCES[absent] in str(error), error
    else:
        raise AssertionError(f"{ask} ran without {absent}")


def samplers() -> None:
    """Draws by NUTS, densities of priors, NumPyro distributions."""
    import arviz_stats as az

    import bayesgen as bg

    X, y = bg.datasets.load_iris()
    method = bg.NUTS(draws=20, warmup=20, chains=2, progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bg.errors.BayesgenWarning)
        clf = bg.NaiveBayes(bg.Family("Gamma"), inference=method, random_state=0).fit(X, y)
        assert clf.predict_proba(X).shape == (150, 3)
    tree = bg.QDA(random_state=0).fit(X, y).to_datatree(draws=100, replicates=2)
    tree["log_likelihood"] = tree["log_likelihood_joint"]
    assert len(az.psense_summary(tree, var_names=["class.probs"]))


def page() -> None:
    """A table of the user's own as a page: one command installs, the next one serves it."""
    import bayesgen as bg

    X, y = bg.datasets.load_titanic_passengers()
    X.assign(survived=y).to_csv("own.csv", index=False)
    words = [BIN / "bayesgen", "serve", "own.csv", "--target", "survived", "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as serving:
        try:
            line = next(line for line in serving.stdout if line.startswith("bayesgen: "))
            address = re.search(r"http://[^ ]+", line)[0]
            row = json.dumps({"sex": "female", "age": None}).encode()
            head = {"Content-Type": "application/json"}
            with urlopen(Request(f"{address}predict?with=next", row, head), timeout=60) as answer:
                (found,) = json.load(answer)["answers"]
            assert found["predicted"] == "yes" and len(found["next"]["fields"]) == 2, found
            for name in ("", "bedside.css", "bedside.js"):
                assert urlopen(address + name, timeout=60).read()
        finally:
            serving.kill()


def closed_forms() -> None:
    """Without NumPyro what has a closed form runs, and the rest is refused by one sentence."""
    import bayesgen as bg

    readme()
    X, y = bg.datasets.load_iris()
    for ask in (bg.NaiveBayes(inference="nuts").fit, bg.LDA().fit(X, y).to_datatree):
        refused("numpyro", ask, X, y)
    line = "bayesgen fit iris --model naive-bayes --inference nuts --out absent.bgm"
    found = command(line, code=1)
    *read, refusal = found.splitlines()
    assert [line.split()[0] for line in read] == ["data", "target"], found
    assert SENTENCES["numpyro"] in refusal, found
    assert not Path("absent.bgm").exists()


def examples() -> None:
    """Every page of docs/ prints what it shows, and so does every example of a docstring."""
    import bayesgen as bg

    for page in sorted(Path("docs").rglob("*.md")):
        scope, out = {}, io.StringIO()
        for language, text in blocks(page):
            if language == "python":
                out = io.StringIO()
                with contextlib.redirect_stdout(out):
                    exec(text, scope)
            elif language == "text":
                assert out.getvalue() == text, (page, text, out.getvalue())
    for module in pkgutil.walk_packages(bg.__path__, "bayesgen."):
        assert not doctest.testmod(import_module(module.name)).failed, module.name


def commands() -> None:
    """Every command runs, or names the extra that it needs."""
    helped = command("bayesgen --help")
    lines = {
        "datasets": ("", " --json"),
        "compare": (" titanic_passengers --methods mle,exact,stacked",),
        "fit": (
            " titanic_passengers --out titanic.bgm",
            " iris --model qda --out iris.bgm",
            " iris --model naive-bayes --inference nuts --out draws.bgm",
        ),
        "merge": (" iris.bgm iris.bgm --out both.bgm",),
        "predict": (
            " titanic.bgm titanic_passengers --out answers.parquet",
            " titanic.bgm titanic_passengers --out answers.csv",
            " iris.bgm iris --json",
        ),
    }
    needing = {
        "report": ("plots", " iris --html page.html", " iris --fitted iris.bgm --html page.html"),
        "serve": ("app", " titanic.bgm", " iris"),
    }
    assert set(re.findall(r"^│ (\w+)  ", helped, re.MULTILINE)) == {*lines, *needing}, helped
    for name, tails in lines.items():
        for tail in tails:
            assert command(f"bayesgen {name}{tail}") or "--out" in tail
    for name, (extra, *tails) in needing.items():
        for tail in tails:
            found = command(f"bayesgen {name}{tail}", code=1)
            assert found.count("\n") == 1 and SENTENCES[extra] in found, found
    assert Path("answers.parquet").stat().st_size and Path("answers.csv").stat().st_size
    assert not Path("page.html").exists()


if __name__ == "__main__":
    bare = (package, readme, library, samplers, commands)
    parts = {part.__name__: part for part in (*bare, page, examples, closed_forms)}
    for part in [parts[name] for name in sys.argv[1:]] or bare:
        start = time.perf_counter()
        part()
        print(f"{part.__name__}: {part.__doc__} {time.perf_counter() - start:.0f} s")
