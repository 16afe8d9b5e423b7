"""Constructor arguments by name: their documentation, `get_params` and `set_params`.

A likelihood may be shared by several classifiers. Setting one of its arguments therefore replaces
the likelihood instead of modifying it, so the other classifiers are unaffected.
"""

import functools
import inspect
import re
import textwrap
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeVar, cast

from sklearn.base import BaseEstimator, clone

from bayesgen.errors import InvalidArgument
from bayesgen.errors.arguments import unknown_argument
from bayesgen.errors.wording import listed
from bayesgen.likelihoods import Likelihood

T = TypeVar("T")

OPEN = re.compile(r"^( +)(\w+(?:, \w+)*): \.\.\.$", re.MULTILINE)
"""Parameters and attributes that a docstring leaves to that of an ancestor, or to a property."""
ENTRY = re.compile(r"^( +)(\w+): (?!\.\.\.$).*(?:\n\1 {4}.*)*", re.MULTILINE)
"""What a docstring says of one of them."""


def documented(cls: type, ancestor: type) -> str | None:
    """Return the docstring of a class with open entries, as in "rows, probs: ...", filled in.

    Their text is that of the first class, up to `ancestor`, whose docstring has one, and else the
    first paragraph of the property of this name.
    """
    texts = [c.__doc__ or "" for c in cls.__mro__[1:] if issubclass(c, ancestor)]
    stated: dict[tuple[str, str], str] = {}
    for match in (match for text in texts for match in ENTRY.finditer(text)):
        stated.setdefault((match[1], match[2]), match[0])

    def entry(indent: str, name: str) -> str:
        return stated.get((indent, name)) or of_property(indent, name)

    def of_property(indent: str, name: str) -> str:
        text = inspect.getdoc(getattr(cls, name, None)) or "..."
        first = re.sub(r"\s*\n\s*", " ", text.partition("\n\n")[0])
        if first[1:2].isalpha():
            first = first[:1].lower() + first[1:]
        return textwrap.fill(
            f"{name}: {first}", 100, initial_indent=indent, subsequent_indent=f"{indent}    "
        )

    def filled(line: re.Match) -> str:
        return "\n".join(entry(line[1], name) for name in line[2].split(", "))

    return cls.__doc__ and OPEN.sub(filled, cls.__doc__)


@functools.cache
def names_of(cls: type) -> frozenset[str]:
    """Return the names of the constructor's arguments."""
    return frozenset(inspect.signature(cls).parameters)


def check_arguments(cls: type, args: tuple, kwargs: Mapping[str, object]) -> None:
    """Reject unknown constructor arguments, suggesting the one that was probably meant.

    Raises:
        InvalidArgument: naming the class being constructed, not the one that defines the
            constructor.
    """
    found = tuple(inspect.signature(cls).parameters.values())
    names = [parameter.name for parameter in found]
    for name in kwargs:
        if name not in names:
            raise unknown_argument(cls.__name__, name, names)
    places = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in found)
    if len(args) > places:
        raise InvalidArgument(
            "{name}() was given {found} positional arguments; {may} be positional.",
            "Name them: {name}({next}=...).",
            name=cls.__name__,
            found=len(args),
            may=f"only {listed(names[:places])} may" if places else "none may",
            next=names[places],
        )


def of_likelihoods(params: Mapping[str, object]) -> dict[str, object]:
    """Return the likelihoods in mappings of columns, and the arguments of these, by name."""
    out: dict[str, object] = {}
    for name, value in params.items():
        for block, key in _blocks(value):
            likelihood = cast(Mapping, value)[key]
            out[f"{name}__{block}"] = likelihood
            own = likelihood.get_params()
            out |= {f"{name}__{block}__{argument}": v for argument, v in own.items()}
    return out


def by_name(members: object) -> dict[str, object]:
    """Return a mapping, or a sequence by lower-case classes as scikit-learn's make_pipeline names.

    A class that occurs several times is numbered: "lda-1", "lda-2". Of names of automatic members,
    and of "auto", nothing.
    """
    if isinstance(members, Mapping):
        return dict(members)
    if is_automatic(members) or not isinstance(members, Sequence):
        return {}
    kinds = [type(member).__name__.lower() for member in members]
    number = [kinds[: i + 1].count(kind) for i, kind in enumerate(kinds)]
    names = [f"{k}-{n}" if kinds.count(k) > 1 else k for k, n in zip(kinds, number, strict=True)]
    return dict(zip(names, members, strict=True))


