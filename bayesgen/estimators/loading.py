"""From a file to a fitted classifier."""

import os
from collections.abc import Iterable

from bayesgen.errors import InvalidModelFile
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.deciding import Deciding
from bayesgen.estimators.saved import Assembly, own_estimators, saved_classes
from bayesgen.estimators.stacked import StackedClassifier
from bayesgen.persist import read


def load(path: str | os.PathLike, *, classes: Iterable[type] = ()) -> Deciding:
    """Return the fitted classifier of a file that `clf.save(path)` wrote.

    Its answers are the same, bit for bit, and partial_fit goes on. The file is data: nothing in it
    is run, and it can name no classes but bayesgen's own and those passed here.

    Args:
        path: of the file.
        classes: likelihoods and classifiers of your own that the file may name.

    Raises:
        InvalidModelFile: the file is damaged, newer than this version, or something else.

    Example:
        >>> import pathlib, tempfile
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "iris.nc"
        ...     bg.QDA().fit(X, y).save(path)
        ...     bg.load(path)
        QDA()
    """
    yours = {f"yours.{cls.__name__}": cls for cls in classes}
    parts = Assembly(own_estimators() | yours)
    made = read(path, saved_classes(yours), parts.whole)
    if not isinstance(made, Deciding):
        raise InvalidModelFile.does_not_fit(path, "it holds no classifier")
    return made


def load_classifier(path: str | os.PathLike) -> Classifier | StackedClassifier:
    """Return the classifier of a file, or the stack of several.

    Raises:
        InvalidModelFile: as `load`.
    """
    made = load(path)
    if not isinstance(made, Classifier | StackedClassifier):
        raise InvalidModelFile.does_not_fit(path, "it holds no classifier of this library")
    return made
