"""Bag-of-words classifier for texts or word counts."""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import Tags

from bayesgen.classes import Spec as ClassPriorSpec
from bayesgen.errors import (
    BayesgenWarning,
    Cure,
    InvalidData,
    NoAttribute,
    UnsupportedOperation,
    warn,
)
from bayesgen.errors.arguments import not_one_of
from bayesgen.errors.data import TABLE
from bayesgen.estimators import model_description
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.column_blocks import Blocks, Unseen
from bayesgen.estimators.fitted import DRAWS, Fitted
from bayesgen.estimators.model_description import ModelDescription
from bayesgen.estimators.recipe import Recipe
from bayesgen.estimators.tempered import Temper
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.estimators.unlabelled_fit import Weight as Unlabelled
from bayesgen.inference import Asked, Posterior
from bayesgen.likelihoods import Bernoulli, Likelihood, Multinomial
from bayesgen.likelihoods.base import Stated
from bayesgen.likelihoods.multinomial import ROWS_PER_WORD
from bayesgen.predict import ReadRows
from bayesgen.schema import holds_texts
from bayesgen.table import Table, cells_of, is_frame, named, read_texts, text_column
from bayesgen.typing import Self, Traceable

BLOCK = "words"


@runtime_checkable
class Vectorizer(Protocol):
    """An object that counts the words of texts, such as CountVectorizer."""

    def fit_transform(self, texts: list[str], /) -> object:
        """Learn the vocabulary from texts and return their word counts."""

    def transform(self, texts: list[str], /) -> object:
        """Return the word counts of texts."""


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class WordsRecipe(Recipe):
    """The recipe of texts. binary: whether a count becomes the presence of its word."""

    binary: bool

    def own_table(self, table: Table, raw: Callable[[], object]) -> Table:
        """Return counts, or which of them are above 0; see `Recipe.own_table`."""
        return table.presence() if self.binary else table

    @property
    def _model(self) -> type[Fitted]:
        return FittedPresence if self.binary else Fitted


