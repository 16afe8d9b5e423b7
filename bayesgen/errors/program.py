"""Errors about a user's NumPyro program: its form, its rows and their densities."""

from collections.abc import Iterable

from bayesgen.errors.base import BayesgenError, Count, Sentence, listed, rows, shown, to_type

PLATE = 'with numpyro.plate("row", n_rows):'
LABEL = 'y = numpyro.sample("y", dist.Categorical(class_probs), obs=y)'
HEAD = "def model(x, y=None, *, n_classes, ...):"
MIXTURE = "parts = dist.MixtureSameFamily(dist.Categorical(weights[y]), components)"


def _in_rows(*lines: str) -> str:
    return to_type(PLATE, *(f"    {line}" for line in lines))


def _joined(site: str | None) -> str:
    """Return the plate and a site in it that has one density for a row of columns."""
    name = shown(site or "x")
    normal = "dist.Normal(mean[y], deviation[y]).to_event(1)"
    return _in_rows(f"numpyro.sample({name}, {normal}, obs=x)")


def _stopped(site: str | None, error: Exception) -> str:
    where = "" if site is None else f" at site {shown(site)}"
    first = (str(error).splitlines() or [""])[0].rstrip(".")
    return f"the program stopped{where}: {type(error).__name__}: {first}."


def _masked() -> str:
    lines = ("observed = ~jnp.isnan(x)", "x = jnp.where(observed, x, 0.0)")
    site = 'x = numpyro.sample("x", dist.Normal(...).mask(observed).to_event(1), obs=x)'
    return (
        "Mark each such cell and return the rows, or read the columns by a likelihood of the "
        f"library:{to_type(*lines, PLATE, f'    {site}', 'return x, y')}"
    )


