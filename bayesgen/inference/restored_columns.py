"""Restoration of the columns that a posterior uses among all columns of a block."""

from collections.abc import Mapping

import numpy as np

from bayesgen.likelihoods.base import CellDensities, blanked, is_missing
from bayesgen.model import Reader
from bayesgen.typing import Encoded, Traceable


def restored(
    reader: Reader, encoded: Encoded, parts: Mapping[str, Traceable]
) -> dict[str, Traceable]:
    """Return imputed columns among all columns, observed cells unchanged."""
    out = dict(encoded)
    for name, part in parts.items():
        kept, x = reader.kept[name], encoded[name]
        if kept is not None:
            part = reader.full[name].restore(part, kept, blanked(x, np.ones(x.shape, dtype=bool)))
        out[name] = np.where(is_missing(x), part, x)
    return out


def restored_cells(reader: Reader, block: str, found: CellDensities | None) -> CellDensities | None:
    """Return densities of cells among all columns; None for power-transformed columns."""
    if found is None or block in reader.power_transforms:
        return None
    kept, full = reader.kept[block], reader.full[block]
    if kept is None:
        return found
    shape = len(found[0]), full.arrays()["mean"].shape[-1]
    location, scale, degrees = (full.restore(x, kept, np.full(shape, np.nan)) for x in found)
    return location, scale, degrees