@dataclasses.dataclass(frozen=True, eq=False)
class FittedPresence(Fitted):
    """A fitted model of the presence of words."""

    def own_table(self, table: Table, raw: Callable[[], object]) -> Table:
        """Return which counts are above 0; see `Fitted.own_table`."""
        return table.presence()


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class BagOfWords(Classifier):
    """Bag of words: texts classified by the words they contain, or how often.

    Rows are texts (a list, an array, a Series or the only column of a frame), which scikit-learn's
    CountVectorizer counts, or counts of words: a sparse or dense matrix, or a frame. The first fit
    or partial_fit on texts fixes the vocabulary; other words in later texts are ignored, unless the
    vectorizer needs no fitting (HashingVectorizer(norm=None, alternate_sign=False)) or has a
    vocabulary of its own.
    `sample` returns counts, never texts.

    The length of a text carries no evidence. A text without any word of the vocabulary gets the
    class prior (binary=False); under binary=True absent words still count as evidence. Both cases
    raise a warning with the number of such texts.

    Args:
        binary: False models word counts (`Multinomial`), True only their presence (`Bernoulli`).
        probs: prior guess of the word probabilities. None: their fractions over all classes;
            "uniform": 1 / number of words (binary: 1/2); or one per word.
        rows: prior strength of the guess, in words (binary: in texts). None: 5 for each word of the
            vocabulary (binary: 4).
        rows_per_word: the same for each word of the vocabulary, instead of `rows`; with
            probs="uniform", rows_per_word=1 adds one to every count. Not with binary.
        vectorizer: counts the words of texts; None is CountVectorizer(). It is cloned before
            fitting.
        class_prior, inference, temper, unseen, unlabelled, random_state: ...

    Attributes:
        vectorizer_: the fitted vectorizer; absent where counts were fitted.
        classes_, inference_, report_, posterior_, log_evidence_, state_, temperature_: ...
        unlabelled_weight_, label_distributions_, transduction_: ...
        n_features_in_, feature_names_in_: number and names of the columns at fit.

    Example:
        >>> import bayesgen as bg
        >>> texts = ["the king ate the food", "proof that it equals", "a proof by the king"]
        >>> bag = bg.BagOfWords(class_prior="uniform").fit(texts, ["History", "Science", "Science"])
        >>> bag.predict_proba(["food for the king"]).round(3)
        array([[0.625, 0.375]])
    """

    _likelihood_names: ClassVar[tuple[str, ...]] = (Multinomial.__name__, Bernoulli.__name__)
    # without types, which would make them arguments
    _vectorizer = None
    _known_words = None
    _text_column = None

    binary: bool = False
    probs: Stated | Literal["uniform"] = None
    rows: Stated = None
    rows_per_word: float | None = None
    vectorizer: object = None
    class_prior: ClassPriorSpec = 1.0
    inference: Asked = "auto"
    temper: Temper = None
    unseen: Unseen = "missing"
    unlabelled: Unlabelled = "learn"
    random_state: object = None

    @property
    def vectorizer_(self) -> Vectorizer:
        """The fitted vectorizer, rebuilt from its vocabulary if only that was kept."""
        if self._vectorizer is None:
            if self._known_words is None:
                raise NoAttribute(
                    "vectorizer_ exists only if texts were fitted, and these were counts.",
                    "Fit texts.",
                )
            self._vectorizer = _counter(vocabulary=self._known_words)
        return self._vectorizer

    def merge(self, other: Self) -> Self:
        """Return a new classifier fitted to the texts of both, as `Classifier.merge` says.

        Raises:
            UnsupportedOperation: they differ in an argument or a column, or their vocabularies do.
        """
        words = self._known_words, getattr(other, "_known_words", None)
        if words[0] is not None and words[1] is not None and (only := {*words[0]} ^ {*words[1]}):
            raise UnsupportedOperation(
                "only one of the classifiers knows the {only:named word}; merge needs two with the "
                "same vocabulary.",
                "Fit both with the words of both: words = sorted({{*one.vectorizer_"
                ".get_feature_names_out(), *other.vectorizer_.get_feature_names_out()}}); "
                "bg.BagOfWords(vectorizer=sklearn.base.clone(one.vectorizer_)"
                ".set_params(vocabulary=words)).",
                only=sorted(only),
            )
        return super().merge(other)

    def describe(self, *, draws: int = DRAWS) -> ModelDescription:
        """Return what the model says of its columns and rows; texts are one column.

        Args:
            draws: as in `Classifier.describe`.
        """
        found = super().describe(draws=draws)
        if self._vectorizer is None and self._known_words is None:
            return found
        return model_description.of_texts(found)

    def _recipe(self) -> Recipe:
        return WordsRecipe(**self._options(), binary=self.binary)

    def _blocks(self, table: Table) -> Blocks:
        return {BLOCK: (self._likelihood(), table.names)}

    def _likelihood(self) -> Likelihood:
        if not self.binary:
            each = ROWS_PER_WORD if self.rows_per_word is None else self.rows_per_word
            return Multinomial(probs=self.probs, rows=self.rows, rows_per_word=each)
        if self.rows_per_word is not None:
            raise not_one_of("rows_per_word", self.rows_per_word, [None])
        prob = 0.5 if isinstance(self.probs, str) and self.probs == "uniform" else self.probs
        return Bernoulli(prob) if self.rows is None else Bernoulli(prob, self.rows)

    def _read(self, X: object, *, reset: bool) -> Table:
        texts = read_texts(X)
        if reset:
            self._text_column = text_column(X) if texts is None else None
        if texts is None and self._text_column is not None and is_frame(X):
            texts = read_texts(cells_of(X, self._text_column))
        if texts is None:
            table = super()._read(X, reset=reset)
            if reset:
                _require_counts(table)
                self._vectorizer, self._known_words = None, None
            return table
        if not reset:
            if self._vectorizer is None and self._known_words is None:
                raise InvalidData(
                    "X holds texts, and this {estimator} was fitted to counts, so it has no "
                    "vocabulary.",
                    "Fit it to texts, or pass counts from the same vectorizer.",
                    estimator=type(self).__name__,
                )
            return super()._read(self.vectorizer_.transform(texts), reset=False)
        self._vectorizer, counts = self._counted(texts)
        self._known_words = _words(self._vectorizer)
        table = super()._read(counts, reset=True)
        return table if self._known_words is None else named(table, self._known_words)

    def _without_identifiers(self, rows: TrainingRows) -> TrainingRows:
        # columns are counts; one of texts has a sentence of its own
        return rows

    def _counted(self, texts: list[str]) -> tuple[Vectorizer, object]:
        """Return a vectorizer fitted to texts, and their counts."""
        vectorizer = _counter() if self.vectorizer is None else clone(self.vectorizer)
        return vectorizer, _fitted_counts(vectorizer, texts)

    def _read_rows(self, X: object) -> ReadRows:
        rows = super()._read_rows(X)
        words = rows.encoded[BLOCK]
        empty = int(_without_words(rows.posterior, words, only_kept=not self.binary).sum())
        if empty:
            warn(_empty_texts(empty, rows.n_rows, binary=self.binary))
        return rows

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes to pickle: the vocabulary determines the default vectorizer."""
        state = super().__getstate__()
        if self.vectorizer is None:
            state.pop("_vectorizer", None)
        return state

    def __sklearn_tags__(self) -> Tags:
        """Declare that rows are texts or counts, dense or sparse."""
        tags = super().__sklearn_tags__()
        # at predict words may be missing; at fit only under binary=True
        tags.input_tags.allow_nan = self.binary
        # scikit-learn's own checks pass rounded measurements, which are poor word counts
        if tags.classifier_tags is not None:
            tags.classifier_tags.poor_score = True
        return tags

    def _reads_sparse(self) -> bool:
        return True

    def _refuses_negative(self) -> bool:
        return True


def _require_counts(table: Table) -> None:
    """Raise if a column holds texts beside others."""
    if table.matrix is not None:
        return
    texts = [column.name for column in table.columns if holds_texts(column)]
    if texts:
        raise InvalidData(
            "{table} holds texts in {names:named column}, beside other columns; a bag of words "
            "reads one column of texts, or counts.",
            Cure("Pass X[{name!r}].", "Add --columns {name:option}."),
            table=TABLE,
            names=texts,
            name=texts[0],
        )


def _counter(**settings: object) -> Vectorizer:
    # imported lazily, so that classifiers of tables start faster
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(**settings)


def word_counts(texts: list[str], most: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return how often texts hold each of their most frequent words, and these.

    Raises:
        InvalidData: they hold none.
    """
    vectorizer = _counter(max_features=most)
    counts: Any = _fitted_counts(vectorizer, texts)
    return counts.toarray(), _words(vectorizer) or ()


