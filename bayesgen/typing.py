"""Array type aliases, named by axis: row, feature, class, level, draw, chain."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, no_type_check, runtime_checkable

import numpy as np
from jaxtyping import Float, Int, Num, Shaped, UInt64

if TYPE_CHECKING:
    from typing import Self

    from arviz_stats.utils import ELPDData
    from pandas import DataFrame, Series
    from xarray import DataArray, DataTree

    F = TypeVar("F", bound=Callable)

    def unchecked(function: F) -> F:
        """Exempt arguments of a function from run-time type checks, not from static ones."""
        return function
else:
    # for people and their editors: importing these packages takes longer than a fit, and the
    # run-time type checker takes no Self
    DataArray = DataFrame = DataTree = ELPDData = Self = Series = Any
    unchecked = no_type_check

__all__ = [
    *("AnyClassifier", "DataArray", "DataFrame", "DataTree", "ELPDData", "Self", "Series"),
    *("Block", "Encoded", "Evidence", "Joint", "Kept", "Keys", "Labels"),
    *("LevelCounts", "Membership", "Numbers", "Params", "Parts", "Traceable", "Transform"),
    *("Weights", "unchecked"),
]

Numbers = Float[np.ndarray, "row feature"]
Block = Num[Any, "row feature"]
"""Encoded rows: a NumPy array, or a scipy.sparse.csr_array where the likelihood reads these."""
Kept = Num[Any, "row kept"]
"""Encoded rows of which some columns were left out."""
Labels = Int[np.ndarray, " row"]
Weights = Float[np.ndarray, " row"]
Keys = UInt64[np.ndarray, " row"]
"""Hashes of rows by their content; see `bayesgen.table.row_keys`."""
LevelCounts = tuple[int, ...]
"""How many levels each column of a block has; empty where columns have none."""
Joint = Float[np.ndarray, "row class"]
Parts = Float[np.ndarray, "row part class"]
Membership = Labels | Joint
"""Class codes of rows, or their shares of the classes (see `membership`)."""

Traceable = Shaped[Any, "..."]
"""An array of NumPy, or a traced one of JAX in formulas that run under both."""

Evidence = float | Traceable
"""Log evidence: a number, or one for each position of leading axes; traced where a gradient is."""

Params = dict[str, Traceable]
"""Parameters of one block by name; leading axes are draws, then the axes the family declares."""

Encoded = Mapping[str, Traceable]
"""Encoded rows: one `Block` for each block."""


@runtime_checkable
class AnyClassifier(Protocol):
    """A classifier of this library or of another, by the methods that scikit-learn names."""

    def fit(self, X: Any, y: Any) -> Any:
        """Fit to rows and labels; return the classifier."""

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return P(y = k given x), shape (row, class)."""


@runtime_checkable
class Transform(Protocol):
    """A map from real coordinates to one parameter, as numpyro has them (traced)."""

    def __call__(self, u: Traceable, /) -> Traceable:
        """Return the parameter at coordinates u."""

    def log_abs_det_jacobian(self, u: Traceable, value: Traceable, /) -> Traceable:
        """Return log |d value / d u|, event by event."""

    def inverse_shape(self, shape: tuple[int, ...], /) -> tuple[int, ...]:
        """Return the shape of coordinates of a parameter of this shape."""
