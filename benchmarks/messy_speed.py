"""Fit of the stack on tables as people have them, beside a forest, boosting and CatBoost.

The tables are simulated in the shape of real ones: columns of levels of which many are rare, gaps
that cluster in some columns, whole numbers that are codes, many classes. The forest has 500 trees
on one-hot codes and medians; every fit runs on one thread and is timed in processor seconds, in
turn. CatBoost is left out where it is not installed. Run with OPENBLAS_NUM_THREADS=1.

python benchmarks/messy_speed.py
"""

import argparse
import dataclasses
import importlib.util
import statistics
import time
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

import bayesgen as bg


@dataclasses.dataclass(frozen=True)
class Shape:
    """The shape of a table.

    rows, classes: their numbers. numbers, codes, levels: columns of numbers, of whole numbers from
    0 to 5, and of levels. most: levels of a column at most. missing: share of the cells. signal: of
    each column, in its standard deviations. texts: columns of a text of its own in every row.
    """

    rows: int
    numbers: int
    codes: int
    levels: int
    classes: int
    missing: float
    most: int = 12
    signal: float = 0.4
    texts: int = 0


SHAPES = {
    "printing plant": Shape(540, 18, 4, 15, 2, 0.05, most=60),
    "veterinary": Shape(299, 5, 2, 14, 3, 0.26, most=6),
    "hearing": Shape(226, 0, 0, 69, 24, 0.02, most=5),
    "trees": Shape(736, 12, 2, 5, 5, 0.03, most=8),
    "liver": Shape(165, 45, 4, 0, 2, 0.10),
    "molecules": Shape(325, 200, 28, 0, 2, 0.0, signal=0.15),
    "tumours": Shape(339, 0, 0, 17, 21, 0.04, most=4, signal=0.8),
    "kidneys": Shape(400, 11, 2, 11, 2, 0.10, most=3, signal=0.8),
    "pupils": Shape(479, 0, 4, 12, 3, 0.0, most=14),
    "150 classes": Shape(1200, 3, 0, 0, 150, 0.0, signal=2.0),
    "40 classes": Shape(400, 3, 0, 0, 40, 0.0, signal=2.0),
    "three numbers": Shape(100, 3, 0, 0, 2, 0.0),
    "three and texts": Shape(100, 3, 0, 0, 2, 0.0, texts=1),
    "wide": Shape(800, 85, 0, 85, 2, 0.2),
}
TREES = 500
RARE = 1.6
"""Power by which the frequencies of levels fall with their ranks."""


def simulated(shape: Shape, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table of a shape, and its classes."""
    rng = np.random.default_rng(seed)
    y, columns = rng.permutation(np.arange(shape.rows) % shape.classes), {}
    for j in range(shape.numbers + shape.codes):
        x = rng.normal(size=shape.rows) + shape.signal * rng.normal(size=shape.classes)[y]
        whole = np.clip(np.round(1.5 * x + 2), 0, 5).astype(int)
        columns[f"number {j}"] = x if j < shape.numbers else whole
    for j in range(shape.levels):
        size = int(rng.integers(2, shape.most + 1))
        tilt = np.exp(shape.signal * rng.normal(size=(shape.classes, size)))
        odds = tilt / np.arange(1, size + 1) ** RARE
        steps = (odds / odds.sum(axis=1, keepdims=True)).cumsum(axis=1)
        code = (rng.random(shape.rows)[:, None] > steps[y]).sum(axis=1)
        columns[f"level {j}"] = np.array([f"v{k}" for k in range(size + 1)], dtype=object)[code]
    for j in range(shape.texts):
        order = np.random.default_rng([seed, j]).permutation(shape.rows)
        columns[f"level text {j}"] = np.array([f"text {i}" for i in order], dtype=object)
    X = pd.DataFrame(columns)
    if shape.missing:
        share = rng.beta(0.5, 0.5 * (1 - shape.missing) / shape.missing, X.shape[1])
        X = X.mask(rng.random(X.shape) < share)
    return X, np.array([f"class {k:03d}" for k in range(shape.classes)])[y]


def rivals(X: pd.DataFrame, trees: int) -> Iterator[tuple[str, Callable]]:
    """Yield the name of each other classifier, and a function that makes it."""
    words = [name for name in X if name.startswith("level")]
    numbers = [name for name in X if name not in words]
    fills = SimpleImputer(strategy="median", keep_empty_features=True)

    def forest() -> object:
        codes = make_column_transformer(
            (fills, numbers), (OneHotEncoder(handle_unknown="ignore"), words)
        )
        return make_pipeline(codes, RandomForestClassifier(trees, n_jobs=1, random_state=0))

    def boosting() -> object:
        codes = make_column_transformer(
            (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan), words),
            remainder="passthrough",
        )
        return make_pipeline(codes, HistGradientBoostingClassifier(random_state=0))

    yield "forest", forest
    yield "boosting", boosting
    if importlib.util.find_spec("catboost"):
        from catboost import CatBoostClassifier

        def catboost() -> object:
            text = make_column_transformer(
                (SimpleImputer(strategy="constant", fill_value="missing"), words),
                remainder="passthrough",
            )
            places = list(range(len(words)))
            quiet = {"verbose": 0, "thread_count": 1, "allow_writing_files": False}
            return make_pipeline(text, CatBoostClassifier(cat_features=places, **quiet))

        yield "CatBoost", catboost


def seconds(make: Callable, X: pd.DataFrame, y: np.ndarray) -> float:
    """Return the processor seconds of a fit."""
    start = time.process_time()
    make().fit(X, y)
    return time.process_time() - start


def stack() -> bg.StackedClassifier:
    """Return the default."""
    return bg.StackedClassifier(random_state=0, progress=False)


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[*SHAPES], help="names of shapes")
    parser.add_argument("--quick", action="store_true", help="one small table: does it run?")
    arguments = parser.parse_args()
    shapes, trees = {name: SHAPES[name] for name in arguments.only}, TREES
    if arguments.quick:
        shapes, trees = {"small": Shape(60, 2, 1, 2, 2, 0.1, most=4)}, 10
    rows = None
    for title, shape in shapes.items():
        X, y = simulated(shape)
        others = dict(rivals(X, trees))
        if rows is None:
            heads = ["table", "rows x columns, classes", "stack, s", *(f"over {n}" for n in others)]
            print(f"| {' | '.join(heads)} |\n| {' | '.join(['---'] * len(heads))} |")
            stack().fit(*simulated(Shape(40, 2, 0, 2, 2, 0.1)))  # what is compiled once
        rows = [
            (seconds(stack, X, y), [seconds(make, X, y) for make in others.values()])
            for _ in range(arguments.repeats)
        ]
        ours = statistics.median(mine for mine, _ in rows)
        ratios = [
            statistics.median(mine / theirs[i] for mine, theirs in rows) for i in range(len(others))
        ]
        size = f"{X.shape[0]:,} x {X.shape[1]}, {shape.classes}"
        figures = " | ".join(f"{ratio:.1f}" for ratio in ratios)
        print(f"| {title} | {size} | {ours:.2f} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
