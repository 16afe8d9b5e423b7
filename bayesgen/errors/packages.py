"""Packages that may be absent: a sentence says what to type before any work is done."""

from importlib.util import find_spec

from bayesgen.errors.kinds import MissingPackage

APP = 'Type: pip install "bayesgen[app]"'
CURES = {
    "matplotlib": 'Type: pip install "bayesgen[plots]"',
    "starlette": APP,
    "uvicorn": APP,
    "numpyro": "Type: pip install numpyro. On Macs with an Intel processor, for which JAX has no "
    "wheel, only what has a closed form can be computed.",
}
"""What to do where one of them is absent. NumPyro comes with this package, except on these Macs and
where it was installed without its dependencies."""


def require_package(package: str, what: str) -> None:
    """Check that a package is installed, without importing it.

    Called before anything is computed for which it is needed.

    Args:
        package: one of CURES.
        what: what needs it, in the plural.

    Raises:
        MissingPackage: it is not installed.
    """
    if find_spec(package) is None:
        raise MissingPackage(
            "{what} need the package {package}, which is not installed.",
            CURES[package],
            package=package,
            what=what,
        )


def require_pages() -> None:
    """Check that the packages of pages are installed, without importing them.

    Raises:
        MissingPackage: one of them is not.
    """
    for package in ("starlette", "uvicorn"):
        require_package(package, "pages")
