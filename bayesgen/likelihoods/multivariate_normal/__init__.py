"""Numbers that go together: a multivariate normal per class, with own or shared covariance."""

from bayesgen.likelihoods.multivariate_normal.likelihood import (
    MultivariateNormal as MultivariateNormal,
)
from bayesgen.likelihoods.multivariate_normal.shared_correlation import (
    SharedCorrelationNormal as SharedCorrelationNormal,
)
from bayesgen.likelihoods.multivariate_normal.statistics import (
    MultivariateNormalStatistics as MultivariateNormalStatistics,
)
