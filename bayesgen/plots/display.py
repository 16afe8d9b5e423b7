"""What every display has: the figure and the axes of its picture, and `plot`, which draws it."""

import abc
import dataclasses
from typing import Any, ClassVar

import numpy as np

from bayesgen.calls import checked_calls
from bayesgen.plots.style import Axes, Option, as_they_are, pyplot, texts_of, tidy
from bayesgen.typing import Self

ROW = 3
"""Panels side by side."""


@dataclasses.dataclass(eq=False)
class Display(abc.ABC):
    """A picture in scikit-learn's style: it holds the data, and `plot` draws them.

    Attributes:
        figure_: the figure on which it was last drawn; None before.
        axes_: the axes of its panels; None before.
    """

    figure_: Any = dataclasses.field(default=None, init=False, repr=False)
    axes_: list | None = dataclasses.field(default=None, init=False, repr=False)
    _framed: ClassVar[bool] = False
    """Whether the panels keep all four spines."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Check calls of its methods."""
        super().__init_subclass__(**kwargs)
        checked_calls(cls)

    @property
    def ax_(self) -> Axes:
        """The axes of the first panel, the only one of most displays; None before it is drawn."""
        return None if self.axes_ is None else self.axes_[0]

    def plot(self, ax: Axes = None) -> Self:
        """Draw; returns self.

        Args:
            ax: axes to draw on, one for each panel; None makes them.
        """
        given = [] if ax is None else list(np.atleast_1d(ax).ravel())
        earlier = {text: words for axes in given for text, words in texts_of(axes).items()}
        self._draw(ax)
        for axes in self.axes_ or []:
            as_they_are(axes, earlier)
            if not self._framed:
                tidy(axes)
        return self

    @abc.abstractmethod
    def _draw(self, ax: Axes) -> None:
        """Draw on the axes of `_panels`."""

    def _panels(self, ax: Axes, n: int = 1, *, size: tuple[float, float] = (4.2, 3.6)) -> list:
        """Return n axes: those given, or new ones of this size in inches, in rows of three."""
        if ax is not None:
            given = list(np.atleast_1d(ax).ravel())
            if len(given) < n:
                raise ValueError(f"ax holds {len(given)} axes; {n} panels need as many.")
            self.figure_, self.axes_ = given[0].figure, given[:n]
            return self.axes_
        wide = min(n, ROW)
        tall = -(-n // wide)
        shape = (size[0] * wide, size[1] * tall)
        self.figure_, grid = pyplot().subplots(
            tall, wide, figsize=shape, squeeze=False, layout="constrained"
        )
        for unused in grid.ravel()[n:]:
            unused.set_visible(False)
        self.axes_ = list(grid.ravel()[:n])
        return self.axes_

    def _legend(self, ax: Axes, **look: Option) -> None:
        """Draw the first panel's legend: beside all panels of a new figure, else within it."""
        if ax is None:
            names = self.ax_.get_legend_handles_labels()
            self.figure_.legend(*names, loc="outside right upper", frameon=False)
        else:
            self.ax_.legend(**look)
