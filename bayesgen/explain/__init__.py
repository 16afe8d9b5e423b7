"""Explanations: weight of evidence, imputation, and value of information of missing cells.

Everything is computed from log p(observed cells, y = k given data) with different cells treated as
missing, and so works for every posterior and every likelihood.
"""

from typing import TYPE_CHECKING

from bayesgen.on_demand import on_demand

if TYPE_CHECKING:
    from bayesgen.explain.cells import Cell as Cell
    from bayesgen.explain.cells import Place as Place
    from bayesgen.explain.cells import Rows as Rows
    from bayesgen.explain.cells import imputed as imputed
    from bayesgen.explain.conditional import Question as Question
    from bayesgen.explain.conditional import conditional_table as conditional_table
    from bayesgen.explain.evidence import as_arrays as as_arrays
    from bayesgen.explain.evidence import by_feature as by_feature
    from bayesgen.explain.evidence import check_reading as check_reading
    from bayesgen.explain.evidence import contrast_of as contrast_of
    from bayesgen.explain.evidence import weights_of_evidence as weights_of_evidence
    from bayesgen.explain.relevance import evenly_spaced as evenly_spaced
    from bayesgen.explain.relevance import mean_weights as mean_weights
    from bayesgen.explain.value_of_information import expected_gains as expected_gains
    from bayesgen.explain.value_of_information import gain_of as gain_of
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "cells": ["Cell", "Place", "Rows", "imputed"],
            "conditional": ["Question", "conditional_table"],
            "evidence": [
                "as_arrays",
                "by_feature",
                "check_reading",
                "contrast_of",
                "weights_of_evidence",
            ],
            "relevance": ["evenly_spaced", "mean_weights"],
            "value_of_information": ["expected_gains", "gain_of"],
        },
    )
