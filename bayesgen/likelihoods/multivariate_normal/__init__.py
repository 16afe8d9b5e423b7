"""Multivariate normal likelihoods: full, structured and shared covariances."""

from bayesgen.likelihoods.multivariate_normal.likelihood import (
    MultivariateNormal as MultivariateNormal,
)
from bayesgen.likelihoods.multivariate_normal.shared_correlation import (
    SharedCorrelationNormal as SharedCorrelationNormal,
)
from bayesgen.likelihoods.multivariate_normal.statistics import (
    MultivariateNormalStatistics as MultivariateNormalStatistics,
)
