"""Parameters: mean, standard deviation and interval of each, by draws of the posterior."""

import dataclasses
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from bayesgen.inference import Draws
from bayesgen.inference.chain_diagnostics import agreement
from bayesgen.inference.draws import as_draws
from bayesgen.likelihoods.description import Marginals, marginals
from bayesgen.page import Cell, Grid
from bayesgen.plots.fitted import Model
from bayesgen.report.subject import Subject, Values
from bayesgen.report.words import number

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

    def lines(self, entry: int, classes: list[str], shared: str) -> list[list[Cell]]:
        """Return the lines of an entry, one of each class; shared: the label of a single one."""
        columns = np.stack([values[:, entry] for values in self.numbers.values()], axis=1)
        labels = classes if len(columns) == len(classes) else [shared]
        return [
            [self.name, label, self.entries[entry], *map(number, line)]
            for label, line in zip(labels, columns.tolist(), strict=True)
        ]


def parameters(subject: Subject) -> dict[str, Values]:
    """Return the parameters of the classifier, or of every member of a stack, by name."""
    return {name: _parameters(model) for name, model in subject.models.items()}


def _parameters(model: Model) -> Values:
    """Return the parameters of a model, those that differ most between classes first."""
    posterior, classes = model.posterior_, [str(label) for label in model.classes_.tolist()]
    single = posterior.components.parameters(np.random.default_rng(0), 1)
    width = sum(np.size(value) for params in single.values() for value in params.values())
    n_draws = int(np.clip(MOST_FLOATS // width, FEWEST, DRAWS))
    draws = as_draws(posterior.components, np.random.default_rng(0), n_draws)
    sampled = "r_hat" in model.report_.details and not posterior.point
    summaries = [_summary(m, sampled=sampled) for m in _marginals(model, draws)]
    first, *others = summaries
    order = [(-s.separation[i], s, i) for s in others for i in range(len(s.entries))]
    # stable: the entries of one parameter stay in their order
    order.sort(key=lambda place: place[0])
    lines = first.lines(0, classes, ALL)
    for _, summary, entry in order:
        if len(lines) < MOST:
            lines += summary.lines(entry, classes, ALL if draws.families else "")
    heads = ["parameter", "class", "of", *first.numbers]
    r_hats = [np.nanmax(s.numbers["r_hat"], initial=1.0) for s in summaries] if sampled else []
    return {
        "grid": Grid(heads, lines, right=tuple(range(3, len(heads)))),
        "total": sum(next(iter(s.numbers.values())).size for s in summaries),
        "draws": int(np.prod(draws.shape)),
        "prob": PROB,
        "point": posterior.point,
        "r_hat": float(max(r_hats)) if r_hats else None,
        "transformed": model.get_params(deep=False).get("power_transform"),
    }


def _marginals(model: Model, draws: Draws) -> Iterator[Marginals]:
    """Yield the class probabilities, then the parameters of each block."""
    yield marginals("class probability", draws.params["class"]["probs"], ("class",), {})
    for owner, params in draws.params.items():
        if owner in draws.families:
            columns = [str(name) for name in model.state_.columns(draws.reader, owner)]
            levels = model.state_.level_names(draws.reader, owner)
            levels = [name.replace("=", " = ", 1) for name in levels]
            for marginal in draws.families[owner].marginals(params, columns, levels):
                single = marginal.entries == ("",)
                name = f"{owner}: {marginal.name}" if single else marginal.name
                yield dataclasses.replace(marginal, name=name)
        elif owner != "class":
            for site, value in params.items():
                yield marginals(site, value, ("",) * (value.ndim - 2), {})


def _summary(marginal: Marginals, *, sampled: bool) -> Summary:
    """Return means, standard deviations and intervals; of chains also whether they agree."""
    draws = marginal.values.reshape(-1, *marginal.values.shape[2:])
    mean, sd = draws.mean(axis=0), draws.std(axis=0)
    with np.errstate(all="ignore"):
        separation = np.ptp(mean, axis=0) / np.sqrt((sd**2).mean(axis=0))
    separation = np.nan_to_num(separation, posinf=0.0)
    if len(draws) == 1:
        return Summary(marginal.name, marginal.entries, {"estimate": mean}, separation)
    ends = np.quantile(draws, ENDS, axis=0)
    numbers = {"mean": mean, "sd": sd} | {
        f"{p:.0%}": end for p, end in zip(ENDS, ends, strict=True)
    }
    if sampled:
        r_hat, size = agreement(marginal.values.reshape(*marginal.values.shape[:2], -1))
        numbers |= {"ess_bulk": size.reshape(mean.shape), "r_hat": r_hat.reshape(mean.shape)}
    return Summary(marginal.name, marginal.entries, numbers, separation)
