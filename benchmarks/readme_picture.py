"""The README's picture: log loss against missing cells, from the table of docs/explanation.

Nothing is fitted: the figures are those that `calibration.py` found and the page
docs/explanation/calibration.md shows.
"""

from pathlib import Path

import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "explanation" / "calibration.md"
PICTURE = PAGE.with_name("missing-cells.png")
SHARES = {"0 % missing (8)": 0, "20 %": 20, "40 %": 40, "60 %": 60}
SHOWN = {
    "stack": ("bayesgen", "C0", "-"),
    "logistic, iterative imputer": ("logistic, imputed", "C1", "--"),
    "forest": ("random forest", "C2", "-."),
    "CatBoost": ("CatBoost", "C3", ":"),
}
"""Classifiers of the page: their name in the picture, color and line."""


def mean_losses(page: str) -> dict[str, dict[str, str]]:
    """Return {classifier: {column: figure as printed}} of the page's table of mean log losses."""
    lines = iter(page.splitlines())
    header = next(line for line in lines if line.startswith("| classifier | 24 rows"))
    next(lines)
    found = {}
    for line in lines:
        if not line.startswith("|"):
            break
        name, *figures = cells(line)
        found[name] = dict(zip(cells(header)[1:], figures, strict=True))
    return found


def cells(line: str) -> list[str]:
    """Return the cells of one line of a Markdown table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def draw(losses: dict[str, dict[str, str]], path: Path) -> None:
    """Draw mean log loss against the share of cells missing, each line named at its end."""
    # small, so that letters are legible on the screen of a phone
    figure, axes = plt.subplots(figsize=(5, 3.6), layout="constrained")
    for name, (label, color, line) in SHOWN.items():
        y = [float(losses[name][column]) for column in SHARES]
        width = 3 if name == "stack" else 1.8
        axes.plot([*SHARES.values()], y, line, color=color, marker="o", linewidth=width)
        axes.annotate(
            label,
            (60, y[-1]),
            (8, 0),
            textcoords="offset points",
            va="center",
            color=color,
            fontweight="bold" if name == "stack" else "normal",
        )
    axes.set(
        xlabel="cells missing, at fit and at prediction (%)",
        ylabel="log loss (lower is better)",
        title="mean of eight tables",
        xticks=[*SHARES.values()],
        xlim=(-2, 62),
    )
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=200)
    plt.close(figure)


if __name__ == "__main__":
    draw(mean_losses(PAGE.read_text(encoding="utf-8")), PICTURE)
    print(PICTURE.relative_to(ROOT))
