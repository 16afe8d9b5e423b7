"""Cross-validated comparison of classifiers by proper scores on shared folds."""

from typing import TYPE_CHECKING

from bayesgen.on_demand import on_demand

if TYPE_CHECKING:
    from bayesgen.compare.comparison import Comparison as Comparison
    from bayesgen.compare.cross_validation import FittedFolds as FittedFolds
    from bayesgen.compare.cross_validation import compare as compare
    from bayesgen.compare.cross_validation import compare_keeping as compare_keeping
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "comparison": ["Comparison"],
            "cross_validation": ["FittedFolds", "compare", "compare_keeping"],
        },
    )
