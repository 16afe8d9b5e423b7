"""Model files: a zip archive of JSON and NumPy arrays, without code.

An object is encoded as JSON and arrays (`encoding`), which are written to a zip file atomically
(`container`). Loading reverses this (`decoding`): every object is built by the constructor of a
registered type. Nothing in a file is executed, and no name in it is imported.
"""

from bayesgen.persist.container import InvalidStructure as InvalidStructure
from bayesgen.persist.container import Json as Json
from bayesgen.persist.container import leftovers as leftovers
from bayesgen.persist.container import opened as opened
from bayesgen.persist.container import replacing as replacing
from bayesgen.persist.container import write_zip as write_zip
from bayesgen.persist.decoding import read_model as read_model
from bayesgen.persist.encoding import write_model as write_model
from bayesgen.persist.registry import Record as Record
from bayesgen.persist.registry import Registry as Registry
from bayesgen.persist.registry import descendants as descendants
from bayesgen.persist.registry import is_ours as is_ours
