"""Plots in scikit-learn's style: a display holds the data, and its method `plot` draws them."""

from typing import TYPE_CHECKING

from bayesgen.on_demand import on_demand

if TYPE_CHECKING:
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
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "columns": ["FeatureDisplay", "PriorDisplay"],
            "comparison": ["ConfusionDisplay", "LearningCurveDisplay", "RocDisplay"],
            "evidence": ["EvidenceDisplay"],
            "intervals": ["IntervalDisplay"],
            "prevalence": ["PrevalenceDisplay"],
            "ranks": ["RankDisplay"],
            "relevance": ["RelevanceDisplay"],
            "reliability": ["ReliabilityDisplay"],
            "two_columns": ["DensityDisplay", "RegionDisplay"],
            "weights": ["WeightDisplay"],
        },
    )
