"""Names of a folder that are loaded when they are first asked for (PEP 562).

A fresh process then loads what it uses. Static checkers read the imports beside it, which stand
under `TYPE_CHECKING`; a test holds that both have the same names.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

MODULES = ""
"""Stands for the name of a module where the names are modules themselves."""


def on_demand(
    folder: str,
    places: Mapping[str, Sequence[str]],
    missing: Callable[[str, list[str]], AttributeError] | None = None,
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a folder.

    Args:
        folder: its full name, as in "bayesgen.plots".
        places: the names by the module that has them, as in {"columns": ["FeatureDisplay"]}. None
            of them is the name of a module of the folder, which would take its place.
        missing: a name that is not there and those that are -> the error.
    """
    where = {name: module for module, names in places.items() for name in names}

    def load(name: str) -> object:
        if name == "__all__":  # of `from bayesgen import *`
            return [public for public in where if not public.startswith("_")]
        if name not in where:
            sentence = f"module {folder!r} has no attribute {name!r}"
            raise AttributeError(sentence) if missing is None else missing(name, names())
        module = where[name]
        loaded = import_module(f"{folder}.{name if module == MODULES else module}")
        value = loaded if module == MODULES else getattr(loaded, name)
        setattr(sys.modules[folder], name, value)
        return value

    def names() -> list[str]:
        of_python = {name for name in vars(sys.modules[folder]) if name.startswith("__")}
        return sorted({*of_python, *where})

    return load, names
