"""Cross-validated comparison of classifiers by proper scores on shared folds."""

from bayesgen.compare.comparison import Comparison as Comparison
from bayesgen.compare.cross_validation import compare as compare