def is_automatic(members: object) -> bool:
    """Return whether members are "auto", or names of automatic ones."""
    if isinstance(members, str) or not isinstance(members, Sequence):
        return isinstance(members, str)
    return bool(members) and all(isinstance(member, str) for member in members)


def of_members(members: object) -> dict[str, object]:
    """Return the estimators of a mapping or sequence, and their arguments, by name."""
    out: dict[str, object] = {}
    for name, member in _estimators(members).items():
        out[name] = member
        out |= {f"{name}__{argument}": v for argument, v in member.get_params(deep=True).items()}
    return out


def split_members(
    members: T, own: Mapping[str, object], params: Mapping[str, object]
) -> tuple[T, dict[str, object]]:
    """Return estimators with the arguments that are theirs, and the other arguments.

    Changed estimators are clones, so that whoever shares the old ones is unaffected.

    Args:
        members: a mapping or sequence of estimators; without estimators it is returned as it is.
        own: arguments that belong to the constructor, whatever the members are called.
        params: arguments by name.
    """
    named, direct = _estimators(members), dict(params)
    changed: dict[str, dict[str, object]] = {}
    for key in [key for key in params if key.partition("__")[0] in named.keys() - own.keys()]:
        name, _, argument = key.partition("__")
        changed.setdefault(name, {})[argument] = direct.pop(key)
    if not changed:
        return members, direct
    for name, values in changed.items():
        # a whole estimator first, then its arguments
        named[name] = clone(cast(BaseEstimator, values.pop("", named[name]))).set_params(**values)
    out = by_name(members) | named
    return cast(T, out if isinstance(members, Mapping) else list(out.values())), direct


def _estimators(members: object) -> dict[str, BaseEstimator]:
    return {name: one for name, one in by_name(members).items() if isinstance(one, BaseEstimator)}


def split_likelihoods(
    own: Mapping[str, object], params: Mapping[str, object]
) -> tuple[dict[str, object], dict[str, dict[str, object]]]:
    """Split arguments into the constructor's own and, by argument, those of its likelihoods.

    own: the arguments as they are.
    """
    direct, later = dict(params), dict[str, dict[str, object]]()
    for key in [key for key in params if "__" in key]:
        name, _, rest = key.partition("__")
        value = params.get(name, own.get(name))
        if name in own and not hasattr(value, "fit"):
            later.setdefault(name, {})[rest] = direct.pop(key)
    return direct, later


def _blocks(value: object) -> Iterator[tuple[str, Hashable]]:
    """Yield the name and the key of each likelihood in a mapping of columns; each name once."""
    taken: set[str] = set()
    for key, likelihood in value.items() if isinstance(value, Mapping) else ():
        name = "_".join(map(str, key if isinstance(key, tuple) else (key,)))
        if isinstance(likelihood, Likelihood) and name not in taken:
            taken.add(name)
            yield name, key


def with_arguments(name: str, value: object, arguments: Mapping[str, object]) -> object:
    """Return a likelihood, or a mapping of columns to likelihoods, with other arguments."""
    if isinstance(value, Likelihood):
        return value.set_params(**arguments)
    blocks = dict(_blocks(value))
    if not (isinstance(value, Mapping) and blocks):
        raise InvalidArgument(
            "{name} is {value!r}, which has no argument {argument!r}; only a likelihood has "
            "arguments.",
            "Set both at once: set_params({name}=bg.Normal(), {name}__{argument}=...).",
            name=name,
            value=value,
            argument=next(iter(arguments)),
        )
    out = dict(value)
    # whole likelihoods first, then their arguments
    for given, new in sorted(arguments.items(), key=lambda item: item[0] not in blocks):
        # a column's name may hold "__": the longest that fits
        fits = [b for b in blocks if given == b or given.startswith(f"{b}__")]
        if not fits:
            raise InvalidArgument(
                "{name}__{given} names no likelihood of {name}; it has {blocks:listed 20}.",
                "Write {name}__{blocks[0]}__... for an argument of the first.",
                name=name,
                given=given,
                blocks=list(blocks),
            )
        block = max(fits, key=len)
        key, argument = blocks[block], given[len(block) + 2 :]
        old = out[key]
        if argument and isinstance(old, Likelihood):
            out[key] = old.set_params(**{argument: new})
        else:
            out[key] = new
    return out
