"""Sentences about programs of the user that are raised in several places, and lines to write."""

import traceback

from bayesgen.errors import InvalidProgram
from bayesgen.errors.wording import shown, to_type

PLATE = 'with numpyro.plate("row", n_rows):'
LABEL_LINE = 'y = numpyro.sample("y", dist.Categorical(class_probs), obs=y)'
HEAD = "def model(x, y=None, *, n_classes, ...):"
OBSERVED = ("observed = ~jnp.isnan(x)", "x = jnp.where(observed, x, 0.0)")
BY_NAME = "does not support string indexing"
"""What JAX says of an array that is read by a name."""
RETURN_ROWS = to_type("return x, y")


def in_plate(*lines: str) -> str:
    """Return lines to write in the plate of rows."""
    return to_type(PLATE, *(f"    {line}" for line in lines))


def one_density_per_row(site: str | None) -> str:
    """Return the plate and a site in it that has one density for a row of columns."""
    normal = "dist.Normal(mean[y], deviation[y]).to_event(1)"
    return in_plate(f"numpyro.sample({shown(site or 'x')}, {normal}, obs=x)")


def masked() -> str:
    """Return how a program marks missing cells."""
    site = 'x = numpyro.sample("x", dist.Normal(...).mask(observed).to_event(1), obs=x)'
    return (
        "Mark each such cell and return the rows, or read the columns by a likelihood of the "
        f"library:{to_type(*OBSERVED, PLATE, f'    {site}', 'return x, y')}"
    )


def missing_at(site: str, rows: list[int], *, joint: bool) -> InvalidProgram:
    """A site has no density of rows with missing cells.

    joint: whether the cells of a row have one density, of which no factor is that of a cell.
    """
    cure, code = (
        "The program must handle them: omit their factors, dist.Normal(...).mask(observed), after"
        "{code}",
        to_type(*OBSERVED),
    )
    if joint:
        cure, code = (
            "Cells of one joint density have no factors that could be omitted: leave these rows "
            "out, or fit {code}, which integrates over missing cells.",
            "bg.QDA()",
        )
    return InvalidProgram(
        "site {site!r} gives no density to {where:named row}, where cells are missing (NaN).",
        cure,
        site=site,
        where=rows,
        code=code,
    )


def described(error: Exception) -> str:
    """Return the kind of an error and its first line."""
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0].rstrip('.')}"


def stopped(error: Exception, n_classes: int, *, single: bool) -> InvalidProgram:
    """A program raised an error; the sentence names the site where it occurred.

    n_classes, single: as of the program.
    """
    import jax

    # numpyro's `sample` has the name of the site in its frame
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    samples = [f.f_locals for f in frames if f.f_code.co_name == "sample"]
    site = next((names["name"] for names in samples if "name" in names), None)
    cure = "Try it by hand:{code}"
    code = to_type(f"numpyro.handlers.seed(model, 0)(x, y, n_classes={n_classes})")
    if single and BY_NAME in str(error):
        cure = (
            "The program reads x by name, and the x of a table or an array is an array. Read its "
            "columns by position, the first as x[:, 0], or pass a dict of arrays, which stacks and "
            "comparisons do not take:{code}"
        )
        code = to_type("X = {name: X[name].to_numpy() for name in X}")
    elif isinstance(error, jax.errors.JAXTypeError):
        cure = (
            "While JAX traces the program, only the shapes of rows and parameters are known. "
            "Write jnp.where(...) for an if, and make tables JAX's own:{code}"
        )
        code = to_type("table = jnp.asarray(table)", "cells = table[y]")
    elif isinstance(error, ValueError) and "ncompatible shapes" in str(error):
        cure = (
            'Inside plate "row" a site has one log density for a row; join the columns of a '
            "row by .to_event(1):{code}"
        )
        code = one_density_per_row(site)
    return InvalidProgram(
        "the program stopped{where}: {problem}.",
        cure,
        where="" if site is None else f" at site {site!r}",
        problem=described(error),
        code=code,
    )


def outside_plate(site: str) -> InvalidProgram:
    """A site of the rows lies outside plate "row"."""
    line = LABEL_LINE if site == "y" else f"numpyro.sample({shown(site)}, ..., obs=x)"
    return InvalidProgram(
        'site {site!r} depends on the rows but lies outside plate "row".',
        "Put it inside:{code}",
        site=site,
        code=in_plate(line),
    )


def rows_ignored() -> InvalidProgram:
    """A program gives all rows of a class the same density."""
    return InvalidProgram(
        "the program gives all rows of a class the same density: it ignores x.",
        "Observe x:{code}",
        code=in_plate('numpyro.sample("x", ..., obs=x)'),
    )


def cannot_simulate(error: Exception) -> InvalidProgram:
    """A program does not run without rows."""
    return InvalidProgram(
        "the program cannot simulate rows: {problem}.",
        "It is called as model(None, n_classes=..., n_rows=1) and returns (x, y); bind the sizes "
        "that it would read from x, functools.partial(model, n_features=...).",
        problem=described(error),
    )


def wrong_simulation(problem: str) -> InvalidProgram:
    """A program does not accept the rows that it simulated."""
    return InvalidProgram(
        "the program simulated rows that it does not accept: {problem}.",
        "Let it return rows and labels in the form in which it accepts them:{code}",
        problem=problem,
        code=RETURN_ROWS,
    )


def cannot_impute(problem: str) -> InvalidProgram:
    """A program does not return the rows that it was given."""
    return InvalidProgram(
        "the program returned other rows than it was given: {problem}.",
        "impute() reads imputed cells from what the program returns; let it return rows and labels "
        "in the form in which it accepts them:{code}",
        problem=problem,
        code=RETURN_ROWS,
    )
