"""A block of a model as plain text: statements of NumPyro, with the numbers of its prior.

A family states code (`Likelihood.program_priors`, `program_cells`), which becomes statements here.
They follow those that define y, the codes of classes, and the plates `each_class` and `row`.
"""

import pprint
from collections.abc import Sequence
from textwrap import indent

from bayesgen.errors.operations import no_program
from bayesgen.likelihoods.base import Likelihood
from bayesgen.likelihoods.protocols import Vocabulary

WIDTH, MOST_WORDS = 86, 50
"""Characters in a line, before it is indented; words that a program may name."""
BY_COLUMN = """\
for {names} in [
{numbers}
]:
{draws}
    seen = {seen}  # a missing cell is masked
    known = jnp.where(seen, x[column], {filler})
    cells = {cells}
    with row:
        numpyro.sample(f"x.{{column}}", cells.mask(seen), obs=known)"""
JOINED = """\
columns = {names}
known = jnp.stack([x[column] for column in columns], axis=-1)
seen = ~jnp.isnan(known)
known = jnp.where(seen, known, 0)
cells = {cells}
with row:
    numpyro.sample({site}, cells, obs=known)"""


def block_text(part: Likelihood, name: str, columns: Sequence[str | int]) -> str:
    """Return the statements that draw the parameters of a block, then its cells.

    Args:
        part: completed.
        name: of the block.
        columns: names of its columns.

    Raises:
        UnsupportedOperation: the family has no text, its prior is improper, or words are too many.
    """
    many = isinstance(part, Vocabulary) and len(columns) > MOST_WORDS
    reason, cure = part.no_program, "Fit bg.NaiveBayes(), of whose likelihoods each has one."
    if part.improper:
        reason, cure = "an improper prior draws no parameters", "Pass prior='conjugate'."
    elif many:
        reason = f"it would name {len(columns):,} words, and at most {MOST_WORDS} are written"
        cure = f"Count fewer: vectorizer=CountVectorizer(max_features={MOST_WORDS})."
    if part.improper or many or not _is_stated(part):
        raise no_program(part.title, reason, cure)
    numbers, cells = part.program_numbers(), part.program_cells
    looped = any(not isinstance(code, str) for code in numbers.values())
    before, inside, apart = [], [], {"column": [repr(column) for column in columns]}
    for n, code in numbers.items():
        if isinstance(code, str):
            before.append(f"{n} = {code}")
        # a guess becomes the draw: before a loop it would be that of the last column
        elif n in part.supports or len(set(code)) > 1:
            apart[n] = code
        else:
            before.append(f"{n} = {code[0]}")
    for n, prior in part.program_priors.items():
        site = f'f"{{column}}.{n}"' if looped else repr(f"{name}.{n}")
        draw = f"prior = {prior}\n{n} = numpyro.sample({site}, prior)"
        lines = inside if looped else before
        if n in part.program_shared:
            cells = cells.replace(f"{n}[y]", n)
        else:
            draw = indent(draw, "    ")
            if not (lines and lines[-1].startswith("    ")):
                lines.append("with each_class:")
        lines.append(draw)
    if not looped:
        names = pprint.pformat(list(columns), width=WIDTH, compact=True)
        joined = JOINED.format(names=names, site=repr(f"x.{name}"), cells=cells)
        return "\n".join([*before, joined])
    rows = []
    for row in zip(*apart.values(), strict=True):
        line = f"({', '.join(row)})," if len(row) > 1 else f"{row[0]},"
        rows.append(line if len(line) < WIDTH else f"(\n{indent(',\n'.join(row), '    ')}\n),")
    loop = BY_COLUMN.format(
        names=", ".join(apart),
        numbers=indent("\n".join(rows), "    "),
        draws=indent("\n".join(inside), "    "),
        seen="x[column] >= 0" if part.kind == "levels" else "~jnp.isnan(x[column])",
        filler=part.program_filler,
        cells=cells,
    )
    return "\n".join([*before, loop])


def _is_stated(part: Likelihood) -> bool:
    """Return whether the code is that of the program: not if a subclass draws otherwise."""
    names = (vars(cls).keys() & {"story", "program_cells"} for cls in type(part).__mro__)
    return bool(part.program_cells) and "program_cells" in next(filter(None, names))
