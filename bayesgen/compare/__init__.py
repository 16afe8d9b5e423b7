"""Cross-validated comparison of classifiers by proper scores on shared folds."""

from bayesgen.compare.comparison import Comparison as Comparison
from bayesgen.compare.cross_validation import FittedFolds as FittedFolds
from bayesgen.compare.cross_validation import compare as compare
from bayesgen.compare.cross_validation import compare_keeping as compare_keeping
