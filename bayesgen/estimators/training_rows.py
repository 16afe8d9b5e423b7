"""Rows of a fit: read and encoded once, with labels, weights and classes."""

import dataclasses
import functools
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float, Int
from sklearn.utils import _safe_indexing

from bayesgen.errors import BayesgenError, Cure
from bayesgen.errors.data import NAME_CLASSES, too_few_classes
from bayesgen.likelihoods.base import below
from bayesgen.membership import among, concatenated
from bayesgen.schema import Reading, Schema
from bayesgen.table import Copies, Table, as_frame, copies_of, row_keys, soft_target
from bayesgen.typing import Encoded, Joint, Labels, Membership, Traceable, Weights

UNLABELLED = -1
"""The class code of a row without a label."""

NO_CELLS = Table((), 0, "")
"""In place of a table that is not kept."""


def joined(parts: Sequence[Encoded]) -> Encoded:
    """Return the encoded rows of several calls, concatenated."""
    if len(parts) == 1:
        return parts[0]
    return {name: below([part[name] for part in parts]) for name in parts[0]}


# -- rows ------------------------------------------------------------------------------------------


class TableEncoder:
    """A table with cached encodings, shared by schemas that encode a column alike."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._encoded: dict[object, Traceable] = {}

    def encode(self, schema: Schema, unseen: str, estimator: str) -> dict[str, Traceable]:
        """Return the result of `Schema.encode`; the arrays are shared and must not be modified."""
        if not schema.blocks:  # of a program of the user's own
            return schema.encode(self.table, unseen, estimator=estimator)
        found = dict.fromkeys(schema.blocks)
        if self._encoded:  # else columns are hashed in vain, a thirtieth of a small batch
            found = {b: self._encoded.get((part, unseen)) for b, part in schema.blocks.items()}
        new = {block: schema.blocks[block] for block, rows in found.items() if rows is None}
        if new:
            part = schema if len(new) == len(found) else dataclasses.replace(schema, blocks=new)
            encoded = part.encode(self.table, unseen, estimator=estimator)
            self._encoded |= {(new[block], unseen): rows for block, rows in encoded.items()}
            found |= encoded
        return found


@dataclasses.dataclass(frozen=True, eq=False)
class TrainingRows:
    """Training rows of one call of fit or partial_fit.

    X, y, sample_weight: as they were passed. table, codes, weight: as they were read, rows of
    weight 0 left out. classes: the distinct labels, sorted, which the codes are positions in;
    a row without a label has the code UNLABELLED. kept: positions in X of the rows that were not
    left out, in their order here; None: all. shares: of each row in each class, where labels are
    soft, 0 in all of a row without a label; codes are then the classes of the largest shares.
    """

    X: object
    y: object
    sample_weight: object
    table: Table
    codes: Labels
    weight: Weights
    classes: np.ndarray
    kept: np.ndarray | None = None
    shares: Joint | None = None

    def encode(
        self, schema: Schema, unseen: str, chunk: slice | None = None
    ) -> dict[str, Traceable]:
        """Return the rows, or a chunk of them, as `Schema.encode` does.

        Encodings of all rows are cached and shared; they must not be modified.
        """
        if chunk is not None:
            return schema.encode(self.table.take(chunk), unseen)
        return self._encoder.encode(schema, unseen, "Classifier")

    @functools.cached_property
    def _encoder(self) -> TableEncoder:
        return TableEncoder(self.table)

    @property
    def labelled(self) -> "TrainingRows":
        """The rows that have a label; itself if all have."""
        return self if self._some_labelled is None else self._some_labelled

    @functools.cached_property
    def _some_labelled(self) -> "TrainingRows | None":
        """The rows that have a label; None if all have: rows that refer to themselves stay long."""
        labelled = self.codes != UNLABELLED
        if labelled.all():
            return None
        return self._part(np.flatnonzero(labelled))

    @functools.cached_property
    def unlabelled(self) -> "TrainingRows | None":
        """The rows without a label; None if all have one."""
        if self.labelled is self:
            return None
        return self._part(np.flatnonzero(self.codes == UNLABELLED))

    def _part(self, where: np.ndarray, table: Table | None = None) -> "TrainingRows":
        """Return some of the rows; table: theirs, by default with the levels of all."""
        return dataclasses.replace(
            self,
            table=self.table.take(where) if table is None else table,
            codes=self.codes[where],
            weight=self.weight[where],
            kept=where if self.kept is None else self.kept[where],
            shares=None if self.shares is None else self.shares[where],
        )

    @functools.cached_property
    def power_transforms(self) -> dict[Reading, tuple | None]:
        """The power transforms of these rows' columns that were learned so far."""
        return {}

    @functools.cached_property
    def left_out_scores(self) -> dict[bytes, Float[np.ndarray, "..."]]:
        """The scores of blocks of these rows, left out, that were found so far."""
        return {}

    @functools.cached_property
    def copies(self) -> Copies:
        """Which of the rows are copies of each other."""
        y = self.codes if self.shares is None else self.shares
        return copies_of([self.table], y, self.weight)

    @property
    def present(self) -> np.ndarray:
        """The classes of which some row has a share: soft labels may name others."""
        if self.shares is not None:
            return self.classes[self.shares.any(axis=0)]
        return self.classes[np.bincount(self.codes + 1, minlength=len(self.classes) + 1)[1:] > 0]

    @property
    def has_cells(self) -> bool:
        """Whether the table was kept."""
        return self.table is not NO_CELLS

    def times(self, factor: float) -> "TrainingRows":
        """Return the rows with all weights multiplied."""
        stated = 1.0 if self.sample_weight is None else np.asarray(self.sample_weight, dtype=float)
        return dataclasses.replace(self, weight=factor * self.weight, sample_weight=factor * stated)

    def to_keep(self, *, table: bool) -> "TrainingRows":
        """Return the rows without cached encodings, and without cells unless requested."""
        return dataclasses.replace(self, table=self.table if table else NO_CELLS)

    def as_read_by(
        self, own_table: Callable[[Table, Callable[[], object]], Table]
    ) -> "TrainingRows":
        """Return the rows with the columns that a model reads: `own_table` of a recipe or a fit."""
        table = own_table(self.table, self.raw)
        return self if table is self.table else dataclasses.replace(self, table=table)

    @classmethod
    def of_table(
        cls,
        table: Table,
        codes: Labels,
        weight: Weights,
        classes: np.ndarray,
        shares: Joint | None = None,
    ) -> "TrainingRows":
        """Return the rows of a table as if they had been passed in one call.

        Raises:
            ValueError: there are codes of no class, or of other rows.
        """
        if not len(codes) == len(weight) == table.n_rows:
            raise ValueError("its rows have labels or weights of other rows")
        if ((codes < UNLABELLED) | (codes >= len(classes))).any():
            raise ValueError("its rows have labels of no class")
        y = np.array([*classes.tolist(), None], dtype=object)[codes]
        if shares is not None:
            if shares.shape != (len(codes), len(classes)):
                raise ValueError("its rows have shares of other rows or classes")
            y = soft_target(shares, classes)
        return cls(as_frame(table), y, weight, table, codes, weight, classes, shares=shares)

    def as_data(self) -> dict[str, object]:
        """Return the arguments of `of_table`."""
        table = dataclasses.replace(self.table, columns=tuple(self.table.columns), matrix=None)
        names = ("codes", "weight", "classes", *(["shares"] if self.shares is not None else []))
        return {"table": table} | {name: getattr(self, name) for name in names}

    def by_content(self) -> "TrainingRows":
        """Return the rows in an order that their content, labels and weights alone determine."""
        shares = () if self.shares is None else self.shares.T
        order = np.lexsort((self.weight, *shares, self.codes, *row_keys(self.table)[::-1]))
        return self._part(order)

    def as_passed(self) -> "TrainingRows":
        """Return the rows in the order in which they were passed."""
        return self._part(np.argsort(self.positions()))

    def positions(self) -> Int[np.ndarray, " row"]:
        """Return where each row stands in X."""
        return np.arange(len(self.codes)) if self.kept is None else self.kept

    def only(self, where: np.ndarray) -> "TrainingRows":
        """Return some of the rows, as if they alone had been read."""
        part = self._part(where, self.table.only(where))
        classes, shares = part.present, part.shares
        there = np.isin(self.classes, classes)
        codes = among(part.codes, np.cumsum(there) - 1, len(classes))
        shares = None if shares is None else shares[:, there]
        return dataclasses.replace(part, codes=codes, classes=classes, shares=shares)

    def codes_among(self, classes: np.ndarray) -> Labels:
        """Return the position of each label among classes, sorted, that hold those of the rows."""
        if len(self.classes) == len(classes):
            return self.codes
        return among(self.codes, np.searchsorted(classes, self.classes), len(classes))

    def membership(self, classes: np.ndarray) -> Membership:
        """Return `codes_among` classes or, where labels are soft, the shares of each of them."""
        if self.shares is None:
            return self.codes_among(classes)
        return among(self.shares, np.searchsorted(classes, self.classes), len(classes))

    def raw(self) -> object:
        """Return X without the rows that were left out."""
        return self.X if self.kept is None else _safe_indexing(self.X, self.kept)


def together(seen: Sequence[TrainingRows], classes: np.ndarray) -> tuple[Membership, Weights]:
    """Return the class codes or shares and the weights of the labeled rows of several calls."""
    parts = [rows.labelled for rows in seen]
    y = concatenated([rows.membership(classes) for rows in parts], len(classes))
    return y, np.concatenate([rows.weight for rows in parts])


def copies(seen: Sequence[TrainingRows], classes: np.ndarray) -> Copies:
    """Return which of the labeled rows of several calls are copies of each other."""
    if len(seen) == 1 and len(seen[0].classes) == len(classes):
        return seen[0].labelled.copies
    return copies_of([rows.labelled.table for rows in seen], *together(seen, classes))


def fewer_than_two_classes(rows: TrainingRows, cure: str | Cure = NAME_CLASSES) -> BayesgenError:
    """Return the error about rows of fewer than two classes."""
    lacking = 0 if rows.unlabelled is None else len(rows.unlabelled.codes)
    return too_few_classes(rows.present.tolist(), lacking, len(rows.codes), cure=cure)
