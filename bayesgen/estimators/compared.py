"""Comparison of classifiers, by default of those that `bayesgen compare` compares."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import cast, get_args

import numpy as np

from bayesgen import arguments
from bayesgen.calls import checked_call
from bayesgen.compare import Comparison
from bayesgen.compare import compare as cross_validated
from bayesgen.errors import InvalidArgument, UnsupportedOperation
from bayesgen.errors.dialect import REPEATED
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.discriminant import LDA, QDA
from bayesgen.estimators.method_names import METHODS, RIVALS, MethodName, RivalName, Size
from bayesgen.estimators.naive_bayes import NaiveBayes
from bayesgen.estimators.stacked import StackedClassifier
from bayesgen.estimators.unlabelled_fit import Weight
from bayesgen.inference import NUTS
from bayesgen.progress_bar import Progress
from bayesgen.table import Table, read_labels, read_table

NO_LEARNED_WEIGHT = ("mle", "map")
"""Methods that take a stated weight of rows without a class, and learn none; nuts takes none."""
FEW = 24
"""Training rows at which, by default, classifiers are compared too."""
DRAWS = 25
"""Draws of training rows, each scored on its own fold: on the passengers of the Titanic the
standard error of the log loss is then .013 to .017 (measured)."""


@checked_call
def compare(
    classifiers: object = None,
    X: object = None,
    y: object = None,
    *,
    cv: object = 5,
    groups: object = None,
    by: object = None,
    rivals: RivalName | Sequence[RivalName] | None = None,
    train_size: int | float | None = None,
    train_sizes: Sequence[int | float] | None = None,
    random_state: int | None = 0,
    n_jobs: int | None = 1,
    progress: Progress = "auto",
    sample_weight: object = None,
) -> Comparison:
    """Return cross-validated scores of several classifiers on the same folds.

    A clone of each classifier is fitted to each fold. Text columns become categories with the
    levels of the whole table. A classifier that fails on missing values or levels is wrapped in a
    Pipeline of mean and most-frequent imputation and one-hot encoding; CatBoost and LightGBM are
    told which columns hold levels (`cat_features`, `categorical_feature`). Warnings are collected
    in `Comparison.warnings`.

    Args:
        classifiers: name -> scikit-learn classifier with predict_proba; the first is the reference.
            Without them, as in bg.compare(X, y), those of `bayesgen compare`: a stack, naive Bayes
            by the exact posterior, the posterior mode and maximum likelihood, the class frequencies
            and logistic regression; where there are at least 96 rows also after fits to 24 rows
            (`Comparison.few`), unless train_size states another number.
        X: dataframe (pandas, polars, pyarrow) or array, shape (row, feature); cells may be missing.
        y: one label for each row, or a table of probabilities (see `Classifier.fit`), whose scores
            are expected ones and which classifiers of this library alone take. Rows without a label
            (None, NaN, NA) are never scored; classifiers of this library are fitted to all of them
            in every fold, unless unlabelled=None.
        cv: number of stratified, shuffled folds, or a scikit-learn splitter. A number is reduced,
            with a note, to the number of rows (or groups) of the smallest class.
        groups: shape (row,), such as patients; rows of one group are never both fitted and scored
            in a fold.
        by: name of a column of X, or the values of another one, shape (row,): scores of the rows of
            each of its levels too, see `Comparison.subgroups`. Up to 20 levels, besides missing; a
            Series goes by its index. Not the classes: the confusion table has these.
        rivals: of other libraries, to compare with as well: frequencies (of the classes), logistic,
            forest, boosting, catboost, lightgbm; the last two need packages of these names. One
            name, or several. None: frequencies and logistic beside the default classifiers, no
            others beside stated ones.
        train_size: fit only this number of rows, or (up to 1.0) this fraction, of each fold, drawn
            at random with the classes in proportion. The folds then differ both in the rows that
            are fitted and in those that are scored, so that standard errors over many folds, such
            as cv=25, include both sources of variation.
        train_sizes: also fit to these numbers of rows, or (up to 1.0) fractions, of each fold:
            nested, stratified subsets; see `Comparison.curves`.
        random_state: seed of the shuffling. Seeds of the classifiers are their own.
        n_jobs: parallel processes, -1 for one per core; timings then include competition between
            fits.
        progress: "auto" shows a bar in a terminal and in a notebook; True or False force it. Stacks
            and samplers have a `progress` of their own, which False turns off too.
        sample_weight: None: every row counts once. Weights are refused: scores and their standard
            errors are those of rows. Rows of whole weights can be repeated, the copies of each in
            one group.

    Raises:
        BayesgenError: invalid arguments or rows. Errors raised by a fit carry a note with the
            classifier and fold.

    Examples:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_titanic_passengers()
        >>> rivals = {"MLE": bg.NaiveBayes(inference="mle"), "Bayes": bg.NaiveBayes()}
        >>> bg.compare(rivals, X, y).table["method"].to_dict()
        {'MLE': 'mle', 'Bayes': 'exact'}
        >>> list(bg.compare(X[:90], y[:90], cv=2).table.index)
        ['stack', 'exact Bayes', 'MAP', 'MLE', 'frequencies', 'logistic']
    """
    if sample_weight is not None:
        raise UnsupportedOperation(
            "compare has no weights: scores and their standard errors are those of rows.",
            "Repeat rows of whole weights, the copies of each in one group: "
            "k = numpy.repeat(range(len(X)), numpy.asarray(sample_weight, dtype=int)), then "
            "bg.compare({repeated}, groups=k).",
            repeated=REPEATED,
        )
    rivals = (cast(RivalName, rivals),) if isinstance(rivals, str) else rivals
    options: dict = {"random_state": random_state, "n_jobs": n_jobs, "progress": progress}
    options |= {"groups": groups, "by": by}
    sizes: dict = {"cv": cv, "train_size": train_size, "train_sizes": train_sizes}
    if (
        classifiers is not None
        and y is not None
        and (X is not None or _are_classifiers(classifiers))
    ):
        added = new_rivals(rivals or (), random_state)
        if isinstance(classifiers, Mapping) and (twice := classifiers.keys() & added.keys()):
            raise InvalidArgument(
                "classifiers and rivals both hold {twice:listed}.",
                "Rename it in classifiers, or leave it out of rivals.",
                twice=sorted(twice),
            )
        compared = {**cast(Mapping, classifiers), **added} if added else classifiers
        return cross_validated(cast(Mapping, compared), X, y, **sizes, **options)
    given = [value for value in (classifiers, X, y) if value is not None]
    if len(given) != 2 or _are_classifiers(given[0]):
        raise InvalidArgument(
            "compare needs rows and their labels: bg.compare(X, y), or "
            "bg.compare({'LDA': bg.LDA(), ...}, X, y)."
        )
    X, y = given
    table, target = read_table(X), read_labels(y, silent=True)
    compared = {
        **classifiers_by_method(
            NaiveBayes,
            default_methods(NaiveBayes, table),
            table,
            random_state,
            unlabelled="learn" if target.n_missing else None,
        ),
        # which take one class for each row
        **new_rivals(
            (RIVALS if target.shares is None else ()) if rivals is None else rivals, random_state
        ),
    }
    comparison = cross_validated(compared, X, y, **sizes, **options)
    counts = np.unique(target.labels, return_counts=True)[1].tolist()
    if train_size is not None or FEW not in default_sizes(counts):
        return comparison
    few = cross_validated(compared, X, y, cv=DRAWS, train_size=FEW, **options)
    return dataclasses.replace(comparison, few=few)


def _are_classifiers(value: object) -> bool:
    """Return whether a value is a mapping of classifiers, and no table of columns."""
    values = list(value.values()) if isinstance(value, Mapping) else []
    return any(hasattr(one, "predict_proba") for one in values)


def default_methods(kind: type[Classifier], table: Table) -> tuple[MethodName, ...]:
    """Return how a model is fitted for a comparison: by NUTS only if nothing is exact."""
    sampled: tuple[MethodName, ...] = () if has_closed_form(kind, table) else ("nuts",)
    return ("stacked", "exact", "map", "mle", *sampled)


def has_closed_form(kind: type[Classifier], table: Table) -> bool:
    """Return whether the posterior is exact: a multivariate normal's is, of complete rows."""
    missing = any(column.missing.any() for column in table.columns)
    return not (kind in (LDA, QDA) and missing)


