"""Results of the calibration benchmark as Markdown: a table a regime, wins, medians, scans."""

import math

import numpy as np
import pandas as pd

REGIMES = {
    "small": "24 training rows (two of each class where that is more), {n} random draws",
    "full": "10-fold cross-validation, {n} seed(s)",
}
STATED = (
    "Log loss in nats per row, probabilities below 1e-15 raised to it (a true class given 0 costs "
    "34.5; scikit-learn clips at 2.2e-16): this flatters whoever says 0. `rows at 0` counts the "
    "rows whose true class got exactly 0, where the log loss itself is infinite. Calibration error:"
    " top label, 15 bins of equal width, the held-out rows of all splits together. gap: mean "
    "confidence - accuracy. -: not defined for this table; fails: the fit raised an error."
)
BEST_OURS = ("NB Bayes", "LDA Bayes", "QDA Bayes")
DEFAULTS = ("sk NB", "sk LDA", "sk QDA")
EVERY = (*DEFAULTS, "sk LDA shrunk", "sk QDA shrunk")
ONE_HOT = ("sk GaussianNB, one-hot", "sk LDA, one-hot", "sk LDA shrunk, one-hot")


def markdown(records: list[dict]) -> str:
    """Return the whole report of the records of `score_all`."""
    frame = pd.DataFrame(records)
    parts = [STATED]
    for regime, words in REGIMES.items():
        of = frame[frame["regime"] == regime]
        if len(of):
            parts += [f"## {words.format(n=of['splits'].iloc[0])}", *_regime(of)]
    return "\n\n".join(parts) + "\n"


def _regime(frame: pd.DataFrame) -> list[str]:
    loss = _pivot(frame, "log_loss_clipped")
    zeros = _pivot(frame, "zeros").filter(like="MLE") * 100
    zeros.columns = [f"{name}: % rows at 0" for name in zeros.columns]
    shown = pd.concat([loss, zeros.loc[:, zeros.gt(0).any()]], axis=1)
    failed = set()
    if "failed" in frame:
        of = frame[frame["failed"].notna()]
        failed = set(zip(of["table"], of["rival"], strict=True))
    cells = {
        name: [_cell(value, (table, name) in failed) for table, value in column.items()]
        for name, column in shown.items()
    }
    return [
        "### Log loss",
        grid(pd.DataFrame(cells, index=shown.index)),
        "### Tables won (log loss)",
        "\n".join(f"* {line}" for line in _wins(loss)),
        "### Medians over tables (each over the tables it could be fitted to)",
        grid(_medians(frame)),
    ]


def _pivot(frame: pd.DataFrame, score: str) -> pd.DataFrame:
    """Return one score, tables by rivals, both in the order in which they came."""
    wide = frame.pivot(index="table", columns="rival", values=score)
    return wide.loc[frame["table"].unique(), frame["rival"].unique()]


def _cell(value: float, failed: bool) -> str:
    if math.isnan(value):
        return "fails" if failed else "-"
    return f"{value:.3f}" if value < 100 else f"{value:.0f}"


def _wins(loss: pd.DataFrame) -> list[str]:
    """Return the counts of tables won, from what was asked to what is hardest."""
    lines = []
    for model in ("NB", "LDA", "QDA"):
        lines += [
            _won(loss, f"{model} {way}", [f"{model} MLE"])
            for way in ("Bayes", "MAP")
            if f"{model} {way}" in loss
        ]
        lines.append(_won(loss, f"{model} Bayes", [f"sk {model}"]))
    one = loss.get("LDA Bayes", pd.Series(np.nan, loss.index)).fillna(loss.get("NB Bayes"))
    whole = loss.assign(**{"best Bayes": _best(loss, BEST_OURS), "LDA if numbers, else NB": one})
    for ours in ("best Bayes", "LDA if numbers, else NB"):
        lines.append(_won(whole, ours, list(DEFAULTS), "the best default pipeline of"))
        lines.append(_won(whole, ours, list(EVERY), "the best pipeline, shrunk ones too, of"))
        lines.append(_won(whole, ours, [*EVERY, *ONE_HOT], "the best pipeline of all,"))
    lines.append(_won(whole, "NB Bayes", ["logistic"]))
    lines.append(_won(whole, "best Bayes", ["logistic"]))
    return [line for line in lines if line]


def _best(loss: pd.DataFrame, names: tuple[str, ...] | list[str]) -> pd.Series:
    return loss[[name for name in names if name in loss]].min(axis=1)


