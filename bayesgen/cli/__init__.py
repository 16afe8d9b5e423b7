"""The `bayesgen` command. Results go to stdout, notes and progress to stderr."""

from bayesgen.cli.entry import main as main
