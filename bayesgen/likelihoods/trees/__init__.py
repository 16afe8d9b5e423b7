"""Tree likelihoods: each column depends on at most one other, averaged over all forests."""

from bayesgen.likelihoods.trees.categorical import TreeCategorical as TreeCategorical
from bayesgen.likelihoods.trees.normal import TreeNormal as TreeNormal
