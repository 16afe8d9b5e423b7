"""Packages that an extra installs: where one is absent, a sentence says what to type."""

from importlib.util import find_spec

from bayesgen.errors.kinds import MissingPackage

EXTRAS = {"matplotlib": "plots", "numpyro": "numpyro"}
"""The extra of this package that installs each of them."""


def require_package(package: str, what: str) -> None:
    """Check that a package of an extra is installed, without importing it.

    Called before anything is computed for which it is needed.

    Args:
        package: one of EXTRAS.
        what: what needs it, in the plural.

    Raises:
        MissingPackage: it is not installed.
    """
    if find_spec(package) is None:
        raise MissingPackage(
            "{what} need the package {package}, which is not installed.",
            "Type: pip install 'bayesgen[{extra}]'",
            package=package,
            what=what,
            extra=EXTRAS[package],
        )
