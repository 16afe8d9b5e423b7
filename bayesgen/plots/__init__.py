"""Pictures in scikit-learn's style: a display holds what it shows, `.plot()` draws it.

Only here matplotlib is imported, and only when something is drawn.
"""

from bayesgen.plots.decisions import ConfusionDisplay as ConfusionDisplay
from bayesgen.plots.decisions import RocDisplay as RocDisplay
from bayesgen.plots.densities import DensityDisplay as DensityDisplay
from bayesgen.plots.evidence import EvidenceDisplay as EvidenceDisplay
from bayesgen.plots.features import FeatureDisplay as FeatureDisplay
from bayesgen.plots.intervals import IntervalDisplay as IntervalDisplay
from bayesgen.plots.learning_curves import LearningCurveDisplay as LearningCurveDisplay
from bayesgen.plots.regions import RegionDisplay as RegionDisplay
from bayesgen.plots.reliability import ReliabilityDisplay as ReliabilityDisplay
from bayesgen.plots.weights import WeightDisplay as WeightDisplay
