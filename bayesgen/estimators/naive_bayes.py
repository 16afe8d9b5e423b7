"""The classifiers by their names: thin, for the blocks they build are all that differs."""

from typing import no_type_check

from bayesgen.classes import Spec as ClassPriorSpec
from bayesgen.errors import UnsupportedInference
from bayesgen.estimators.blocks import Blocks, Spec, assign
from bayesgen.estimators.classifier import Classifier
from bayesgen.inference import Method
from bayesgen.table import Table


class GenerativeClassifier(Classifier):
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

    def _blocks(self, table: Table) -> Blocks:
        return assign(self.likelihood, table)


class NaiveBayes(Classifier):
    """Naive Bayes: columns are independent given the class; missing cells are left out.

    Args:
        likelihood: "auto" (numbers -> Normal, everything else -> Categorical), one likelihood for
            all columns, or {column or (column, ...): likelihood}.
        class_prior, inference, unseen, random_state: as in GenerativeClassifier.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_play_tennis()
        >>> tennis = bg.NaiveBayes(bg.Categorical.laplace(1), class_prior="empirical").fit(X, y)
        >>> row = {"Outlook": ["Sunny"], "Temperature": ["Cool"], "Humidity": ["High"],
        ...        "Wind": ["Strong"]}
        >>> import pandas as pd
        >>> tennis.predict_proba(pd.DataFrame(row)).round(6)
        array([[0.720067, 0.279933]])
    """

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

    def _blocks(self, table: Table) -> Blocks:
        blocks = assign(self.likelihood, table)
        for likelihood, _ in blocks.values():
            if likelihood.joint:
                family = type(likelihood).__name__
                raise UnsupportedInference.because(
                    f"NaiveBayes treats columns one by one and cannot take {family}",
                    "its columns depend on each other",
                    "Use bg.LDA(), bg.QDA() or bg.GenerativeClassifier(...).",
                )
        return blocks
