"""Calibration: proper scores, reliability curves, decision thresholds, simulation (`sbc`).

Functions of many classes take the arguments of scikit-learn's: `y_true`, the labels; `proba`, one
row of class probabilities for each (rows sum to one), as `predict_proba` returns them; and
`classes`, the class of each column, `clf.classes_`, which may be left out where the labels are of
all classes. Functions of one event take `event`, whether it happened in each row, and its stated
`probability`. Nothing is clipped.
"""

from typing import TYPE_CHECKING

from bayesgen.on_demand import on_demand

if TYPE_CHECKING:
    from bayesgen.calibrate.prediction_sets import set_coverage as set_coverage
    from bayesgen.calibrate.prediction_sets import set_size as set_size
    from bayesgen.calibrate.reliability_curves import TOP_LABEL as TOP_LABEL
    from bayesgen.calibrate.reliability_curves import ReliabilityCurve as ReliabilityCurve
    from bayesgen.calibrate.reliability_curves import reliability as reliability
    from bayesgen.calibrate.reliability_curves import reliability_curve as reliability_curve
    from bayesgen.calibrate.scores import BINS as BINS
    from bayesgen.calibrate.scores import BrierDecomposition as BrierDecomposition
    from bayesgen.calibrate.scores import accuracy as accuracy
    from bayesgen.calibrate.scores import area_under_roc as area_under_roc
    from bayesgen.calibrate.scores import brier as brier
    from bayesgen.calibrate.scores import brier_decomposition as brier_decomposition
    from bayesgen.calibrate.scores import calibration_error as calibration_error
    from bayesgen.calibrate.scores import event_decomposition as event_decomposition
    from bayesgen.calibrate.scores import log_loss as log_loss
    from bayesgen.calibrate.scores import log_loss_at as log_loss_at
    from bayesgen.calibrate.scores import overconfidence as overconfidence
    from bayesgen.calibrate.scores import recalibrated as recalibrated
    from bayesgen.calibrate.simulation import (
        SimulationBasedCalibration as SimulationBasedCalibration,
    )
    from bayesgen.calibrate.simulation import sbc as sbc
    from bayesgen.calibrate.thresholds import confusion as confusion
    from bayesgen.calibrate.thresholds import roc as roc
    from bayesgen.calibrate.thresholds import threshold_table as threshold_table
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "prediction_sets": ["set_coverage", "set_size"],
            "reliability_curves": [
                "TOP_LABEL",
                "ReliabilityCurve",
                "reliability",
                "reliability_curve",
            ],
            "simulation": ["SimulationBasedCalibration", "sbc"],
            "scores": [
                "BINS",
                "BrierDecomposition",
                "accuracy",
                "area_under_roc",
                "brier",
                "brier_decomposition",
                "calibration_error",
                "event_decomposition",
                "log_loss",
                "log_loss_at",
                "overconfidence",
                "recalibrated",
            ],
            "thresholds": ["confusion", "roc", "threshold_table"],
        },
    )
