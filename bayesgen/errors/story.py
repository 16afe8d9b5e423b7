"""Sentences about a program that a user brings: its form, and what it cannot be asked."""

from collections.abc import Iterable

from bayesgen.errors.base import BayesgenError, Count, listed, rows, shown, to_type

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
    return f"the story stopped{where}: {type(error).__name__}: {first}."


class InvalidStory(BayesgenError, ValueError):
    """A program that breaks the form of a story; the sentence shows the lines to write."""

    @classmethod
    def not_a_program(cls, found: object) -> "InvalidStory":
        """The story cannot be called."""
        return cls(
            f"story is {shown(found)}; a function with numpyro.sample statements is needed. Pass "
            f"the function itself, story=model, written as{to_type(HEAD)}"
        )

    @classmethod
    def wrong_arguments(cls, problem: str) -> "InvalidStory":
        """The program does not take (x, y, n_classes=...)."""
        return cls(
            f"the story cannot be called as model(x, y, n_classes=...): {problem}. Write its head "
            f"as{to_type(HEAD)}"
        )

    @classmethod
    def missing_settings(cls, names: Iterable[str]) -> "InvalidStory":
        """The program has keywords without a default that nobody gave."""
        names = list(names)
        given = ", ".join(f"{name}=..." for name in names)
        return cls(
            f"the story needs the settings {listed(names)}, which have no default. Bind them: "
            f"story=functools.partial(model, {given})."
        )

    @classmethod
    def with_likelihood(cls) -> "InvalidStory":
        """Both a story and likelihoods are given."""
        return cls(
            "story= and likelihood= are both given; a story already says how a class makes its "
            "rows. Leave one of them out."
        )

    @classmethod
    def with_class_prior(cls, value: object) -> "InvalidStory":
        """A number of rows per class is given, which is for the program to say."""
        return cls(
            f"class_prior is {shown(value)}, and a story states its own prior of class "
            "probabilities. Bind it there, functools.partial(model, class_rows=...), or pass known "
            'probabilities, class_prior="uniform".'
        )

    @classmethod
    def shapes_clash(cls, site: str | None, error: Exception) -> "InvalidStory":
        """Shapes do not go together, as those of columns and of the plate of rows."""
        return cls(
            f'{_stopped(site, error)} Inside plate "row" a site has one log density for a row; '
            f"join the columns of a row by .to_event(1):{_joined(site)}"
        )

    @classmethod
    def looks_at_values(cls, site: str | None, error: Exception) -> "InvalidStory":
        """Python looked at values where JAX traces and only shapes are known."""
        return cls(
            f"{_stopped(site, error)} While JAX traces the story, rows and parameters are known by "
            "their shapes alone. Write jnp.where(...) for an if, and make tables JAX's own:"
            f"{to_type('table = jnp.asarray(table)', 'cells = table[y]')}"
        )

    @classmethod
    def failed(cls, site: str | None, error: Exception) -> "InvalidStory":
        """The program raised some other error when it was given rows."""
        return cls(
            f"{_stopped(site, error)} Try it by hand:"
            f"{to_type('numpyro.handlers.seed(model, 0)(x, y, n_classes=2)')}"
        )

    @classmethod
    def no_label(cls) -> "InvalidStory":
        """There is no site "y"."""
        return cls(f'the story has no site "y" for the label of a row. Add{_in_rows(LABEL)}')

    @classmethod
    def label_not_observed(cls) -> "InvalidStory":
        """Site "y" is drawn though labels are given."""
        return cls(
            'site "y" is drawn although labels are given; the program leaves them out. Add obs=y:'
            f"{_in_rows(LABEL)}"
        )

    @classmethod
    def no_row_plate(cls, site: str) -> "InvalidStory":
        """A site of the rows lies outside plate "row"."""
        line = LABEL if site == "y" else f"numpyro.sample({shown(site)}, ..., obs=x)"
        return cls(
            f'site {shown(site)} depends on the rows but lies outside plate "row". Put it inside:'
            f"{_in_rows(line)}"
        )

    @classmethod
    def wrong_plate(cls, dim: int, size: Count, n_rows: Count) -> "InvalidStory":
        """Plate "row" has another size than there are rows, or is not the last."""
        return cls(
            f'plate "row" has the size {size} and dim={dim}; with {rows(n_rows)} it needs the size '
            f"{n_rows} and dim=-1. Take the size from x:{to_type('n_rows = len(x)', PLATE)}"
        )

    @classmethod
    def hidden_in_row(cls, site: str) -> "InvalidStory":
        """A site within plate "row" is neither observed nor a parameter."""
        return cls(
            f'site {shown(site)} in plate "row" is drawn anew for each row. If it is a column, add '
            "obs=x. If it is hidden, sum it out, so that each row has one density; over levels by "
            f"a mixture:{_in_rows(MIXTURE, 'numpyro.sample("x", parts, obs=x)')}"
        )

    @classmethod
    def discrete(cls, site: str) -> "InvalidStory":
        """A parameter is discrete."""
        return cls(
            f"the parameter at site {shown(site)} is discrete; only continuous ones can be sampled "
            "or optimised. Sum it out by dist.MixtureSameFamily, or fix it: functools.partial("
            f"model, {site}=...)."
        )

    @classmethod
    def no_prior(cls, site: str) -> "InvalidStory":
        """A parameter is numpyro.param, which has no prior."""
        return cls(
            f"site {shown(site)} is a numpyro.param, which has no prior. Write it as"
            f"{to_type(f'{site} = numpyro.sample({shown(site)}, dist.Normal(0.0, 1.0))')}"
        )

    @classmethod
    def wrong_shape(cls, site: str, found: tuple, n_rows: Count) -> "InvalidStory":
        """The log density of a site in rows is not one number for a row."""
        return cls(
            f"site {shown(site)} has log densities of the shape {found}; with {rows(n_rows)} the "
            f"shape ({n_rows},) is needed. Join the columns of a row by .to_event(1):"
            f"{_joined(site)}"
        )

    @classmethod
    def no_parameters(cls) -> "InvalidStory":
        """Nothing is to be learned."""
        return cls(
            "the story has no parameters: every site is observed. Add a prior for what is to be "
            'learned:\n    class_probs = numpyro.sample("class_probs", '
            "dist.Dirichlet(jnp.ones(n_classes)))"
        )

    @classmethod
    def rows_ignored(cls) -> "InvalidStory":
        """No density depends on x."""
        return cls(
            "the story gives all rows of a class the same density: it does not look at x. Observe "
            f"x:{_in_rows('numpyro.sample("x", ..., obs=x)')}"
        )

    @classmethod
    def rows_depend(cls, site: str) -> "InvalidStory":
        """A row's density changes with its company."""
        return cls(
            f"site {shown(site)} gives a row another density alone than among other rows, so that "
            "new rows cannot be scored one by one. Compute from x row by row; what the training "
            "rows should tell (a mean, a scale) is bound beforehand: "
            "functools.partial(model, mean=X.mean(axis=0))."
        )

    @classmethod
    def labels_vary(cls) -> "InvalidStory":
        """Class probabilities depend on the row, so that they cannot be replaced."""
        return cls(
            'the story gives site "y" other probabilities in other rows, so that there are no '
            "class probabilities of all rows to replace. Change the program instead."
        )

    @classmethod
    def cannot_simulate(cls, error: Exception) -> "InvalidStory":
        """The program does not run without rows."""
        return cls(
            f"the story cannot make up rows: {type(error).__name__}: {error}. It is called as "
            "model(None, n_classes=..., n_rows=1) and returns (x, y); bind the sizes that x would "
            "have shown, functools.partial(model, n_features=...)."
        )

    @classmethod
    def wrong_simulation(cls, problem: str) -> "InvalidStory":
        """What the program returns is not what it takes."""
        return cls(
            f"the story made up rows that it would not take: {problem}. Let it return its rows and "
            f"labels as it takes them:{to_type('return x, y')}"
        )


class StoryRefuses(BayesgenError, ValueError):
    """Something that a program cannot be asked."""

    @classmethod
    def partial_fit(cls) -> "StoryRefuses":
        """Rows cannot be added."""
        return cls(
            "partial_fit needs statistics that add up, and a story of your own looks at all rows "
            "at once. Fit all rows together: fit(X, y)."
        )

    @classmethod
    def inference(cls, found: object) -> "StoryRefuses":
        """The method needs a closed form."""
        return cls(
            f"inference is {shown(found)}; a story of your own has no closed form. Allowed: "
            '"auto" and "nuts" (draws), "map", "svi", "mle", bg.NUTS(), bg.MAP(), bg.MLE(). Pass '
            'inference="nuts".'
        )
