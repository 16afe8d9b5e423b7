"""Decision regions over two columns, shaded by the probability and hatched where it is unsure."""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from bayesgen.plots import probing
from bayesgen.plots.densities import scatter
from bayesgen.plots.style import INK, Axes, Fitted, panels, pyplot, rgb, tidy

POINTS = 60


@dataclasses.dataclass(eq=False)
class RegionDisplay:
    """Which class is decided where, all other columns summed out.

    A point has the colour of its most probable class, the paler the closer that probability is to
    chance. Black lines are the borders. Hatched is where the border may lie: the intervals of
    the two most probable classes overlap. Far from all rows the colours stay strong: a probability
    compares classes and does not say that any of them fits; `novel` outlines where one does.

    Attributes:
        probability: on the grid, (class, up, across). unsure: (up, across), or None for a point
        estimate. typical: typicality, (up, across), or None. across, up: points of the grid.
        names: the two columns. classes: labels. rows: the rows drawn, (row, 2), and their labels.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> clf = bg.LDA(random_state=0).fit(X, y)
        >>> names = ("sepal_length", "sepal_width")
        >>> display = bg.plots.RegionDisplay.from_estimator(clf, X, y, features=names, points=20)
        >>> display.probability.shape
        (3, 20, 20)
    """

    probability: Float[np.ndarray, "class up across"]
    unsure: Bool[np.ndarray, "up across"] | None
    typical: Float[np.ndarray, "up across"] | None
    across: Float[np.ndarray, " across"]
    up: Float[np.ndarray, " up"]
    names: tuple
    classes: list
    rows: Float[np.ndarray, "row 2"]
    labels: np.ndarray
    novelty: float | None = None
    figure_: object = None
    ax_: object = None

    @classmethod
    def from_estimator(
        cls,
        clf: Fitted,
        X: object,
        y: ArrayLike,
        *,
        features: tuple = (0, 1),
        points: int = POINTS,
        prob: float = 0.9,
        novelty: float | None = None,
        ax: Axes = None,
    ) -> "RegionDisplay":
        """Draw the regions of a fitted classifier over two number columns.

        Args:
            clf: a fitted bayesgen classifier.
            X: rows to draw; the picture spans their values.
            y: their labels.
            features: two columns, by name or by position.
            points: of the grid along each.
            prob: level of the intervals behind the hatching.
            novelty: outline where `typicality` falls below this; None: not shown.
            ax: axes to draw on; None makes them.
        """
        pyplot()  # refuse before anything is computed
        table = probing.read(X)
        pair, across, up, values = probing.grid(table, features, points)
        frame, square = probing.probe(table, values), (points, points)
        probability = clf.predict_proba(frame)
        unsure = None
        if not clf.posterior_.point:
            unsure = _overlap(clf.predict_interval(frame, prob), probability).reshape(square)
        typical = None if novelty is None else clf.typicality(frame).reshape(square)
        return cls(
            probability.T.reshape(-1, *square),
            unsure,
            typical,
            across,
            up,
            tuple(column.name for column in pair),
            clf.classes_.tolist(),
            np.column_stack([column.values for column in pair]),
            np.asarray(y),
            novelty,
        ).plot(ax=ax)

    def plot(self, ax: Axes = None) -> "RegionDisplay":
        """Draw; returns self."""
        self.figure_, (self.ax_,) = panels(ax, 1, size=(5.6, 4.6))
        extent = (self.across[0], self.across[-1], self.up[0], self.up[-1])
        self.ax_.imshow(
            _shades(self.probability),
            extent=extent,
            origin="lower",
            aspect="auto",
            interpolation="bilinear",
            zorder=0,
        )
        best = np.sort(self.probability, axis=0)
        border = best[-1] - best[-2]
        decided = self.probability.argmax(axis=0)
        for k in range(len(self.classes)):
            signed = np.where(decided == k, border, -border)
            if (decided == k).any() and (decided != k).any():
                self.ax_.contour(
                    self.across, self.up, signed, levels=[0.0], colors=INK, linewidths=1.2
                )
        if self.unsure is not None and self.unsure.any():
            self.ax_.contourf(
                self.across,
                self.up,
                self.unsure.astype(float),
                levels=[0.5, 1.5],
                colors="none",
                hatches=["////"],
            )
        if self.typical is not None:
            self.ax_.contour(
                self.across, self.up, self.typical, levels=[self.novelty], colors=INK,
                linestyles="dotted", linewidths=1.8,
            )  # fmt: skip
        for k, name in enumerate(self.classes):
            scatter(self.ax_, self.rows[self.labels == name], k, str(name))
        self.ax_.set(xlabel=str(self.names[0]), ylabel=str(self.names[1]), title=self._title())
        self.ax_.title.set_fontsize("small")
        self.ax_.legend(framealpha=0.8)
        tidy(self.ax_)
        return self

    def _title(self) -> str:
        parts = ["strong colour: sure"]
        if self.unsure is not None:
            parts.append("hatched: the border may lie here")
        if self.typical is not None:
            parts.append(f"dotted: beyond, typicality < {self.novelty:g}")
        return "\n".join(parts)


def _overlap(interval: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Return where the interval of the best class reaches below that of the second best."""
    order = np.argsort(probability, axis=1)
    at = np.arange(len(order))
    return interval[at, order[:, -1], 0] < interval[at, order[:, -2], 1]


def _shades(probability: np.ndarray) -> Float[np.ndarray, "up across 3"]:
    """Return the colour of the best class, fading to white as its probability falls to chance."""
    best, size = probability.max(axis=0), len(probability)
    strength = 0.06 + 0.5 * (best - 1 / size) / (1 - 1 / size)
    colours = np.stack([rgb(k) for k in range(size)])[probability.argmax(axis=0)]
    return 1 - strength[..., None] * (1 - colours)
