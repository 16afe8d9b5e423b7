"""Names of the methods and rivals that a comparison may have, which the command line shows."""

from typing import Literal

MethodName = Literal["mle", "map", "exact", "nuts", "stacked"]
Size = int | Literal["all"]
METHODS = {"stacked": "stack", "exact": "exact Bayes", "map": "MAP", "mle": "MLE", "nuts": "NUTS"}
RivalName = Literal["frequencies", "logistic", "forest", "boosting", "catboost", "lightgbm"]
RIVALS: tuple[RivalName, ...] = ("frequencies", "logistic")
