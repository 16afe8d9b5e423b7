"""Cross-validation: fit every classifier on the same folds and score the held-out rows."""

import dataclasses
import functools
import time
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, cast

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from jaxtyping import Float, Int, Shaped
from sklearn.base import BaseEstimator, clone

from bayesgen import arguments
from bayesgen.calibrate import log_loss_at
from bayesgen.classes import LEARNING, states_frequencies
from bayesgen.compare.comparison import Comparison
from bayesgen.compare.folds import (
    Fold,
    all_training_rows,
    copies_together,
    drawn,
    split,
    training_rows,
)
from bayesgen.compare.scores import DIFFERENCE, Scores, with_errors
from bayesgen.compare.subgroups import Subgroups
from bayesgen.errors import Cure, InvalidArgument, InvalidData
from bayesgen.errors.arguments import out_of_range
from bayesgen.errors.data import TARGET, wrong_length
from bayesgen.errors.notes import Note, note
from bayesgen.membership import among, shares_of
from bayesgen.progress_bar import Progress, progress_bar
from bayesgen.schema import (
    blank_text,
    identifiers,
    ignored,
    in_numbers,
    no_feature_left,
    suspicions,
)
from bayesgen.table import (
    Table,
    TableColumn,
    Target,
    as_frame,
    read_labels,
    read_table,
    require_same_order,
    soft_target,
)
from bayesgen.typing import AnyClassifier, Joint, Labels, Membership


@dataclasses.dataclass(frozen=True, eq=False)
class ComparedRows:
    """The rows that all classifiers are fitted to.

    X: dataframe or array, text columns as categories of the whole table, numbers that were written
    as text as such. table: the same, read. as_written: before that. target: the labels.
    identifiers: columns of the table as it came that are left out.
    """

    X: object
    table: Table
    as_written: Table
    target: Target
    identifiers: Sequence[TableColumn] = ()

    @classmethod
    def read(cls, X: object, y: object, stated: Collection[object] = ()) -> "ComparedRows":
        """Return the rows of a table and their labels, without identifiers.

        stated: columns that are none, because a classifier has a likelihood of their own.

        Raises:
            InvalidData: X is no table; labels are numbers with decimals, or not one for each row.
        """
        require_same_order(X, y=y)
        target, as_written = read_labels(y), read_table(X)
        found = identifiers(in_numbers(as_written), stated)
        if found and len(found) == len(as_written.columns):
            raise no_feature_left(found)
        as_written = functools.reduce(Table.without, (column.name for column in found), as_written)
        table = in_numbers(as_written)
        fractions = [c for c in target.classes.tolist() if isinstance(c, float) and c % 1]
        if fractions:
            raise InvalidData(
                "{target} holds {value:g}, a fraction and not a class; text, whole numbers "
                "or booleans are allowed.",
                Cure(
                    "Cut it into classes first: pandas.cut(y, 3).astype(str).",
                    "Write classes into this column, such as low and high.",
                ),
                target=TARGET,
                value=fractions[0],
            )
        if len(target.codes) != table.n_rows:
            raise wrong_length(len(target.codes), table.n_rows)
        # otherwise every fold has the levels that its own rows happen to show, and a sampler
        # recompiles for each
        columns = [dataclasses.replace(column, declared=True) for column in table.columns]
        X = as_frame(dataclasses.replace(table, columns=columns))
        return cls(X, table, as_written, target, found)

    @functools.cached_property
    def matrix(self) -> Float[np.ndarray, "row feature"]:
        """Numbers as they are, and levels as their codes; NaN where missing."""
        return np.column_stack(
            [np.where(c.missing, np.nan, c.values.astype(float)) for c in self.table.columns]
        )

    def to_fit(
        self, rows: Int[np.ndarray, " _"], *, unlabelled: bool
    ) -> tuple[Int[np.ndarray, " _"], Shaped[np.ndarray, " _"] | pd.DataFrame]:
        """Return the positions of rows to fit, and their labels; unlabelled: None ones as well."""
        target, without = self.target, np.flatnonzero(~self.target.there)
        y = target.classes[target.codes[rows]]
        if target.shares is not None:
            rows = np.concatenate([rows, without]) if unlabelled else rows
            return rows, soft_target(target.shares[rows], target.classes)
        if not unlabelled or not len(without):
            return rows, y
        labels = np.concatenate([y.astype(object), np.full(len(without), None)])
        return np.concatenate([rows, without]), labels

    def notes(self) -> tuple[Note, ...]:
        """Return a note for each column that looks like something other than a feature.

        Classifiers do not warn of it themselves: levels are declared, and numbers are float64.
        """
        levels = {column.name: len(column.levels) for column in self.table.columns}
        blank = self.as_written.blank
        odd = [*([blank_text(blank)] if blank else []), *suspicions(self.as_written, levels)]
        sentences = [*map(ignored, self.identifiers), *odd]
        return tuple(map(note, sentences))


