"""The model of a fitted classifier as plain text: functions of numpyro and jax alone."""

import re
from textwrap import indent, wrap

from bayesgen.classes import Spec
from bayesgen.errors.operations import no_program
from bayesgen.estimators.state import TrainingState
from bayesgen.inference.missing import with_one_prior
from bayesgen.likelihoods.description import literal
from bayesgen.likelihoods.program_text import block_text
from bayesgen.schema import Reading

IMPORTS = """\
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist"""
MODEL = '''\
def {name}(x, y=None, *, n_classes={n_classes}):
    """Draw the class y of each row, then its cells given the class.

    x[column] is an array (row,): numbers, NaN where missing, or codes of levels, -1 where missing.
    y holds codes of classes, (row,). Missing cells are integrated out.
    """
{classes}
    each_class = numpyro.plate("class", n_classes)
    row = numpyro.plate("row", len({length}))
    class_probs = {class_probs}
    with row:
        y = numpyro.sample("y", dist.Categorical(class_probs), obs=y)
{blocks}'''


def model_functions(state: TrainingState, prior: Spec, name: str) -> list[str]:
    """Return the program of a model as a function, behind those that it calls.

    Args:
        state: of the fit, whose rows fill in guesses.
        prior: of the classes.
        name: of the function, any words.

    Raises:
        UnsupportedOperation: a likelihood has no text (see `block_text`).
    """
    if state.statistics.groups:
        raise no_program(
            "a model with groups",
            "the prior of a group is an average over strengths",
            "Leave out groups=, or see models/hierarchical_naive_bayes.py.",
        )
    problem, functions, lines, length = state.problem(prior), [], [], "y"
    model, origins = (
        with_one_prior(problem.model, problem.statistics),
        state.origins(problem.reader),
    )
    for block, part in model.blocks.items():
        columns, selection = state.schema.blocks[block], problem.reader.selections[block]
        family, names = part.describe(), []
        lines += ["", f"# {family.distribution}, {family.dependence}"]
        if len(problem.model.blocks[block].components) > 1:
            lines.append("# prior strengths are averaged over a grid; these are the likeliest")
        for j in selection.positions("feature", len(columns)).tolist():
            codes = selection.codes(j, len(columns[j].levels)).tolist()
            if codes or part.kind != "levels":
                names.append(columns[j].name)
                lines += _comment(columns[j], codes)
        lines.append(block_text(part.shifted(origins[block]), block, names))
        functions += [part.program_function] if part.program_function else []
        length = f"x[{names[0]!r}]"
    labels = ", ".join(f"{k} {label!r}" for k, label in enumerate(state.classes.tolist()))
    classes = model.classes
    numbers = literal(classes.probs if classes.is_fixed else classes.rows * classes.probs, 0)
    drawn = f'numpyro.sample("class_probs", dist.Dirichlet({numbers}))'
    text = MODEL.format(
        name=re.sub(r"\W", "_", name),
        n_classes=len(state.classes),
        classes=indent("\n".join(_wrapped(f"y: {labels}")), "    "),
        length=length,
        class_probs=numbers if classes.is_fixed else drawn,
        blocks=indent("\n".join(lines), "    "),
    )
    return [*functions, text]


def _comment(column: Reading, codes: list[int]) -> list[str]:
    """Return what a column holds, unless that is the number of the table, as a comment."""
    words = column.describe(codes)
    return _wrapped(f"{column.name!r}: {words}") if words else []


def _wrapped(text: str) -> list[str]:
    return wrap(text, 90, initial_indent="# ", subsequent_indent="#   ")
