"""Classifiers composed of likelihoods for columns, and the general one among them."""

from typing import no_type_check

from bayesgen.classes import Spec as ClassPriorSpec
from bayesgen.estimators.blocks import Blocks, Spec, assign
from bayesgen.estimators.classifier import Classifier
from bayesgen.inference import Method
from bayesgen.table import Table


class Composed(Classifier):
    """A classifier whose user says which likelihood reads which column."""

    @no_type_check  # anything goes here, and fit says what is wrong: scikit-learn's convention
    def __init__(
        self,
        likelihood: Spec = "auto",
        *,
        class_prior: ClassPriorSpec = 1.0,
        inference: str | Method = "auto",
        unseen: str = "missing",
        random_state: object = None,
    ) -> None:
        self.likelihood = likelihood
        self.class_prior = class_prior
        self.inference = inference
        self.unseen = unseen
        self.random_state = random_state


class GenerativeClassifier(Composed):
    """A class prior times one likelihood per block of columns.

    Args:
        likelihood: "auto" (numbers -> Normal, everything else -> Categorical), one likelihood for
            all columns, or {column or (column, ...): likelihood}, columns by name or by position.
        class_prior: Dirichlet rows per class (1.0), "empirical", "uniform", or probabilities as an
            array or {class: probability}. Under maximum likelihood a number means frequencies.
        inference: "auto", "exact", "mle", "map", "nuts", or bg.Exact(), bg.MLE(), bg.MAP(),
            bg.NUTS().
        unseen: "missing" takes a level that fitting did not see as missing, with a warning;
            "error" refuses it.
        random_state: seed of simulated draws; they are drawn once a fit.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_titanic_passengers()
        >>> clf = bg.GenerativeClassifier({("age",): bg.Normal(), ("sex", "passengerClass"):
        ...     bg.Categorical()}).fit(X, y)
        >>> clf.predict_proba(X.iloc[:2]).round(3)
        array([[0.134, 0.866],
               [0.505, 0.495]])
    """

    def _blocks(self, table: Table) -> Blocks:
        return assign(self.likelihood, table)