def _stated_columns(classifiers: Mapping[str, object]) -> set[object]:
    """Return the columns that classifiers name: those of their likelihoods, and of groups."""
    stated: set[object] = set()
    for classifier in classifiers.values():
        groups, likelihood = (getattr(classifier, n, None) for n in ("groups", "likelihood"))
        keys = likelihood if isinstance(likelihood, Mapping) else ()
        stated |= {part for key in keys for part in (key if isinstance(key, tuple) else (key,))}
        stated |= {groups} if isinstance(groups, str) else set()
    return stated


@dataclasses.dataclass(frozen=True, eq=False)
class FoldResult:
    """The predictions, times and warnings of one fit.

    probability: shape (row, class), over all classes of the comparison.
    stated, classes: where the classifier states class probabilities, what it predicts under these,
    and these, shape (class,); `probability` is then under the class frequencies of the fitted rows.
    classifier: that predicts `probability`; None behind other steps, or where it is not kept.
    fit_seconds, predict_seconds: wall-clock time. method: `inference_`, empty if there is none.
    warnings: all of them, in order. members: the table of a stack's members. prepared_by: the steps
    that were put before the classifier.
    """

    probability: Joint
    fit_seconds: float
    predict_seconds: float
    method: str
    warnings: tuple[Note, ...]
    members: pd.DataFrame | None
    prepared_by: str = ""
    stated: Joint | None = None
    classes: Float[np.ndarray, " class"] | None = None
    classifier: AnyClassifier | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class FittedFolds:
    """A classifier as it was fitted without each fold, to be asked about the rows of that fold.

    classifiers: by fold; None where other steps stand before it. X: the rows as they were fitted.
    fold: of each row of X, shape (row,); -1 where it was not scored.
    """

    classifiers: Sequence[AnyClassifier | None]
    X: object
    fold: Labels

    def of(self, rows: Labels) -> Iterator[tuple[Labels, Any, object]]:
        """Yield places among some rows, the classifier that left these out, and the rows.

        rows: positions in X. Those that no classifier left out, or can read, are in no part.
        """
        for fold, classifier in enumerate(self.classifiers):
            places = np.flatnonzero(self.fold[rows] == fold)
            if len(places) and classifier is not None:
                yield places, classifier, take(self.X, rows[places])


@dataclasses.dataclass(frozen=True, eq=False)
class Settings:
    """Arguments of a comparison; `bayesgen.compare` describes them. kept: whose fits are kept."""

    cv: object
    groups: object = None
    by: object = None
    train_size: int | float | None = None
    train_sizes: Sequence[int | float] | None = None
    random_state: int | None = 0
    n_jobs: int | None = 1
    progress: Progress = "auto"
    kept: str | None = None


ALL = 0
"""Stands for all rows of a fold, where others are numbers of rows drawn from it."""
UNDER_PRIOR = "log_loss_under_class_prior"
SECONDS = ["fit_seconds", "predict_seconds"]
KEY = ["classifier", "rows"]
Results = dict[tuple[str, int], pd.DataFrame]
"""By classifier and number of rows fitted: a line for each fold, with the fields of its result."""


def compare(
    classifiers: Mapping[str, object],
    X: object,
    y: object,
    *,
    cv: object = 5,
    groups: object = None,
    by: object = None,
    train_size: int | float | None = None,
    train_sizes: Sequence[int | float] | None = None,
    random_state: int | None = 0,
    n_jobs: int | None = 1,
    progress: Progress = "auto",
) -> Comparison:
    """Return cross-validated scores of several classifiers on the same folds.

    See `bayesgen.compare`, which describes the arguments and has default classifiers.
    """
    settings = Settings(cv, groups, by, train_size, train_sizes, random_state, n_jobs, progress)
    return _compared(classifiers, X, y, settings)[0]


