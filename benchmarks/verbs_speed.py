"""Milliseconds of the verbs that a form asks at every change, for one row with ten empty fields.

The default model of 1,000 rows of 20 columns: numbers, or ten numbers and ten columns of levels,
with and without missing cells in the fit. Processor time: the median of calls with different rows,
after the first call, which has a line of its own where it makes what the later ones share.
"""

import time
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from measure import Options, main
from results import Result
from tables import level_rows, normal_rows

import bayesgen as bg

N_ROWS, N_COLUMNS, EMPTY, GAPS, N_LEVELS = 1_000, 20, 10, 0.1, 4
VERBS: dict[str, tuple[str | None, Callable[[bg.StackedClassifier, pd.DataFrame], object]]] = {
    "predict_proba": ("<= 50", lambda clf, row: clf.predict_proba(row)),
    "predict_interval": ("<= 50", lambda clf, row: clf.predict_interval(row)),
    "predict_set": ("<= 50", lambda clf, row: clf.predict_set(row)),
    "evidence": ("<= 250", lambda clf, row: clf.evidence(row)),
    "evidence, shapley": (None, lambda clf, row: clf.evidence(row, order="shapley")),
    "typicality": ("<= 250", lambda clf, row: clf.typicality(row)),
    "feature_value": ("<= 2000", lambda clf, row: clf.feature_value(row)),
}


def measure(options: Options) -> list[Result]:
    """Return the cost of each verb on each table."""
    results = []
    for levels in (0, N_COLUMNS // 2):
        for missing in (False, True):
            results += of_table(levels, options, missing=missing)
    return results


def of_table(levels: int, options: Options, *, missing: bool) -> list[Result]:
    """Return the cost of each verb of a model of a table.

    levels: how many columns are of levels. missing: whether a tenth of the cells of the fit is.
    """
    X, y = mixed_rows(options.size(N_ROWS, 60), levels)
    rng = np.random.default_rng(1)
    fitted = X.mask(rng.random(X.shape) < GAPS) if missing else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = bg.StackedClassifier().fit(fitted, y)
        rows = [_half_filled(X.iloc[[i]], rng) for i in range(options.repeats + 1)]
        name = f"{len(X):,} x {N_COLUMNS}, {levels or 'no'} of levels"
        name += ", 10 % of cells missing" if missing else ""
        return [
            line
            for verb, (goal, ask) in VERBS.items()
            for line in _lines(f"{verb}: {name}", goal, lambda row, ask=ask: ask(clf, row), rows)
        ]


def mixed_rows(n: int, levels: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return numbers, and columns of levels after them, of which each says a little of the class.

    Example:
        >>> mixed_rows(2, 10)[0].shape
        (2, 20)
    """
    X, y = normal_rows(n, N_COLUMNS - levels, 2)
    numbers = 0.4 * X + 0.9 * np.random.default_rng(2).standard_normal(X.shape)
    frame = pd.DataFrame(numbers, columns=[f"number {j}" for j in range(X.shape[1])])
    codes, of_codes = level_rows(n, levels, 2, N_LEVELS)
    # codes in the order of the classes of the numbers
    order = np.argsort(np.argsort(y, kind="stable"), kind="stable")
    codes = codes[np.argsort(of_codes, kind="stable")][order]
    for j in range(levels):
        frame[f"levels {j}"] = np.array(list("abcd"))[codes[:, j]]
    return frame, y


def _half_filled(row: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return a row with ten empty fields."""
    empty = rng.choice(N_COLUMNS, EMPTY, replace=False)
    return row.mask(np.isin(np.arange(N_COLUMNS), empty)[None])


def _lines(
    work: str, goal: str | None, call: Callable[[pd.DataFrame], object], rows: list[pd.DataFrame]
) -> list[Result]:
    """Return the first call where it is twice as long as the others, and their median."""
    first, *later = (1000 * _processor_seconds(call, row) for row in rows)
    typical = float(np.median(later))
    lines = [Result(work, goal, typical, "ms", min(later), max(later))]
    if first > 2 * typical:
        lines.append(Result(f"{work}, first call", None, first, "ms", first, first))
    return lines


def _processor_seconds(call: Callable[[pd.DataFrame], object], row: pd.DataFrame) -> float:
    began = time.process_time()
    call(row)
    return time.process_time() - began


if __name__ == "__main__":
    main(__file__, __doc__, measure, ("one",))
