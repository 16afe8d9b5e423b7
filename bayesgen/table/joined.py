"""Frames of one kind, one below the other."""

from collections.abc import Sequence
from typing import cast

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.typing import IntoDataFrame


def concatenated(frames: Sequence[object]) -> object:
    """Return the rows of frames of one kind, or of arrays, in their order."""
    arrays = [frame for frame in frames if isinstance(frame, np.ndarray)]
    if arrays:
        return np.concatenate(arrays)
    if len(frames) == 1:
        return frames[0]
    whole = nw.concat(
        [nw.from_native(cast(IntoDataFrame, frame), eager_only=True) for frame in frames]
    )
    native = whole.to_native()
    return native.reset_index(drop=True) if hasattr(native, "reset_index") else native
