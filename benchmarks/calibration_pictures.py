"""Pictures of the calibration benchmark: critical differences, and loss against missing cells."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from calibration_regimes import SHARES
from calibration_report import Results
from scipy.stats import rankdata, studentized_range

LEVEL = 0.05


def critical_difference(ranks: int, tables: int, level: float = LEVEL) -> float:
    """Return the difference of two mean ranks above which Nemenyi's test tells them apart.

    q sqrt(k (k + 1) / (6 N)) for k classifiers and N tables, q the upper `level` point of the
    studentized range of k normals over sqrt(2).

    Source: Demsar (2006), Journal of Machine Learning Research 7, 1-30, section 3.2.2.
    """
    q = studentized_range.ppf(1 - level, ranks, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(ranks * (ranks + 1) / (6 * tables)))


def mean_ranks(of: Results) -> dict[str, float]:
    """Return mean ranks over the open tables (1: lowest loss) of classifiers that have them all."""
    loss = of.loss.loc[of.open].dropna(axis=1)
    ranks = rankdata(loss.to_numpy(), axis=1).mean(axis=0)
    return dict(sorted(zip(loss.columns, ranks.tolist(), strict=True), key=lambda pair: pair[1]))


def draw(results: list[Results], folder: Path) -> None:
    """Draw what the results allow: mean ranks of each regime, and loss against missing cells."""
    folder.mkdir(parents=True, exist_ok=True)
    for of in results:
        if len(of.open) > 1 and len(mean_ranks(of)) > 1:
            draw_ranks(of, folder / f"ranks-{of.regime}.png")
    if sum(of.regime.removeprefix("missing-").isdigit() for of in results) > 1:
        draw_missing(results, folder / "missing.png")


def draw_ranks(of: Results, path: Path) -> None:
    """Draw mean ranks; a bar joins classifiers that Nemenyi's test does not tell apart."""
    ranks = mean_ranks(of)
    reach, place = critical_difference(len(ranks), len(of.open)), np.array([*ranks.values()])
    half = (len(ranks) + 1) // 2
    bars = _groups(place, reach)
    top = 0.35 + 0.22 * len(bars)
    figure, axes = plt.subplots(figsize=(8, 1 + 0.28 * (half + len(bars))), layout="constrained")
    low, high = 1, len(ranks)
    axes.hlines(0, low, high, color="black")
    for tick in range(low, high + 1):
        axes.vlines(tick, -0.08, 0, color="black")
        axes.text(tick, -0.15, str(tick), ha="center", va="bottom", fontsize=8)
    for number, (name, rank) in enumerate(ranks.items()):
        left = number < half
        height = top + 0.3 * (number if left else len(ranks) - 1 - number)
        edge = low - 0.3 if left else high + 0.3
        axes.plot([rank, rank, edge], [0, height, height], color="black", linewidth=0.8)
        words = f"{name} ({rank:.1f})" if left else f"({rank:.1f}) {name}"
        axes.text(edge, height, words, ha="right" if left else "left", va="center", fontsize=8)
    for number, (first, last) in enumerate(bars):
        height = 0.2 + 0.2 * number
        axes.hlines(height, place[first] - 0.05, place[last] + 0.05, color="C0", linewidth=4)
    axes.hlines(-0.7, low, low + reach, color="C0", linewidth=4)
    axes.text(low, -0.8, f"critical difference {reach:.2f} (Nemenyi, 5 %)", va="bottom", fontsize=8)
    axes.set(xlim=(low - 0.35 * high, high * 1.35), ylim=(top + 0.3 * half, -1.2))
    axes.axis("off")
    axes.set_title(f"Mean ranks of log loss, {of.regime}, {len(of.open)} tables", fontsize=9)
    _save(figure, path)


def draw_missing(results: list[Results], path: Path, most: int = 7) -> None:
    """Draw mean log loss against the share of cells missing, the lowest classifiers by color."""
    by_name = {of.regime: of for of in results}
    found = {s: by_name[f"missing-{s}"] for s in SHARES if f"missing-{s}" in by_name}
    means = {s: of.loss.loc[of.open].mean(skipna=False).dropna() for s, of in found.items()}
    names = [n for n in next(iter(means.values())).index if all(n in m for m in means.values())]
    names.sort(key=lambda name: sum(m[name] for m in means.values()))
    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    for number, name in enumerate(names):
        color = f"C{number}" if number < most else "0.7"
        axes.plot([*means], [m[name] for m in means.values()], marker="o", color=color, label=name)
    axes.set(xlabel="cells missing at fit and at prediction, %", ylabel="mean log loss, nats")
    axes.set_xticks([*means])
    axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    _save(figure, path)


def _groups(ranks: np.ndarray, reach: float) -> list[tuple[int, int]]:
    """Return first and last place of every largest group within the critical difference."""
    last = np.searchsorted(ranks, ranks + reach, side="right") - 1
    spans = [(i, int(j)) for i, j in enumerate(last) if j > i]
    return [(i, j) for i, j in spans if not any(a < i and j <= b for a, b in spans)]


def _save(figure: plt.Figure, path: Path) -> None:
    figure.savefig(path, dpi=150)
    plt.close(figure)
