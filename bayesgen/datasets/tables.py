"""The bundled files: which there are, where they lie, and which column holds the classes."""

from pathlib import Path

from bayesgen.errors import UnknownDataset

_TARGETS = {
    "biopsy": "class",
    "bow4": "label",
    "crabs": "class",
    "housevotes84": "Class",
    "iris": "species",
    "penguins": "species",
    "play_tennis": "PlayTennis",
    "spam": "type",
    "titanic": "Survived",
    "titanic_passengers": "survived",
    "voters": "Candidate",
    "voters_missing": "Candidate",
}
_COMPRESSED = ("spam",)


def names() -> tuple[str, ...]:
    """Return the names of the bundled data sets, sorted.

    Examples:
        >>> from bayesgen import datasets
        >>> datasets.names()[:6]
        ('biopsy', 'bow4', 'crabs', 'housevotes84', 'iris', 'penguins')
    """
    return tuple(_TARGETS)


def target(name: str) -> str:
    """Return the name of the column that holds the classes of a bundled data set.

    Args:
        name: one of `names()`.

    Raises:
        UnknownDataset: no bundled data set has this name.

    Examples:
        >>> from bayesgen import datasets
        >>> datasets.target("titanic_passengers")
        'survived'
    """
    if name not in _TARGETS:
        raise UnknownDataset.named(name, names())
    return _TARGETS[name]


def path(name: str) -> Path:
    """Return the path of a bundled CSV file; its first line names the columns, classes included.

    A large one is compressed and ends in .csv.gz, which pandas, polars and pyarrow read as well.

    Args:
        name: one of `names()`.

    Raises:
        UnknownDataset: no bundled data set has this name.

    Examples:
        >>> from bayesgen import datasets
        >>> datasets.path("iris").name
        'iris.csv'
    """
    target(name)
    return Path(__file__).parent / f"{name}.csv{'.gz' if name in _COMPRESSED else ''}"
