"""Base classes of errors and warnings: a sentence as data, which is written when it is read."""

import contextlib
import warnings
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from bayesgen.errors.dialect import spoken
from bayesgen.errors.wording import Cure, Language, Place, Words, Writer
from bayesgen.typing import Self

_INSIDE = str(Path(__file__).parents[1]), contextlib.__file__.removesuffix(".py")
"""Files that no warning points to: the library, and the one that runs `deduplicate_warnings`.

Its ending is left off, since Python 3.13 takes no whole name for a prefix."""


class Message:
    """A sentence as data: what is wrong, its values, the place, and the cure.

    Args:
        problem: What was found, and what is allowed: a template, see `Writer`. Without fields it is
            the text itself.
        cure: What to type instead; a `Cure` where the command line types something else.
        fields: Values of the fields of both templates.

    Attributes:
        problem, cure, fields: as given.
        place: where it happened; see `at`.
        dialect: how the rows of the call can be told apart, dropped and changed in code.

    Examples:
        >>> drop = Cure("Pass X.drop(columns={column!r}).", "Add --drop {column:option}.")
        >>> error = BayesgenError("column {column!r} holds {value!r}.", drop, column="a", value=3)
        >>> print(error.at(part="file 'b.csv'", row=7))
        file 'b.csv', row 7: column 'a' holds 3. Pass X.drop(columns='a').
        >>> error.written("shell")
        "file 'b.csv', row 7: column 'a' holds 3. Add --drop a."
    """

    def __init__(self, problem: str, cure: Cure | str = "", /, **fields: Any) -> None:
        self.problem, self.fields, self.place = problem, fields, Place()
        self.dialect = spoken()
        self.cure = cure if isinstance(cure, Cure) else Cure(cure)

    def at(
        self,
        *,
        part: str = "",
        rows: Sequence[int] | None = None,
        row: int | None = None,
        **fields: Any,
    ) -> Self:
        """Say where it happened, and return the same: `raise error.at(part=name, row=7)`.

        Args:
            part: The name of the part, file or frame that holds the rows.
            rows: The rows of the part as the source counts them; rows that the sentence names are
                counted on from the first of these.
            row: The one row to blame, as the source counts it.
            fields: Values in place of those in the sentence, such as column= or owner=.
        """
        place = Place(part, rows, row)
        self.place = self.place if place == Place() else place
        self.fields |= fields
        return self

    def written(self, language: Language, *, cure: bool = True) -> str:
        """Return the sentence for a reader of Python, or of the command line.

        cure: whether to say what to type instead.
        """
        where = f"{self.place}: " if str(self.place) else ""
        parts = (self._written(self.problem, language), self._cure(language) if cure else "")
        return where + " ".join(filter(None, parts))

    def _cure(self, language: Language) -> str:
        return self._written(self.cure.text(language), language)

    def _written(self, template: str, language: Language) -> str:
        if not self.fields:
            return template
        return Writer(language, self.place, self.dialect).vformat(template, (), self.fields)

    def __str__(self) -> str:
        return self.written("python")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple:
        """Pickle the finished text: a value of the user may be one that cannot be pickled."""
        problem = Words(*(self._written(self.problem, to) for to in ("python", "shell")))
        cure = Words(self._cure("python"), self._cure("shell"))
        return _unpickled, (type(self), problem, cure, self.place, getattr(self, "__notes__", []))


def words_of(error: Exception) -> Words:
    """Return the text of any error, without its last period: to quote it in another sentence."""
    if isinstance(error, Message):
        return Words(*(error.written(to).rstrip(".") for to in ("python", "shell")))
    return Words(str(error).rstrip("."))


class BayesgenError(Message, Exception):
    """Base class of all errors; each is also a ValueError, a TypeError or an ImportError."""


class BayesgenWarning(Message, UserWarning):
    """Base class of all warnings; the text names the cure."""

    @property
    def subjects(self) -> tuple[str, ...]:
        """What it tells of; what several models, or parts, tell of in other numbers is told once.

        A warning has something to tell if one of these is new.
        """
        return (str(self),)


def _unpickled(
    kind: type[BayesgenError], problem: Words, cure: Words, place: Place, notes: list[str]
) -> BayesgenError:
    message = kind("{problem}", "{cure}", problem=problem, cure=cure)
    message.place = place
    for note in notes:
        message.add_note(note)
    return message


def warn(warning: BayesgenWarning) -> None:
    """Issue a warning that points at the first line outside the library."""
    warnings.warn(warning, skip_file_prefixes=_INSIDE, stacklevel=2)


@contextlib.contextmanager
def deduplicate_warnings(
    *silent: type[BayesgenWarning],
    rows: Sequence[int] | None = None,
    part: str = "",
    earlier: set[tuple[type, str]] | None = None,
) -> Generator[None]:
    """Issue each warning of the block once, at its end: several models give the same ones.

    Usable as a decorator too.

    Args:
        silent: kinds of warnings that are not issued at all: the caller has warned of the same, or
            hides cells by design.
        rows: as the user counts them, those that warnings and an error of the block count from 0.
        part: the name of the part that holds the rows.
        earlier: kinds and subjects of the warnings of earlier blocks, which are not issued again;
            those of this block are added.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except BayesgenError as error:
            error.at(part=part, rows=rows)
            raise
    earlier, firsts = set() if earlier is None else earlier, []
    for warning in caught:
        message, about = warning.message, (str(warning.message),)
        if isinstance(message, BayesgenWarning):
            about = message.subjects  # without the place
            message.at(part=part, rows=rows)
        subjects = {(type(message), subject) for subject in about}
        firsts += [] if subjects <= earlier else [warning]
        earlier |= subjects
    for first in firsts:
        if isinstance(first.message, silent):
            continue
        if isinstance(first.message, BayesgenWarning):
            warn(first.message)
        else:
            warnings.warn_explicit(first.message, first.category, first.filename, first.lineno)