def compare_keeping(
    kept: str,
    classifiers: Mapping[str, object],
    X: object,
    y: object,
    *,
    cv: object,
    by: object,
    random_state: int | None,
) -> tuple[Comparison, FittedFolds]:
    """Return a comparison, and one of its classifiers as it was fitted without each fold.

    kept: its name. The other arguments are those of `compare`.
    """
    settings = Settings(cv, by=by, random_state=random_state, kept=kept)
    comparison, results, rows = _compared(classifiers, X, y, settings)
    fold = np.full(rows.table.n_rows, -1)
    fold[comparison.rows] = comparison.fold
    return comparison, FittedFolds([*results[kept, ALL]["classifier"]], rows.X, fold)


def _compared(
    classifiers: Mapping[str, object], X: object, y: object, settings: Settings
) -> tuple[Comparison, Results, ComparedRows]:
    """Return a comparison, the results that it was made from, and the rows."""
    _check(classifiers, settings.random_state, settings.n_jobs, settings.progress)
    by = settings.by
    stated = _stated_columns(classifiers) | ({by} if isinstance(by, str) else set())
    rows = ComparedRows.read(X, y, stated)
    target = rows.target
    labelled, codes, soft = np.flatnonzero(target.there), target.codes, target.shares is not None
    for name, classifier in cast(Mapping, classifiers).items():
        if soft and not hasattr(classifier, "unlabelled"):
            raise InvalidArgument(
                "classifier {name!r} takes one class for each row, and y holds probabilities.",
                "Leave it out, or pass y.idxmax(axis=1).",
                name=name,
            )
    if settings.by is not None and soft:
        raise InvalidArgument(
            "by={by!r} scores rows of one class each, and y holds probabilities.",
            "Leave out by=, or pass y.idxmax(axis=1).",
            by=settings.by,
        )
    subgroups = None
    if settings.by is not None:
        subgroups = Subgroups.read(settings.by, rows.table, X)
        subgroups.require_others(codes)
    cv, groups, seed = settings.cv, settings.groups, settings.random_state
    if groups is not None:
        groups = np.asarray(groups)
        groups = groups[labelled] if groups.shape == codes.shape else groups
    copies: tuple[Note, ...] = ()
    if groups is None and isinstance(cv, int | np.integer):
        groups, copies = copies_together(rows.table.take(labelled), target.membership[labelled])
    folds, notes = split(codes[labelled], target.classes, cv, seed, groups)
    notes = (*copies, *notes)
    folds = [(labelled[fit], labelled[scored]) for fit, scored in folds]
    available, size = np.mean([len(fit) for fit, _ in folds]), None
    if settings.train_size is not None:
        size = training_rows("train_size", settings.train_size, folds, codes)
        folds = drawn(folds, size, codes, np.random.SeedSequence(seed).spawn(len(folds)))
    sizes = settings.train_sizes
    sizes = [] if sizes is None else all_training_rows(sizes, folds, codes)
    # one seed for all sizes, also where none was given
    seed = int(np.random.default_rng(seed).integers(2**63))
    seeds = np.random.SeedSequence(seed).spawn(len(folds))
    folds_by_size = {size: drawn(folds, size, codes, seeds) for size in sizes}
    checked = cast(Mapping[str, AnyClassifier], classifiers)
    if settings.progress is False:
        checked = {name: without_bars(classifier) for name, classifier in checked.items()}
    every_size = {ALL: folds, **folds_by_size}
    results = _fit_all(checked, rows, every_size, settings)
    comparison = _comparison(rows, folds, results, (*notes, *rows.notes()), size, float(available))
    if subgroups is None:
        return comparison, results, rows
    scored = dataclasses.replace(subgroups, codes=subgroups.codes[comparison.rows])
    return dataclasses.replace(comparison, by=scored), results, rows


