"""Classifiers of the calibration benchmark: ours, and rivals with pipelines that suit them."""

import dataclasses
import hashlib
import importlib.metadata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from calibration_tables import Benchmark
from scipy.stats import loguniform, randint, uniform
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

import bayesgen as bg

STRENGTHS = [0.001, 0.01, 0.1, 1.0, 10.0, 100.0]
NEIGHBORS = [1, 2, 3, 5, 8, 12, 20, 30, 50]
CATBOOST_CLASSES = 10
"""CatBoost's statistics of levels take 0.45 s a tree on soybean's 19 classes, seven minutes a fit;
with more classes than these it gets 0/1 columns instead, which take 8 ms a tree."""
BOOSTED = {
    "num_leaves": randint(4, 64),
    "learning_rate": loguniform(0.01, 0.3),
    "n_estimators": randint(30, 300),
    "min_child_samples": randint(2, 30),
    "reg_lambda": loguniform(1e-3, 30.0),
    "colsample_bytree": uniform(0.4, 0.6),
}
CATBOOST_GRID = {"depth": [4, 6], "learning_rate": [0.03, 0.1], "l2_leaf_reg": [3, 30]}
EBM_GRID = {"interactions": [0, 5], "learning_rate": [0.03, 0.1], "max_leaves": [2, 3]}


@dataclasses.dataclass(frozen=True)
class Rival:
    """One classifier of the report.

    make: builds it for a table. package: whose version its figures belong to. regimes: beginnings
    of the names of those it takes part in.
    """

    make: Callable[[Benchmark], BaseEstimator]
    package: str = "scikit-learn"
    regimes: tuple[str, ...] = ("",)

    def version(self, ours: str) -> str:
        """Return what its figures are kept under; `ours` for this library's own classifiers."""
        if self.package == "bayesgen":
            return ours
        return f"{self.package}-{importlib.metadata.version(self.package)}"


class FoldsByRows(ClassifierMixin, BaseEstimator):
    """A classifier that cross-validates inside, its stratified folds as many as the rows allow.

    Args:
        make: builds the classifier from a splitter.
        folds: as many, or the rows of the smallest class if those are fewer (at least two).
    """

    def __init__(self, make: Callable[[StratifiedKFold], BaseEstimator], folds: int = 5) -> None:
        self.make = make
        self.folds = folds

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "FoldsByRows":
        """Fit the classifier with its folds."""
        self.classes_, count = np.unique(y, return_counts=True)
        folds = int(np.clip(count.min(), 2, self.folds))
        cv = StratifiedKFold(folds, shuffle=True, random_state=0)
        self.fitted_ = self.make(cv).fit(X, y)
        return self

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """Return P(class given row), shape (row, class)."""
        return self.fitted_.predict_proba(X)


def prepare(table: Benchmark, imputer: BaseEstimator | None = None) -> BaseEstimator:
    """Return what scales numbers, spreads levels over 0/1 columns and fills missing values."""
    return make_pipeline(
        make_column_transformer(
            (StandardScaler(), table.numbers), (FunctionTransformer(indicators), table.levels)
        ),
        imputer or SimpleImputer(keep_empty_features=True),
    )


def indicators(X: pd.DataFrame) -> np.ndarray:
    """Return a 0/1 column for each level (one for two levels), missing where the cell is."""
    columns = [
        np.where(X[c].isna(), np.nan, X[c] == level)
        for c in X
        for level in X[c].cat.categories[int(len(X[c].cat.categories) == 2) :]
    ]
    return np.stack(columns, axis=1).astype(float) if columns else np.empty((len(X), 0))


def words(X: pd.DataFrame) -> pd.DataFrame:
    """Return the columns with levels as text, a missing one a level of its own (CatBoost)."""
    levels = [c for c in X if isinstance(X[c].dtype, pd.CategoricalDtype)]
    return X.assign(**{c: X[c].astype(object).fillna("missing").astype(str) for c in levels})


def _ours(make: Callable[[], BaseEstimator]) -> Rival:
    return Rival(lambda table: make(), "bayesgen")


def _searched(pipeline: BaseEstimator, grid: dict[str, list], folds: int = 5) -> BaseEstimator:
    search = {"scoring": "neg_log_loss", "error_score": -np.inf}
    return FoldsByRows(lambda cv: GridSearchCV(pipeline, grid, cv=cv, **search), folds)


def _logistic(table: Benchmark) -> BaseEstimator:
    direct = make_pipeline(prepare(table), LogisticRegression(max_iter=2000))
    return _searched(direct, {"logisticregression__C": STRENGTHS})


def _neighbors(table: Benchmark) -> BaseEstimator:
    # more neighbors than the rows of a fold fail, and are not chosen
    direct = make_pipeline(prepare(table), KNeighborsClassifier())
    return _searched(direct, {"kneighborsclassifier__n_neighbors": NEIGHBORS})


def _forest(table: Benchmark) -> BaseEstimator:
    return make_pipeline(prepare(table), RandomForestClassifier(500, random_state=0))


def _boosting(table: Benchmark) -> BaseEstimator:
    return HistGradientBoostingClassifier(random_state=0)


def _calibrated(make: Callable[[Benchmark], BaseEstimator], folds: int = 5) -> Rival:
    return Rival(
        lambda table: FoldsByRows(lambda cv: CalibratedClassifierCV(make(table), cv=cv), folds)
    )


