"""Parameters: mean, standard deviation and interval of each, by formula where there is one."""

import dataclasses
import itertools
import math
import warnings
from typing import Any

import numpy as np

from bayesgen.page import Block, Cell, Details, Grid, Section, Text
from bayesgen.report import closed_forms
from bayesgen.report.closed_forms import PROB, Marginals
from bayesgen.report.subject import Fitted, Subject
from bayesgen.report.words import number, some_of

SHOWN = 60
MOST = 3000
"""Lines of a table; clf.summary() has all parameters of larger models."""
DRAWS = 4000
ALL = "all classes"
LOW, HIGH = f"{(1 - PROB) / 2:.0%}", f"{(1 + PROB) / 2:.0%}"
"""Heads of the ends of an interval."""


@dataclasses.dataclass(frozen=True)
class Line:
    """One parameter: what it is, of which class and column, and its posterior in numbers.

    separation: how far it differs between classes, in standard deviations.
    """

    what: str
    label: str
    of: str
    numbers: tuple[float, ...]
    separation: float = 0.0


def section(subject: Subject) -> Section:
    """Return the parameters that differ most between classes, and all of them in details."""
    clf = subject.clf
    members = getattr(clf, "members_", None)
    if members is not None:
        words = (
            "A stack has the parameters of its members, each fitted to all rows; below, those of "
            "every member, first the ones that differ most between classes."
        )
        parts = []
        for name, member in members.items():
            n, blocks = _blocks(member)
            parts.append(Details(f"{name}: {n:,} parameters", blocks))
        return Section("Parameters", [Text(words), *parts])
    return Section("Parameters", _blocks(clf)[1])


def _blocks(clf: Fitted) -> tuple[int, list[Block]]:
    """Return how many parameters there are, and their tables."""
    posterior = clf.posterior_
    if posterior.point:
        lines, heads = _point(clf), ["estimate"]
        words = "A point estimate has no uncertainty to show."
    elif hasattr(_base(posterior), "model"):
        lines, words = _exact(clf)
        heads = ["mean", "sd", LOW, HIGH]
    else:
        return _drawn(clf)
    n, heads = len(lines), ["parameter", "class", "of", *heads]
    first = f"Shown: {some_of(min(SHOWN, n), n, 'parameters')}"
    order = ", those that differ most between classes first." if n > SHOWN else "."
    blocks: list[Block] = [Text(words), _grid(heads, lines[:SHOWN]), Text(first + order, "muted")]
    return n, blocks + _all(n, _grid(heads, lines[:MOST])) if n > SHOWN else blocks


def _all(n: int, grid: Grid) -> list[Block]:
    if n <= MOST:
        return [Details(f"All {n:,} parameters", [grid])]
    return [Details(f"{some_of(MOST, n, 'parameters')}; clf.summary() has all", [grid])]


def _grid(heads: list[str], lines: list[Line]) -> Grid:
    rows: list[list[Cell]] = [
        [line.what, line.label, line.of, *map(number, line.numbers)] for line in lines
    ]
    return Grid(heads, rows, right=tuple(range(3, len(heads))))


def _base(posterior: Any) -> Any:
    """Return a posterior without the powers around it."""
    while hasattr(posterior, "base"):
        posterior = posterior.base
    return posterior


# -- closed forms ----------------------------------------------------------------------------------


def _exact(clf: Fitted) -> tuple[list[Line], str]:
    """Return the parameters of a closed form, and where their numbers come from."""
    posterior, state = _base(clf.posterior_), clf.state_
    lines = _lines(closed_forms.of_classes(posterior.model.classes), clf, {}, "class")
    rest, by_draws = [], []
    for block, family in posterior.families.items():
        found = closed_forms.of_likelihood(family)
        if found is None:
            found = _by_draws(family)
            by_draws.append(block)
        names = _names(state, posterior, block, family)
        for one in found:
            rest += _lines(one, clf, names, block)
    words = f"Mean, standard deviation and {PROB:.0%} interval, from the formulas of the posterior."
    if by_draws:
        words += f" Those of {', '.join(by_draws)} have none: {DRAWS:,} independent draws."
    if any(one.what == "covariance" for one in rest):
        words += " The interval of a covariance of two columns has no formula."
    if clf.power_transform:
        words += " Power-transformed columns: in transformed units."
    # stable: the classes of one parameter stay together
    return lines + sorted(rest, key=lambda line: -line.separation), words


def _names(state: Any, posterior: Any, block: str, family: Any) -> dict[str, list[str]]:
    """Return the names of the positions of the axes of a block."""
    columns = [str(name) for name in state.columns(posterior.reader, block)]
    levels = state.level_names(posterior.reader, block)
    names = {"feature": columns, "level": [name.replace("=", " = ", 1) for name in levels]}
    names["pair"] = [f"{a}, {b}" for a, b in itertools.combinations(columns, 2)]
    first = getattr(family, "members", (family,))[0]
    if "cell" in getattr(first, "param_axes", {}).get("probs", ()):
        names["cell"] = closed_forms.cell_names(levels, first.n_levels)
    return names


