"""A long fit is announced before it starts, with an estimate from sizes of the table alone."""

from bayesgen.errors import BayesgenWarning, Words, warn

LONG = 60.0
"""Seconds of a fit from which it is announced."""


def announce(seconds: float, fewer: Words, shorter: float) -> None:
    """Warn of a long fit.

    Args:
        seconds: that it takes, about.
        fewer: what to ask for to get an answer earlier.
        shorter: seconds that this takes.
    """
    if seconds >= LONG:
        warn(
            BayesgenWarning(
                "the fit takes about {duration}, judging by the numbers of rows, columns, classes "
                "and missing cells; {fewer} takes about {shorter}.",
                duration=in_words(seconds),
                fewer=fewer,
                shorter=in_words(shorter),
            )
        )


def in_words(seconds: float) -> str:
    """Return a duration to two digits at most, in seconds, minutes or hours."""
    for unit, name in ((3600, "hour"), (60, "minute")):
        if seconds >= 1.5 * unit:
            return f"{float(f'{seconds / unit:.2g}'):,.0f} {name}s"
    count = max(float(f"{seconds:.1g}"), 1.0)
    return f"{count:,.0f} second{'' if count == 1 else 's'}"
