"""Rows in and out of several fitted classifiers that answer as one."""

import abc
from collections.abc import Mapping

import numpy as np
from jaxtyping import Bool, Float
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bayesgen import arguments, explain
from bayesgen.errors import AbsentColumns, UnsupportedInference, deduplicate_warnings
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.plotting import Plotting
from bayesgen.estimators.tempering import temperature
from bayesgen.inference import Posterior, PowerPosterior, Report, Stacked
from bayesgen.model import Reader
from bayesgen.plots import WeightDisplay
from bayesgen.plots.style import Axes
from bayesgen.schema import check_columns
from bayesgen.table import Name, Table, concatenated
from bayesgen.typing import Traceable


class StackRows(Plotting, abc.ABC):
    """Members' rows side by side, under "member/block", and what one cell is to all of them."""

    members_: dict[str, Classifier]
    weights_: dict[str, float]
    report_: Report
    _powers: np.ndarray | None

    @abc.abstractmethod
    def _read(self, X: object, *, reset: bool) -> Table:
        """Return the table of rows."""

    def _fitted_posterior(self) -> Posterior:
        posterior = self._untempered()
        if self._powers is None:
            return posterior
        return PowerPosterior(posterior.reader, posterior.report, posterior, *self._powers)

    def _untempered(self) -> Stacked:
        check_is_fitted(self, "members_")
        return stack_of(self.members_, np.array(list(self.weights_.values())), self.report_)

    def _encode_rows(self, X: object) -> tuple[Posterior, dict[str, Traceable], int]:
        posterior = self._fitted_posterior()
        n_rows = self._read(X, reset=False).n_rows
        # what the members lack of their columns has been said of all columns
        with deduplicate_warnings(AbsentColumns):
            encoded = {
                f"{name}/{block}": x
                for name, member in self.members_.items()
                for block, x in member._encode_rows(X)[1].items()
            }
        return posterior, encoded, n_rows

    def sample(self, n: int = 1, random_state: object = None) -> tuple[object, np.ndarray]:
        """Return n rows, in the kind of table that fit saw, and their labels.

        Each row comes from one of the members with a density over the columns, picked by weight.
        """
        self._fitted_posterior()
        weights = np.array(list(self.weights_.values()))
        weights = weights * with_density(self.members_, self.weights_)
        n, rng = arguments.count("n", n), check_random_state(arguments.seed(random_state))
        counts = rng.multinomial(n, weights / weights.sum())
        parts = [
            member.sample(int(count), rng)
            for member, count in zip(self.members_.values(), counts, strict=True)
            if count
        ]
        tables, labels = zip(*parts, strict=True)
        return concatenated(tables), np.concatenate(labels)

    def _simulated(self, n: int) -> dict[str, Traceable]:
        return self._encode_rows(self.sample(n, 0)[0])[1]

    @property
    def posterior_(self) -> Posterior:
        """The members' posteriors in the units of the columns, weighed and tempered."""
        posterior = self._fitted_posterior()
        origin = {
            f"{name}/{block}": own
            for name, member in self.members_.items()
            for block, own in member._kept_origin().items()
        }
        return posterior.shifted(origin)

    def plot_weights(self, ax: Axes = None) -> WeightDisplay:
        """Draw who is trusted: the members' weights, and the temperature in words."""
        return WeightDisplay.from_estimator(self, ax=ax)

    @property
    def temperature_(self) -> float:
        """What log-odds are divided by: 1 over the (geometric mean) power."""
        return temperature(self._fitted_posterior())

    # -- the cells of a column in all members ------------------------------------------------------

    def _every_place(self) -> dict[Name, explain.Cell]:
        """Return where each column is encoded: in every member that reads it."""
        places: dict[Name, list[explain.Place]] = {}
        for name in self._names():
            places[name] = []
        for name, member in self.members_.items():
            made = member._made()
            for column, (block, j) in member._column_positions().items():
                source = made[column].name if column in made else column
                places.setdefault(source, []).append((f"{name}/{block}", j))
        return {column: tuple(cell) for column, cell in places.items() if cell}

    def _names(self) -> tuple[Name, ...]:
        """Return the columns of the table that was fitted, in their order."""
        found = (tuple(member._columns()) for member in self.members_.values())
        return next((names for names in found if names), ())

    def _check_columns(self, table: Table) -> None:
        """Compare the columns of a frame with those of the fit: some member may read each."""
        container = next(iter(self.members_.values()))._state_.schema.container
        name, read = type(self).__name__, self._every_place()
        if read:  # a program of the user's own reads rows as a whole
            check_columns(self._names(), read, container, table, name)

    def _groups(self, posterior: Posterior, *, together_too: bool) -> list[list[explain.Cell]]:
        """Return the columns: in a stack every cell changes what the others say."""
        cells = list(self._every_place().values())
        return [cells] if together_too else [[cell] for cell in cells]

    def _cells_of(self, X: object, what: str) -> tuple[Posterior, dict[str, Traceable], int]:
        check_is_fitted(self, "members_")
        for name, member in self.members_.items():
            if not member._every_place():
                raise UnsupportedInference.because(
                    f"{what} of a stack with the member {name!r}",
                    "a story of your own reads a row as a whole, and no cell of it can be blanked",
                    "Leave it out of members=, or read the columns by likelihoods.",
                )
        return super()._cells_of(X, what)


def stack_of(
    members: Mapping[str, Classifier], weights: Float[np.ndarray, " member"], report: Report
) -> Stacked:
    """Return the posterior of fitted members under their weights."""
    share = dict(zip(members, weights.tolist(), strict=True))
    densities = tuple(with_density(members, share).tolist())
    parts = {name: member._fitted_posterior() for name, member in members.items()}
    return Stacked(Reader({}, {}), report, parts, weights, densities)


def with_density(
    members: Mapping[str, Classifier], weights: Mapping[str, float]
) -> Bool[np.ndarray, " member"]:
    """Return which members have a density over the same columns: those of p(x).

    Densities of other columns, of indicators made of levels, or of counts where others see
    numbers are in other units, and no mean of them is one. Members that read the most columns
    alike say what p(x) is, the heavier ones if there are as many; where nobody reads columns one
    by one, all do.
    """
    seen = {name: _density_of(member) for name, member in members.items()}
    weight = {key: sum(weights[n] for n in members if seen[n] == key) for key in seen.values()}
    best = max(weight, key=lambda key: (len(key), weight[key]))
    return np.array([seen[name] == best for name in members])


def _density_of(member: Classifier) -> frozenset:
    """Return the columns, with their kinds, that a member's density is over; none if made ones."""
    if member._made():
        return frozenset()
    blocks = member._state_.schema.blocks
    return frozenset(
        (name, blocks[b][j].kind) for name, (b, j) in member._column_positions().items()
    )
