"""What columns say of a class together, as parts of a log-linear pool: pairs, and a forest."""

from bayesgen.interactions.discriminant import Discriminant as Discriminant
from bayesgen.interactions.forest import Forest as Forest
from bayesgen.interactions.kinds import NONE as NONE
from bayesgen.interactions.kinds import Interactions as Interactions
from bayesgen.interactions.pair import Pair as Pair
from bayesgen.interactions.pair import informative_pairs as informative_pairs
from bayesgen.interactions.term import SCALE as SCALE
from bayesgen.interactions.term import Cell as Cell
from bayesgen.interactions.term import Term as Term
