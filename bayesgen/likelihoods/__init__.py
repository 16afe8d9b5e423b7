"""Likelihoods: one file or folder per family."""

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
