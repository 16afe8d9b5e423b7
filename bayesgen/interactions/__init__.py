"""What columns say of a class together, as parts of a log-linear pool: pairs, and a forest."""

from typing import TYPE_CHECKING

from bayesgen.on_demand import on_demand

if TYPE_CHECKING:
    from bayesgen.interactions.discriminant import Discriminant as Discriminant
    from bayesgen.interactions.forest import Forest as Forest
    from bayesgen.interactions.forest import begun as begun
    from bayesgen.interactions.kinds import NONE as NONE
    from bayesgen.interactions.kinds import Interactions as Interactions
    from bayesgen.interactions.pair import Pair as Pair
    from bayesgen.interactions.pair import informative_pairs as informative_pairs
    from bayesgen.interactions.term import SCALE as SCALE
    from bayesgen.interactions.term import Cell as Cell
    from bayesgen.interactions.term import Term as Term
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "discriminant": ["Discriminant"],
            "forest": ["Forest", "begun"],
            "kinds": ["NONE", "Interactions"],
            "pair": ["Pair", "informative_pairs"],
            "term": ["SCALE", "Cell", "Term"],
        },
    )
