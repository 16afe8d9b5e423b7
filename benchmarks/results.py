"""Lines of the table of a benchmark, and the JSON file that keeps them."""

import dataclasses
import json
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Result:
    """One line of the table.

    goal: such as ">= 4" or "<= 1.2"; None where a figure is for information.
    measured: None where a peer is not installed, which the note says. unit: "x" for ratios.
    low, high: extremes over repeats. ours, theirs: seconds, where timed.
    """

    work: str
    goal: str | None
    measured: float | None
    unit: str = "x"
    low: float | None = None
    high: float | None = None
    ours: float | None = None
    theirs: float | None = None
    note: str = ""
    threads: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the figure is on the right side of its goal; None without a goal or figure."""
        if self.goal is None or self.measured is None:
            return None
        sign, bound = self.goal.split()
        return self.measured >= float(bound) if sign == ">=" else self.measured <= float(bound)


def write(path: Path, results: list[Result], **more: object) -> None:
    """Write results as JSON."""
    lines = [{**dataclasses.asdict(line), "met": line.met} for line in results]
    path.write_text(json.dumps({**more, "results": lines}, indent=2) + "\n", encoding="utf-8")


def read(path: Path) -> list[Result]:
    """Return the results that `write` wrote."""
    lines = json.loads(path.read_text(encoding="utf-8"))["results"]
    return [Result(**{k: v for k, v in line.items() if k != "met"}) for line in lines]
