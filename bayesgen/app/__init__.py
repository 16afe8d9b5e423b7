"""Bedside: a fitted model as a local page with a form, and as an address that answers JSON."""

from bayesgen.app.serving import Serving as Serving
from bayesgen.app.serving import serve as serve
