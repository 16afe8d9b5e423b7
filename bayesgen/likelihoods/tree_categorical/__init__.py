"""Levels in trees: each column leans on at most one other, averaged over all forests."""

from bayesgen.likelihoods.tree_categorical.likelihood import TreeCategorical as TreeCategorical
from bayesgen.likelihoods.tree_categorical.statistics import PairCounts as PairCounts
