"""What was typed after `bayesgen`, for pages that say how they were made."""

from contextvars import ContextVar

typed: ContextVar[tuple[str, ...]] = ContextVar("typed", default=())
"""The arguments of the command that runs."""
