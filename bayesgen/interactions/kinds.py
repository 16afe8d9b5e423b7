"""The kinds of interactions that a stack may have."""

import dataclasses

from bayesgen.interactions.forest import Forest
from bayesgen.interactions.pair import Pair


@dataclasses.dataclass(frozen=True, eq=False)
class Interactions:
    """A forest, pairs of columns, both or none.

    reads: name of the member whose rows they read.
    """

    reads: str = ""
    forest: Forest | None = None
    pairs: tuple[Pair, ...] = ()


NONE = Interactions()
