"""Do 90 % intervals of P(y given x) hold the true one in 90 % of cases?

Parameters come from the prior, a table of 10 to 1,000 rows and a few more rows from the
parameters; the true P(y given x) of these is known. Averaged over the prior the intervals of
`predict_interval` have exactly their nominal coverage at every size: no large sample is needed.
Closed forms where there are any, NUTS for the others. Standard errors are over tables, since rows
of one table share its posterior.
"""

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
from side_by_side import Chains, sampled
from simulated import Simulated, Subject, simulations
from subjects import GROUPS, SUBJECTS

from bayesgen import predict
from bayesgen.errors import Words
from bayesgen.inference import Draws, Exact
from bayesgen.inference.log_density import nested
from bayesgen.inference.posterior import Posterior
from bayesgen.inference.report import Report
from bayesgen.likelihoods.selection import Selection
from bayesgen.model import Reader

SIZES = (10, 100, 1000)
PROB = 0.9
BAND = (0.88, 0.92)
ERRORS = 4.0
"""Standard errors that a right interval may be off: of 100 lines one in 150 runs goes beyond."""
CHAINS = Chains(draws=400, thin=1, warmup=300, lanes=50)

Interval = Callable[[Posterior, dict, int], np.ndarray]


@dataclasses.dataclass(frozen=True)
class Line:
    """Coverage of one family at one size, and its standard error."""

    likelihood: str
    inference: str
    n_rows: int
    tables: int
    rows: int
    coverage: float
    error: float

    @property
    def right(self) -> bool:
        """Whether the coverage is the nominal one, within its own error."""
        return abs(self.coverage - PROB) <= ERRORS * self.error

    @property
    def verdict(self) -> str:
        """Whether the coverage is right and in the band, or the tables are too few to tell."""
        if self.right and BAND[0] <= self.coverage <= BAND[1]:
            return "yes"
        # three standard errors fill the band: chance alone leaves it
        wide = 3 * self.error > (BAND[1] - BAND[0]) / 2
        return "too few tables" if self.right and wide else "no"


def interval(posterior: Posterior, rows: dict, n: int) -> np.ndarray:
    """Return what `predict_interval` does for encoded rows, (row, class, 2)."""
    return predict.ReadRows(posterior, rows, n).interval(PROB)


def exact_coverage(
    name: str,
    subject: Subject,
    n_rows: int,
    tables: int,
    rng: np.random.Generator,
    *,
    rows: int = 8,
    ends: Interval = interval,
) -> Line:
    """Return the coverage of closed forms over tables drawn from the prior."""
    shares = []
    for simulated in simulations({name: subject}, rng, n_rows, tables):
        posterior = Posterior(Exact().infer(simulated.problem, int(rng.integers(2**31))))
        shares.append(covered(simulated, name, posterior, rng, rows, ends))
    return _line(name, "exact", n_rows, rows, shares)


def nuts_coverage(
    subjects: Mapping[str, Subject],
    n_rows: int,
    tables: int,
    rng: np.random.Generator,
    *,
    rows: int = 8,
    ends: Interval = interval,
    chains: Chains = CHAINS,
) -> list[Line]:
    """Return the coverage of draws: blocks are sampled together and asked each by itself."""
    every = list(simulations(subjects, rng, n_rows, tables))
    seed = int(rng.integers(2**31 - tables))
    found, _ = sampled([(s.model, s.statistics) for s in every], chains, seed)
    shares: dict[str, list] = {name: [] for name in subjects}
    for simulated, values in zip(every, found, strict=True):
        params = nested({site: value[None] for site, value in values.items()}, simulated.model)
        for name, part in simulated.model.blocks.items():
            own = {owner: params[owner] for owner in ("class", name)}
            report = Report("nuts", 0.0, converged=True, outcome=Words(""))
            draws = Draws(Reader({name: Selection()}), report, own, {name: part})
            shares[name].append(covered(simulated, name, Posterior(draws), rng, rows, ends))
    return [_line(name, "nuts", n_rows, rows, own) for name, own in shares.items()]