def _fitted_counts(vectorizer: Vectorizer, texts: list[str]) -> object:
    """Return the word counts of texts, from which a vectorizer learns its vocabulary."""
    try:
        return vectorizer.fit_transform(texts)
    except ValueError as error:
        if "empty vocabulary" in str(error):
            raise InvalidData(
                "{table} has no word in {n_rows:rows}: the texts are empty, or hold only stop "
                "words and single letters.",
                Cure(
                    "Pass a vectorizer that keeps such tokens, for example "
                    'BagOfWords(vectorizer=CountVectorizer(token_pattern=r"\\S+")).',
                    "Name another column: --columns.",
                ),
                table=TABLE,
                n_rows=len(texts),
            ) from error
        raise


def _words(vectorizer: object) -> tuple[str, ...] | None:
    """Return the vocabulary of a fitted vectorizer in column order; None if it has none."""
    names = getattr(vectorizer, "get_feature_names_out", None)
    return None if names is None else tuple(names().tolist())


def _without_words(posterior: Posterior, x: Traceable, *, only_kept: bool) -> np.ndarray:
    """Return a mask of rows without any word of the vocabulary that the posterior kept."""
    if BLOCK not in posterior.reader.selections:
        return np.ones(x.shape[0], dtype=bool)
    kept = posterior.reader.selections[BLOCK].index if only_kept else None
    if issparse(x) and kept is None:
        return np.asarray(x.sum(axis=1)).ravel() == 0
    read = np.ones(x.shape[1]) if kept is None else np.isin(np.arange(x.shape[1]), kept)
    return (x if issparse(x) else np.nan_to_num(x)) @ read.astype(float) == 0


def _empty_texts(count: int, n_rows: int, *, binary: bool) -> BayesgenWarning:
    """Return the warning of texts without a word of the vocabulary."""
    if not binary:
        return BayesgenWarning(
            "{count:,} of {n_rows:rows} contain no word of the vocabulary; they get the class "
            "prior.",
            count=count,
            n_rows=n_rows,
        )
    return BayesgenWarning(
        "{count:,} of {n_rows:rows} contain no word of the vocabulary; their probabilities rest on "
        "the absence of all words, which binary=True counts as evidence.",
        "Use binary=False to give them the class prior.",
        count=count,
        n_rows=n_rows,
    )
