"""The kinds of interactions that a stack may have."""

import dataclasses

from bayesgen.interactions.discriminant import Discriminant
from bayesgen.interactions.forest import Forest
from bayesgen.interactions.pair import Pair


@dataclasses.dataclass(frozen=True, eq=False)
class Interactions:
    """A term of all columns, pairs of columns, both or none.

    reads: name of the member whose rows they read. joint: a forest, or a discriminant where columns
    outnumber rows: a member of the stack too. unit: the weight in them of a row of weight 1.
    """

    reads: str = ""
    joint: Forest | Discriminant | None = None
    pairs: tuple[Pair, ...] = ()
    unit: float = 1.0


NONE = Interactions()
