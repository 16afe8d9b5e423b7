"""The likelihoods, one file per family."""

from bayesgen.likelihoods.base import Finding as Finding
from bayesgen.likelihoods.base import Likelihood as Likelihood
from bayesgen.likelihoods.base import Statistics as Statistics
from bayesgen.likelihoods.bernoulli import Bernoulli as Bernoulli
from bayesgen.likelihoods.categorical import Categorical as Categorical
from bayesgen.likelihoods.multivariate_normal import MultivariateNormal as MultivariateNormal
from bayesgen.likelihoods.normal import Normal as Normal
from bayesgen.likelihoods.poisson import Poisson as Poisson
