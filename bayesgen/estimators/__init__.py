"""The classifiers, in scikit-learn's contract."""

from bayesgen.estimators.discriminant import LDA as LDA
from bayesgen.estimators.discriminant import QDA as QDA
from bayesgen.estimators.generative import GenerativeClassifier as GenerativeClassifier
from bayesgen.estimators.naive_bayes import NaiveBayes as NaiveBayes
