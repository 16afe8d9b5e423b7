"""How seconds grow with rows, columns, classes and draws: figures, and a picture for docs/evidence.

Medians of whole calls: exact fits and predictions of naive Bayes, LDA and QDA around 20,000 rows,
20 columns and 5 classes, one of the three changed at a time; predict_proba of 2,000 rows from
draws. The figure of the table is the exponent: seconds grow like the size to this power, fitted
over the three largest sizes; 1 is linear. With --quick nothing is drawn.
"""

import dataclasses
from functools import partial
from pathlib import Path

import numpy as np
from measure import Options, main, seconds
from results import Result
from tables import normal_rows

import bayesgen as bg

MODELS = {"naive Bayes": bg.NaiveBayes, "LDA": bg.LDA, "QDA": bg.QDA}
SIZES = {
    "rows": (1_000, 3_000, 10_000, 30_000, 100_000, 300_000),
    "columns": (5, 10, 20, 40, 80),
    "classes": (2, 5, 10, 20, 40),
    "draws": (100, 200, 400, 1_000, 2_000, 4_000),
}
CENTRE = {"rows": 20_000, "columns": 20, "classes": 5}
PICTURE = Path(__file__).parent.parent / "docs" / "evidence" / "scaling.png"


@dataclasses.dataclass(frozen=True)
class Line:
    """Seconds of one kind of call as one size grows."""

    axis: str
    call: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]

    @property
    def exponent(self) -> float:
        """The slope of log seconds over log size, over the three largest sizes."""
        sizes, took = np.log(self.sizes[-3:]), np.log(self.seconds[-3:])
        return float(np.polyfit(sizes, took, 1)[0])


def measure(options: Options) -> list[Result]:
    """Return the exponents of all lines; the picture is drawn where the run is no trial."""
    lines = [line for axis in SIZES for line in along(axis, options)]
    if not options.quick:
        draw(lines, PICTURE)
    results = []
    for line in lines:
        pairs = zip(line.sizes, line.seconds, strict=True)
        note = ", ".join(f"{took:.2g} s at {size:,}" for size, took in pairs)
        work = f"scaling with {line.axis}, {line.call}: exponent"
        results.append(Result(work, None, line.exponent, "", note=note))
    return results


def along(axis: str, options: Options) -> list[Line]:
    """Return lines of all calls as one size grows and the others stay."""
    sizes = SIZES[axis][:2] if options.quick else SIZES[axis]
    found: dict[str, list[float]] = {}
    for size in sizes:
        calls = from_draws(size) if axis == "draws" else exact(CENTRE | {axis: size})
        for name, call in calls.items():
            call()
            took = [seconds(call) for _ in range(options.repeats)]
            found.setdefault(name, []).append(float(np.median(took)))
    return [Line(axis, name, sizes, tuple(took)) for name, took in found.items()]


def exact(size: dict[str, int]) -> dict:
    """Return fits and predictions in closed form, by name."""
    X, y = normal_rows(size["rows"], size["columns"], size["classes"])
    calls = {}
    for name, model in MODELS.items():
        fitted = model().fit(X, y)
        calls[f"fit {name}"] = partial(model().fit, X, y)
        calls[f"predict {name}"] = partial(fitted.predict_proba, X)
    return calls


def from_draws(n: int) -> dict:
    """Return predictions of 2,000 rows from n draws, by name."""
    X, y = normal_rows(2_000, CENTRE["columns"], CENTRE["classes"])
    sampler = bg.Augmentation(draws=n // 4, chains=4)
    models = {name: MODELS[name] for name in ("naive Bayes", "QDA")}
    fitted = {name: m(inference=sampler, random_state=0).fit(X, y) for name, m in models.items()}
    return {f"predict {name}": partial(one.predict_proba, X) for name, one in fitted.items()}


def draw(lines: list[Line], path: Path) -> None:
    """Draw seconds against sizes on logarithmic axes, a panel for each kind of size."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colours = {"naive Bayes": "#0072B2", "LDA": "#009E73", "QDA": "#D55E00"}
    figure, panels = plt.subplots(1, 4, figsize=(12, 3.2), sharey=True, layout="constrained")
    for panel, axis in zip(panels, SIZES, strict=True):
        for line in (line for line in lines if line.axis == axis):
            verb, name = line.call.split(" ", 1)
            style = {"color": colours[name], "linestyle": "-" if verb == "fit" else "--"}
            panel.loglog(line.sizes, line.seconds, marker="o", ms=3, label=line.call, **style)
        panel.set_xlabel(axis)
        panel.set_xticks(SIZES[axis], [f"{size:,}" for size in SIZES[axis]], fontsize=7)
        panel.minorticks_off()
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("seconds")
    panels[0].legend(fontsize=7, frameon=False)
    panels[3].legend(fontsize=7, frameon=False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    main(__file__, __doc__, measure, threads=("one",))
