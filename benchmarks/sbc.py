"""Simulation-based calibration: is a true parameter exchangeable with its posterior draws?

Parameters come from the prior, rows from the parameters, draws from the posterior of the rows; the
rank of the parameter among the draws is then uniform (Talts, Betancourt, Simpson, Vehtari and
Gelman 2018). Also ranked is the log likelihood of the rows, which shows a posterior that forgets
them (Modrak et al. 2023, Bayesian Analysis 20, 461-488). Ranks are held against the uniform law by
chi-square and by simultaneous bands around their ECDF. All likelihoods, by closed form and by NUTS.
"""

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from side_by_side import Chains, sampled
from simulated import Simulated, Subject, simulations, strengths_of
from subjects import GROUPS, SUBJECTS

from bayesgen.calibrate.simulation import FALSE_ALARM, rank, ranked, spaced, threshold, uniformity
from bayesgen.inference import Exact
from bayesgen.inference.incomplete_rows import IncompleteRows
from bayesgen.likelihoods.hyperparameter_mixture import HyperparameterMixture
from bayesgen.plots import RankDisplay

N_ROWS = 24
INFERENCES = ("exact", "nuts")
MOST_PICKED = 3
"""Entries of each parameter that are ranked."""

Ranks = dict[str, np.ndarray]
"""Ranks as fractions between 0 and 1, by "likelihood: quantity", each of shape (fit,)."""


@dataclasses.dataclass(frozen=True)
class Line:
    """One quantity of one likelihood: p-values of chi-square and of the ECDF."""

    inference: str
    likelihood: str
    quantity: str
    fits: int
    chi_square: float
    ecdf: float

    @property
    def least(self) -> float:
        """The smaller p-value."""
        return min(self.chi_square, self.ecdf)


# -- what is ranked ------------------------------------------------------------------------------


def quantities(simulated: Simulated, name: str, params: Mapping[str, np.ndarray]) -> dict:
    """Return what is ranked of draws of one block's parameters, each of shape (draw,).

    Some entries of every parameter, and the log likelihood of the block's rows.
    """
    part, found = simulated.model.blocks[name], {}
    for parameter, value in params.items():
        flat = value.reshape(len(value), -1)
        for i in _entries(parameter, value.shape[1:]):
            at = ",".join(map(str, np.unravel_index(i, value.shape[1:]))) if flat.size else ""
            found[f"{parameter}[{at}]" if at else parameter] = flat[:, i]
    if params:
        log_likelihood = part.log_likelihood(params, simulated.statistics.blocks[name])
        found["log likelihood"] = np.asarray(log_likelihood)
    return found


