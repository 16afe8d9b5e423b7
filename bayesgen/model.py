"""The model: a class prior times one likelihood per block."""

import dataclasses
from collections.abc import Callable, Hashable, Mapping

import numpy as np
from jaxtyping import Float

from bayesgen.classes import ClassPrior
from bayesgen.likelihoods import Likelihood, Statistics
from bayesgen.likelihoods.base import CellDensities, is_missing
from bayesgen.likelihoods.protocols import Conjugate, require_evidence, required
from bayesgen.likelihoods.selection import Selection
from bayesgen.membership import Entries
from bayesgen.schema import PowerTransforms
from bayesgen.typing import Block, Encoded, LevelCounts, Membership, Traceable, Weights


@dataclasses.dataclass(frozen=True, eq=False)
class ModelStatistics:
    """Weight of each class, shape (class,), and the statistics of each block.

    groups: the statistics of the rows of each group, by its level; empty where rows have no groups.
    """

    count: Traceable
    blocks: dict[str, Statistics]
    groups: dict[Hashable, "ModelStatistics"] = dataclasses.field(default_factory=dict)

    @property
    def has_missing(self) -> bool:
        """Whether missing cells rule out the closed form of a block."""
        return any(part.has_missing for part in self.blocks.values())

    def __add__(self, other: "ModelStatistics") -> "ModelStatistics":
        """Return the statistics of the rows of both."""
        blocks = {name: part + other.blocks[name] for name, part in self.blocks.items()}
        groups = {**self.groups, **other.groups}
        groups |= {g: self.groups[g] + other.groups[g] for g in self.groups if g in other.groups}
        return ModelStatistics(self.count + other.count, blocks, groups)

    def __sub__(self, other: "ModelStatistics") -> "ModelStatistics":
        """Return the statistics without the rows of the other, which must be among them."""
        blocks = {name: part - other.blocks[name] for name, part in self.blocks.items()}
        groups = self.groups | {g: self.groups[g] - part for g, part in other.groups.items()}
        return ModelStatistics(self.count - other.count, blocks, groups)

    def each_block(self, change: Callable[[str, Statistics], Statistics]) -> "ModelStatistics":
        """Return a copy with the statistics of every block changed, in every group too."""
        blocks = {name: change(name, part) for name, part in self.blocks.items()}
        groups = {group: part.each_block(change) for group, part in self.groups.items()}
        return ModelStatistics(self.count, blocks, groups)

    def times(self, factor: float) -> "ModelStatistics":
        """Return the statistics of the same rows, every weight times a number, 0 or more."""
        blocks = {name: part.times(factor) for name, part in self.blocks.items()}
        groups = {group: part.times(factor) for group, part in self.groups.items()}
        return ModelStatistics(factor * self.count, blocks, groups)

    def only(self, names: Mapping[str, object]) -> "ModelStatistics":
        """Return the statistics of some of the blocks."""
        groups = {group: part.only(names) for group, part in self.groups.items()}
        return ModelStatistics(self.count, {name: self.blocks[name] for name in names}, groups)

    def only_classes(self, stay: np.ndarray) -> "ModelStatistics":
        """Return the statistics of some of the classes; the others have no rows."""
        blocks = {name: part.only_classes(stay) for name, part in self.blocks.items()}
        groups = {group: part.only_classes(stay) for group, part in self.groups.items()}
        return ModelStatistics(self.count[stay], blocks, groups)

    def spread_classes(self, index: np.ndarray, size: int) -> "ModelStatistics":
        """Return a copy over `size` classes; old class k is at index[k]."""
        count = np.zeros(size)
        count[index] = self.count
        blocks = {name: part.reindex("class", index, size) for name, part in self.blocks.items()}
        groups = {group: part.spread_classes(index, size) for group, part in self.groups.items()}
        return ModelStatistics(count, blocks, groups)