class InvalidProgram(BayesgenError, ValueError):
    """A program that violates the form of the gallery (models/); the message shows a remedy."""

    not_a_program = Sentence(
        "story is {found!r}; a function with numpyro.sample statements is needed. Pass the "
        "function itself, story=model, written as{code}",
        code=to_type(HEAD),
    )
    wrong_arguments = Sentence(
        "the program cannot be called as model(x, y, n_classes=...): {problem}. Write its head "
        "as{code}",
        code=to_type(HEAD),
    )

    @classmethod
    def missing_settings(cls, names: Iterable[str]) -> "InvalidProgram":
        """The program has keywords without a default or a value."""
        names = list(names)
        given = ", ".join(f"{name}=..." for name in names)
        return cls(
            f"the program needs the settings {listed(names)}, which have no default. Bind them: "
            f"story=functools.partial(model, {given})."
        )

    with_likelihood = Sentence(
        "story= and likelihood= are both given; a program already defines the distribution of the "
        "rows. Leave one of them out."
    )
    with_class_prior = Sentence(
        "class_prior is {value!r}, but a program states its own prior of the class probabilities. "
        "Bind it there, functools.partial(model, class_rows=...), or pass known probabilities, "
        'class_prior="uniform".'
    )

    @classmethod
    def shapes_clash(cls, site: str | None, error: Exception) -> "InvalidProgram":
        """Shapes do not go together, as those of columns and of the plate of rows."""
        return cls(
            f'{_stopped(site, error)} Inside plate "row" a site has one log density for a row; '
            f"join the columns of a row by .to_event(1):{_joined(site)}"
        )

    @classmethod
    def looks_at_values(cls, site: str | None, error: Exception) -> "InvalidProgram":
        """Python looked at values where JAX traces and only shapes are known."""
        return cls(
            f"{_stopped(site, error)} While JAX traces the program, only the shapes of rows and "
            "parameters are known. Write jnp.where(...) for an if, and make tables JAX's "
            f"own:{to_type('table = jnp.asarray(table)', 'cells = table[y]')}"
        )

    @classmethod
    def failed(cls, site: str | None, error: Exception) -> "InvalidProgram":
        """The program raised some other error when it was given rows."""
        return cls(
            f"{_stopped(site, error)} Try it by hand:"
            f"{to_type('numpyro.handlers.seed(model, 0)(x, y, n_classes=2)')}"
        )

    no_label = Sentence(
        'the program has no site "y" for the label of a row. Add{code}',
        code=_in_rows(LABEL),
    )
    label_not_observed = Sentence(
        'site "y" is drawn although labels are given: the program does not observe them. Add '
        "obs=y:{code}",
        code=_in_rows(LABEL),
    )

    @classmethod
    def no_row_plate(cls, site: str) -> "InvalidProgram":
        """A site of the rows lies outside plate "row"."""
        line = LABEL if site == "y" else f"numpyro.sample({shown(site)}, ..., obs=x)"
        return cls(
            f'site {shown(site)} depends on the rows but lies outside plate "row". Put it inside:'
            f"{_in_rows(line)}"
        )

    wrong_plate = Sentence(
        'plate "row" has the size {size} and dim={dim}; with {n_rows:rows} it needs the size '
        "{n_rows} and dim=-1. Take the size from x:{code}",
        order="dim size n_rows",
        code=to_type("n_rows = len(x)", PLATE),
    )
    hidden_in_row = Sentence(
        'site {site!r} in plate "row" is drawn anew for each row. If it is a column, add obs=x. If '
        "it is hidden, sum it out, so that each row has one density; over levels by a "
        "mixture:{code}",
        code=_in_rows(MIXTURE, 'numpyro.sample("x", parts, obs=x)'),
    )
    discrete = Sentence(
        "the parameter at site {site!r} is discrete; only continuous ones can be sampled or "
        "optimized. Sum it out by dist.MixtureSameFamily, or fix it: functools.partial(model, "
        "{site}=...)."
    )

    @classmethod
    def no_prior(cls, site: str) -> "InvalidProgram":
        """A parameter is numpyro.param, which has no prior."""
        return cls(
            f"site {shown(site)} is a numpyro.param, which has no prior. Write it as"
            f"{to_type(f'{site} = numpyro.sample({shown(site)}, dist.Normal(0.0, 1.0))')}"
        )

    @classmethod
    def wrong_shape(cls, site: str, found: tuple, n_rows: Count) -> "InvalidProgram":
        """The log density of a site in rows is not one number for a row."""
        return cls(
            f"site {shown(site)} has log densities of the shape {found}; with {rows(n_rows)} the "
            f"shape ({n_rows},) is needed. Join the columns of a row by .to_event(1):"
            f"{_joined(site)}"
        )

    no_parameters = Sentence(
        "the program has no parameters: every site is observed. Add a prior for what is to be "
        'learned:\n    class_probs = numpyro.sample("class_probs", '
        "dist.Dirichlet(jnp.ones(n_classes)))"
    )
    rows_ignored = Sentence(
        "the program gives all rows of a class the same density: it ignores x. Observe x:{code}",
        code=_in_rows('numpyro.sample("x", ..., obs=x)'),
    )
    rows_depend = Sentence(
        "site {site!r} gives a row a density that depends on the other rows, so new rows cannot "
        "be scored one by one. Compute from x row by row, and bind quantities of the training "
        "rows (a mean, a scale) beforehand: functools.partial(model, mean=X.mean(axis=0))."
    )
    labels_vary = Sentence(
        'the program gives site "y" other probabilities in other rows, so there is no single set '
        "of class probabilities to replace. Change the program instead."
    )
    cannot_simulate = Sentence(
        "the program cannot simulate rows: {error.__class__.__name__}: {error}. It is called as "
        "model(None, n_classes=..., n_rows=1) and returns (x, y); bind the sizes that it would "
        "read from x, functools.partial(model, n_features=...)."
    )
    wrong_simulation = Sentence(
        "the program simulated rows that it does not accept: {problem}. Let it return rows and "
        "labels in the form in which it accepts them:{code}",
        code=to_type("return x, y"),
    )
    cannot_impute = Sentence(
        "the program returned other rows than it was given: {problem}. impute() reads imputed "
        "cells from what the program returns; let it return rows and labels in the form in which "
        "it accepts them:{code}",
        code=to_type("return x, y"),
    )


