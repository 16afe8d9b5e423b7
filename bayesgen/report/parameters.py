"""Parameters: mean, standard deviation and interval of each, by draws of the posterior."""

import dataclasses
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from bayesgen.inference import DrawsPosterior
from bayesgen.inference.chain_diagnostics import agreement
from bayesgen.likelihoods.description import Marginals, marginals
from bayesgen.page import Block, Cell, Details, Grid, Section, Text
from bayesgen.report.subject import Model, Subject
from bayesgen.report.words import excerpt, number

SHOWN = 60
MOST = 3000
"""Lines of a table; clf.summary() has all parameters of larger models."""
DRAWS, FEWEST = 4000, 200
"""Draws of a closed form: means are off by a sixtieth of a standard deviation. Fewer of models so
large that they are more than MOST_FLOATS numbers."""
MOST_FLOATS = 10_000_000
PROB = 0.9
"""Share of the posterior between the ends of an interval."""
ENDS = (1 - PROB) / 2, (1 + PROB) / 2
ALL = "all classes"


@dataclasses.dataclass(frozen=True, eq=False)
class Summary:
    """One parameter in numbers.

    name: in words. entries: what each entry is of. numbers: by head, each (class, entry).
    separation: how far an entry differs between classes, in standard deviations, (entry,).
    """

    name: str
    entries: tuple[str, ...]
    numbers: dict[str, Float[np.ndarray, "class entry"]]
    separation: Float[np.ndarray, " entry"]

    @property
    def size(self) -> int:
        """The number of its entries in all classes."""
        return next(iter(self.numbers.values())).size

    def lines(self, entry: int, classes: list[str]) -> list[list[Cell]]:
        """Return the lines of an entry, one of each class."""
        columns = np.stack([values[:, entry] for values in self.numbers.values()], axis=1)
        labels = classes if len(columns) == len(classes) else [ALL]
        return [
            [self.name, label, self.entries[entry], *map(number, line)]
            for label, line in zip(labels, columns.tolist(), strict=True)
        ]


def section(subject: Subject) -> Section:
    """Return the parameters that differ most between classes, and all of them in details."""
    models = {name: _table(model) for name, model in subject.models.items()}
    if len(models) == 1 and subject.name in models:
        return Section("Parameters", models[subject.name][1])
    words = (
        "A stack has the parameters of its members, each fitted to all rows; below, those of "
        "every member, first the ones that differ most between classes."
    )
    members = [Details(f"{name}: {n:,} parameters", blocks) for name, (n, blocks) in models.items()]
    return Section("Parameters", [Text(words), *members])


def _table(model: Model) -> tuple[int, list[Block]]:
    """Return how many parameters there are, and their table."""
    posterior, classes = model.posterior_, [str(label) for label in model.classes_.tolist()]
    single = posterior.parameters(np.random.default_rng(0), 1)
    width = sum(np.size(value) for params in single.values() for value in params.values())
    n_draws = int(np.clip(MOST_FLOATS // width, FEWEST, DRAWS))
    draws = posterior.as_draws(np.random.default_rng(0), n_draws)
    sampled = "r_hat" in model.report_.details and not posterior.point
    first, *others = (_summary(one, sampled=sampled) for one in _marginals(model, draws))
    order = [(-s.separation[i], s, i) for s in others for i in range(len(s.entries))]
    # stable: the entries of one parameter stay in their order
    order.sort(key=lambda place: place[0])
    lines = first.lines(0, classes)
    for _, summary, entry in order:
        if len(lines) < MOST:
            lines += summary.lines(entry, classes)
    n, heads = sum(s.size for s in (first, *others)), ["parameter", "class", "of", *first.numbers]
    grid = Grid(heads, lines, right=tuple(range(3, len(heads))))
    rows = excerpt(grid, n, "parameters", SHOWN, ", those that differ most between classes first")
    return n, [Text(_words(model, draws, [first, *others])), *rows]


def _marginals(model: Model, draws: DrawsPosterior) -> Iterator[Marginals]:
    """Yield the class probabilities, then the parameters of each block."""
    yield marginals("class probability", draws.params["class"]["probs"], ("class",), {})
    for owner, params in draws.params.items():
        if owner in draws.families:
            columns = [str(name) for name in model.state_.columns(draws.reader, owner)]
            levels = model.state_.level_names(draws.reader, owner)
            levels = [name.replace("=", " = ", 1) for name in levels]
            found = draws.families[owner].marginals(params, columns, levels)
            for one in found:
                single = one.entries == ("",)
                yield dataclasses.replace(one, name=f"{owner}: {one.name}") if single else one
        elif owner != "class":
            for site, value in params.items():
                yield marginals(site, value, ("",) * (value.ndim - 2), {})


def _summary(found: Marginals, *, sampled: bool) -> Summary:
    """Return means, standard deviations and intervals; of chains also whether they agree."""
    draws = found.values.reshape(-1, *found.values.shape[2:])
    mean, sd = draws.mean(axis=0), draws.std(axis=0)
    with np.errstate(all="ignore"):
        separation = np.ptp(mean, axis=0) / np.sqrt((sd**2).mean(axis=0))
    separation = np.nan_to_num(separation, posinf=0.0)
    if len(draws) == 1:
        return Summary(found.name, found.entries, {"estimate": mean}, separation)
    ends = np.quantile(draws, ENDS, axis=0)
    numbers = {"mean": mean, "sd": sd} | {
        f"{p:.0%}": end for p, end in zip(ENDS, ends, strict=True)
    }
    if sampled:
        r_hat, size = agreement(found.values.reshape(*found.values.shape[:2], -1))
        numbers |= {"ess_bulk": size.reshape(mean.shape), "r_hat": r_hat.reshape(mean.shape)}
    return Summary(found.name, found.entries, numbers, separation)


def _words(model: Model, draws: DrawsPosterior, summaries: list[Summary]) -> str:
    """Return where the numbers come from."""
    if model.posterior_.point:
        return "A point estimate has no uncertainty to show."
    words = f"Mean, standard deviation and {PROB:.0%} interval of {np.prod(draws.shape):,} "
    if "r_hat" not in summaries[0].numbers:
        words += "independent draws of the posterior."
    else:
        worst = np.nanmax([np.nanmax(s.numbers["r_hat"], initial=1.0) for s in summaries])
        words += (
            "draws; ess_bulk: how many independent draws they are worth; r_hat: 1 where the chains "
            f"agree, above 1.01 is a sign of trouble. The largest r_hat is {worst:.3f}."
        )
    if model.get_params(deep=False).get("power_transform"):
        words += " Power-transformed columns: in transformed units."
    return words
