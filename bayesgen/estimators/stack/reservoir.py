"""A stratified random sample of the rows of a source, drawn in one pass."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bayesgen.errors.data import zero_weights
from bayesgen.estimators import validation
from bayesgen.estimators.sources.fit import LabelledSource
from bayesgen.estimators.updates.merging import united_classes
from bayesgen.progress_bar import Progress
from bayesgen.sources import Part, joined
from bayesgen.table import codes_of, distinct

RESERVOIR = 20_000
"""Rows of the sample: kernels have 1,000 centers, and 2,000 rows judge members."""

FEWEST = 200
"""Rows of each class, where it has so many, even if more classes than 100 exceed RESERVOIR."""


@dataclasses.dataclass(frozen=True, eq=False)
class Sample:
    """Rows drawn at random within classes, in their order.

    X: a frame of the features. y: the labels. own: the weights that the rows have in the source.
    share: of each row, proportional to n_k / m_k: of the n_k rows of class k, m_k were drawn; the
    largest is 1, so that a row is left out as a whole. n_rows: of the source, of weight above 0.
    """

    X: object
    y: np.ndarray
    own: Float[np.ndarray, " row"]
    share: Float[np.ndarray, " row"]
    n_rows: int

    @property
    def is_whole(self) -> bool:
        """Whether every row was drawn."""
        return len(self.y) == self.n_rows


def drawn(labelled: LabelledSource, seed: int, progress: Progress) -> Sample:
    """Return RESERVOIR rows of a source, or all if there are no more.

    Every row has a random key, and those with the smallest stay: first the FEWEST of each class,
    then others. Given their class, rows are a simple random sample. The sample does not depend on
    how the source is split into parts.

    Args:
        labelled: the source.
        seed: of the keys.
        progress: whether a bar is shown.

    Raises:
        BayesgenError: rows or labels that cannot be read, with the part.
    """
    rng, kept = np.random.default_rng(seed), Candidates.none()
    counts: dict[Any, int] = {}

    def read(part: Part) -> tuple[Part, np.ndarray, np.ndarray] | None:
        features, labels, weight = labelled.split(part)
        if weight is not None and not np.any(weight):
            return None
        earlier, own = np.array(list(counts)), validation.weights_of(weight, len(part))
        target = validation.labels_of(labels, earlier)
        if target.there is not None:
            raise labelled.no_label(int((~target.there).sum()), len(part))
        united_classes(earlier, target.classes)
        return features, target.labels, own

    with labelled.parts(progress) as parts:
        for part in parts:
            # drawn for every row, so that keys do not depend on the parts
            keys = rng.random(len(part))
            with part.located():
                rows = read(part)
            if rows is None:
                continue
            features, y, own = rows
            there = np.flatnonzero(own)
            classes = distinct(y[there])
            codes = codes_of(y[there], classes)
            for label, count in zip(classes.tolist(), np.bincount(codes), strict=True):
                counts[label] = counts.get(label, 0) + int(count)
            code = {label: i for i, label in enumerate(counts)}
            position = np.array([code[label] for label in classes.tolist()])
            kept = kept.with_part(features, y, own, there, keys[there], position[codes])
    return kept.sample(list(counts.values()))


@dataclasses.dataclass(frozen=True, eq=False)
class Candidates:
    """The rows that are in the sample so far.

    pieces: frames, labels and weights of rows of each part. piece, place: where each row is. keys,
    codes: its random key, and its class in the order of their appearance.
    """

    pieces: tuple[tuple[Part, np.ndarray, np.ndarray], ...]
    piece: Int[np.ndarray, " row"]
    place: Int[np.ndarray, " row"]
    keys: Float[np.ndarray, " row"]
    codes: Int[np.ndarray, " row"]

    @classmethod
    def none(cls) -> "Candidates":
        """Return no rows."""
        empty = np.empty(0, dtype=np.int64)
        return cls((), empty, empty, np.empty(0), empty)

    def with_part(
        self,
        features: Part,
        y: np.ndarray,
        own: np.ndarray,
        there: np.ndarray,
        keys: np.ndarray,
        codes: np.ndarray,
    ) -> "Candidates":
        """Return the sample of these rows and those of one more part.

        Args:
            features: of all rows of the part.
            y: their labels.
            own: their weights.
            there: those of a weight above 0.
            keys: of these.
            codes: of these.
        """
        every, classes = np.append(self.keys, keys), np.append(self.codes, codes)
        stays = smallest(every, classes)
        before, new = stays[stays < len(self.keys)], stays[stays >= len(self.keys)]
        new = new - len(self.keys)
        rows = there[new]
        piece = Part("", 0, features.take(rows)), y[rows], own[rows]
        size = len(self.pieces)
        return Candidates(
            (*self.pieces, piece),
            np.append(self.piece[before], np.full(len(new), size)),
            np.append(self.place[before], np.arange(len(new))),
            every[stays],
            classes[stays],
        )

    def sample(self, counts: list[int]) -> Sample:
        """Return the rows, each with its share; counts: rows of each class in the source.

        Raises:
            InvalidData: all weights are 0.
        """
        if not self.pieces:
            raise zero_weights()
        frames, labels, weights = [], [], []
        for i, (frame, y, own) in enumerate(self.pieces):
            here = self.place[self.piece == i]
            if len(here):
                frames.append(frame.take(here))
                labels.append(y[here])
                weights.append(own[here])
        number, drawn_rows = np.array(counts), np.bincount(self.codes, minlength=len(counts))
        share = number / drawn_rows
        return Sample(
            joined(frames),
            np.concatenate(labels),
            np.concatenate(weights),
            (share / share.max())[self.codes],
            int(number.sum()),
        )


def smallest(
    keys: Float[np.ndarray, " row"], codes: Int[np.ndarray, " row"]
) -> Int[np.ndarray, " kept"]:
    """Return the positions, ascending, of the rows that stay.

    By key, the FEWEST of each class come first, then others, RESERVOIR in all.
    """
    if len(keys) <= RESERVOIR:
        return np.arange(len(keys))
    order = np.lexsort((keys, codes))
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    first = np.empty(len(keys), dtype=bool)
    first[order] = rank < FEWEST
    most = max(RESERVOIR, int(first.sum()))
    return np.sort(np.lexsort((keys, ~first))[:most])
