"""Joint table classifier: one probability per class and combination of levels."""

import dataclasses
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Num

from bayesgen.classes import Spec as ClassPriorSpec
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.column_blocks import Blocks, Missing, Unseen, features
from bayesgen.estimators.tempered import Temper
from bayesgen.estimators.unlabelled_fit import Weight as Unlabelled
from bayesgen.inference import Asked
from bayesgen.likelihoods import JointCategorical
from bayesgen.table import Name, Table

BLOCK = "table"


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class JointTable(Classifier):
    """Joint table: one `JointCategorical` over all columns, which may depend on each other.

    Every class has a probability for every combination of levels. Columns hold levels: text,
    booleans, categories or whole numbers; other numbers are rejected (bin them, or use another
    classifier). Missing cells are marginalized, at fit and at predict. The table may have at most
    10,000 cells per class; it needs many rows per cell, so omit unimportant columns.

    Args:
        probs: guess of the cells' probabilities. None: the product of the columns' overall
            fractions; "uniform"; a number, 1 / cells; or an array, as in `JointCategorical`.
        rows: prior strength of that guess in rows, > 0; a number or one per class. With "uniform"
            and as many rows as there are cells, one row is added to each cell.
        class_prior, inference, temper, missing, unseen, unlabelled, groups, random_state: ...

    Attributes:
        classes_, inference_, report_, posterior_, log_evidence_, state_, temperature_: ...
        unlabelled_weight_, label_distributions_, transduction_: ...
        n_features_in_, feature_names_in_: number and names of the columns at fit.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_titanic()
        >>> table = bg.JointTable().fit(X, y)
        >>> X.iloc[:1].to_dict("records")
        [{'Class': '3rd', 'Sex': 'Male', 'Age': 'Child'}]
        >>> table.predict_proba(X.iloc[:1]).round(3)
        array([[0.729, 0.271]])
    """

    _likelihood_names: ClassVar[tuple[str, ...]] = (JointCategorical.__name__,)

    probs: float | Num[np.ndarray, "..."] | Literal["uniform"] | None = None
    rows: float | int | Num[np.ndarray, "..."] = 8.0
    class_prior: ClassPriorSpec = 1.0
    inference: Asked = "auto"
    temper: Temper = None
    missing: Missing = "ignorable"
    unseen: Unseen = "missing"
    unlabelled: Unlabelled = "learn"
    groups: Name | None = None
    random_state: object = None

    def _blocks(self, table: Table) -> Blocks:
        return {
            BLOCK: (
                JointCategorical(probs=self.probs, rows=self.rows),
                features(table, self.groups),
            )
        }
