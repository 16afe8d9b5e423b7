"""A stratified random sample of the rows of a source, drawn in one pass."""

import dataclasses
from collections import Counter
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bayesgen.errors.data import zero_weights
from bayesgen.estimators import validation
from bayesgen.estimators.sources.fit import LabelledSource
from bayesgen.estimators.updates.merging import united_classes
from bayesgen.progress_bar import Progress
from bayesgen.sources import Part
from bayesgen.table import concatenated

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
    rng, counts = np.random.default_rng(seed), Counter()
    candidates = None
    with labelled.parts(progress) as parts:
        for part in parts:
            # drawn for every row, so that keys do not depend on the parts
            keys = rng.random(len(part))
            with part.located():
                features, labels, weight = labelled.split(part)
                if weight is not None and not np.any(weight):
                    continue
                earlier, own = np.array(list(counts)), validation.weights_of(weight, len(part))
                target = validation.labels_of(labels, earlier)
                if target.n_missing:
                    raise labelled.no_label(target.n_missing, len(part))
                united_classes(earlier, target.classes)
            numbers = np.bincount(target.codes[own > 0], minlength=len(target.classes))
            counts.update(
                {k: int(n) for k, n in zip(target.classes.tolist(), numbers, strict=True) if n}
            )
            place = {label: code for code, label in enumerate(counts)}
            codes = np.array([place.get(label, -1) for label in target.classes.tolist()])
            rows = Candidates(features.frame, target.labels, own, keys, codes[target.codes])
            candidates = rows.joining(candidates)
    if candidates is None:
        raise zero_weights()
    number = np.array(list(counts.values()))
    share = number / np.bincount(candidates.codes)
    return Sample(
        candidates.X,
        candidates.y,
        candidates.own,
        (share / share.max())[candidates.codes],
        int(number.sum()),
    )


@dataclasses.dataclass(frozen=True, eq=False)
class Candidates:
    """Rows that may be in the sample.

    X: a frame of the features. y: the labels. own: the weights in the source. keys: random ones.
    codes: the class in the order in which classes appear.
    """

    X: Any
    y: np.ndarray
    own: Float[np.ndarray, " row"]
    keys: Float[np.ndarray, " row"]
    codes: Int[np.ndarray, " row"]

    def take(self, rows: Int[np.ndarray, " few"]) -> "Candidates":
        """Return some rows, by position."""
        return Candidates(
            Part("", 0, self.X).take(rows),
            self.y[rows],
            self.own[rows],
            self.keys[rows],
            self.codes[rows],
        )

    def joining(self, earlier: "Candidates | None") -> "Candidates":
        """Return those of earlier rows and of these that stay; these may weigh nothing."""
        there = np.flatnonzero(self.own)
        if earlier is None:
            return self.take(there[smallest(self.keys[there], self.codes[there])])
        keys = np.append(earlier.keys, self.keys[there])
        stays = smallest(keys, np.append(earlier.codes, self.codes[there]))
        n_earlier = len(earlier.keys)
        rows = there[stays[stays >= n_earlier] - n_earlier]
        if not len(rows):
            return earlier
        before, new = earlier.take(stays[stays < n_earlier]), self.take(rows)
        return Candidates(
            concatenated([before.X, new.X]),
            np.append(before.y, new.y),
            np.append(before.own, new.own),
            np.append(before.keys, new.keys),
            np.append(before.codes, new.codes),
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
