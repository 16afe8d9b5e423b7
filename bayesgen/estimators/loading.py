"""Loading of a fitted classifier from a file."""

import os
from collections.abc import Callable, Iterable

from bayesgen.errors import InvalidModelFile
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.saving import read


def load(
    path: str | os.PathLike, *, classes: Iterable[type] = (), story: Callable | None = None
) -> Classifier:
    """Return the fitted classifier of a file that `clf.save(path)` wrote.

    Its answers are the same, bit for bit, and partial_fit goes on. The file is data: nothing in it
    is run, and it can name no classes but bayesgen's own and those passed here.

    Args:
        path: of the file.
        classes: likelihoods and classifiers of your own that the file may name.
        story: your own program, where the model is one: the file holds its draws and its import
            path, "module:name", which has to be that of the program passed here. That its code is
            the one that was fitted is not checked.

    Raises:
        InvalidModelFile: the file is damaged, newer than this version, something else, or of
            another program.

    Example:
        >>> import pathlib, tempfile
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "iris.bgm"
        ...     bg.QDA().fit(X, y).save(path)
        ...     bg.load(path)
        QDA()
    """
    made = read(path, classes, story)
    if not isinstance(made, Classifier) or not made.__sklearn_is_fitted__():
        raise InvalidModelFile.does_not_fit(path, "it holds no fitted classifier")
    return made
