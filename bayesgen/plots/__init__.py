"""Plots in scikit-learn's style: a display holds the data, and its method `plot` draws them."""

from bayesgen.plots.columns import FeatureDisplay as FeatureDisplay
from bayesgen.plots.columns import PriorDisplay as PriorDisplay
from bayesgen.plots.comparison import ConfusionDisplay as ConfusionDisplay
from bayesgen.plots.comparison import LearningCurveDisplay as LearningCurveDisplay
from bayesgen.plots.comparison import RocDisplay as RocDisplay
from bayesgen.plots.evidence import EvidenceDisplay as EvidenceDisplay
from bayesgen.plots.intervals import IntervalDisplay as IntervalDisplay
from bayesgen.plots.prevalence import PrevalenceDisplay as PrevalenceDisplay
from bayesgen.plots.ranks import RankDisplay as RankDisplay
from bayesgen.plots.relevance import RelevanceDisplay as RelevanceDisplay
from bayesgen.plots.reliability import ReliabilityDisplay as ReliabilityDisplay
from bayesgen.plots.two_columns import DensityDisplay as DensityDisplay
from bayesgen.plots.two_columns import RegionDisplay as RegionDisplay
from bayesgen.plots.weights import WeightDisplay as WeightDisplay
