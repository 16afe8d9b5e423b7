"""What a person looks at after a fit: arviz's DataTree and a table of parameters."""

import abc
from typing import Any, Literal, overload

import numpy as np
from scipy.sparse import csr_array, issparse

from bayesgen import diagnose, predict
from bayesgen.classes import Spec
from bayesgen.errors import InvalidArgument, NoRows, UnsupportedInference
from bayesgen.estimators import rows
from bayesgen.estimators.deciding import Deciding
from bayesgen.estimators.fitted import TrainingState, columns, complete, level_names
from bayesgen.estimators.inferring import leave_one_out
from bayesgen.estimators.seeds import generator
from bayesgen.inference import Draws, Posterior, Report, log_normalised
from bayesgen.table import Name, check_labelled
from bayesgen.typing import DataFrame, DataTree, ELPDData, Encoded, Labels, Weights

DRAWS = 1000
REPLICATES = 100
ROW = ("row",)


class Looking(Deciding, abc.ABC):
    """Diagnostics of a fitted classifier."""

    class_prior: Spec
    unseen: str
    inference_: str
    report_: Report
    _state_: TrainingState
    _posterior: Posterior | None
    _training: tuple[object, object, object] | None

    def to_datatree(
        self,
        X: object = None,
        y: object = None,
        *,
        draws: int = DRAWS,
        replicates: int = REPLICATES,
        random_state: object = 0,
    ) -> DataTree:
        """Return an arviz DataTree under the names of your classes, columns and levels.

        Groups: posterior, sample_stats (of NUTS), prior, log_prior (the log density of each part's
        prior at the posterior's draws), and of the rows X, y: log_likelihood (log p(y given x,
        theta), which arviz's loo wants), log_likelihood_joint (log p(x, y given theta)),
        posterior_predictive and prior_predictive (tables simulated for the same labels),
        observed_data and constant_data. Levels stand as codes. Every row counts once, whatever its
        weight at fit. An improper prior has no groups; log_prior is absent with it, and wherever
        there is no density of the whole prior (maximum likelihood, forests of columns, learned
        prior strengths).

        A column keeps its name; one that is also the name of a dim beside it (row, chain, draw,
        sample) ends in an underscore, and a slash, which names no variable, becomes one.

        Args:
            X: rows; by default those of the last fit.
            y: their labels.
            draws: of a closed-form posterior, and of the prior.
            replicates: simulated tables in the predictive groups.
            random_state: seed of what is drawn here.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> tree = bg.QDA().fit(X, y).to_datatree(draws=100, replicates=5)
            >>> tree["posterior"]["normal.mean"].sel({"class": "setosa"}).shape
            (4, 25, 4)

            Sensitivity to powers of prior and likelihood. arviz reads log_likelihood, where the
            likelihood that the parameters were learned from belongs:

            >>> import arviz_stats as az
            >>> tree["log_likelihood"] = tree["log_likelihood_joint"]
            >>> found = az.psense_summary(tree, var_names=["class.probs"])
            >>> bool((found["prior"] < found["likelihood"]).all())
            True
        """
        if X is None or y is None:
            X, y, _ = self._rows_of_fit("to_datatree")
        rng = generator(random_state)
        posterior = diagnose.draws_of(self._fitted_posterior(), rng, draws)
        words, encoded, codes = self._words(), self._encode_rows(X)[1], self._codes(y)
        prior = self._prior(rng, draws, encoded, codes)
        groups = {
            "posterior": self._shown(posterior.params, words),
            "sample_stats": diagnose.Group(posterior.sample_stats),
            "prior": self._shown(prior, words),
            "log_prior": diagnose.Group(self._log_priors(posterior, encoded, codes)),
            **self._of_rows(posterior, encoded, codes),
            **self._simulated_rows(posterior, prior, codes, rng, replicates),
        }
        attrs = {"inference": self.inference_, "verdict": self.report_.verdict}
        return diagnose.datatree(groups, words.coords(), attrs)

    def summary(self, *, draws: int = DRAWS, random_state: object = 0, **options: Any) -> DataFrame:
        """Return a DataFrame of every parameter: mean, sd, interval, effective draws, r_hat.

        Args:
            draws: of a closed-form posterior.
            random_state: seed of these draws.
            options: of arviz's `summary`, such as var_names, ci_prob, kind.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> table = bg.NaiveBayes().fit(X, y).summary(kind="stats", ci_prob=0.9)
            >>> round(float(table.loc["normal.mean[setosa, petal_length]", "mean"]), 1)
            1.5
        """
        rng = generator(random_state)
        posterior, words = diagnose.draws_of(self._fitted_posterior(), rng, draws), self._words()
        groups = {"posterior": self._shown(posterior.params, words)}
        return diagnose.summary(diagnose.datatree(groups, words.coords(), {}), options)

    @overload
    def loo(
        self,
        X: object = ...,
        y: object = ...,
        sample_weight: object = ...,
        *,
        kind: Literal["rows"] = ...,
    ) -> DataFrame: ...
    @overload
    def loo(
        self,
        X: object = ...,
        y: object = ...,
        sample_weight: object = ...,
        *,
        kind: Literal["elpd"],
    ) -> ELPDData: ...
    def loo(
        self,
        X: object = None,
        y: object = None,
        sample_weight: object = None,
        *,
        kind: str = "rows",
    ) -> DataFrame | ELPDData:
        """Return exact leave-one-out log densities, a DataFrame with a line for each row.

        Columns: log_proba, log p(y_i given x_i, D without i), and log_joint, log p(x_i, y_i given D
        without i), in nats. Their sums score the classifier and the whole story out of sample. The
        row's statistics are taken away from those of all rows, so nothing is fitted again; only
        where the posterior is a closed form.

        kind="elpd" gives log_proba as arviz's ELPDData, for arviz's `compare`: elpd is its sum, se
        the standard error of that, and p, the effective number of parameters, is sum of
        log p(y_i given x_i, D) - elpd. Nothing is estimated by importance sampling, so n_samples is
        0, and pareto_k is None.

        A row is taken away with all of its weight. In the DataFrame it has one line whatever that
        is; in ELPDData a row of weight w counts w times, and one of weight 0 is absent.

        Args:
            X: the rows of the fit; by default those of the last one.
            y: their labels.
            sample_weight: their weights, if the fit had some.
            kind: "rows" or "elpd".

        Raises:
            UnsupportedInference: the fit was not exact.
            NoRows: these are not the rows of the fit.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> lda, qda = bg.LDA().fit(X, y), bg.QDA().fit(X, y)
            >>> float(lda.loo()["log_proba"].mean().round(3))
            -0.069
            >>> import arviz_stats as az
            >>> found = az.compare({"lda": lda.loo(kind="elpd"), "qda": qda.loo(kind="elpd")})
            >>> found.index.tolist(), float(found.loc["lda", "elpd"])
            (['qda', 'lda'], -10.0)
        """
        if kind not in ("rows", "elpd"):
            raise InvalidArgument.not_one_of("kind", kind, ["rows", "elpd"])
        if self.inference_ not in ("exact", "expected"):
            posterior = self._fitted_posterior()
            elsewhere = "Score rows held out by bg.compare({'this': clf}, X, y)"
            if not posterior.point:
                elsewhere = "Estimate it from the draws: arviz_stats.loo(clf.to_datatree())"
            raise UnsupportedInference.loses_no_row(
                "loo()", self.inference_, closed=posterior.closed, otherwise=elsewhere
            )
        if X is None or y is None:
            X, y, sample_weight = self._rows_of_fit("loo")
        else:
            self._check_complete(X)
        posterior, encoded, n_rows = self._encode_rows(X)
        codes, weight = self._codes(y), rows.weights_of(sample_weight, n_rows)
        self._check_rows_of_fit(codes, weight)
        joint, _ = leave_one_out(self._state_, self.class_prior, encoded, codes, weight, weight)
        predict.warn_impossible_rows(joint)
        own = np.arange(n_rows), codes
        proba = log_normalised(joint, posterior.log_classes())[own]
        if kind == "rows":
            return diagnose.frame({"log_proba": proba, "log_joint": joint[own]})
        whole = posterior.log_joint(encoded, n_rows)
        before = log_normalised(whole, posterior.log_classes())[own]
        return diagnose.elpd(proba, before, weight)

    # -- the pieces -----------------------------------------------------------------------------

    def _rows_of_fit(self, what: str) -> tuple[object, object, object]:
        training = getattr(self, "_training", None)
        if training is None:
            raise NoRows.pass_them(what)
        return training

    @abc.abstractmethod
    def _check_complete(self, X: object) -> None:
        """Refuse rows of the fit that lack columns which they had."""

    def _check_rows_of_fit(self, codes: Labels, weight: Weights) -> None:
        """Refuse rows that cannot be taken away: fewer, more or other ones than the fit had."""
        count = self._state_.statistics.count
        found = np.bincount(codes, weight, minlength=len(count))
        other = np.flatnonzero(~np.isclose(found, count, rtol=1e-6, atol=0))
        if len(other):
            k = other[0]
            raise NoRows.others(self.classes_[k : k + 1].tolist()[0], found[k], count[k])

    def _codes(self, y: object) -> np.ndarray:
        labels = rows.labels_of(y)
        check_labelled(np.union1d(self.classes_, labels))
        rows.check_declared(labels, self.classes_)
        return np.searchsorted(self.classes_, labels)

    def _prior(
        self, rng: np.random.Generator, draws: int, encoded: Encoded, y: Labels
    ) -> diagnose.Params:
        """Return draws of every parameter before rows were seen."""
        model = complete(self._state_, self.class_prior, frequencies=False)[0]
        return diagnose.prior_draws(model, rng, draws)

    def _log_priors(self, posterior: Draws, encoded: Encoded, y: Labels) -> dict[str, np.ndarray]:
        """Return the log density of each part's prior at the draws; none of maximum likelihood."""
        if self.inference_ == "mle":
            return {}
        model = complete(self._state_, self.class_prior, frequencies=False)[0]
        return diagnose.log_priors(model, posterior.params)

    def _words(self) -> diagnose.Words:
        learned, reader = self._state_, self._fitted_posterior().reader
        features = {name: columns(learned, reader, name) for name in reader.kept}
        levels = {name: level_names(learned, reader, name) for name in reader.kept}
        return diagnose.Words(self.classes_.tolist(), features, levels)

    def _shown(self, params: diagnose.Params, words: diagnose.Words) -> diagnose.Group:
        """Return parameters under the user's names and in the user's units."""
        families, origin = self._fitted_posterior().families, self._kept_origin()
        moved = {
            name: family.shift_params(dict(params[name]), origin[name])
            for name, family in families.items()
            if name in params
        }
        return diagnose.parameters({"class": params["class"], **moved}, families, words)

    def _of_rows(self, posterior: Draws, encoded: Encoded, y: Labels) -> dict[str, diagnose.Group]:
        """Return the groups of what was seen, and of how likely it is."""
        conditional, joint = diagnose.log_likelihoods(posterior, encoded, y)
        return {
            "log_likelihood": diagnose.Group({"y": conditional}, {"y": ROW}),
            "log_likelihood_joint": diagnose.Group({"xy": joint}, {"xy": ROW}),
            "observed_data": self._observed(encoded, len(y)),
            "constant_data": diagnose.Group({"y": y}, {"y": ROW}, samples=()),
        }

    def _simulated_rows(
        self,
        posterior: Draws,
        prior: diagnose.Params,
        y: Labels,
        rng: np.random.Generator,
        replicates: int,
    ) -> dict[str, diagnose.Group]:
        """Return the groups of tables that are simulated for the same labels."""
        params = {"posterior_predictive": posterior.params, "prior_predictive": prior}
        simulated = {
            name: diagnose.replicated(own, posterior.families, y, rng, replicates)
            for name, own in params.items()
        }
        return {name: self._by_column(rows, len(y)) for name, rows in simulated.items()}

    def _by_column(self, simulated: dict[str, np.ndarray], n_rows: int) -> diagnose.Group:
        """Return simulated tables (replicate, row, feature) by column, one chain."""
        if not simulated:
            return diagnose.Group({})
        n = len(next(iter(simulated.values())))
        flat = {name: x.reshape(n * n_rows, -1) for name, x in simulated.items()}
        encoded = rows.whole(self._state_, self._fitted_posterior(), flat, n * n_rows)
        columns = self._cells({name: encoded[name] for name in simulated})
        shaped = {name: cells.reshape(1, n, n_rows) for name, cells in columns.items()}
        return diagnose.Group(shaped, dict.fromkeys(shaped, ROW))

    def _observed(self, encoded: Encoded, n_rows: int) -> diagnose.Group:
        cells = self._cells({name: encoded[name] for name in self._fitted_posterior().reader.kept})
        return diagnose.Group(cells, dict.fromkeys(cells, ROW), samples=())

    def _cells(self, encoded: Encoded) -> dict[Name, np.ndarray]:
        """Return encoded rows by column: numbers in their own units, codes of levels or NaN."""
        out = {}
        for name, x in encoded.items():
            x = csr_array(x).toarray() if issparse(x) else x
            x = np.where(x < 0, np.nan, x) if x.dtype.kind == "i" else x
            shifted = x + self._state_.schema.origin(name)
            for j, column in enumerate(self._state_.schema.blocks[name]):
                out[column.name] = shifted[:, j]
        return out

    @abc.abstractmethod
    def _kept_origin(self) -> dict[str, np.ndarray]:
        """Return what encoding subtracted from the columns that each likelihood sees."""
