"""Likelihoods: one file or folder per family."""

from typing import TYPE_CHECKING

from bayesgen.on_demand import on_demand

if TYPE_CHECKING:
    from bayesgen.likelihoods.base import Likelihood as Likelihood
    from bayesgen.likelihoods.base import Repair as Repair
    from bayesgen.likelihoods.base import Statistics as Statistics
    from bayesgen.likelihoods.bernoulli import Bernoulli as Bernoulli
    from bayesgen.likelihoods.categorical import Categorical as Categorical
    from bayesgen.likelihoods.family import Family as Family
    from bayesgen.likelihoods.joint_categorical import JointCategorical as JointCategorical
    from bayesgen.likelihoods.kernels import KernelDensity as KernelDensity
    from bayesgen.likelihoods.kernels import KernelDiscriminant as KernelDiscriminant
    from bayesgen.likelihoods.multinomial import Multinomial as Multinomial
    from bayesgen.likelihoods.multivariate_normal import MultivariateNormal as MultivariateNormal
    from bayesgen.likelihoods.normal import Normal as Normal
    from bayesgen.likelihoods.poisson import Poisson as Poisson
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "base": ["Likelihood", "Repair", "Statistics"],
            "bernoulli": ["Bernoulli"],
            "categorical": ["Categorical"],
            "family": ["Family"],
            "joint_categorical": ["JointCategorical"],
            "kernels": ["KernelDensity", "KernelDiscriminant"],
            "multinomial": ["Multinomial"],
            "multivariate_normal": ["MultivariateNormal"],
            "normal": ["Normal"],
            "poisson": ["Poisson"],
        },
    )
