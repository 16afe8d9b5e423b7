"""What a fitted classifier says of its reasons."""

import abc
from collections.abc import Hashable

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state

from bayesgen import diagnose, explain
from bayesgen.errors import InvalidArgument, UnsupportedInference, UnsupportedTable
from bayesgen.estimators.deciding import Deciding
from bayesgen.inference import Posterior
from bayesgen.likelihoods.filling import together
from bayesgen.predict import log_joint, require_posterior
from bayesgen.table import Name, is_frame
from bayesgen.typing import Traceable

DRAWS = 1000
PRIOR = "(prior)"


class Explaining(Deciding, abc.ABC):
    """Why a row is given its class."""

    def evidence(
        self,
        X: object,
        target: Hashable = None,
        against: Hashable = None,
        *,
        order: str = "columns",
        interval: float | str | None = None,
        return_error: bool = False,
        random_state: object = 0,
    ) -> object:
        """Return what each cell of each row says for a class, in nats: its weight of evidence.

        A DataFrame with a line for each row and a column for each feature, in the table's order,
        after the column "(prior)": log-odds before anything was seen. A cell adds the logarithm of
        its Bayes factor, log p(x_j given x_before, y = target) - log p(x_j given x_before,
        y = against), parameters integrated out; +2.3 makes the odds ten times as large. Missing
        cells, unseen levels and columns without a say add 0.

        Rows sum to log-odds. With two classes these are `decision_function`: of the second class
        unless target is the first. With more classes name both for the log-odds of the pair;
        without `against` every cell is measured against the mean of all classes (logs that are
        finite), and without `target` there is such a column for every pair (class, feature): rows
        summed by class and exponentiated are then in proportion to `predict_proba`.

        Where columns are independent given the class (naive Bayes) the cells before make no
        difference. In joint blocks they do: order="shapley" averages over all orders in which the
        block's columns can be read (Shapley 1953), exactly in blocks of up to 8 columns and by 64
        pairs of an order and its reverse beyond. (Blocks come in the order of their first columns.)
        In a stack the weighted mean over members makes every cell lean on all others: its columns
        are one block, shown to all members at once, and a cell adds log p(y = target given x_before
        and x_j) / p(y = against given the same) - the same without x_j, of the tempered mean.
        Draws are averaged before logarithms are taken, so the sum holds for them too, and their
        cells lean on each other by Monte Carlo error alone. A row that is impossible under every
        class has the prior and no more.

        Source: Good (1985), Weight of evidence: a brief survey, Bayesian Statistics 2, 249-269.

        Args:
            X: rows.
            target: the class that is spoken for.
            against: the class that is spoken against.
            order: "columns" or "shapley".
            interval: also return lower and upper ends, two more DataFrames: that hold this share of
                the posterior of the same numbers given theta (a number between 0 and 1; they need a
                posterior, and 1,000 draws a cell), or "orders" for the least and the greatest over
                the orders that "shapley" reads. The value lies between these ends by custom, not
                by necessity: it is no mean over theta.
            return_error: also return, last, the Monte Carlo standard errors of sampled orders; 0
                where nothing was sampled.
            random_state: seed of sampled orders and draws.

        Raises:
            InvalidArgument: no such class, order or interval.
            NoPosterior: an interval of a point estimate.
            UnsupportedInference: a story of your own, of which no cell can be blanked.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_titanic_passengers()
            >>> bg.NaiveBayes().fit(X, y).evidence(X.iloc[:2]).round(2)
               (prior)   sex   age  passengerClass
            0    -0.48  1.45 -0.07            0.96
            1    -0.48 -0.95  0.45            0.96
        """
        if order not in ("columns", "shapley"):
            raise InvalidArgument.not_one_of("order", order, ["columns", "shapley"])
        shares = isinstance(interval, float | int) and 0 < interval < 1
        if interval is not None and not shares and (interval, order) != ("orders", "shapley"):
            allowed = 'a number above 0 and below 1, or "orders" with order="shapley",'
            raise InvalidArgument.out_of_range("interval", interval, allowed)
        names, contrast = explain.contrast_of(self.classes_.tolist(), target, against)
        posterior, encoded, n_rows = self._cells_of(X, "evidence()")
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
        # warns where few draws speak for a row
        never = np.isneginf(log_joint(posterior, encoded, n_rows)).all(axis=1)
        groups = self._groups(posterior, together_too=order == "shapley")
        read = explain.Reading(groups, contrast, every_order=order == "shapley", rng=rng)
        width = len(self.classes_)
        said = explain.explained(posterior.log_joint, encoded, n_rows, read, width)
        out = [said.mean, *[said.least, said.most] * (interval == "orders")]
        if shares:
            require_posterior(posterior, "evidence(interval=...)")
            tails = (1 - interval) / 2, (1 + interval) / 2
            score, n_draws, powers = explain.drawn(posterior, rng, DRAWS)
            wide = width * n_draws
            each = explain.explained(score, encoded, n_rows, read, wide, tails, powers)
            out += [each.least, each.most]
        out += [said.error] * return_error
        for array in out:
            array[1:, never] = 0.0
        frames = [self._by_feature(array, groups, names, X) for array in out]
        return frames[0] if len(frames) == 1 else tuple(frames)

    # -- the pieces -----------------------------------------------------------------------------

    @abc.abstractmethod
    def _every_place(self) -> dict[Name, explain.Cell]:
        """Return where each column is encoded: one place, unless several posteriors read it."""

    def _cells_of(self, X: object, what: str) -> tuple[Posterior, dict[str, Traceable], int]:
        """Return the posterior and encoded rows whose cells can be blanked one by one."""
        posterior, encoded, n_rows = self._encoded(X)
        if not self._every_place():
            raise UnsupportedInference.because(
                f"{what} of a story of your own",
                "it reads a row as a whole, and need not know what to do with missing cells",
                "Read the columns by likelihoods instead.",
            )
        if any(issparse(x) for x in encoded.values()):
            raise UnsupportedTable.sparse_for(what)
        return posterior, encoded, n_rows

    def _groups(self, posterior: Posterior, *, together_too: bool) -> list[list[explain.Cell]]:
        """Return the columns in their order; those of joint blocks side by side if wanted."""
        groups: dict = {}
        for cell in self._every_place().values():
            family = posterior.families.get(cell[0][0])
            if not together_too or family is None or (len(cell) == 1 and not together(family)):
                key = cell
            else:
                key = cell[0][0] if len(cell) == 1 else "several posteriors"
            groups.setdefault(key, []).append(cell)
        return list(groups.values())

    def _by_feature(
        self, array: np.ndarray, groups: list[list[explain.Cell]], names: list, X: object
    ) -> object:
        """Return (part, row, contrast) as a DataFrame with features in the table's order."""
        part = {cell: i for i, cell in enumerate((c for group in groups for c in group), start=1)}
        order = {PRIOR: 0, **{name: part[cell] for name, cell in self._every_place().items()}}
        columns = {
            (feature if name is None else (name, feature)): array[i, :, c]
            for c, name in enumerate(names)
            for feature, i in order.items()
        }
        return diagnose.frame(columns, index_of(X))


def index_of(X: object) -> object:
    """Return the index of a pandas frame, None of other tables."""
    return getattr(X, "index", None) if is_frame(X) else None
