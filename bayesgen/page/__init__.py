"""Self-contained HTML pages: templates that share their tables and styles, and figures as SVG."""

from bayesgen.page.figures import svg as svg
from bayesgen.page.rendering import html as html
from bayesgen.page.rendering import write as write
from bayesgen.page.tables import Bar as Bar
from bayesgen.page.tables import Cell as Cell
from bayesgen.page.tables import Grid as Grid
from bayesgen.page.tables import Shade as Shade
