"""Method: how classes and columns are modeled, members of a stack, diagnostics, the program."""

from collections.abc import Callable

import numpy as np

from bayesgen.likelihoods.description import Description, source
from bayesgen.page import Bar, Block, Cell, Code, Details, Grid, Section, Text
from bayesgen.report.subject import Model, Stack, Subject, named, story_of
from bayesgen.report.words import listed, number, share

MEMBER = "log loss of "
"""Details of a report that stand in the table of members."""
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


def section(subject: Subject) -> Section:
    """Return the method in words, and the program in details."""
    clf, report = subject.clf, subject.clf.report_
    blocks: list[Block] = [
        Text(
            f"{subject.name[:1].upper()}{subject.name[1:]}. Each row draws its class, then its "
            "columns given the class. Inference: "
            f"{INFERENCES.get(clf.inference_, clf.inference_)}."
        ),
        Text(report.verdict, "" if report.converged else "warning"),
    ]
    blocks += _members(clf) if isinstance(clf, Stack) else [_likelihoods(clf)]
    lines = [[name, number(value)] for name, value in report.details.items() if MEMBER not in name]
    if lines:
        blocks.append(Details("Diagnostics", [Grid(["", "value"], lines, right=(1,))]))
    return Section("Method", [*blocks, Details("The program, in NumPyro", programs(subject))])


def descriptions(model: Model) -> list[tuple[Description, list]]:
    """Return the likelihoods with their columns; blocks of one likelihood stand together."""
    reader = model.posterior_.reader
    columns: dict[Description, list] = {}
    for block, family in model.state_.likelihoods.items():
        if block in reader.kept:
            names = model.state_.columns(reader, block)
            columns.setdefault(family.describe(), []).extend(names)
    return list(columns.items())


def _likelihoods(clf: Model) -> Block:
    lines: list[list[Cell]] = [
        [listed(names), family.density, family.settings] for family, names in descriptions(clf)
    ]
    if not lines:
        return Text("The model is a program of its user; it reads a row as a whole.")
    return Grid(["columns", "given the class", "prior strengths"], lines)


def _members(stack: Stack) -> list[Block]:
    table = stack.members_table()
    lines: list[list[Cell]] = []
    for name, line in table.sort_values("weight", ascending=False, kind="stable").iterrows():
        weights = (line["weight"], line["log_linear_weight"])
        bars = ["" if np.isnan(w) else Bar(max(-1.0, min(w, 1.0)), f"{w:.2f}") for w in weights]
        loss = f"{line['leave_one_out_log_loss']:.3f}"
        lines.append([str(name), _structure(stack.members_[str(name)]), loss, *bars])
    words = (
        "A stack of structures, each a model of its own. The answer is a mean of theirs, weighted "
        "by how well each predicts rows left out"
    )
    if stack.pool_share_:
        words += (
            f"; {share(stack.pool_share_)} of it is a log-linear pool, which multiplies powers of "
            "their densities"
        )
    heads = ["member", "structure", "log loss alone", "weight", "weight, log-linear"]
    left_out = [Text(f"Left out: {name}. {why}", "muted") for name, why in stack.left_out_.items()]
    return [Text(words + "."), Grid(heads, lines, right=(2,)), *left_out]


def _structure(member: Model) -> str:
    """Return a member in words: the densities of its columns, and what is done to these before."""
    options = member.get_params(deep=False)
    densities = dict.fromkeys(family.density for family, _ in descriptions(member))
    parts = list(densities) or [f"{named(member)}, {member.inference_}"]
    parts += ["power-transformed"] if options.get("power_transform") else []
    parts += ["numbers cut into bins"] if options.get("bins") else []
    return "; ".join(parts)


def programs(subject: Subject) -> list[Block]:
    """Return the program of each likelihood as NumPyro draws it, each once."""
    story: Callable | None = story_of(subject.clf)
    if story is not None:
        return [Text("The program, as it was passed."), Code(source([story]))]
    blocks: list[Block] = [
        Text(
            "The parameters of each block, as the program draws them. Families with independent "
            "columns share one program and differ in their priors."
        )
    ]
    seen = set()
    for model in subject.models.values():
        for family, names in descriptions(model):
            program = Text(family.no_program) if family.no_program else Code(family.program)
            if program not in seen:
                seen.add(program)
                blocks += [Text(f"{listed(names)}: {family.density}"), program]
    return blocks