@dataclasses.dataclass(frozen=True, eq=False)
class Reader:
    """How the rows of a schema become the rows of a model, and back.

    selections: what each block of the model reads. power_transforms: how the columns of some blocks
    were power-transformed.
    """

    selections: dict[str, Selection]
    power_transforms: dict[str, PowerTransforms] = dataclasses.field(default_factory=dict)

    def read(self, encoded: Encoded) -> dict[str, Traceable]:
        """Return the rows of each block of the model."""
        return {name: part.read(encoded[name]) for name, part in self.selections.items()}

    def take(self, statistics: ModelStatistics) -> ModelStatistics:
        """Return the statistics of the rows that the model reads."""
        read = statistics.only(self.selections)
        return read.each_block(lambda name, part: self.selections[name].take(part))

    def imputed(self, encoded: Encoded, rows: Mapping[str, Traceable]) -> dict[str, Traceable]:
        """Return encoded rows with cells that were missing taken from rows of the model."""
        out = dict(encoded)
        for name, filled in rows.items():
            x = encoded[name]
            filled = self.selections[name].restored(filled, x.shape[1])
            out[name] = np.where(is_missing(x), filled, x)
        return out

    def restored_cells(
        self, block: str, cells: CellDensities, n_columns: int
    ) -> CellDensities | None:
        """Return densities of cells among all columns; None for power-transformed ones."""
        if block in self.power_transforms:
            return None
        selection = self.selections[block]
        location, scale, degrees = (selection.restored(x, n_columns) for x in cells)
        return location, scale, degrees

    def log_abs_det_jacobian(self, encoded: Encoded) -> Float[np.ndarray, "row 1"] | float:
        """Return log |d transformed / d cell| of rows, (row, 1); 0 without power transforms."""
        return log_abs_det_jacobian(self.power_transforms, encoded)


def log_abs_det_jacobian(
    power_transforms: Mapping[str, PowerTransforms], encoded: Encoded
) -> Float[np.ndarray, "row 1"] | float:
    """Return log |d transformed / d cell| of encoded rows, summed over their cells."""
    return sum(
        (b.log_abs_det_jacobian(encoded[name])[:, None] for name, b in power_transforms.items()),
        start=0.0,
    )


@dataclasses.dataclass(frozen=True, eq=False)
class Model:
    """The generative model: a class prior and one completed likelihood per block.

    A prior, as a `Problem` completes it, and an exact posterior are of this one type.
    """

    classes: ClassPrior
    blocks: dict[str, Likelihood]

    @property
    def closed_forms(self) -> dict[str, Conjugate]:
        """The blocks, each of which must have a closed form."""
        return {name: required(part, Conjugate) for name, part in self.blocks.items()}

    @property
    def caveat(self) -> str:
        """What the closed forms of the blocks only approximate, in sentences."""
        return " ".join(sorted({part.caveat for part in self.blocks.values()} - {""}))

    def posterior(self, statistics: ModelStatistics) -> "Model":
        """Return the model updated by rows."""
        blocks: dict[str, Likelihood] = {}
        for name, part in self.closed_forms.items():
            blocks[name] = part.posterior(statistics.blocks[name])
        return Model(self.classes.posterior(statistics.count), blocks)

    def require_evidence(self) -> None:
        """Raise `NoAttribute` if a block has none."""
        for part in self.blocks.values():
            require_evidence(part)

    def log_evidence(self, statistics: ModelStatistics) -> float:
        """Return log p(rows and labels), parameters integrated out."""
        blocks = (
            require_evidence(part).log_evidence(statistics.blocks[n])
            for n, part in self.blocks.items()
        )
        return float(self.classes.log_evidence(statistics.count) + sum(blocks))

    def only(self, names: Mapping[str, object] | set[str] | list[str]) -> "Model":
        """Return the model of some of the blocks."""
        return Model(self.classes, {n: part for n, part in self.blocks.items() if n in names})


def model_statistics(
    blocks: Mapping[str, Likelihood],
    encoded: Encoded,
    y: Membership,
    weight: Weights,
    *,
    n_classes: int,
    n_levels: Mapping[str, tuple[int, ...]],
) -> ModelStatistics:
    """Return the statistics of encoded rows for every block."""
    if y.ndim == 2:
        entries = Entries.of(y, weight)
        encoded = {name: encoded[name][entries.row] for name in blocks}
        y, weight = entries.code, entries.weight
    count = np.bincount(y, weight, minlength=n_classes).astype(float)
    parts = {
        name: part.statistics(
            encoded[name], y, weight, n_classes=n_classes, n_levels=n_levels[name]
        )
        for name, part in blocks.items()
    }
    return ModelStatistics(count, parts)


def statistics_of(
    likelihood: Likelihood,
    x: Block,
    y: Membership,
    weight: Weights,
    n_classes: int,
    n_levels: LevelCounts,
) -> Statistics:
    """Return the statistics of encoded rows of a block, each in its classes."""
    if y.ndim == 2:
        entries = Entries.of(y, weight)
        x, y, weight = x[entries.row], entries.code, entries.weight
    return likelihood.statistics(x, y, weight, n_classes=n_classes, n_levels=n_levels)