def _check(
    classifiers: Mapping[str, object], random_state: object, n_jobs: object, progress: object
) -> None:
    arguments.seed(random_state)
    arguments.one_of("progress", progress, ["auto", True, False])
    if n_jobs is not None and (n_jobs == 0 or not arguments.is_count(n_jobs, -1)):
        allowed = "None, -1 (one for each core) or a whole number from 1"
        raise out_of_range("n_jobs", n_jobs, allowed, "Pass n_jobs=1.")
    if not isinstance(classifiers, Mapping) or not classifiers:
        several = classifiers if isinstance(classifiers, list | tuple) else []
        several = several if all(map(_is_classifier, several)) else []
        names = [f"'{type(clf).__name__} {i}': classifiers[{i}]" for i, clf in enumerate(several)]
        raise InvalidArgument(
            "classifiers is of type {kind}; a mapping of at least one name to a classifier, an "
            "instance that has predict_proba, is needed.",
            "Pass {{{names}}}.",
            kind=type(classifiers).__name__,
            names=", ".join(names) or "'naive': bg.NaiveBayes()",
        )
    for name, estimator in classifiers.items():
        if not _is_classifier(estimator):
            raise out_of_range(
                f"classifiers[{name!r}]",
                estimator,
                "an instance that has predict_proba",
                f"Pass {{{name!r}: bg.LDA()}}, or another classifier.",
            )


def _is_classifier(value: object) -> bool:
    return hasattr(value, "predict_proba") and not isinstance(value, type)


# -- Fits ------------------------------------------------------------------------------------------


def without_bars(classifier: AnyClassifier) -> AnyClassifier:
    """Return a clone that shows no progress bars, nor its parts or its method of inference."""
    quiet = clone(cast(BaseEstimator, classifier))
    for name, value in quiet.get_params().items():
        if name.split("__")[-1] == "progress" and value in ("auto", True):
            quiet.set_params(**{name: False})
        elif dataclasses.is_dataclass(value) and getattr(value, "progress", None) in ("auto", True):
            quiet.set_params(**{name: dataclasses.replace(cast(Any, value), progress=False)})
    return cast(AnyClassifier, quiet)


def _fit_all(
    classifiers: Mapping[str, AnyClassifier],
    rows: ComparedRows,
    folds_by_size: Mapping[int, list[Fold]],
    settings: Settings,
) -> Results:
    """Fit clones of all classifiers on all folds of every size."""
    from sklearn.utils.parallel import Parallel, delayed

    # every classifier meets the first fold before any meets the second: a mistake shows early
    fits = [
        (size, name, fold, f"fold {number} of {len(folds)}{f' at {size} rows' if size else ''}")
        for size, folds in folds_by_size.items()
        for number, fold in enumerate(folds, start=1)
        for name in classifiers
    ]
    calls = (
        delayed(_fit_fold)(
            classifiers[name],
            rows,
            fold,
            f"classifier {name!r}, {words}",
            keep=name == settings.kept,
        )
        for _, name, fold, words in fits
    )
    results: dict[tuple[str, int], list[dict]] = {
        (name, size): [] for name in classifiers for size in folds_by_size
    }
    with progress_bar(len(fits), settings.progress, unit="fit") as bar:
        outcomes = Parallel(n_jobs=settings.n_jobs, return_as="generator")(calls)
        for size, name, _, words in fits:
            bar.set_description(f"{name}, {words}")
            results[name, size].append(dict(vars(next(outcomes))))
            bar.update()
    return {key: pd.DataFrame(lines) for key, lines in results.items()}


def _fit_fold(
    estimator: AnyClassifier, rows: ComparedRows, fold: Fold, fit: str, *, keep: bool
) -> FoldResult:
    """Return what a classifier predicts; one that cannot take X gets a pipeline.

    Where its fit fails, and missing cells or levels may be the reason, it is fitted again behind
    the pipeline of `preprocessing.prepared`; one that is told its columns of levels is fitted so at
    once. Errors carry a note with `fit`, its words.
    """
    from bayesgen.compare.preprocessing import (
        levels_argument,
        needs_preparing,
        prepared,
        steps_in_words,
    )

    def behind_pipeline() -> FoldResult:
        pipeline = prepared(estimator, rows.table)
        result = _predicted(pipeline, rows.matrix, rows, fold)
        words = steps_in_words(pipeline)
        return dataclasses.replace(result, prepared_by=words, classifier=None)

    try:
        if levels_argument(estimator) is not None:
            return behind_pipeline()
        try:
            result = _predicted(estimator, rows.X, rows, fold)
            return result if keep else dataclasses.replace(result, classifier=None)
        # classifiers of other libraries fail in any way
        except Exception as error:
            if not needs_preparing(error, estimator, rows.table):
                raise
            return behind_pipeline()
    except Exception as error:
        error.add_note(fit)
        raise


