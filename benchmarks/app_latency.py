"""How soon a page answers: a row with ten of twenty fields empty, the default model, one core.

python benchmarks/app_latency.py [--rows 1000] [--columns 20] [--times 30] [--json FILE]

The page and its browser are one process here, so that its processor's time is what an answer costs
whatever else the machine does; beside it stands the time on the clock. Parts are asked for in the
order of the page, of another row each time, as after a change. Medians, and what 95 % stay below.
"""

import argparse
import json
import os
import time
import warnings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

from http.client import HTTPConnection  # noqa: E402
from urllib.parse import urlencode, urlparse  # noqa: E402

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

import bayesgen as bg  # noqa: E402

GOALS = {"answer": 0.15, "strange and why": 0.5, "next": 2.0}
"""Seconds."""
PARTS = ("answer", "strange", "why", "next")


def table(rows: int, columns: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return rows of two classes: numbers, correlated, and a fifth of the columns levels."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=rows)
    mixing = np.eye(columns) + 0.3 * rng.normal(size=(columns, columns)) / np.sqrt(columns)
    X = (rng.normal(size=(rows, columns)) + 0.4 * y[:, None]) @ mixing
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(columns)])
    for j in range(0, columns, 5):
        frame[f"c{j}"] = np.array(list("abcd"))[np.digitize(X[:, j], [-0.5, 0.2, 0.9])]
    return frame, y


def ask(connection: HTTPConnection, part: str, row: dict) -> str:
    """Return a part of the answer to a row."""
    connection.request("POST", f"/part/{part}", urlencode(row))
    answer = connection.getresponse()
    text = answer.read().decode()
    assert answer.status == 200, text
    return text


def seconds(clf: object, X: pd.DataFrame, times: int) -> dict[str, np.ndarray]:
    """Return the seconds of each part, by time of the processor and of the clock (part, 2)."""
    filled = [name for j, name in enumerate(X.columns) if j % 2]
    taken: dict[str, list] = {part: [] for part in PARTS}
    with bg.serve(clf, port=0, wait=False) as page:
        connection = HTTPConnection(urlparse(page.address).netloc)
        for i in range(times + 2):
            cells = X.iloc[i % len(X)][filled]
            row = {f"x.{name}": cell for name, cell in cells.items()}
            for part in PARTS:
                start = time.process_time(), time.perf_counter()
                ask(connection, part, row)
                end = time.process_time(), time.perf_counter()
                if i >= 2:  # what is made once for all answers
                    taken[part].append(np.subtract(end, start))
        connection.close()
    return {part: np.array(found) for part, found in taken.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, default in (("rows", 1000), ("columns", 20), ("times", 30)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--json")
    options = parser.parse_args()
    X, y = table(options.rows, options.columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = bg.StackedClassifier(random_state=0, progress=False).fit(X, y)
    found = seconds(clf, X, options.times)
    found = {
        "answer": found["answer"],
        "strange and why": found["strange"] + found["why"],
        "next": found["next"],
        "(strange)": found["strange"],
    }
    print("| part | processor, ms | 95 % | clock, ms | goal |\n| --- | --- | --- | --- | --- |")
    figures = {}
    for part, taken in found.items():
        median, late = np.median(taken, axis=0), np.quantile(taken[:, 0], 0.95)
        goal = GOALS.get(part)
        met = "" if goal is None else f"{1000 * goal:.0f}: {'yes' if median[0] <= goal else 'NO'}"
        ms = [f"{1000 * value:.0f}" for value in (median[0], late, median[1])]
        print(f"| {part} | {' | '.join(ms)} | {met} |")
        figures[part] = {"processor": median[0], "clock": median[1], "late": late}
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=1)


if __name__ == "__main__":
    main()
