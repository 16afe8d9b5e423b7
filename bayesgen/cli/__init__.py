"""The `bayesgen` command: results go to stdout, notes and progress to stderr."""

from bayesgen.cli.main import main as main
from bayesgen.cli.main import run as run
