"""Self-contained HTML pages: templates that share their tables and styles, and figures as SVG."""

from bayesgen.page.figures import svg as svg
from bayesgen.page.notes import notes_as_blocks as notes_as_blocks
from bayesgen.page.rendering import html as html
from bayesgen.page.rendering import template as template
from bayesgen.page.rendering import write as write
from bayesgen.page.tables import Bar as Bar
from bayesgen.page.tables import Cell as Cell
from bayesgen.page.tables import Grid as Grid
from bayesgen.page.tables import Shade as Shade