class ProgramRefuses(BayesgenError, ValueError):
    """A method that a user program does not support."""

    statistics = Sentence(
        "{method} needs additive statistics, but a program of your own reads all rows at once. "
        "Fit all rows together: fit(X, y)."
    )
    inference = Sentence(
        'inference is {found!r}; a program of your own has no closed form. Allowed: "auto" and '
        '"nuts" (draws), "map", "svi", "mle", bg.NUTS(), bg.MAP(), bg.MLE(). Pass inference="nuts".'
    )
    loo_of_point = Sentence(
        "loo() of a program of your own reweights draws of its parameters, but "
        "inference={method!r} has a single one. Pass inference='nuts', or score held-out rows "
        "with bg.compare({{'this': clf}}, X, y)."
    )
    marks_none = Sentence(
        "impute() draws cells that a program of your own marks as missing by a mask, and this one "
        "has no mask. {code}",
        code=_masked(),
    )
    unmarked = Sentence(
        "array {name!r} of X has missing cells in row {where:listed} that the program does not "
        "mask. {code}",
        code=_masked(),
    )


class InvalidProgramRows(BayesgenError, ValueError):
    """Rows that cannot be passed to a program."""

    text = Sentence(
        "column {name!r} does not hold numbers, and a program takes numbers. Pass a dict of arrays "
        'with levels as codes 0, 1, ... and -1 where missing: {{"numbers": X[[...]].to_numpy(), '
        '"levels": codes}}.'
    )

    @classmethod
    def lengths(cls, lengths: dict) -> "InvalidProgramRows":
        """The arrays of a dict have different numbers of rows."""
        found = ", ".join(f"{shown(name)}: {length}" for name, length in lengths.items())
        return cls(
            f"the arrays of X have different numbers of rows ({found}); rows lie along the first "
            "axis of each. Cut them to the same rows."
        )

    names = Sentence(
        "X has the arrays {found:listed 20}; the fit had {wanted:listed 20}. Pass a dict with "
        "these names."
    )
    container = Sentence("X is {found}; at fit it was {wanted}. Pass {wanted} again.")
    shape = Sentence(
        "array {name!r} of X has rows of the shape {found}; at fit it was {wanted}. Pass the same "
        "columns."
    )
    fractions = Sentence(
        "array {name!r} of X holds fractions or NaN, but held whole numbers at fit. Pass codes, "
        "with -1 where missing."
    )
    infinite = Sentence(
        "Input X contains infinity: array {name!r} in {count:,} cells; numbers, and NaN where "
        "missing, are allowed. Replace them: X[numpy.isinf(X)] = numpy.nan."
    )


class ProgramNotFinite(BayesgenError, ValueError):
    """A program assigns no usable density to rows."""

    @classmethod
    def missing(cls, site: str, where: Iterable[int]) -> "ProgramNotFinite":
        """Rows with missing cells have no density."""
        lines = ("observed = ~jnp.isnan(x)", "x = jnp.where(observed, x, 0.0)")
        return cls(
            f"site {shown(site)} gives no density to row {listed(where)}, where cells are missing "
            "(NaN). The program must handle them: omit their factors, "
            f"dist.Normal(...).mask(observed), after{to_type(*lines)}"
        )

    invalid = Sentence(
        "site {site!r} gives the log density {found} in row {where:listed}. The row holds a value "
        "that the distribution does not allow (its support), or the priors are centered far from "
        "the rows. Choose a distribution whose support holds the column, or other guesses.",
        order="site where found",
    )

    @classmethod
    def elsewhere(cls, site: str | None) -> "ProgramNotFinite":
        """The density of parameters, or a gradient, is not finite."""
        where = "its priors" if site is None else f"site {shown(site)}"
        return cls(
            f"the program has no finite density, or no finite gradient, at {where} where the fit "
            "starts. Look for a negative scale, a division by zero, or a NaN that is masked only "
            "after it was used; apply jnp.where first."
        )
