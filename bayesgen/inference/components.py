"""Components of a posterior: what inference knows of rows, classes and parameters.

They are a closed form (`ClosedForm`), draws of parameters (`Draws`), a mean of closed forms given
other statistics (`Average`), the members of a stack (`Mixture`), or those of groups (`ByGroup`).
Rows are encoded rows, one array for each block.
"""

import abc
import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from jaxtyping import Float, Int

from bayesgen.classes import ClassPrior
from bayesgen.errors import Cure, UnsupportedOperation
from bayesgen.inference.chain_diagnostics import MonteCarloError
from bayesgen.inference.class_draws import ClassDraws, PartWeights
from bayesgen.inference.report import Report
from bayesgen.inference.scores import Scores, class_probabilities, likelihood_of
from bayesgen.likelihoods import Likelihood
from bayesgen.likelihoods.base import CellDensities
from bayesgen.likelihoods.protocols import Imputation, required
from bayesgen.likelihoods.selection import NOTHING, Selection
from bayesgen.model import Reader
from bayesgen.schema import GROUPS
from bayesgen.typing import Encoded, Joint, Labels, Params, Traceable

DENSITY_FLOATS = 500_000
"""Log densities held at once: 4 MB, a share of a third-level cache (measured: larger blocks run no
faster, and intervals a tenth slower; 1,000 draws x 5 classes need 100 rows a block)."""

NEW_GROUP = -1
"""The code of a group that was not in the rows of the fit."""

Imputed = dict[str, Traceable]


@dataclasses.dataclass(frozen=True, eq=False)
class LogJointDraws:
    """Log joints of rows given each of several draws of the parameters.

    score: (encoded rows, their number) -> log p(x, y = k given theta), shape (row, draw, class).
    n_draws: their number. parts: (encoded rows, their number) -> log densities of each part (see
    `Scores`), shape (row, draw, part, class). powers: likelihood power of each draw, (draw,) or one
    number.
    """

    score: Callable[[Encoded, int], np.ndarray]
    n_draws: int
    parts: Callable[[Encoded, int], np.ndarray]
    powers: np.ndarray | float = 1.0


