"""Numbers in trees: each column leans on at most one other, averaged over all forests."""

from bayesgen.likelihoods.tree_normal.likelihood import TreeNormal as TreeNormal
from bayesgen.likelihoods.tree_normal.statistics import PairMoments as PairMoments
