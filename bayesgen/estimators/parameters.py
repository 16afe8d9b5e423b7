"""Constructor arguments by name, those of likelihoods too: `get_params` and `set_params`.

A classifier's likelihood is a value that several classifiers may share. Setting an argument of it
replaces it by another likelihood, so that nobody else's changes.
"""

import inspect
from collections.abc import Hashable, Iterator, Mapping

from sklearn.base import BaseEstimator

from bayesgen.errors import InvalidArgument, UnknownArgument
from bayesgen.likelihoods import Likelihood
from bayesgen.typing import Self


class Estimator(BaseEstimator):
    """scikit-learn's estimator whose arguments may be likelihoods, or mappings of columns to them.

    `likelihood__variance_rows` is the argument of the one likelihood. Of a mapping,
    `likelihood__age` is the likelihood of the column "age" and `likelihood__age__variance_rows` an
    argument of it; several columns stand with underscores between them, `likelihood__sex_class`.

    Example:
        >>> import bayesgen as bg
        >>> clf = bg.NaiveBayes(bg.Normal()).set_params(likelihood__variance_rows=3)
        >>> clf.likelihood
        Normal(variance_rows=3)
        >>> clf = bg.NaiveBayes({"age": bg.Normal(), ("sex", "class"): bg.Categorical()})
        >>> clf.set_params(likelihood__sex_class__rows_per_level=1).likelihood
        {'age': Normal(), ('sex', 'class'): Categorical(rows_per_level=1)}
    """

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        """Refuse arguments that the constructor does not have, naming the one that was meant.

        Raises:
            UnknownArgument: with the class that is made, and not the one that has the constructor.
        """
        known = tuple(inspect.signature(cls).parameters.values()) if args or kwargs else ()
        names = [parameter.name for parameter in known]
        for name in kwargs:
            if name not in names:
                raise UnknownArgument.named(cls.__name__, name, names)
        places = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in known)
        if len(args) > places:
            raise UnknownArgument.by_position(cls.__name__, len(args), names[:places], names)
        return super().__new__(cls)

    def get_params(self, deep: bool = True) -> dict[str, object]:  # noqa: FBT001, FBT002
        """Return the constructor's arguments; deep: those of likelihoods too."""
        out = super().get_params(deep)
        if deep:
            for name, value in super().get_params(deep=False).items():
                for block, key in _blocks(value):
                    likelihood = value[key]
                    out[f"{name}__{block}"] = likelihood
                    own = likelihood.get_params()
                    out |= {f"{name}__{block}__{argument}": v for argument, v in own.items()}
        return out

    def set_params(self, **params: object) -> Self:
        """Set arguments of the constructor, and of likelihoods by names such as those above.

        Raises:
            InvalidArgument: a likelihood without such an argument, or no likelihood.
        """
        own = super().get_params(deep=False)
        later: dict[str, dict[str, object]] = {}
        for key in [key for key in params if "__" in key]:
            name, _, rest = key.partition("__")
            value = params.get(name, own.get(name))
            if name in own and not hasattr(value, "fit"):
                later.setdefault(name, {})[rest] = params.pop(key)
        super().set_params(**params)
        for name, arguments in later.items():
            setattr(self, name, _with_arguments(name, getattr(self, name), arguments))
        return self


def _blocks(value: object) -> Iterator[tuple[str, Hashable]]:
    """Yield the name and the key of each likelihood in a mapping of columns; each name once."""
    taken: set[str] = set()
    for key, likelihood in value.items() if isinstance(value, Mapping) else ():
        name = "_".join(map(str, key if isinstance(key, tuple) else (key,)))
        if isinstance(likelihood, Likelihood) and name not in taken:
            taken.add(name)
            yield name, key


def _with_arguments(name: str, value: object, arguments: Mapping[str, object]) -> object:
    """Return a likelihood, or a mapping of columns to likelihoods, with other arguments."""
    if isinstance(value, Likelihood):
        return value.set_params(**arguments)
    blocks = dict(_blocks(value))
    if not (isinstance(value, Mapping) and blocks):
        raise InvalidArgument.no_arguments(name, value, next(iter(arguments)))
    out = dict(value)
    # whole likelihoods first, then their arguments
    for given, new in sorted(arguments.items(), key=lambda item: item[0] not in blocks):
        # a column's name may hold "__": the longest that fits
        fits = [b for b in blocks if given == b or given.startswith(f"{b}__")]
        if not fits:
            raise InvalidArgument.no_block(name, given, list(blocks))
        block = max(fits, key=len)
        key, argument = blocks[block], given[len(block) + 2 :]
        old = out[key]
        if argument and isinstance(old, Likelihood):
            out[key] = old.set_params(**{argument: new})
        else:
            out[key] = new
    return out
