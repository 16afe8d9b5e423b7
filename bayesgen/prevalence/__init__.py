"""Prevalence: the class frequencies of an unlabeled population, and checks of what they assume.

Under label shift only the class frequencies of a new population differ from those of the fit, while
the distribution of a row given its class is unchanged. Class frequencies can then be estimated from
rows without labels.
"""

from typing import TYPE_CHECKING

from bayesgen.on_demand import on_demand

if TYPE_CHECKING:
    from bayesgen.prevalence.estimate import Request as Request
    from bayesgen.prevalence.estimate import estimated as estimated
    from bayesgen.prevalence.label_shift import Populations as Populations
    from bayesgen.prevalence.label_shift import table_of_shift as table_of_shift
    from bayesgen.prevalence.left_out import LeftOutRows as LeftOutRows
    from bayesgen.prevalence.result import Prevalence as Prevalence
    from bayesgen.prevalence.result import class_prior_of as class_prior_of
    from bayesgen.prevalence.result import require_prevalence as require_prevalence
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "estimate": ["Request", "estimated"],
            "label_shift": ["Populations", "table_of_shift"],
            "left_out": ["LeftOutRows"],
            "result": ["Prevalence", "class_prior_of", "require_prevalence"],
        },
    )
