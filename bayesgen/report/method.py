"""Method: how classes and columns are modeled, members of a stack, diagnostics, the program."""

import dataclasses
import inspect
import textwrap
from typing import Any

import numpy as np

from bayesgen.page import Bar, Block, Cell, Code, Details, Grid, Section, Text
from bayesgen.report.subject import NAMES, Fitted, Subject
from bayesgen.report.words import listed, number, share

MEMBER = "log loss of "
"""Details of a report that stand in the table of members."""
FAMILIES = {
    "Normal": "normal, columns independent given the class",
    "MultivariateNormal": "multivariate normal, columns dependent",
    "SharedCorrelationNormal": "multivariate normal with shared correlations",
    "SphericalNormal": "normal with one variance for all columns",
    "MultivariateStudentT": "multivariate Student t, columns dependent",
    "Bernoulli": "Bernoulli (0 or 1), columns independent given the class",
    "Categorical": "fractions of levels, columns independent given the class",
    "JointCategorical": "fractions of all combinations of levels",
    "Poisson": "Poisson counts, columns independent given the class",
    "Multinomial": "multinomial word counts given the length",
    "KernelDensity": "kernel density estimate",
    "KernelDiscriminant": "kernel discriminant: classes of similar rows, weighted",
}
"""Likelihoods in words."""
NO_PROGRAM = {
    "KernelDiscriminant": "Its kernels are the rows of the fit; their weights have a posterior in "
    "closed form, and no program.",
}
"""Likelihoods whose parameters no program draws."""
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
MEMBERS = {
    "naive": "naive Bayes: columns independent given the class",
    "linear": "linear: numbers are jointly normal with one covariance for all classes",
    "linear_power": "linear, power-transformed",
    "linear_weak": "linear, power-transformed, with a weak prior",
    "quadratic": "quadratic: numbers are jointly normal with a covariance for each class",
    "quadratic_pooled": "quadratic; the pooled covariance has the weight of 128 rows",
    "quadratic_power": "quadratic, power-transformed; the prior has no correlations",
    "kernels": "kernels: rows have the class of similar rows",
    "naive_kernels": "naive Bayes with a smooth density of any form for each number",
    "bins": "naive Bayes with numbers cut into bins",
    "joint": "naive Bayes, with all combinations of levels modeled jointly",
    "indicators": "linear, levels as 0/1 columns",
    "indicators_power": "linear, levels as 0/1 columns, numbers power-transformed",
}
"""Members of an automatic stack in words."""


def section(subject: Subject) -> Section:
    """Return the method in words, and the program in details."""
    clf = subject.clf
    report = clf.report_
    how = INFERENCES.get(clf.inference_, clf.inference_)
    blocks: list[Block] = [
        Text(
            f"{subject.name[:1].upper()}{subject.name[1:]}. Each row draws its class, then its "
            f"columns given the class. Inference: {how}."
        ),
        Text(report.verdict, "" if report.converged else "warning"),
    ]
    blocks += _members(clf) if hasattr(clf, "members_") else [_likelihoods(clf)]
    blocks += _diagnostics(clf)
    return Section("Method", [*blocks, Details("The program, in NumPyro", programs(clf))])


# -- likelihoods -----------------------------------------------------------------------------------


def _likelihoods(clf: Fitted) -> Block:
    lines: list[list[Cell]] = [
        [listed(names), in_words(family), _settings(family)] for family, names in likelihoods(clf)
    ]
    if not lines:
        return Text("The model is a program of its user; it reads a row as a whole.")
    return Grid(["columns", "given the class", "prior strengths"], lines)


def likelihoods(clf: Fitted) -> list[tuple[Any, list]]:
    """Return the likelihoods with their columns; blocks of one likelihood stand together.

    Those of missing patterns are left out where no cell was missing.
    """
    state, reader = clf.state_, clf.posterior_.reader
    found: dict[tuple[str, str], tuple[Any, list]] = {}
    for block, family in state.likelihoods.items():
        names = [column.name for column in state.schema.blocks.get(block, ())] or [block]
        if block in state.pattern_blocks():
            names = state.columns(reader, block) if block in reader.kept else []
        if names:
            key = in_words(family), _settings(family)
            found.setdefault(key, (family, []))[1].extend(names)
    return list(found.values())