def _entries(parameter: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return positions of some entries that are not fixed, spread over all of them."""
    free = np.ones(shape, dtype=bool)
    if "cholesky" in parameter:
        free &= np.tri(shape[-1], dtype=bool)
    if parameter == "correlation_cholesky":
        free[..., 0, :] = False
    return spaced(np.flatnonzero(free), MOST_PICKED)


def stacked(every: list[dict[str, float]]) -> dict[str, np.ndarray]:
    """Return ranks of single fits by quantity."""
    return {name: np.array([ranks[name] for ranks in every]) for name in every[0]}


def _ranked(
    simulated: Simulated, drawn: Mapping[str, Mapping], rng: np.random.Generator
) -> dict[str, float]:
    """Return ranks of class probabilities, parameters and prior strengths."""
    out = {}
    if "class" in drawn:
        own = (simulated.truth["class"]["probs"][0, 0], drawn["class"]["probs"][:, 0])
        out[f"{next(iter(simulated.model.blocks))}: class"] = rank(*own, rng)
    for name in simulated.model.blocks:
        if name in drawn:
            both = (quantities(simulated, name, of[name]) for of in (simulated.truth, drawn))
            out |= {f"{name}: {q}": found for q, found in ranked(*both, rng).items()}
        for setting, value in simulated.strengths[name].items():
            found = drawn[f"{name}.prior strengths"][setting]
            out[f"{name}: {setting}"] = rank(value, found, rng)
    return out


# -- posteriors ----------------------------------------------------------------------------------


def exact_ranks(
    subjects: Mapping[str, Subject], fits: int, rng: np.random.Generator, draws: int = 99
) -> Ranks:
    """Return ranks among draws of closed forms."""
    every = []
    for simulated in simulations(subjects, rng, N_ROWS, fits):
        posterior = Exact().infer(simulated.problem, 0)
        drawn: dict[str, Mapping] = dict(posterior.parameters(rng, draws))
        for name, part in posterior.model.blocks.items():
            if isinstance(part, HyperparameterMixture):
                member = rng.choice(len(part.members), draws, p=np.exp(part.log_weight))
                prior = strengths_of(simulated.model.blocks[name])
                drawn[f"{name}.prior strengths"] = {
                    n: values[member] for n, values in prior.items()
                }
        every.append(_ranked(simulated, drawn, rng))
    return stacked(every)


def importance_ranks(
    subjects: Mapping[str, Subject],
    fits: int,
    rng: np.random.Generator,
    missing: float = 0.05,
    draws: int = 99,
) -> Ranks:
    """Return ranks among draws of importance sampling, given rows with missing cells."""
    every = []
    for simulated in simulations(subjects, rng, N_ROWS, fits, missing):
        sampler, seed = IncompleteRows(draws=250), int(rng.integers(2**31))
        posterior = sampler.infer(simulated.problem, seed)
        every.append(_ranked(simulated, posterior.parameters(rng, draws), rng))
    return stacked(every)


def nuts_ranks(
    subjects: Mapping[str, Subject], fits: int, rng: np.random.Generator, chains: Chains
) -> Ranks:
    """Return ranks among draws of NUTS, all blocks of one fit sampled together."""
    tables = list(simulations(subjects, rng, N_ROWS, fits))
    seed = int(rng.integers(2**31 - fits))
    found, _ = sampled([(t.model, t.statistics) for t in tables], chains, seed)
    every = []
    for simulated, values in zip(tables, found, strict=True):
        drawn: dict[str, dict] = {}
        for site, value in values.items():
            name, parameter = site.rsplit(".", 1)
            drawn.setdefault(name, {})[parameter] = value
        every.append(_ranked(simulated, drawn, rng))
    return stacked(every)


# -- verdicts ------------------------------------------------------------------------------------


def lines(ranks: Ranks, inference: str) -> list[Line]:
    """Return the p-values of every quantity."""
    out = []
    for name, p in uniformity(ranks).iterrows():
        likelihood, quantity = str(name).split(": ")
        fits = len(ranks[str(name)])
        out.append(Line(inference, likelihood, quantity, fits, p["chi_square"], p["ecdf"]))
    return out


def table(found: list[Line]) -> str:
    """Return Markdown: of each likelihood the number of quantities and the least p-values."""
    groups: dict[tuple[str, str], list[Line]] = {}
    for line in found:
        groups.setdefault((line.likelihood, line.inference), []).append(line)
    limit = threshold(len(found))
    out = ["| likelihood | inference | fits | quantities | chi-square | ECDF | uniform |"]
    out.append("| --- | --- | --- | --- | --- | --- | --- |")
    for (likelihood, inference), some in groups.items():
        least = min(line.chi_square for line in some), min(line.ecdf for line in some)
        verdict = "yes" if min(least) > limit else "**no**"
        cells = (likelihood, inference, some[0].fits, len(some), *(f"{p:.2g}" for p in least))
        out.append(f"| {' | '.join(map(str, cells))} | {verdict} |")
    stated = f"{len(found)} quantities, two tests each; the least p-value of a line is out below "
    return "\n".join([*out, "", f"{stated}{limit:.1e} (false alarms: {FALSE_ALARM:.0%} of runs)."])


# -- the command line ----------------------------------------------------------------------------


def examined(
    names: Iterable[str], inferences: Iterable[str], fits: int, sampled_fits: int, seed: int
) -> Iterable[tuple[str, str, Ranks]]:
    """Yield (inference, likelihoods, ranks)."""
    names = list(names)
    if "exact" in inferences:
        for name in (n for n in names if "exact" in SUBJECTS[n].inferences):
            rng = np.random.default_rng([seed, list(SUBJECTS).index(name)])
            yield "exact", name, exact_ranks({name: SUBJECTS[name]}, fits, rng)
    if "nuts" in inferences:
        for i, members in enumerate(GROUPS):
            own = {n: SUBJECTS[n] for n in members if n in names}
            if own:
                rng = np.random.default_rng([seed, 1000 + i])
                yield "nuts", "; ".join(own), nuts_ranks(own, sampled_fits, rng, Chains())


def main() -> int:
    """Print the table; 1 where a quantity is out."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(SUBJECTS)}")
    parser.add_argument("--inference", choices=INFERENCES, action="append")
    parser.add_argument("--fits", type=int, default=1000, help="exact fits a likelihood (1000)")
    parser.add_argument("--sampled-fits", type=int, default=400, help="fits by NUTS (400)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plots", type=Path, metavar="DIR", help="write ECDF plots here, as PNG")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all p-values here")
    parser.add_argument("--quick", action="store_true", help="few fits: does everything run?")
    options = parser.parse_args()
    unknown = set(options.names) - set(SUBJECTS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(SUBJECTS)}")
    fits = (40, 20) if options.quick else (options.fits, options.sampled_fits)
    inferences = options.inference or INFERENCES
    found: list[Line] = []
    began = time.perf_counter()
    for inference, group, ranks in examined(
        options.names or SUBJECTS, inferences, *fits, options.seed
    ):
        some = lines(ranks, inference)
        found += some
        seconds, least = time.perf_counter() - began, min(line.least for line in some)
        reported = f"{inference} {group}: least of {2 * len(some)} p-values {least:.2g}"
        print(f"{seconds:5.0f} s  {reported}", file=sys.stderr, flush=True)
        if options.json:
            _write(options.json, found)
        if options.plots:
            options.plots.mkdir(parents=True, exist_ok=True)
            _draw_each(ranks, inference, options.plots)
    print(table(found))
    return int(any(line.least < threshold(len(found)) for line in found))


def _write(path: Path, found: list[Line]) -> None:
    report = {"threshold": threshold(len(found)), "lines": [dataclasses.asdict(f) for f in found]}
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def _draw_each(ranks: Ranks, inference: str, folder: Path) -> None:
    """Write a picture of each likelihood."""
    import matplotlib

    matplotlib.use("Agg")
    for likelihood in dict.fromkeys(name.split(": ")[0] for name in ranks):
        own = {n: f for n, f in ranks.items() if n.startswith(f"{likelihood}: ")}
        direct = f"{likelihood}_{inference}".replace(",", "").replace(" ", "_")
        named = {n.split(": ")[1]: fractions for n, fractions in own.items()}
        drawn = RankDisplay(named, f"{likelihood}, {inference}", FALSE_ALARM).plot()
        drawn.figure_.savefig(folder / f"{direct}.png", dpi=110)


if __name__ == "__main__":
    sys.exit(main())
