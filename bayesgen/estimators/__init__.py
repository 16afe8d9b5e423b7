"""The public classifiers, following the scikit-learn API."""

from typing import TYPE_CHECKING

from bayesgen.on_demand import on_demand

if TYPE_CHECKING:
    from bayesgen.estimators.bag_of_words import BagOfWords as BagOfWords
    from bayesgen.estimators.compared import compare as compare
    from bayesgen.estimators.discriminant import LDA as LDA
    from bayesgen.estimators.discriminant import QDA as QDA
    from bayesgen.estimators.generative import GenerativeClassifier as GenerativeClassifier
    from bayesgen.estimators.joint_table import JointTable as JointTable
    from bayesgen.estimators.loading import load as load
    from bayesgen.estimators.naive_bayes import NaiveBayes as NaiveBayes
    from bayesgen.estimators.sources.predict import Answers as Answers
    from bayesgen.estimators.stacked import StackedClassifier as StackedClassifier
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "bag_of_words": ["BagOfWords"],
            "compared": ["compare"],
            "discriminant": ["LDA", "QDA"],
            "generative": ["GenerativeClassifier"],
            "joint_table": ["JointTable"],
            "loading": ["load"],
            "naive_bayes": ["NaiveBayes"],
            "sources.predict": ["Answers"],
            "stacked": ["StackedClassifier"],
        },
    )