def _won(loss: pd.DataFrame, ours: str, theirs: list[str], words: str = "") -> str:
    theirs = [name for name in theirs if name in loss]
    if ours not in loss or not theirs:
        return ""
    # a pipeline that fails has lost; a table that neither of both is for does not count
    mine, other = loss[ours], _best(loss, theirs).fillna(math.inf)
    both = mine.notna()
    if len(theirs) == 1:
        both &= loss[theirs[0]].notna()
    won, lost = mine[both] < other[both], mine[both] >= other[both]
    names = ", ".join(loss.index[both][lost]) or "none"
    against = f"{words} {', '.join(theirs)}".strip()
    return f"{ours} against {against}: {won.sum()} of {both.sum()} (not won: {names})"


def _medians(frame: pd.DataFrame) -> pd.DataFrame:
    names = ["log_loss_clipped", "brier", "calibration_error", "gap", "accuracy", "seconds"]
    by_rival = frame.groupby("rival", sort=False)
    found = by_rival[names].median()
    found.insert(1, "mean log loss", by_rival["log_loss_clipped"].mean())
    found.insert(0, "tables", by_rival["brier"].count())
    found = found.rename(columns={"log_loss_clipped": "log loss"})
    return found.map(lambda value: f"{value:.3g}" if isinstance(value, float) else str(value))


def grid(table: pd.DataFrame) -> str:
    """Return a table of text in Markdown, its first column the index."""
    rows = [[table.index.name or "", *map(str, table.columns)]]
    rows += [list(map(str, row)) for row in table.itertuples()]
    width = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "| " + " | ".join(c.ljust(w) for c, w in zip(row, width, strict=True)) + " |"
        for row in rows
    ]
    lines.insert(1, "| " + " | ".join("-" * w for w in width) + " |")
    return "\n".join(lines)


def strengths(records: list[dict], default: tuple, halves: dict[str, str]) -> str:
    """Return the scan of one kind of prior strengths as Markdown.

    For each setting: the mean over tables of the log loss at 24 rows and in 10-fold, how many
    tables it wins against the default, and by how much the table that it serves worst rises. Then
    what the halves of the tables choose: the lowest mean at 24 rows among settings that lose
    nothing in 10-fold (mean not above the default's), and what that brings on the other half.
    """
    frame = pd.DataFrame(records)
    frame["setting"] = frame["setting"].map(tuple)
    loss = frame.pivot_table(index="setting", columns=["regime", "table"], values="log_loss")
    small, full = loss["small"], loss["full"]
    mine = [default]
    found = pd.DataFrame(
        {
            "24 rows": small.mean(axis=1),
            "10-fold": full.mean(axis=1),
            "24 rows, geometric": np.exp(np.log(small).mean(axis=1)),
            "10-fold, geometric": np.exp(np.log(full).mean(axis=1)),
            "won, 24 rows": (small < small.loc[mine].to_numpy()).sum(axis=1),
            "won, 10-fold": (full < full.loc[mine].to_numpy()).sum(axis=1),
            "worst, 24 rows": (small - small.loc[mine].to_numpy()).max(axis=1),
            "worst, 10-fold": (full - full.loc[mine].to_numpy()).max(axis=1),
        }
    ).sort_values("24 rows")
    found.index = [_named(s) + (" (default)" if s == default else "") for s in found.index]
    found = found.rename_axis(f"{frame['scan'].iloc[0]}: {len(small.columns)} tables")
    shown = found.map(lambda v: f"{v:.4f}" if isinstance(v, float) else str(v))
    return "\n\n".join([grid(shown), _halves(small, full, default, halves)])


def _halves(small: pd.DataFrame, full: pd.DataFrame, default: tuple, halves: dict[str, str]) -> str:
    lines = []
    if len({halves[table] for table in small}) < 2:
        return "Only one half has such tables."
    for mine, other in ("AB", "BA"):
        a = [table for table in small if halves[table] == mine]
        b = [table for table in small if halves[table] == other]
        lossless = full[a].mean(axis=1) <= full[a].mean(axis=1)[default]
        best = small.loc[lossless, a].mean(axis=1).idxmin()
        reported = [
            f"{words} {part[tables].mean(axis=1)[default]:.4f} -> "
            f"{part[tables].mean(axis=1)[best]:.4f}"
            for tables in (a, b)
            for words, part in {"24 rows": small, "10-fold": full}.items()
        ]
        lines.append(
            f"* Half {mine} ({len(a)} tables) chooses {_named(best)}: {reported[0]}, {reported[1]}"
            f"; on the other half ({len(b)} tables): {reported[2]}, {reported[3]}."
        )
    return "\n".join(lines)


def _named(setting: tuple) -> str:
    return ", ".join(map(str, setting))
