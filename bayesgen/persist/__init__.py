"""Model files: a zip archive of JSON and NumPy arrays, without code.

An object is written as JSON and arrays (`values`) to a zip file (`container`) that replaces an
older one atomically. Loading reverses this: every object is built by the constructor of a type that
is allowed (`registry`). Nothing in a file is executed, and no name in it is imported.
"""

from bayesgen.persist.container import leftovers as leftovers
from bayesgen.persist.container import replacing as replacing
from bayesgen.persist.registry import Parts as Parts
from bayesgen.persist.registry import Registry as Registry
from bayesgen.persist.values import read_model as read_model
from bayesgen.persist.values import write_model as write_model
