"""Fully Bayesian generative classification: class probabilities you can act on.

A generative classifier is a class prior times one likelihood per block of columns; fitting replaces
each prior by its posterior; predicting averages joint densities over it, then normalizes.
"""

from importlib.metadata import version as _version
from types import ModuleType as _ModuleType
from typing import NoReturn as _NoReturn

from bayesgen import calibrate as calibrate
from bayesgen import datasets as datasets
from bayesgen import errors as errors
from bayesgen import plots as plots
from bayesgen.compare import Comparison as Comparison
from bayesgen.errors import arguments as _arguments
from bayesgen.estimators import LDA as LDA
from bayesgen.estimators import QDA as QDA
from bayesgen.estimators import BagOfWords as BagOfWords
from bayesgen.estimators import GenerativeClassifier as GenerativeClassifier
from bayesgen.estimators import JointTable as JointTable
from bayesgen.estimators import NaiveBayes as NaiveBayes
from bayesgen.estimators import StackedClassifier as StackedClassifier
from bayesgen.estimators import compare as compare
from bayesgen.estimators import load as load
from bayesgen.inference import MAP as MAP
from bayesgen.inference import MLE as MLE
from bayesgen.inference import NUTS as NUTS
from bayesgen.inference import Augmentation as Augmentation
from bayesgen.inference import Exact as Exact
from bayesgen.inference import Expected as Expected
from bayesgen.likelihoods import Bernoulli as Bernoulli
from bayesgen.likelihoods import Categorical as Categorical
from bayesgen.likelihoods import Family as Family
from bayesgen.likelihoods import JointCategorical as JointCategorical
from bayesgen.likelihoods import KernelDensity as KernelDensity
from bayesgen.likelihoods import KernelDiscriminant as KernelDiscriminant
from bayesgen.likelihoods import Multinomial as Multinomial
from bayesgen.likelihoods import MultivariateNormal as MultivariateNormal
from bayesgen.likelihoods import Normal as Normal
from bayesgen.likelihoods import Poisson as Poisson
from bayesgen.sources.files import file_source as file_source

__version__ = _version("bayesgen")


def __getattr__(name: str) -> _NoReturn:
    """Refuse a name that does not exist; a distribution of NumPyro has a likelihood by its name."""
    raise _arguments.no_name(name, __dir__(), of_numpyro=Family.has(name))


def __dir__() -> list[str]:
    """Return the names for users: without the modules that Python adds as they are imported."""
    ours = (calibrate, datasets, errors, plots)
    return [n for n, v in globals().items() if v in ours or not isinstance(v, _ModuleType)]
