"""Sentences about programs of the user that are raised in several places, and lines to write."""

from bayesgen.errors import InvalidProgram
from bayesgen.errors.wording import shown, to_type

PLATE = 'with numpyro.plate("row", n_rows):'
LABEL_LINE = 'y = numpyro.sample("y", dist.Categorical(class_probs), obs=y)'
HEAD = "def model(x, y=None, *, n_classes, ...):"
OBSERVED = ("observed = ~jnp.isnan(x)", "x = jnp.where(observed, x, 0.0)")
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
        "the program cannot simulate rows: {kind}: {reason}.",
        "It is called as model(None, n_classes=..., n_rows=1) and returns (x, y); bind the sizes "
        "that it would read from x, functools.partial(model, n_features=...).",
        kind=type(error).__name__,
        reason=(str(error).splitlines() or [""])[0].rstrip("."),
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
