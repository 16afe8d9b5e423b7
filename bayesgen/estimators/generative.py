"""Classifiers composed of likelihoods for columns, and the general one among them."""

from collections.abc import Callable, Collection, Mapping

from bayesgen.classes import Spec as ClassPriorSpec
from bayesgen.estimators.bending import Numbers
from bayesgen.estimators.blocks import Blocks, Spec, assign, unread
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.stories import StoryTeller
from bayesgen.estimators.tempering import Temper
from bayesgen.inference import Method
from bayesgen.likelihoods import Likelihood
from bayesgen.table import Name, Names, Table
from bayesgen.typing import unchecked


class Composed(Classifier):
    """A classifier whose user says which likelihood reads which column."""

    @unchecked  # anything goes here, and fit says what is wrong: scikit-learn's convention
    def __init__(
        self,
        likelihood: Spec = "auto",
        *,
        remainder: str | None = None,
        class_prior: ClassPriorSpec = 1.0,
        inference: str | Method = "auto",
        numbers: Numbers = None,
        temper: Temper = None,
        unseen: str = "missing",
        random_state: object = None,
    ) -> None:
        self.likelihood = likelihood
        self.remainder = remainder
        self.class_prior = class_prior
        self.inference = inference
        self.numbers = numbers
        self.temper = temper
        self.unseen = unseen
        self.random_state = random_state

    def _unread(self, names: Names) -> Collection[Name]:
        return unread(self.likelihood, names, self.remainder)

    def _reads_sparse(self) -> bool:
        named = isinstance(self.likelihood, Mapping)
        parts = self.likelihood.values() if named else (self.likelihood,)
        return all(isinstance(part, Likelihood) and part.sparse for part in parts)


class GenerativeClassifier(StoryTeller, Composed):
    """A class prior times one likelihood per block of columns, or a story of your own.

    Args:
        likelihood: "auto" (numbers -> Normal, everything else -> Categorical), one likelihood for
            all columns, or {column or (column, ...): likelihood}, columns by name or by position.
        story: instead of a likelihood, a NumPyro program `model(x, y=None, *, n_classes, ...)` in
            the form of the gallery (models/README.md): the label is the site "y", everything that
            repeats over rows is in the plate "row", and a row's log density is its own affair. Bind
            other keywords by functools.partial. X is then an array, a dict of arrays (rows along
            the first axis) or a frame of numbers; what is missing reaches the program as it is.
        remainder: columns that a mapping of likelihoods leaves out are refused (None), read as
            "auto" reads them ("auto"), or ignored ("drop"), be they there or not.
        class_prior: Dirichlet rows per class (1.0), "empirical", "uniform", or probabilities as an
            array or {class: probability}. Under maximum likelihood a number means frequencies. A
            story states its own prior; known probabilities take its place after the fit.
        inference: "auto", "exact", "expected", "mle", "map", "svi" (bg.MAP(solver="svi")), "nuts",
            or bg.Exact(), bg.Expected(), bg.Augmentation(), bg.MLE(), bg.MAP(), bg.NUTS(). A story
            has no closed form: "auto" is "nuts", "map" and "svi" the mode against the scale-free
            measure (see bg.MAP), "mle" the highest density of rows.
        unseen: "missing" takes a level that fitting did not see as missing, with a warning;
            "error" refuses it.
        numbers: None, as they are; or "yeo-johnson": columns that normal likelihoods read are
            power-transformed, each by a power that the rows choose, so that skewed ones look normal
            given the class (`bayesgen.schema.power_transform`). Densities are those of the cells as
            they came; parameters, and guesses that you state, those of transformed ones, which near
            a column's mean are the same.
            Powers stay when `loo` leaves a row out.
        temper: None, the story as it is; a power above 0 of the likelihood; or "learn": a power
            averaged over .1 to 2, and further where the rows prefer an end, by how well it predicts
            each row from the others (see `temperature_`).
        random_state: seed of simulated draws; they are drawn once a fit.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_titanic_passengers()
        >>> clf = bg.GenerativeClassifier({("age",): bg.Normal(), ("sex", "passengerClass"):
        ...     bg.Categorical()}).fit(X, y)
        >>> clf.predict_proba(X.iloc[:2]).round(3)
        array([[0.135, 0.865],
               [0.506, 0.494]])

        A story of your own: petals whose lengths are log-normal, with a spread that all share.

        >>> import jax.numpy as jnp
        >>> import numpyro
        >>> import numpyro.distributions as dist
        >>> def petals(x, y=None, *, n_classes):
        ...     probs = numpyro.sample("probs", dist.Dirichlet(jnp.ones(n_classes)))
        ...     spread = numpyro.sample("spread", dist.HalfNormal(1.0))
        ...     with numpyro.plate("class", n_classes):
        ...         length = numpyro.sample("length", dist.Normal(1.0, 1.0))
        ...     with numpyro.plate("row", len(x)):
        ...         y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        ...         size = dist.LogNormal(length[y], spread)
        ...         numpyro.sample("x", size, obs=x[:, 0])
        >>> X, y = bg.datasets.load_iris()
        >>> told = bg.GenerativeClassifier(story=petals, inference="map")
        >>> told = told.fit(X[["petal_length"]], y)
        >>> told.predict_proba(X[["petal_length"]].iloc[[0, 77, 149]]).round(2)
        array([[1.  , 0.  , 0.  ],
               [0.  , 0.33, 0.67],
               [0.  , 0.24, 0.76]])
    """

    @unchecked  # anything goes here, and fit says what is wrong: scikit-learn's convention
    def __init__(
        self,
        likelihood: Spec = "auto",
        *,
        story: Callable | None = None,
        remainder: str | None = None,
        class_prior: ClassPriorSpec = 1.0,
        inference: str | Method = "auto",
        numbers: Numbers = None,
        temper: Temper = None,
        unseen: str = "missing",
        random_state: object = None,
    ) -> None:
        super().__init__(
            likelihood,
            remainder=remainder,
            class_prior=class_prior,
            inference=inference,
            numbers=numbers,
            temper=temper,
            unseen=unseen,
            random_state=random_state,
        )
        self.story = story

    def _blocks(self, table: Table) -> Blocks:
        return assign(self.likelihood, table, self.remainder)
