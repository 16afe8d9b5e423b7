"""Texts for the benchmarks: counts drawn by Zipf's law, and sentences of an installed package."""

import ast
import importlib.util
import re
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array, csr_matrix

LENGTH = 120
"""Mean number of words of a simulated text; lengths are gamma-Poisson, a third of them below 60."""
FEWEST_WORDS = 4


def zipf_counts(
    n: int, n_words: int, n_classes: int, seed: int = 0
) -> tuple[csr_matrix, np.ndarray]:
    """Return counts as CountVectorizer makes them, and labels: every word is in some text.

    The j-th word has a frequency of about 1 / j, times a factor of its own in every class.
    """
    world, rng = np.random.default_rng(30), np.random.default_rng(seed)
    factor = world.gamma(1.0, 1.0, (n_classes, n_words))
    steps = (factor / (np.arange(n_words) + 2.7)).cumsum(axis=1)
    y = rng.integers(n_classes, size=n)
    length = rng.poisson(rng.gamma(2.0, LENGTH / 2, n))
    row = np.repeat(np.arange(n), length)
    u = rng.random(len(row))
    word = np.empty(len(row), dtype=np.int64)
    for k in range(n_classes):
        mine = y[row] == k
        word[mine] = np.searchsorted(steps[k], u[mine] * steps[k, -1])
    unused = np.setdiff1d(np.arange(n_words), word)
    row, word = np.append(row, rng.integers(n, size=len(unused))), np.append(word, unused)
    ones = np.ones(len(row), dtype=np.int64)
    counts = csr_matrix(coo_array((ones, (row, word)), shape=(n, n_words)))
    counts.sum_duplicates()
    counts.indices, counts.indptr = counts.indices.astype(np.int32), counts.indptr.astype(np.int32)
    return counts, y


def docstring_sentences(package: str, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the sentences of a package's docstrings, and which subpackage each is from.

    The subpackages with the most sentences are taken; those in several of them are left out.
    """
    root = Path(importlib.util.find_spec(package).origin).parent
    found: dict[str, set[str]] = {}
    for path in sorted(root.glob("[a-z]*/**/*.py")):
        part = path.relative_to(root).parts
        if "tests" not in part and part[0] != "externals":
            for sentence in _sentences(path):
                found.setdefault(sentence, set()).add(part[0])
    own = [(sentence, *parts) for sentence, parts in found.items() if len(parts) == 1]
    texts, labels = (np.array(column, dtype=object) for column in zip(*own, strict=True))
    names, count = np.unique(labels, return_counts=True)
    kept = np.isin(labels, names[np.argsort(-count)[:n_classes]])
    return texts[kept], labels[kept].astype(str)


def _sentences(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef)
    texts = [ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, holders)]
    parts = [part for text in texts for part in re.split(r"(?<=[.!?])\s+|\n\s*\n", text)]
    direct = [" ".join(part.split()) for part in parts]
    return [part for part in direct if len(part.split()) >= FEWEST_WORDS]
