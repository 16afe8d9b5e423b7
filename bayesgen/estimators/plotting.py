"""Pictures of a fitted classifier, by name."""

import abc
from collections.abc import Hashable

from numpy.typing import ArrayLike

from bayesgen import plots
from bayesgen.errors import deduplicate_warnings
from bayesgen.estimators.explaining import Explaining
from bayesgen.plots.style import Option


class Plotting(Explaining, abc.ABC):
    """One method for each picture; each returns a display with `figure_` and its axes."""

    @deduplicate_warnings()
    def plot_densities(
        self, X: object, y: ArrayLike, features: tuple = (0, 1), **options: Option
    ) -> plots.DensityDisplay:
        """Draw contours of each class over two columns; options of `DensityDisplay`."""
        return plots.DensityDisplay.from_estimator(self, X, y, features=features, **options)

    @deduplicate_warnings()
    def plot_regions(
        self, X: object, y: ArrayLike, features: tuple = (0, 1), **options: Option
    ) -> plots.RegionDisplay:
        """Draw which class is decided where, over two columns; options of `RegionDisplay`."""
        return plots.RegionDisplay.from_estimator(self, X, y, features=features, **options)

    @deduplicate_warnings()
    def plot_features(self, X: object, y: ArrayLike, **options: Option) -> plots.FeatureDisplay:
        """Draw what the model expects of each column; options of `FeatureDisplay`."""
        return plots.FeatureDisplay.from_estimator(self, X, y, **options)

    @deduplicate_warnings()
    def plot_reliability(
        self, X: object, y: ArrayLike, **options: Option
    ) -> plots.ReliabilityDisplay:
        """Draw how often stated probabilities come true; options of `ReliabilityDisplay`."""
        return plots.ReliabilityDisplay.from_estimator(self, X, y, **options)

    @deduplicate_warnings()
    def plot_intervals(
        self, X: object, y: ArrayLike | None = None, target: Hashable = None, **options: Option
    ) -> plots.IntervalDisplay:
        """Draw probabilities of one class with intervals; options of `IntervalDisplay`."""
        return plots.IntervalDisplay.from_estimator(self, X, y, target=target, **options)

    @deduplicate_warnings()
    def plot_evidence(
        self, row: object, target: Hashable = None, against: Hashable = None, **options: Option
    ) -> plots.EvidenceDisplay:
        """Draw what each cell of one row says for a class; options of `EvidenceDisplay`."""
        return plots.EvidenceDisplay.from_estimator(self, row, target, against, **options)
