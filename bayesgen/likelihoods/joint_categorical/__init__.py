"""Levels that go together: one table of probabilities over several columns for each class."""

from bayesgen.likelihoods.joint_categorical.likelihood import JointCategorical as JointCategorical
from bayesgen.likelihoods.joint_categorical.statistics import JointStatistics as JointStatistics
