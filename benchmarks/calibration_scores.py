"""Fit every rival on every split of a table and boil its predictions down to scores."""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from calibration_rivals import rivals
from calibration_tables import Benchmark
from scipy.optimize import minimize_scalar
from sklearn.base import BaseEstimator, clone
from tqdm import tqdm

from bayesgen.calibrate import accuracy, brier, calibration_error
from bayesgen.compare.folds import Fold

CLIP = 1e-15
"""Smallest probability that the clipped log loss counts: a true class given 0 costs 34.5 nats."""


def log_probability(rival: BaseEstimator, table: Benchmark, fold: Fold) -> np.ndarray:
    """Return log P(class) of the rows to score; classes the fit never saw have log 0."""
    fit, scored = fold
    clf = clone(rival)
    out = np.full((len(scored), len(table.classes)), -np.inf)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        clf.fit(table.X.iloc[fit], table.y[fit])
        X = table.X.iloc[scored]
        # boosting has no logarithms of its own
        logs = clf.predict_log_proba(X) if hasattr(clf, "predict_log_proba") else None
        out[:, clf.classes_] = np.log(clf.predict_proba(X)) if logs is None else logs
    return out


def scores(y: list[np.ndarray], log_p: list[np.ndarray]) -> dict[str, float]:
    """Return the scores of several splits, each a list of class codes and log probabilities.

    log_loss: nothing clipped, inf if a true class got 0. log_loss_clipped: probabilities raised to
    1e-15 first (scikit-learn clips at 2.2e-16). under_clip, zeros: shares of rows whose true class
    got less than 1e-15, or 0. brier, accuracy, log losses: mean over splits of the mean over rows.
    calibration_error (top label, 15 bins of equal width) and gap (mean confidence - accuracy): over
    the rows of all splits together, for the bins of one small split are noise. temperature: what
    the log probabilities should have been divided by (1: right; above: they were overconfident).
    """
    true = [p[np.arange(len(p)), codes] for codes, p in zip(y, log_p, strict=True)]
    clipped = [-np.maximum(t, np.log(CLIP)).mean() for t in true]
    p = [np.exp(split) for split in log_p]
    whole, codes, every = np.concatenate(p), np.concatenate(y), np.concatenate(true)
    pairs = list(zip(y, p, strict=True))
    right = [accuracy(*pair) for pair in pairs]
    return {
        "log_loss": float(np.mean([-t.mean() for t in true])),
        "log_loss_clipped": float(np.mean(clipped)),
        "log_loss_se": float(np.std(clipped, ddof=1) / np.sqrt(len(clipped))),
        "under_clip": float(np.mean(every < np.log(CLIP))),
        "zeros": float(np.mean(np.isneginf(every))),
        "brier": float(np.mean([brier(*pair) for pair in pairs])),
        "calibration_error": calibration_error(codes, whole),
        "temperature": best_temperature(codes, np.maximum(np.concatenate(log_p), np.log(CLIP))),
        "gap": float(whole.max(axis=1).mean() - np.mean(whole.argmax(axis=1) == codes)),
        "accuracy": float(np.mean(right)),
    }


def best_temperature(y: np.ndarray, log_p: np.ndarray) -> float:
    """Return the temperature in .1 to 10 of the lowest log loss of p^(1 / temperature)."""
    rows = np.arange(len(y))

    def loss(log_temperature: float) -> float:
        tempered = log_p / np.exp(log_temperature)
        return float((np.logaddexp.reduce(tempered, axis=1) - tempered[rows, y]).mean())

    found = minimize_scalar(loss, bounds=(np.log(0.1), np.log(10)), method="bounded")
    return float(np.exp(found.x))


def score_all(
    tables: list[Benchmark], splits: dict[str, int], wanted: list[str], cache: Path | None
) -> list[dict]:
    """Return one record for each table, regime ("small", "full") and rival.

    Args:
        tables: what to fit.
        splits: draws of 24 rows ("small"), seeds of 10-fold cross-validation ("full").
        wanted: names of rivals; empty for all.
        cache: file of records; those it holds are not computed again, new ones are added.
    """
    records = _read(cache)
    done = {(r["table"], r["regime"], r["splits"], r["rival"]) for r in records}
    work = [
        (table, regime, name, rival)
        for regime in splits
        for table in tables
        for name, rival in rivals(table, wanted).items()
        if splits[regime] and (table.name, regime, splits[regime], name) not in done
    ]
    for table, regime, name, rival in tqdm(work, file=sys.stderr, unit="rival"):
        record = _score_one(rival, table, regime, splits[regime])
        about = {"table": table.name, "regime": regime, "splits": splits[regime], "rival": name}
        records.append({**about, **record})
        if cache:
            cache.write_text(json.dumps(records, indent=1), encoding="utf-8")
    keep = {(t.name, g, n, r) for t in tables for g, n in splits.items() for r in rivals(t, wanted)}
    return [r for r in records if (r["table"], r["regime"], r["splits"], r["rival"]) in keep]


def _score_one(rival: BaseEstimator, table: Benchmark, regime: str, splits: int) -> dict:
    folds = list(table.small(splits) if regime == "small" else table.folds(splits))
    start = time.perf_counter()
    try:
        log_p = [log_probability(rival, table, fold) for fold in folds]
    except (ValueError, np.linalg.LinAlgError) as error:
        return {"failed": str(error).split(". ")[0]}
    seconds = (time.perf_counter() - start) / len(folds)
    return {**scores([table.y[scored] for _, scored in folds], log_p), "seconds": seconds}


def _read(cache: Path | None) -> list[dict]:
    exists = cache is not None and cache.exists()
    return json.loads(cache.read_text(encoding="utf-8")) if exists else []
