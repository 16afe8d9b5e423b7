"""Names that are the only ones of their kind."""

from collections.abc import Collection, Container, Hashable, Mapping


def free(name: str, *taken: Container[object]) -> str:
    """Return the name, with as many underscores behind it as make it the only one."""
    while not name or any(name in names for names in taken):
        name += "_"
    return name


def free_names(wanted: Mapping[Hashable, Collection[str]]) -> dict[Hashable, str]:
    """Return a text for each name: without slashes, unlike the others, and none that it may not be.

    wanted: each name with the texts that it may not be. A name that is free stays as it is; of
    others the slashes become underscores, and underscores follow.
    """
    out: dict[Hashable, str] = {}
    used: set[str] = set()
    for as_it_is in (True, False):
        for name, taken in wanted.items():
            text = free(str(name).replace("/", "_"), taken, used)
            if name not in out and (text == name or not as_it_is):
                out[name] = text
                used.add(text)
    return out
