"""Chunks of rows that stay in a cache, and the classes of rows as 0 and 1."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from bayesgen.typing import Labels

BLOCK_ROWS = 2048
"""Rows a block: 2048 x 20 float64 is 320 kB, which stays in a second-level cache (measured)."""


def row_chunks(n_rows: int, size: int = BLOCK_ROWS) -> Iterator[slice]:
    """Yield slices that cover n_rows rows, `size` at a time."""
    return (slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))


def one_hot(y: Labels, n_classes: int) -> Float[np.ndarray, "class row"]:
    """Return 1 where a row is of a class, else 0."""
    return (y == np.arange(n_classes)[:, None]).astype(float)