def _catboost(table: Benchmark, **settings: float) -> BaseEstimator:
    from catboost import CatBoostClassifier

    settings |= {"allow_writing_files": False, "verbose": False, "thread_count": 1}
    if len(table.classes) > CATBOOST_CLASSES:
        settings["one_hot_max_size"] = 255
    boosted = CatBoostClassifier(cat_features=tuple(table.levels), random_seed=0, **settings)
    return make_pipeline(FunctionTransformer(words), boosted)


def _catboost_tuned(table: Benchmark) -> BaseEstimator:
    grid = {f"catboostclassifier__{name}": values for name, values in CATBOOST_GRID.items()}
    return _searched(_catboost(table, iterations=300), grid, folds=3)


def _lightgbm(table: Benchmark) -> BaseEstimator:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=0, n_jobs=1, verbose=-1)


def _lightgbm_tuned(table: Benchmark) -> BaseEstimator:
    searched = {"n_iter": 20, "scoring": "neg_log_loss", "random_state": 0}
    return FoldsByRows(
        lambda cv: RandomizedSearchCV(_lightgbm(table), BOOSTED, cv=cv, **searched), folds=3
    )


def _ebm_tuned(table: Benchmark) -> BaseEstimator:
    from interpret.glassbox import ExplainableBoostingClassifier

    kinds = ["nominal" if c in table.levels else "continuous" for c in table.X]
    # below the defaults, whose single fit of glass or crabs takes half a minute to a minute
    fewer = {"outer_bags": 4, "max_interaction_bins": 16, "max_rounds": 1000}
    settings = {"feature_types": kinds, "n_jobs": 1, "random_state": 0}
    boosted = ExplainableBoostingClassifier(**fewer, **settings)
    return _searched(boosted, EBM_GRID, folds=3)


def _process(table: Benchmark) -> BaseEstimator:
    # scaled columns: rows are about the root of their number apart
    kernel = 1.0 * RBF(np.sqrt(len(table.X.T)))
    return make_pipeline(prepare(table), GaussianProcessClassifier(kernel, random_state=0))


def _iterative(table: Benchmark) -> BaseEstimator:
    # the imputer takes seconds and sees no classes, so the search does not repeat it
    imputer = IterativeImputer(random_state=0, keep_empty_features=True)
    searched = _searched(LogisticRegression(max_iter=2000), {"C": STRENGTHS})
    return make_pipeline(prepare(table, imputer), searched)


_FEW = ("small", "middle")

OURS = {
    "stack": _ours(lambda: bg.StackedClassifier(random_state=0)),
    "stack, no temper": _ours(lambda: bg.StackedClassifier(temper=None, random_state=0)),
    "NB tempered": _ours(lambda: bg.NaiveBayes(temper="learn", random_state=0)),
    "NB Bayes": _ours(lambda: bg.NaiveBayes(random_state=0)),
    "NB average": _ours(lambda: bg.NaiveBayes(columns="average", random_state=0)),
    "NB MLE": _ours(lambda: bg.NaiveBayes(inference="mle", random_state=0)),
}
RIVALS = {
    "class frequencies": Rival(lambda table: DummyClassifier(strategy="prior")),
    "logistic": Rival(_logistic),
    "logistic, iterative imputer": Rival(_iterative, regimes=("missing",)),
    "forest": Rival(_forest),
    "boosting": Rival(_boosting),
    "CatBoost": Rival(_catboost, "catboost"),
    "CatBoost, tuned": Rival(_catboost_tuned, "catboost", ("tuned",)),
    "EBM, tuned": Rival(_ebm_tuned, "interpret-core", ("tuned",)),
    "LightGBM": Rival(_lightgbm, "lightgbm"),
    "forest, calibrated": _calibrated(_forest),
    "boosting, calibrated": _calibrated(_boosting),
    "LightGBM, tuned": Rival(_lightgbm_tuned, "lightgbm"),
    "kNN": Rival(_neighbors),
    "SVC, calibrated": dataclasses.replace(
        _calibrated(lambda table: make_pipeline(prepare(table), SVC(random_state=0))), regimes=_FEW
    ),
    "Gaussian process": Rival(_process, regimes=_FEW),
}


def classifiers(wanted: list[str], only_ours: bool = False) -> dict[str, Rival]:
    """Return the classifiers wanted, all if none are named."""
    found = OURS if only_ours else {**OURS, **RIVALS}
    if unknown := set(wanted) - set(found):
        raise SystemExit(
            f"no classifier {', '.join(sorted(unknown))}; there are {', '.join(found)}"
        )
    return {name: rival for name, rival in found.items() if not wanted or name in wanted}


def installed(rivals: dict[str, Rival]) -> tuple[dict[str, Rival], list[str]]:
    """Return the classifiers whose package is installed, and a sentence for each of the others."""
    absent = {
        name: f"{name} is left out: the package {rival.package} is not installed."
        for name, rival in rivals.items()
        if not list(importlib.metadata.distributions(name=rival.package))
    }
    return {name: rival for name, rival in rivals.items() if name not in absent}, [*absent.values()]


def source_version() -> str:
    """Return this library's version and a hash of its source."""
    folder = Path(bg.__file__).parent
    sources = sorted(folder.rglob("*.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    return f"{bg.__version__}-{digest[:10]}"
