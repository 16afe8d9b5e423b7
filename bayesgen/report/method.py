"""Method: how classes and columns are modeled, members of a stack, diagnostics, the program."""

from typing import cast

import numpy as np

from bayesgen.errors import BayesgenError
from bayesgen.likelihoods.description import Description
from bayesgen.page import Bar, Cell, Grid
from bayesgen.plots.fitted import Model, Stack, Weighted
from bayesgen.report.subject import Subject, Values, named
from bayesgen.report.words import listed, number

MEMBER = "log loss of "
PAIR = "levels of two columns together"
JOINT = {
    "forest": "classification trees of all columns, averaged",
    "discriminant": "normal with one covariance, of more columns than rows",
}
"""Details of a report that stand in the table of members."""
NEAR_ONE = 0.005
"""Distance of a temperature from 1 that two decimals do not show."""
INFERENCES = {
    "exact": "closed form (exact)",
    "expected": "closed form, missing cells by their expectations",
    "mle": "maximum likelihood: a point, no uncertainty",
    "map": "posterior mode: a point, no uncertainty",
    "nuts": "draws by the no-U-turn sampler",
    "importance": "draws by importance sampling",
    "augmentation": "draws by data augmentation (Gibbs sampling)",
    "stacked": "members by closed forms, weighted by leave-one-out scores",
}
"""Methods of inference in words."""


def method(subject: Subject) -> Values:
    """Return the method in words, members or likelihoods as a table, and the program."""
    report = subject.clf.report_
    details = {name: value for name, value in report.details.items() if MEMBER not in name}
    lines = [[name, number(float(value))] for name, value in details.items()]
    try:
        program, reason = subject.clf.program(), ""
    except BayesgenError as error:
        program, reason = "", subject.worded(error, cure=False)
    return {
        "report": report,
        "inference": INFERENCES.get(report.method, report.method),
        "table": _members(subject.stack)
        if subject.stack
        else _likelihoods(subject.models[subject.name]),
        "temperature": _temperature(subject),
        "diagnostics": Grid(["", "value"], lines, right=(1,)),
        "program": program,
        "no_program": reason,
    }


def _temperature(subject: Subject) -> str:
    """Return by what log-odds are divided, and why, in words."""
    temperature = cast(Weighted, subject.clf).temperature_
    weights = getattr(subject.clf, "weights_", None)
    if weights and not subject.stack:
        total, n = sum(weights.values()), len(weights)
        return (
            f"What a column says is raised to a power of its own: {n} columns count as much as "
            f"{total:.2f} independent ones."
        )
    odds = "the log-odds of this mean" if subject.stack else "log-odds"
    if abs(temperature - 1) < NEAR_ONE:
        return f"Not tempered: {odds} are left as they are (temperature 1)."
    if temperature < 1:
        how = f"multiplied by {1 / temperature:.2f}, since the evidence was underrated"
    else:
        how = f"divided by {temperature:.2f}, since columns repeat each other"
    return f"Tempered: {odds} are {how} (temperature {temperature:.2f}, learned or stated)."


def descriptions(model: Model) -> list[tuple[Description, list]]:
    """Return the likelihoods with their columns; blocks of one likelihood stand together."""
    reader = model.posterior_.reader
    columns: dict[Description, list] = {}
    for block, family in model.state_.likelihoods.items():
        if block in reader.selections:
            names = model.state_.columns(reader, block)
            columns.setdefault(family.describe(), []).extend(names)
    return list(columns.items())


def _likelihoods(clf: Model) -> Grid:
    lines: list[list[Cell]] = [
        [listed(names), f"{family.distribution}, {family.dependence}", family.settings]
        for family, names in descriptions(clf)
    ]
    return Grid(["columns", "given the class", "prior strengths"], lines)


def _members(stack: Stack) -> Grid:
    table = stack.members_table()
    lines: list[list[Cell]] = []
    for name, line in table.sort_values("weight", ascending=False, kind="stable").iterrows():
        weights = (line["weight"], line["log_linear_weight"])
        bars = ["" if np.isnan(w) else Bar(max(-1.0, min(w, 1.0)), f"{w:.2f}") for w in weights]
        loss = line["leave_one_out_log_loss"]
        structure = JOINT.get(str(name), PAIR)
        if name in stack.members_:
            structure = _structure(stack.members_[str(name)])
        lines.append([str(name), structure, "" if np.isnan(loss) else f"{loss:.3f}", *bars])
    heads = ["member", "structure", "log loss alone", "weight", "weight, log-linear"]
    return Grid(heads, lines, right=(2,))


def _structure(member: Model) -> str:
    """Return a member in words: the distributions of its columns, and what is done before."""
    options = member.get_params(deep=False)
    distributions = dict.fromkeys(family.distribution for family, _ in descriptions(member))
    parts = [f"{named(member)}: {', '.join(distributions) or member.inference_}"]
    parts += ["power-transformed"] if options.get("power_transform") else []
    parts += ["numbers cut into bins"] if options.get("bins") else []
    return "; ".join(parts)
