"""Multivariate normal likelihoods: full, structured and shared covariances."""

from bayesgen.likelihoods.multivariate_normal.likelihood import (
    MultivariateNormal as MultivariateNormal,
)
from bayesgen.likelihoods.multivariate_normal.statistics import (
    MultivariateNormalStatistics as MultivariateNormalStatistics,
)
