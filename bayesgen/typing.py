"""Array aliases with the axis words of the library: row, feature, class, level, draw, chain."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Int, Num

Numbers = Float[np.ndarray, "row feature"]
Codes = Int[np.ndarray, "row feature"]
Block = Num[np.ndarray, "row feature"]
Labels = Int[np.ndarray, " row"]
Weights = Float[np.ndarray, " row"]
Joint = Float[np.ndarray, "row class"]
JointDraws = Float[np.ndarray, "row draw class"]

Params = dict[str, np.ndarray]
"""Parameters of one block by name; leading axes are draws, then the axes the family declares."""

Encoded = Mapping[str, np.ndarray]
"""Encoded rows: one array of shape (row, feature) for each block."""
