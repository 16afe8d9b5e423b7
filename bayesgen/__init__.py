"""Fully Bayesian generative classification: class probabilities you can act on.

A generative classifier is a class prior times one likelihood per block of columns; fitting replaces
each prior by its posterior; predicting averages joint densities over it, then normalizes.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayesgen import calibrate as calibrate
    from bayesgen import datasets as datasets
    from bayesgen import errors as errors
    from bayesgen import plots as plots
    from bayesgen.app import serve as serve
    from bayesgen.compare import Comparison as Comparison
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
    from bayesgen.version import __version__ as __version__
else:
    from bayesgen import compare
    from bayesgen.on_demand import on_demand as _on_demand

    def _missing(name: str, existing: list[str]) -> AttributeError:
        """Return the error; a distribution of NumPyro has a likelihood by its name."""
        from bayesgen.errors.arguments import no_name
        from bayesgen.likelihoods import Family

        return no_name(name, existing, of_numpyro=name[:1].isupper() and Family.has(name))

    # the folder, which is loaded first, so that its name is free for the function
    del compare

    __getattr__, __dir__ = _on_demand(
        __name__,
        {
            "": ["calibrate", "datasets", "errors", "plots"],
            "app": ["serve"],
            "compare": ["Comparison"],
            "estimators": [
                "LDA",
                "QDA",
                "BagOfWords",
                "GenerativeClassifier",
                "JointTable",
                "NaiveBayes",
                "StackedClassifier",
                "compare",
                "load",
            ],
            "inference": ["MAP", "MLE", "NUTS", "Augmentation", "Exact", "Expected"],
            "likelihoods": [
                "Bernoulli",
                "Categorical",
                "Family",
                "JointCategorical",
                "KernelDensity",
                "KernelDiscriminant",
                "Multinomial",
                "MultivariateNormal",
                "Normal",
                "Poisson",
            ],
            "sources.files": ["file_source"],
            "version": ["__version__"],
        },
        missing=_missing,
    )
