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
        remainder, class_prior, inference, numbers, temper, unseen, random_state: as in
            GenerativeClassifier.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_play_tennis()
        >>> tennis = bg.NaiveBayes(bg.Categorical.laplace(1), class_prior="empirical").fit(X, y)
        >>> row = {"Outlook": ["Sunny"], "Temperature": ["Cool"], "Humidity": ["High"],
        ...        "Wind": ["Strong"]}
        >>> import pandas as pd
        >>> tennis.predict_proba(pd.DataFrame(row)).round(6)
        array([[0.720067, 0.279933]])

        Numbers cut into levels, here at their quartiles:

        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.preprocessing import KBinsDiscretizer
        >>> quartiles = KBinsDiscretizer(4, encode="ordinal", quantile_method="linear")
        >>> X, y = bg.datasets.load_iris()
        >>> binned = make_pipeline(quartiles, bg.NaiveBayes(bg.Categorical.laplace(1)))
        >>> round(binned.fit(X, y).score(X, y), 2)
        0.97
    """

    def _blocks(self, table: Table) -> Blocks:
        blocks = assign(self.likelihood, table, self.remainder)
        for likelihood, _ in blocks.values():
            if likelihood.joint:
                family = type(likelihood).__name__
                raise UnsupportedInference.because(
                    f"NaiveBayes treats columns one by one and cannot take {family}",
                    "its columns depend on each other",
                    "Use bg.LDA(), bg.QDA(), bg.JointTable() or bg.GenerativeClassifier(...).",
                )
        return blocks
