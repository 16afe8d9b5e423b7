"""Models as files: netCDF for the arrays, one JSON text for the rest, no code.

A model is taken apart into plain values (`plain`), which become a file that is sealed by its own
digest and takes its place at once (`bayesgen.sealed`). Loading goes back: the seal, the format,
a registry of known classes (`known`), types and shapes (`checks`). Nothing in a file is executed,
and no name in it is imported.
"""

from bayesgen.persist.checks import matches as matches
from bayesgen.persist.checks import require_fit as require_fit
from bayesgen.persist.files import read as read
from bayesgen.persist.files import write as write
from bayesgen.persist.known import Record as Record
from bayesgen.persist.known import UnknownClass as UnknownClass
from bayesgen.persist.known import descendants as descendants
from bayesgen.persist.known import ours as ours
from bayesgen.persist.known import registry as registry
from bayesgen.sealed import InvalidStructure as InvalidStructure
from bayesgen.sealed import replacing as replacing