def _predicted(estimator: AnyClassifier, X: object, rows: ComparedRows, fold: Fold) -> FoldResult:
    """Fit a clone of a classifier to some rows of X, and predict others.

    Classes that the fitted rows do not show get probability 0.

    Raises:
        InvalidArgument: it predicts NaN.
    """
    unlabelled = getattr(estimator, "unlabelled", None) is not None
    (fit, y), scored = rows.to_fit(fold[0], unlabelled=unlabelled), fold[1]
    train, test = take(X, fit), take(X, scored)
    clf = clone(estimator)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        clf.fit(train, y)
        fitted = time.perf_counter()
        probability = stated = clf.predict_proba(test)
        end = time.perf_counter()
    asked, states = clf, states_frequencies(getattr(clf, "class_prior", LEARNING))
    if states and hasattr(clf, "with_class_prior"):
        count = shares_of(rows.target.membership[fold[0]], len(rows.target.classes)).sum(axis=0)
        count = LEARNING + count[np.searchsorted(rows.target.classes, clf.classes_)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of which the first prediction has warned
            asked = clf.with_class_prior(count / count.sum())
            probability = asked.predict_proba(test)
    if undefined := int(np.isnan(probability).any(axis=1).sum()):
        raise InvalidArgument(
            "{kind} predicts NaN in {undefined} of {n_rows:rows}.",
            "Leave it out; where it calibrates log-odds that are infinite, as those of "
            "inference='mle' may be, use inference='exact'.",
            kind=type(clf).__name__,
            undefined=undefined,
            n_rows=len(scored),
        )
    classes = rows.target.classes
    place = np.searchsorted(classes, clf.classes_)
    own = np.exp(clf.posterior_.log_classes())[None] if stated is not probability else None
    return FoldResult(
        among(probability, place, len(classes)),
        fitted - start,
        end - fitted,
        method=getattr(clf, "inference_", ""),
        warnings=tuple(note(warning.message) for warning in caught),
        members=clf.members_table() if hasattr(clf, "members_table") else None,
        stated=None if own is None else among(stated, place, len(classes)),
        classes=None if own is None else among(own, place, len(classes))[0],
        classifier=asked,
    )


def take(X: Any, rows: Labels) -> Any:
    """Return some rows of a dataframe or an array, in the container they came in."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame[rows].to_native() if isinstance(frame, nw.DataFrame) else np.asarray(X)[rows]


# -- Their scores ----------------------------------------------------------------------------------


def _comparison(
    rows: ComparedRows,
    folds: list[Fold],
    results: Results,
    notes: tuple[Note, ...],
    train_size: int | None,
    available: float,
) -> Comparison:
    """Return the result; available: the mean number of rows from which a fold draws its own."""
    held_out = [len(scored) for _, scored in folds]
    positions = np.concatenate([scored for _, scored in folds])
    y, fold = rows.target.membership[positions], np.repeat(np.arange(len(folds)), held_out)
    whole = {name: fits for (name, size), fits in results.items() if size == ALL}
    probabilities = {key: np.concatenate([*fits["probability"]]) for key, fits in results.items()}
    scores = {key: Scores.of(y, proba, fold) for key, proba in probabilities.items()}
    by_name = {name: scores[name, ALL] for name in whole}
    differences = _differences(by_name, np.mean(held_out) / available)
    scored = _frame({key: score.with_errors() for key, score in scores.items()}, KEY)
    taken = {key: fits[SECONDS] for key, fits in results.items()}
    seconds = _frame({key: with_errors(s.mean(), s.sem()) for key, s in taken.items()}, KEY)
    warned = {name: _warnings(results, name) for name in whole}
    losses = {name: _loss_under_prior(fits, y) for name, fits in whole.items()}
    losses = {name: loss for name, loss in losses.items() if loss is not None}
    missing = np.column_stack([column.missing for column in rows.table.columns])
    return Comparison(
        table=_table(whole, scored, differences, seconds, losses),
        differences=differences,
        curves=pd.concat([scored, seconds], axis=1).drop(index=ALL, level="rows"),
        members=_members(whole),
        classes=rows.target.classes,
        n_rows=rows.table.n_rows,
        n_missing_cells=int(missing.sum()),
        n_rows_with_missing=int(missing.any(axis=1).sum()),
        folds=len(folds),
        noted=(*notes, *map(_note_of_prior, losses, losses.values())),
        warned={name: texts for name, texts in warned.items() if texts},
        probabilities={name: probabilities[name, ALL] for name in whole},
        y=y,
        rows=positions,
        fold=fold,
        train_size=train_size,
    )


def _differences(scores: Mapping[str, Scores], overlap: float) -> pd.DataFrame:
    """Return the differences from the first classifier, by (classifier, score)."""
    first, *others = scores
    names = ["classifier", "score"]
    if not others:
        return _frame({}, names, DIFFERENCE)
    tables = {name: scores[name].difference(scores[first], overlap) for name in others}
    return pd.concat(tables, names=names)


def _frame(
    lines: Mapping[tuple, Mapping], names: list[str], columns: list[str] | None = None
) -> pd.DataFrame:
    keys = pd.MultiIndex.from_arrays(zip(*lines, strict=True) if lines else [[], []], names=names)
    return pd.DataFrame(list(lines.values()), index=keys, columns=columns)


def _table(
    whole: Mapping[str, pd.DataFrame],
    scored: pd.DataFrame,
    differences: pd.DataFrame,
    seconds: pd.DataFrame,
    losses: Mapping[str, float],
) -> pd.DataFrame:
    names = pd.Index(list(whole), name="classifier")
    against = differences.reindex([(name, "log_loss") for name in names]).astype(float)
    against = against[["difference", "lower", "upper"]].add_prefix("log_loss_").set_axis(names)
    of_all = [frame.xs(ALL, level="rows") for frame in (scored, seconds)]
    words = {
        column: ["/".join(filter(None, fits[column].unique())) for fits in whole.values()]
        for column in ("method", "prepared_by")
    }
    if losses:
        against[UNDER_PRIOR] = pd.Series(losses, dtype=float)
    return pd.concat([of_all[0], against, of_all[1]], axis=1).assign(**words)


def _loss_under_prior(fits: pd.DataFrame, y: Membership) -> float | None:
    """Return the log loss under class probabilities that a classifier states; None: it does not."""
    if fits["stated"].isna().any():
        return None
    with np.errstate(divide="ignore"):
        log_proba = np.log(np.concatenate([*fits["stated"]]))
    frequencies = np.mean([*fits["classes"]], axis=0)
    return log_loss_at(y, log_proba, range(len(frequencies)), frequencies=frequencies)


def _note_of_prior(name: str, loss: float) -> Note:
    return note(
        f"{name} states class probabilities of its own: its scores are under the class frequencies "
        "of the fitted rows, as those of the others; in a population with the stated ones its log "
        f"loss is {loss:.3f} (a row of class k counts p_k / f_k times)"
    )


def _warnings(results: Results, name: str) -> tuple[Note, ...]:
    """Return each warning of a classifier once, in order."""
    fits = pd.concat([fits for key, fits in results.items() if key[0] == name])
    return tuple(dict.fromkeys(entry for entries in fits["warnings"] for entry in entries))


def _members(whole: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the mean over folds of the tables of members, by (classifier, member)."""
    means = {}
    for name, fits in whole.items():
        tables = [*fits["members"].dropna()]
        if tables:
            by_member = pd.concat(tables).groupby(level="member", sort=False)
            means[name] = by_member.mean()
            weights = ["weight", "log_linear_weight"]
            # a member that was left out of a fold had no weight there
            means[name][weights] = means[name][weights].mul(by_member.size() / len(tables), axis=0)
    return pd.concat(means, names=["classifier"]) if means else pd.DataFrame()
