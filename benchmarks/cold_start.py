"""A fresh process that fits exactly and predicts iris, against one that uses GaussianNB.

Processes start in turn, and what is compared is processor time (on Linux or macOS). "array": both
read the same .npy file. "table": each loads its own iris as a pandas frame. "import": both only
import, the other side scikit-learn's counterparts. Modules are counted in a process of their own.
Bytecode is kept, as Python does unless told otherwise: what is timed is loading, not compiling.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from measure import Options, Ratio, compared, main, ratio
from results import Result

import bayesgen as bg

ARRAY = (
    "import sys, numpy as np; Xy = np.load(sys.argv[1]); X, y = Xy[:, :-1], Xy[:, -1].astype(int); "
)
OURS = {
    "array": ARRAY + "import bayesgen as bg; bg.NaiveBayes().fit(X, y).predict_proba(X)",
    "table": "import bayesgen as bg; X, y = bg.datasets.load_iris(); "
    "bg.NaiveBayes().fit(X, y).predict_proba(X)",
}
THEIRS = {
    "array": ARRAY
    + "from sklearn.naive_bayes import GaussianNB; GaussianNB().fit(X, y).predict_proba(X)",
    "table": "from sklearn.datasets import load_iris; from sklearn.naive_bayes import GaussianNB; "
    "X, y = load_iris(as_frame=True, return_X_y=True); GaussianNB().fit(X, y).predict_proba(X)",
}
IMPORTS = (
    "from bayesgen import LDA, QDA, NaiveBayes",
    "import sklearn.naive_bayes, sklearn.discriminant_analysis",
)
HEAVY = ("jax", "jaxlib", "numpyro", "arviz", "arviz_base", "arviz_stats", "matplotlib")


def measure(options: Options) -> list[Result]:
    """Return the cost of a fresh process, and how many heavy modules it loads."""
    results = []
    repeats = options.repeats if options.quick else 3 * options.repeats
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "iris.npy"
        X, y = bg.datasets.load_iris()
        np.save(path, np.column_stack([X.to_numpy(), np.unique(y, return_inverse=True)[1]]))
        for kind in OURS:
            found = _in_turn(OURS[kind], THEIRS[kind], path, repeats)
            work = f"fresh process, iris as {kind}: processes that use GaussianNB"
            counts = [len(_modules(code[kind], path)) for code in (OURS, THEIRS)]
            note = f"{counts[0]} modules against {counts[1]}"
            results.append(compared(work, "<= 1.2", found, note))
        heavy = sorted(_modules(OURS["array"], path) & set(HEAVY))
        results.append(_import(path, repeats))
    work = f"fresh process, iris: modules loaded of {', '.join(HEAVY)}"
    return [*results, Result(work, "<= 0", len(heavy), "", note=" ".join(heavy))]


def _import(path: Path, repeats: int) -> Result:
    """Return what the import alone costs."""
    counts = [len(_modules(code, path)) for code in IMPORTS]
    note = f"{counts[0]} modules against {counts[1]}"
    work = "fresh process, import alone, processor time: scikit-learn's counterparts"
    return compared(work, "<= 1.1", _in_turn(*IMPORTS, path, repeats), note)


def _in_turn(ours: str, theirs: str, path: Path, repeats: int) -> Ratio:
    """Return what a process costs over another, started in turn."""
    codes = ours, theirs
    for code in codes:
        _run(code, path)
    pairs = [[processor_seconds(code, path) for code in codes] for _ in range(repeats)]
    return ratio(np.array(pairs), faster=False)


def processor_seconds(code: str, path: Path) -> float:
    """Return the processor seconds of a process, which a busy machine changes little."""
    before = os.times()
    _run(code, path)
    after = os.times()
    spent = (after.children_user, after.children_system)
    return sum(spent) - before.children_user - before.children_system


def _run(code: str, path: Path) -> str:
    command = [sys.executable, "-c", code, str(path)]
    keeping = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, env=keeping, check=True, capture_output=True, text=True)
    return done.stdout


def _modules(code: str, path: Path) -> set[str]:
    return set(_run(code + "; import sys; print(*sys.modules)", path).split())


if __name__ == "__main__":
    main(__file__, __doc__, measure, threads=("default",))
