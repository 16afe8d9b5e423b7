"""The typed command line, recorded on pages so that they can be reproduced."""

from contextvars import ContextVar

typed: ContextVar[tuple[str, ...]] = ContextVar("typed", default=())
"""The arguments of the command that runs."""
