"""A fitted model beside the rows of its fit, for what leaves them out in turn."""

import dataclasses
from collections.abc import Callable, Mapping

from bayesgen.errors import BayesgenWarning, deduplicate_warnings
from bayesgen.estimators.fitted import Fitted, check_rows_of_fit
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.predict import ReadRows
from bayesgen.prevalence import LeftOutRows
from bayesgen.table import Name, Table


@dataclasses.dataclass(frozen=True, eq=False)
class RowsOfFit:
    """A fitted model, and how its classifier reads new rows and those of its fit.

    fitted: the model. read: rows -> their table. encode: rows as the posterior reads them. kept:
    (what, cure) -> X, y and weights of the fit as they were passed, or an error. train: these ->
    training rows. predictions: of the rows of the fit, each from the others, where the fit made
    them. learned: the arguments, and their values, whose results would be others with a row more.
    unseen: what becomes of new levels. column_of_groups: which is no feature.
    """

    fitted: Fitted
    read: Callable[[object], Table]
    encode: Callable[[object], ReadRows]
    kept: Callable[..., tuple[object, object, object]]
    train: Callable[[object, object, object], TrainingRows]
    predictions: LeftOutRows | None
    learned: Mapping[str, object]
    unseen: str
    column_of_groups: Name | None = None

    def labelled(self, X: object, y: object, weight: object) -> TrainingRows:
        """Return the rows of the fit that have a label, read.

        Raises:
            UnsupportedOperation: these are others.
        """
        with deduplicate_warnings(BayesgenWarning):  # of which the fit has warned
            rows = self.train(X, y, weight).labelled
        classes, count = self.fitted.state.classes, self.fitted.state.statistics.count
        check_rows_of_fit(classes, count, rows.membership(classes), rows.weight)
        return rows