@dataclasses.dataclass(frozen=True, eq=False)
class Components(abc.ABC):
    """What inference found: densities of rows, draws and imputations from one interface.

    reader: passes encoded rows to the likelihoods. report: of the inference run.
    """

    reader: Reader
    report: Report

    def __getstate__(self) -> dict[str, object]:
        """Return the fields alone: cached scorers are functions, which cannot be pickled."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    # -- properties -----------------------------------------------------------------------------

    @property
    def point(self) -> bool:
        """Whether this is a point estimate, without posterior uncertainty."""
        return False

    @property
    @abc.abstractmethod
    def families(self) -> dict[str, Likelihood]:
        """The likelihood of each block."""

    @property
    def closed(self) -> bool:
        """Whether the model has a closed form, regardless of the inference used."""
        families = self.families.values()
        return bool(families) and all(family.conjugate for family in families)

    @property
    def coherent(self) -> bool:
        """Whether class probabilities are the expectation of those given one more cell."""
        return True

    @property
    def groups(self) -> "Mapping[int, Components]":
        """The components of each group of rows, -1 of a new one; none if rows have no groups."""
        return {}

    def point_params(self) -> dict[str, Params] | None:
        """Return the parameters of a point estimate by owner; None for other posteriors."""
        return None

    def normal_centre(self, block: str) -> Params:
        """Return the class means and the shared covariance at the center of a normal block."""
        hyper = self.families[block].heaviest().arrays()
        return {"mean": hyper["mean"], "covariance": hyper["scale"][0]}

    # -- probabilities ---------------------------------------------------------------------------

    @abc.abstractmethod
    def log_joint(self, encoded: Encoded, n_rows: int) -> Joint:
        """Return log p(x, y = k given data), shape (row, class)."""

    def log_joint_and_error(
        self, encoded: Encoded, n_rows: int
    ) -> tuple[Joint, MonteCarloError | None]:
        """Return the log joint and, where it is a mean over draws, its Monte Carlo error."""
        return self.log_joint(encoded, n_rows), None

    def more_draws(self) -> Cure:
        """Return the argument to suggest if there are too few draws."""
        return Cure("")

    def log_density(self, encoded: Encoded, n_rows: int) -> Float[np.ndarray, " row"]:
        """Return log p(x given data), classes summed out."""
        return np.logaddexp.reduce(self.log_joint(encoded, n_rows), axis=1)

    @abc.abstractmethod
    def log_classes(self) -> Float[np.ndarray, " class"]:
        """Return log P(y = k given data), shape (class,)."""

    def scores(self, encoded: Encoded, n_rows: int) -> Scores:
        """Return the log joint, and its parts: here a single one."""
        joint, log_classes = self.log_joint(encoded, n_rows), self.log_classes()
        return Scores(joint, log_classes, likelihood_of(joint, log_classes)[:, None])

    @abc.abstractmethod
    def with_classes(self, classes: ClassPrior) -> "Components":
        """Return the same under another class prior."""

    @abc.abstractmethod
    def shifted(self, origin: dict[str, np.ndarray]) -> "Components":
        """Return the posterior for rows shifted by the origin, in the user's units."""

    @property
    def reweighable(self) -> bool:
        """Whether importance sampling can reweight draws to leave a row out."""
        return False

    def require_leave_one_out(self, what: str, otherwise: str | None = None) -> None:
        """Raise unless rows can be left out exactly, which requires a closed form.

        Args:
            what: the method or argument that needs it.
            otherwise: the remedy if the model has no closed form.

        Raises:
            UnsupportedOperation: with the remedy.
        """
        if otherwise is None:
            otherwise = "Estimate it from the draws: arviz_stats.loo(clf.to_datatree())"
            if self.point:
                otherwise = "Score rows held out by bg.compare({'this': clf}, X, y)"
        if self.closed:
            otherwise = (
                "Pass inference='expected': it is exact where no cell of a joint block is missing, "
                "and close where some are"
            )
        raise UnsupportedOperation(
            "{what} needs a closed-form posterior, from which rows can be removed, but inference_ "
            "is {method!r}.",
            "{cure}.",
            what=what,
            method=self.report.method,
            cure=otherwise,
        )

    def require_loo(self) -> None:
        """Raise unless rows can be left out, exactly or by reweighting draws."""
        if not self.reweighable:
            cure = (
                "Pass inference='nuts', or score held-out rows by bg.compare({'this': clf}, X, y)"
            )
            self.require_leave_one_out("loo()", cure if self.point else None)

    # -- draws -----------------------------------------------------------------------------------

    def class_draws(
        self, encoded: Encoded, n_rows: int, *, weights: PartWeights | None = None
    ) -> Iterator[ClassDraws]:
        """Yield draws of P(y = k given x, theta) chunk by chunk of rows.

        Of components with groups, those of each group are asked instead (see `Posterior`).

        weights: of the parts, those of `scores`, whose weighted sums come with them; None: no sums.
        """
        raise NotImplementedError(f"{type(self).__name__}.class_draws: ask those of a group")

    def with_draws(self, n: int) -> "Components":
        """Return the posterior with at most n draws behind intervals, if their number is free."""
        return self

    @abc.abstractmethod
    def parameters(self, rng: np.random.Generator, n: int) -> dict[str, Params]:
        """Return n draws of all parameters, by owner, each of shape (draw, ...)."""

    def part_powers(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "n part"] | None:
        """Return powers of the parts of the likelihood under n draws; (n, 1): those of the whole.

        None if parameters are not drawn, of point estimates, or not of one model, of stacks.
        """
        return None if self.point else np.ones((n, 1))

    def log_joint_draws(
        self, rng: np.random.Generator, n: int, *, exactly: bool = False
    ) -> LogJointDraws:
        """Return the log joint given every draw: n of a closed form, or those of a sampler.

        Of components with groups, those of each group are asked instead (see `Posterior`).

        exactly: whether a sampler's draws are thinned to n as well.
        """
        raise NotImplementedError(f"{type(self).__name__}.log_joint_draws: ask those of a group")

    # -- missing cells ---------------------------------------------------------------------------

    def selection(self, block: str) -> Selection:
        """Return what the model reads of a block."""
        return self.reader.selections.get(block, NOTHING)

    def dependent_cells(self, block: str) -> object | None:
        """Return a key shared by the columns that are dependent given the class.

        None where the columns of the block are independent given the class.
        """
        family = self.families.get(block)
        return block if family is not None and family.columns_inform_each_other else None

    def require_imputable(self, block: str) -> None:
        """Raise for a block whose cells cannot be imputed: words of a text."""
        if block in self.families:
            required(self.families[block], Imputation)

    @abc.abstractmethod
    def impute(
        self, encoded: Encoded, n_rows: int, rng: np.random.Generator, own: Labels | None = None
    ) -> Imputed:
        """Return encoded rows whose missing cells are drawn given the observed ones.

        The class is drawn first, from p(y = k given x, data) unless `own` gives it, then the cells
        given the class, so cells follow the distribution with density `log_joint`. Columns excluded
        from the fit stay missing.
        """

    def class_weights(self, encoded: Encoded, n_rows: int) -> Joint:
        """Return the probability of each class by which missing cells are imputed."""
        return class_probabilities(self.log_joint(encoded, n_rows), self.log_classes())

    def conditional(self, block: str, encoded: Encoded, own: Labels) -> CellDensities | None:
        """Return location, scale and degrees of freedom of missing cells given the observed ones.

        Of Student-t distributions, normal where the degrees are infinite, given class `own` of each
        row; (row, feature), NaN for observed cells. None: the cells have no such closed form.
        """
        return None

    def stratified_imputations(
        self, encoded: Encoded, n_rows: int, draws: int, rng: np.random.Generator
    ) -> tuple[Imputed, np.ndarray]:
        """Return many imputations of each row, stratified by class, and the strata's weights.

        The rows stand stratum by stratum and draw by draw, shape (stratum, draw, row) flattened:
        `draws` of each class. Weights have shape (stratum, row): P(y = k given x).
        """
        weight = self.class_weights(encoded, n_rows)
        n_classes = weight.shape[1]
        many = take_rows(encoded, np.tile(np.arange(n_rows), n_classes * draws))
        own = np.repeat(np.arange(n_classes), draws * n_rows)
        return self.impute(many, len(own), rng, own), weight.T


