"""Why a row looks the way it does, and which of its missing cells is worth asking for.

Everything is read from one question, log p(the shown cells, y = k given data), asked again and
again with other cells blank: so it holds for every posterior and every likelihood.
"""

from bayesgen.explain.contrasts import Contrast as Contrast
from bayesgen.explain.contrasts import contrast_of as contrast_of
from bayesgen.explain.drawing import drawn as drawn
from bayesgen.explain.evidence import Reading as Reading
from bayesgen.explain.evidence import explained as explained
from bayesgen.explain.filling import filled as filled
from bayesgen.explain.filling import untempered as untempered
from bayesgen.explain.showing import Cell as Cell
from bayesgen.explain.showing import Place as Place
from bayesgen.explain.showing import take as take
from bayesgen.explain.values import Asked as Asked
from bayesgen.explain.values import Gain as Gain
from bayesgen.explain.values import Question as Question
from bayesgen.explain.values import has_a_say as has_a_say
from bayesgen.explain.values import information as information
from bayesgen.explain.values import kept_levels as kept_levels
from bayesgen.explain.values import saving as saving
from bayesgen.explain.values import summed as summed
from bayesgen.explain.values import worth as worth
