"""Files of arrays and one JSON text: whole, or refused; in their place at once, or not at all."""

from bayesgen.sealed.atomic import leftovers as leftovers
from bayesgen.sealed.atomic import replacing as replacing
from bayesgen.sealed.container import InvalidStructure as InvalidStructure
from bayesgen.sealed.container import Json as Json
from bayesgen.sealed.container import Stored as Stored
from bayesgen.sealed.container import length as length
from bayesgen.sealed.container import opened as opened
from bayesgen.sealed.container import put as put
from bayesgen.sealed.container import sealed as sealed
