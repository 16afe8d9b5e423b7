"""Fully Bayesian generative classification: class probabilities you can act on.

A generative classifier is a class prior times one likelihood per block of columns; fitting replaces
each prior by its posterior; predicting averages joint densities over it, then normalises.
"""

from bayesgen import datasets as datasets
from bayesgen import errors as errors
from bayesgen.compare import Comparison as Comparison
from bayesgen.compare import compare as compare
from bayesgen.estimators import LDA as LDA
from bayesgen.estimators import QDA as QDA
from bayesgen.estimators import GenerativeClassifier as GenerativeClassifier
from bayesgen.estimators import NaiveBayes as NaiveBayes
from bayesgen.inference import MAP as MAP
from bayesgen.inference import MLE as MLE
from bayesgen.inference import NUTS as NUTS
from bayesgen.inference import Augmentation as Augmentation
from bayesgen.inference import Exact as Exact
from bayesgen.likelihoods import Bernoulli as Bernoulli
from bayesgen.likelihoods import Categorical as Categorical
from bayesgen.likelihoods import MultivariateNormal as MultivariateNormal
from bayesgen.likelihoods import Normal as Normal
from bayesgen.likelihoods import Poisson as Poisson
