"""A fitted model beside the rows of its fit, for what leaves them out in turn."""

import dataclasses
from collections.abc import Callable, Mapping

from bayesgen.errors import BayesgenWarning, deduplicate_warnings
from bayesgen.estimators.fitted import Fitted, check_rows_of_fit
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.predict import ReadRows
from bayesgen.table import Table


@dataclasses.dataclass(frozen=True, eq=False)
class RowsOfFit:
    """A fitted model, and how what a user passes becomes rows, new ones or those of the fit.

    fitted: the model. read: rows -> their table. train: rows, labels and weights -> training rows.
    kept: (what, cure) -> X, y and weights of the fit as they were passed, or an error. learned: the
    arguments, and their values, whose results would be others with a row more.
    """

    fitted: Fitted
    read: Callable[[object], Table]
    train: Callable[[object, object, object], TrainingRows]
    kept: Callable[..., tuple[object, object, object]]
    learned: Mapping[str, object]

    def rows(self, X: object) -> ReadRows:
        """Return rows as the posterior reads them."""
        return self.fitted.read(self.read(X), lambda: X)

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