def in_words(family: Any) -> str:
    """Return a likelihood in words; that of a user has the name of its class."""
    members = getattr(family, "members", None)
    name = type(members[0] if members else family).__name__
    words = FAMILIES.get(name, name)
    return f"{words}; {len(members)} priors averaged by evidence" if members else words


def _settings(family: Any) -> str:
    """Return the settings that are numbers or words: "variance_rows 8"."""
    if hasattr(family, "members") or not dataclasses.is_dataclass(family):
        return ""
    found = []
    for field in dataclasses.fields(family):
        value = getattr(family, field.name)
        if (
            field.init
            and isinstance(value, int | float | np.number)
            and field.name != "correlation"
        ):
            found.append(f"{field.name} {value:g}")
        elif field.init and isinstance(value, str) and value != field.default:
            found.append(f"{field.name} {value}")
    return ", ".join(found)


# -- stacks ----------------------------------------------------------------------------------------


def _members(clf: Fitted) -> list[Block]:
    table = clf.members_table()
    lines: list[list[Cell]] = []
    for name, line in table.sort_values("weight", ascending=False, kind="stable").iterrows():
        weights = (line["weight"], line["log_linear_weight"])
        bars = ["" if np.isnan(w) else Bar(max(-1.0, min(w, 1.0)), f"{w:.2f}") for w in weights]
        loss = f"{line['leave_one_out_log_loss']:.3f}"
        lines.append([str(name), member_in_words(str(name), clf.members_[name]), loss, *bars])
    words = (
        "A stack of structures, each a model of its own. The answer is a mean of theirs, weighted "
        "by how well each predicts rows left out"
    )
    if clf.pool_share_:
        words += (
            f"; {share(clf.pool_share_)} of it is a log-linear pool, which multiplies powers of "
            "their densities"
        )
    heads = ["member", "structure", "log loss alone", "weight", "weight, log-linear"]
    blocks: list[Block] = [Text(words + "."), Grid(heads, lines, right=(2,))]
    out = [Text(f"Left out: {name}. {why}", "muted") for name, why in clf.left_out_.items()]
    return blocks + out


def member_in_words(name: str, member: Fitted) -> str:
    """Return the structure of a member in words."""
    if name in MEMBERS:
        return MEMBERS[name]
    kind = NAMES.get(type(member).__name__, type(member).__name__)
    return f"{kind}, {member.inference_}"


# -- diagnostics and program -----------------------------------------------------------------------


def _diagnostics(clf: Fitted) -> list[Block]:
    details = {n: v for n, v in clf.report_.details.items() if MEMBER not in n}
    if not details:
        return []
    lines = [[name, number(float(value))] for name, value in details.items()]
    return [Details("Diagnostics", [Grid(["", "value"], lines, right=(1,))])]


def programs(clf: Fitted) -> list[Block]:
    """Return the program of each likelihood as NumPyro draws it, each once."""
    story = getattr(clf, "story", None)
    if story is not None:
        return [Text("The program, as it was passed."), Code(_source(story))]
    blocks: list[Block] = [
        Text(
            "The parameters of each block, as the program draws them. Families with independent "
            "columns share one program and differ in their priors."
        )
    ]
    seen = set()
    for part in getattr(clf, "members_", {"": clf}).values():
        for family, names in likelihoods(part):
            kind = type(getattr(family, "members", (family,))[0])
            # families with independent columns share one program, and differ in their priors
            functions = [getattr(kind, "parameter_priors", None), kind.story]
            program = [_source(function) for function in functions if function is not None]
            if (key := tuple(program)) in seen:
                continue
            seen.add(key)
            blocks.append(Text(f"{listed(names)}: {in_words(family)}"))
            if why := NO_PROGRAM.get(kind.__name__):
                blocks.append(Text(why))
            else:
                blocks.append(Code("\n".join(program)))
    return blocks


def _source(function: Any) -> str:
    try:
        return textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return f"# the source of {getattr(function, '__name__', 'the program')} is not available"