def _by_draws(family: Any) -> list[Marginals]:
    """Return marginals of independent draws."""
    drawn = family.draw(np.random.default_rng(0), DRAWS)
    found = []
    for name, value in drawn.items():
        axes = tuple(family.param_axes.get(name, ()))
        if name == "cholesky":
            name, value = "covariance", value @ np.swapaxes(value, -1, -2)
        ends = np.quantile(value, [(1 - PROB) / 2, (1 + PROB) / 2], axis=0)
        found.append(Marginals(name, axes, value.mean(axis=0), value.std(axis=0), *ends))
    return found


def _lines(found: Marginals, clf: Fitted, names: dict[str, list[str]], block: str) -> list[Line]:
    """Return the lines of one parameter, the classes of each entry together."""
    mean = np.atleast_1d(found.mean)
    arrays = [np.broadcast_to(a, mean.shape) for a in (found.mean, found.sd, found.low, found.high)]
    by_class = found.axes[:1] == ("class",)
    labels = [str(k) for k in clf.classes_.tolist()]
    if not by_class or len(mean) != len(labels):
        labels = [ALL] * (len(mean) if by_class else 1)
    if not by_class:
        arrays = [a[None] for a in arrays]
    inner = arrays[0].shape[1:]
    separation = _separation(arrays[0], arrays[1])
    axes = found.axes[1:] if by_class else found.axes
    out = []
    for at in np.ndindex(*inner):
        where = [_name(names, axes, place, i) for place, i in enumerate(at)]
        of = ", ".join(where) if where else ""
        for k, label in enumerate(labels):
            numbers = tuple(float(a[(k, *at)]) for a in arrays)
            what = found.name if block == "class" or of else f"{block}: {found.name}"
            out.append(Line(what, label, of, numbers, float(separation[at])))
    return out


def _name(names: dict[str, list[str]], axes: tuple[str, ...], place: int, i: int) -> str:
    word = axes[place] if place < len(axes) else ""
    return names[word][i] if i < len(names.get(word, ())) else f"{word} {i}".strip()


def _separation(mean: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """Return the range of means over classes, in standard deviations."""
    with np.errstate(all="ignore"):
        found = np.ptp(mean, axis=0) / np.sqrt((sd**2).mean(axis=0))
    return (
        np.nan_to_num(np.atleast_1d(found), posinf=0.0)
        if found.ndim
        else np.asarray(np.nan_to_num(found, posinf=0.0))
    )


# -- points and draws ------------------------------------------------------------------------------


def _point(clf: Fitted) -> list[Line]:
    """Return the parameters of a point estimate."""
    posterior = _base(clf.posterior_)
    params = posterior.point_params()
    lines = []
    for block, values in params.items():
        family = posterior.families.get(block)
        names = (
            {}
            if family is None or not hasattr(clf.state_, "columns")
            else _names(clf.state_, posterior, block, family)
        )
        for name, value in values.items():
            axes = ("class",) if family is None else tuple(family.param_axes.get(name, ()))
            if name == "cholesky":
                name, value = "covariance", value @ np.swapaxes(value, -1, -2)
            name = "probability" if name in ("probs", "prob") else name
            value = np.asarray(value, float)
            none = np.zeros(value.shape)
            one = Marginals(name, axes, value, none, none, none)
            lines += _lines(one, clf, names, block)
    return [dataclasses.replace(line, numbers=line.numbers[:1]) for line in lines]


def _drawn(clf: Fitted) -> tuple[int, list[Block]]:
    """Return the parameters of a sampler, with its diagnostics."""
    with warnings.catch_warnings():
        # entries of a covariance that no draw moves have no effective sample size
        warnings.simplefilter("ignore")
        table = clf.summary(round_to="none", ci_prob=PROB)
    wanted = [c for c in table.columns if c in ("mean", "sd", "ess_bulk", "r_hat") or "eti" in c]
    rows: list[list[Cell]] = [
        [str(name), *(number(float(x)) for x in line)]
        for name, line in zip(table.index, table[wanted].to_numpy(), strict=True)
    ]
    ends = {f"eti{PROB * 100:.0f}_lb": LOW, f"eti{PROB * 100:.0f}_ub": HIGH}
    heads, n = ["parameter", *(ends.get(str(c), str(c)) for c in wanted)], len(rows)
    right = tuple(range(1, len(heads)))
    words = (
        "Mean, standard deviation and interval of the draws; ess_bulk: how many independent draws "
        "they are worth; r_hat: 1 where the chains agree, above 1.01 is a sign of trouble."
    )
    worst = float(np.nanmax(table["r_hat"])) if "r_hat" in table and n else math.nan
    if not math.isnan(worst):
        words += f" The largest r_hat is {worst:.3f}."
    shown = Text(f"Shown: {some_of(min(SHOWN, n), n, 'parameters')}.", "muted")
    blocks: list[Block] = [Text(words), Grid(heads, rows[:SHOWN], right), shown]
    return n, blocks + _all(n, Grid(heads, rows[:MOST], right)) if n > SHOWN else blocks