def covered(
    simulated: Simulated,
    name: str,
    posterior: Posterior,
    rng: np.random.Generator,
    rows: int,
    ends: Interval,
) -> float:
    """Return the share of new rows whose interval holds the true probability.

    Of two classes the intervals are mirror images: the smaller probability is looked at, which does
    not round to one.
    """
    x, truth = simulated.more(rng, rows, name)
    low, high = np.moveaxis(ends(posterior, {name: x}, rows), 2, 0)
    at = np.arange(rows), np.argmin(low + high, axis=1)
    return float(((low[at] <= truth[at]) & (truth[at] <= high[at])).mean())


def _line(name: str, inference: str, n_rows: int, rows: int, shares: list[float]) -> Line:
    error = float(np.std(shares, ddof=1) / np.sqrt(len(shares)))
    return Line(name, inference, n_rows, len(shares), rows, float(np.mean(shares)), error)


def table(found: list[Line]) -> str:
    """Return Markdown: coverage +- standard error by likelihood and size."""
    sizes = sorted({line.n_rows for line in found})
    heads = ["likelihood", "inference", *(f"{n:,} rows" for n in sizes), "right"]
    out = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for key in dict.fromkeys((line.likelihood, line.inference) for line in found):
        own = {line.n_rows: line for line in found if (line.likelihood, line.inference) == key}
        cells = [f"{own[n].coverage:.3f} +- {own[n].error:.3f}" if n in own else "" for n in sizes]
        verdicts = {line.verdict for line in own.values()} - {"yes"}
        out.append(f"| {' | '.join([*key, *cells, ', '.join(sorted(verdicts)) or 'yes'])} |")
    tables = "; ".join(
        f"{name}: {' / '.join(str(n) for n in dict.fromkeys(counts))} tables"
        for name in ("exact", "nuts")
        if (counts := [line.tables for line in found if line.inference == name])
    )
    low, high = BAND
    stated = f"right: within {ERRORS:.0f} standard errors of {PROB} and in {low} to {high}"
    return "\n".join([*out, "", f"{tables}; {stated}."])


def measured(names: list[str], tables: int, nuts_tables: int, seed: int) -> Iterator[list[Line]]:
    """Yield lines: every size of a likelihood, NUTS only where there is no closed form."""
    for name in (n for n in names if "exact" in SUBJECTS[n].inferences):
        rng = np.random.default_rng([seed, list(SUBJECTS).index(name)])
        yield [exact_coverage(name, SUBJECTS[name], n, tables, rng) for n in SIZES]
    for i, members in enumerate(GROUPS):
        own = {n: SUBJECTS[n] for n in members if n in names}
        own = {n: s for n, s in own.items() if "exact" not in s.inferences}
        if not own:
            continue
        for n in SIZES:
            # a gradient over a thousand rows costs ten times that over a hundred
            some = max(nuts_tables // 4, 2) if n == SIZES[-1] else nuts_tables
            rng = np.random.default_rng([seed, 1000 + i, n])
            yield nuts_coverage(own, n, some, rng, rows=8 if n < SIZES[-1] else 20)


def main() -> int:
    """Print the table; 1 where an interval does not cover as it should."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(SUBJECTS)}")
    parser.add_argument("--tables", type=int, default=1000, help="of each exact line (1000)")
    parser.add_argument("--nuts-tables", type=int, default=800, help="by NUTS (800)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument("--quick", action="store_true", help="few tables: does everything run?")
    options = parser.parse_args()
    names = options.names or list(SUBJECTS)
    unknown = set(names) - set(SUBJECTS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(SUBJECTS)}")
    counts = (30, 8) if options.quick else (options.tables, options.nuts_tables)
    found: list[Line] = []
    began = time.perf_counter()
    for lines in measured(names, *counts, options.seed):
        found += lines
        for line in lines:
            reported = (
                f"{line.likelihood}, {line.n_rows} rows: {line.coverage:.3f} +- {line.error:.3f}"
            )
            print(f"{time.perf_counter() - began:5.0f} s  {reported}", file=sys.stderr, flush=True)
        if options.json:
            report = [dataclasses.asdict(line) for line in found]
            options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(table(found))
    return int(any(line.verdict == "no" for line in found))


if __name__ == "__main__":
    sys.exit(main())
