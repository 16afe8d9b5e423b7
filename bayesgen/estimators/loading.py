"""Loading of a fitted classifier from a file."""

import os
from collections.abc import Callable, Iterable

from bayesgen.calls import checked_call
from bayesgen.errors import InvalidFile
from bayesgen.errors.files import unusable_model
from bayesgen.estimators.bag_of_words import BagOfWords
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.discriminant import LDA, QDA
from bayesgen.estimators.generative import GenerativeClassifier
from bayesgen.estimators.joint_table import JointTable
from bayesgen.estimators.naive_bayes import NaiveBayes
from bayesgen.estimators.saving import ModelFile
from bayesgen.estimators.stacked import StackedClassifier
from bayesgen.persist import read_model

CLASSIFIERS = BagOfWords, LDA, QDA, GenerativeClassifier, JointTable, NaiveBayes, StackedClassifier
"""What files hold: they name a class, which must have been loaded."""


@checked_call
def load(
    path: str | os.PathLike, *, classes: Iterable[type] = (), story: Callable | None = None
) -> Classifier:
    """Load a fitted classifier from a file written by `clf.save(path)`.

    Predictions are identical bit for bit, and partial_fit can continue. The file contains only
    data: nothing in it is executed, and it can refer only to classes of bayesgen and those passed
    here.

    Args:
        path: of the file.
        classes: user-defined likelihoods and classifiers that the file may refer to.
        story: the NumPyro program, if the model is one. The file holds its draws and its import
            path, "module:name", which must match the program passed here; its code is not compared
            with that of the fit.

    Raises:
        InvalidFile: the file is damaged, not a model file, written by a newer version, or belongs
            to another program.

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
    file = ModelFile(path, set(classes), story)
    model = read_model(path, file)
    if story is not None and not file.holds_program:
        raise InvalidFile(
            "{path:path} holds a model that is not a program of your own.",
            "Leave out story=.",
            path=path,
        )
    if not isinstance(model, Classifier) or not model.__sklearn_is_fitted__():
        raise unusable_model(path, "it holds no fitted classifier")
    return model
