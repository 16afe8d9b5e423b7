"""Word counts: the Dirichlet-multinomial, its statistics, and draws of its urns."""

from bayesgen.likelihoods.multinomial.likelihood import ROWS_PER_WORD as ROWS_PER_WORD
from bayesgen.likelihoods.multinomial.likelihood import Multinomial as Multinomial
from bayesgen.likelihoods.multinomial.statistics import (
    MultinomialStatistics as MultinomialStatistics,
)
