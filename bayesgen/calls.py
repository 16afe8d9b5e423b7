"""Calls of verbs: an argument that a verb has not, or that it lacks, is one sentence.

Constructors say so themselves (`bayesgen.estimators.parameters`).
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from bayesgen.errors import InvalidArgument
from bayesgen.errors.arguments import unknown_argument
from bayesgen.errors.dialect import CALL, ROWS
from bayesgen.errors.wording import listed

M = TypeVar("M", bound=Callable)
C = TypeVar("C", bound=type)

POSITIONAL = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
VARIABLE = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD


def checked_call(function: M) -> M:
    """Let a function refuse arguments that it does not take as the library refuses all others.

    Nothing is looked at before the call: a call that Python could not bind is explained afterwards,
    so that one that it could costs nothing more. Messages are written for its arguments
    (`bayesgen.errors.dialect`).

    Example:
        >>> @checked_call
        ... def interval(X, prob=0.9): ...
        >>> interval([1], pro=0.5)
        Traceback (most recent call last):
        ...
        bayesgen.errors.kinds.InvalidArgument: interval() has no argument 'pro'. Did you mean prob?
    """
    signature = inspect.signature(function)
    names = tuple(signature.parameters)
    has_rows = not ROWS.isdisjoint(names)
    name = getattr(function, "__qualname__", "").rpartition("<locals>.")[2]

    @functools.wraps(function)
    def called(*args: Any, **options: Any) -> Any:
        outermost = has_rows and CALL.get() is None
        token = CALL.set((names, args, options)) if outermost else None
        try:
            return function(*args, **options)
        except TypeError:
            try:
                signature.bind(*args, **options)
            except TypeError:
                raise refusal(_title(name, args), signature, args, options) from None
            raise
        finally:
            if token is not None:
                CALL.reset(token)

    return cast(M, called)


def checked_calls(cls: C) -> C:
    """Let the public methods that a class defines be `checked_call`s; returns the class."""
    for name, method in list(vars(cls).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(cls, name, checked_call(method))
        elif isinstance(method, classmethod) and not name.startswith("_"):
            setattr(cls, name, classmethod(checked_call(method.__func__)))
    return cls


def _title(name: str, args: tuple) -> str:
    """Return the name of a function, of a method with the class of its object."""
    if "." not in name or not args:
        return name
    owner = args[0] if isinstance(args[0], type) else type(args[0])
    return f"{owner.__name__}.{name.rpartition('.')[2]}"


def refusal(
    name: str, signature: inspect.Signature, args: tuple, options: Mapping[str, object]
) -> InvalidArgument:
    """Return the error about a call that does not fit a signature.

    Args:
        name: of the function, or of its class and itself.
        signature: what it takes; the first argument of a method is the object.
        args: by position.
        options: by name.
    """
    every = [p for p in signature.parameters.values() if p.kind not in VARIABLE]
    bound = every[:1] if "." in name else []
    own = [p.name for p in every if p not in bound]
    open_ended = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in signature.parameters.values())
    for option in options:
        if option not in own and not open_ended:
            return unknown_argument(name, option, own)
    by_position = [p.name for p in every if p.kind in POSITIONAL]
    given = set(by_position[: len(args)]) | options.keys()
    needed = [p.name for p in every if p.default is inspect.Parameter.empty and p not in bound]
    if lacking := [argument for argument in needed if argument not in given]:
        return InvalidArgument(
            "{name}() needs {lacking:joined}.",
            "Its arguments are {own:joined}.",
            name=name,
            lacking=lacking,
            own=own,
        )
    twice = [argument for argument in by_position[: len(args)] if argument in options]
    if twice:
        return InvalidArgument(
            "{name}() was given {argument} by position and by name.",
            "Leave one out.",
            name=name,
            argument=twice[0],
        )
    places = by_position[len(bound) :]
    return InvalidArgument(
        "{name}() was given {found} arguments by position; {may} be.",
        "Its arguments are {own}: name the others.",
        name=name,
        found=len(args) - len(bound),
        may=f"only {listed(places)} may" if places else "none may",
        own=listed(own, 20),
    )