def codes_of_groups(
    groups: Mapping[int, Components], encoded: Encoded, n_rows: int
) -> Int[np.ndarray, " row"]:
    """Return the group of each row, -1 of a new one.

    groups: of `Components.groups`; rows of groups that are not among them are of a new one.
    """
    codes = np.full(n_rows, NEW_GROUP)
    for name, x in encoded.items():
        if name.endswith(GROUPS):
            codes = np.where(np.isin(x[:, 0], list(groups)), x[:, 0], NEW_GROUP)
    return codes


def rows_by_group(
    groups: Mapping[int, Components], encoded: Encoded, n_rows: int
) -> Iterator[tuple[Components, Int[np.ndarray, " row"]]]:
    """Yield the components of each group among rows, and the positions of its rows."""
    codes = codes_of_groups(groups, encoded, n_rows)
    for code in np.unique(codes).tolist():
        yield groups[code], np.flatnonzero(codes == code)


def class_draws_by_group(
    groups: Mapping[int, Components],
    encoded: Encoded,
    n_rows: int,
    draw: Callable[[Components, Encoded, int], Iterator[ClassDraws]],
) -> Iterator[ClassDraws]:
    """Yield draws of P(y = k given x, theta), theta of the row's group, group by group.

    draw: (components of a group, its rows, their number) -> draws.
    """
    for components, rows in rows_by_group(groups, encoded, n_rows):
        for draws in draw(components, take_rows(encoded, rows), len(rows)):
            yield dataclasses.replace(draws, rows=rows[draws.rows])


def log_joint_draws_by_group(
    groups: Mapping[int, Components], draw: Callable[[Components], LogJointDraws]
) -> LogJointDraws:
    """Return the log joint given draws of the parameters of the row's group.

    draw: components of a group -> as many draws as of the other groups.
    """
    draws = {id(components): draw(components) for components in groups.values()}

    def by_row(name: str, encoded: Encoded, n_rows: int) -> np.ndarray:
        parts = [
            (rows, getattr(draws[id(each)], name)(take_rows(encoded, rows), len(rows)))
            for each, rows in rows_by_group(groups, encoded, n_rows)
        ]
        out = np.empty((n_rows, *parts[0][1].shape[1:]))
        for rows, part in parts:
            out[rows] = part
        return out

    first = next(iter(draws.values()))
    score, parts = (functools.partial(by_row, name) for name in ("score", "parts"))
    return LogJointDraws(score, first.n_draws, parts, first.powers)


def take_rows(encoded: Encoded, rows: np.ndarray | slice) -> dict[str, Traceable]:
    """Return some of the encoded rows."""
    return {name: x[rows] for name, x in encoded.items()}


def picked(weight: np.ndarray, place: Float[np.ndarray, "row 1"]) -> np.ndarray:
    """Return for each row the index whose cumulative weight interval contains its number."""
    steps = weight.cumsum(axis=1)
    return np.minimum((place * steps[:, -1:] >= steps).sum(axis=1), weight.shape[1] - 1)