def classifiers_by_method(
    kind: type[Classifier],
    methods: Sequence[MethodName],
    table: Table,
    seed: int | None,
    *,
    unlabelled: Weight = None,
    nuts: NUTS | None = None,
) -> dict[str, Classifier]:
    """Return one classifier for each method, under the name to print, the stack first.

    Args:
        kind: of model.
        methods: how to fit it; "stacked" is a stack of structures whatever the model.
        table: the table to fit.
        seed: of everything random.
        unlabelled: weight of rows without a class, None if there are none; nuts, and where it is
            learned methods that cannot, are fitted to the other rows.
        nuts: settings of the sampler.
    """
    inference: dict = {**{name: name for name in METHODS}, "nuts": nuts or NUTS()}
    names = METHODS
    if not has_closed_form(kind, table):
        # importance sampling or data augmentation
        inference, names = {**inference, "exact": "auto"}, {**METHODS, "exact": "Bayes"}
    if unlabelled is not None:
        # neither have rows without a class, whose labels are expected
        inference, names = {**inference, "exact": "expected"}, {**METHODS, "exact": "Bayes"}
    found: dict[str, Classifier] = {}
    for method in sorted(methods, key=list(METHODS).index):
        alone = method == "nuts" or (unlabelled == "learn" and method in NO_LEARNED_WEIGHT)
        options: dict = {"random_state": seed, "unlabelled": None if alone else unlabelled}
        found[names[method]] = (
            StackedClassifier(**options)
            if method == "stacked"
            else kind(inference=inference[method], **options)
        )
    return found


def new_rivals(names: Sequence[RivalName], seed: int | None) -> dict[str, object]:
    """Return classifiers of other libraries by name.

    Raises:
        InvalidArgument: another name. MissingPackage: CatBoost or LightGBM is not installed.
    """
    for name in names:
        arguments.one_of("rivals", name, get_args(RivalName))
    # imports its forests, which nothing else needs
    from bayesgen.compare.rivals import rival

    return {name: rival(name, seed) for name in names}


def default_sizes(counts: Sequence[int]) -> tuple[Size, ...]:
    """Return the numbers of training rows, given the number of rows of each class."""
    enough = sum(counts) >= 4 * FEW and 2 * len(counts) <= FEW
    return (FEW, "all") if enough and min(counts, default=0) > 1 else ("all",)
