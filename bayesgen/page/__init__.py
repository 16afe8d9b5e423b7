"""Self-contained HTML pages: a small vocabulary of blocks, figures as SVG, one template."""

from bayesgen.page.blocks import Bar as Bar
from bayesgen.page.blocks import Block as Block
from bayesgen.page.blocks import Cell as Cell
from bayesgen.page.blocks import Code as Code
from bayesgen.page.blocks import Details as Details
from bayesgen.page.blocks import Figures as Figures
from bayesgen.page.blocks import Grid as Grid
from bayesgen.page.blocks import Section as Section
from bayesgen.page.blocks import Shade as Shade
from bayesgen.page.blocks import Text as Text
from bayesgen.page.figures import svg as svg
from bayesgen.page.rendering import html as html
from bayesgen.page.rendering import write as write
