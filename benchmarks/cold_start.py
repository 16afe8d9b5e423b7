"""A fresh process that fits exactly and predicts iris, against one that uses GaussianNB.

Processes start in turn. "array": both read the same .npy file. "table": each loads its own iris as
a pandas frame. Modules are counted in a process of their own. Bytecode is kept, as Python does
unless told otherwise: what is timed is loading, not compiling.
"""

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from measure import Options, Result, compared, in_turn, main, ratio

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
            ours, theirs = (partial(_run, code[kind], path) for code in (OURS, THEIRS))
            found = ratio(in_turn(ours, theirs, repeats), faster=False)
            work = f"fresh process, iris as {kind}: processes that use GaussianNB"
            counts = [len(_modules(code[kind], path)) for code in (OURS, THEIRS)]
            note = f"{counts[0]} modules against {counts[1]}"
            results.append(compared(work, "<= 1.2", found, note))
        heavy = sorted(_modules(OURS["array"], path) & set(HEAVY))
    work = f"fresh process, iris: modules loaded of {', '.join(HEAVY)}"
    return [*results, Result(work, "<= 0", len(heavy), "", note=" ".join(heavy))]


def _run(code: str, path: Path) -> str:
    command = [sys.executable, "-c", code, str(path)]
    keeping = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, env=keeping, check=True, capture_output=True, text=True)
    return done.stdout


def _modules(code: str, path: Path) -> set[str]:
    return set(_run(code + "; import sys; print(*sys.modules)", path).split())


if __name__ == "__main__":
    main(__file__, __doc__, measure, threads=("default",))
