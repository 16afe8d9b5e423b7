"""The kinds of errors and warnings, chosen by what a caller would catch or filter."""

from bayesgen.errors.base import BayesgenError, BayesgenWarning


class InvalidArgument(BayesgenError, ValueError, TypeError):
    """An argument has a name or a value that is not allowed: a prior, a loss, a likelihood, ..."""


class InvalidData(BayesgenError, ValueError, TypeError):
    """X, y, sample_weight or a source of rows cannot be used, or not by this likelihood."""


class InvalidProgram(BayesgenError, ValueError):
    """A program that violates the form of the gallery (models/), or has no finite density."""


class InvalidFile(BayesgenError, ValueError):
    """A model or a checkpoint cannot be written, read or used; nothing in it was executed."""


class UnsupportedOperation(BayesgenError, ValueError):
    """The model, the method of inference or the rows that were kept do not allow what was asked."""


class NoAttribute(BayesgenError, ValueError, AttributeError):
    """The fitted classifier has no such attribute or answer, or has none yet.

    It is an AttributeError, so that hasattr, dir and the displays of scikit-learn and notebooks,
    which probe for optional attributes, work.
    """


class MissingPackage(BayesgenError, ImportError):
    """A required package is not installed."""


class CountsAsMissing(BayesgenWarning):
    """Cells count as missing: of an unseen level, of an absent column, of a part without it."""

    @property
    def subjects(self) -> tuple[str, ...]:
        """The sentence and the columns with each level, in however many rows of whichever part."""
        columns = [self.fields.get(name) for name in ("column", "columns")]
        return tuple(f"{self.problem} {columns} {x!r}" for x in self.fields.get("levels", [""]))


class RecognizedFormat(BayesgenWarning):
    """How a file was read, where it states that nowhere: separators, header, missing cells, ..."""


class SuspiciousColumn(BayesgenWarning):
    """A column cannot help to classify new rows, or was probably meant otherwise."""

    @property
    def subjects(self) -> tuple[str, ...]:
        """The sentence and the column, whatever the number of its rows and levels."""
        return (f"{self.problem} {self.fields.get('column')!r}",)


class InformativePattern(BayesgenWarning):
    """The missing pattern alone predicts the class well."""


class UnlabelledHurts(BayesgenWarning):
    """Unlabeled rows worsen predictions, or their effect cannot be assessed."""


class DegenerateEstimate(BayesgenWarning):
    """Maximum likelihood gave no usable estimate or probability, and another one stands there."""


class NotConverged(BayesgenWarning):
    """An optimizer or sampler stopped before convergence."""


class NarrowIntervals(BayesgenWarning):
    """Missing cells of a fit count as if they were observed: draws would have taken long."""

    @property
    def subjects(self) -> tuple[str, ...]:
        """The sentence, whatever the duration: models and folds tell it once."""
        return (self.problem,)


class LowSampleSize(BayesgenWarning):
    """Predictions, or leave-one-out scores, rest on too few draws."""


class WorseThanFrequencies(BayesgenWarning):
    """The class frequencies alone predict the rows of the fit better than the model does."""


class InSampleScore(BayesgenWarning):
    """A score is that of the rows of the fit, whose classes the model knows."""


class LabelShiftRejected(BayesgenWarning):
    """New rows differ from those of the fit in more than the frequencies of the classes."""
