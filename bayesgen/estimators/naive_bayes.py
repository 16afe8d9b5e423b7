"""Naive Bayes: columns are independent given the class."""

from bayesgen.errors import UnsupportedInference
from bayesgen.estimators.blocks import Blocks, assign
from bayesgen.estimators.generative import Composed
from bayesgen.table import Table


class NaiveBayes(Composed):
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
