"""A fitted estimator as a file: taken apart into records, and put together again."""

import dataclasses
import inspect
import os
import re
from collections.abc import Mapping

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

from bayesgen.errors import UnsavableModel
from bayesgen.estimators.fitted import TrainingState
from bayesgen.inference import Posterior
from bayesgen.persist import (
    InvalidStructure,
    Record,
    UnknownClass,
    descendants,
    matches,
    ours,
    registry,
    require_fit,
    write,
)

ROUTING = "_metadata_request"
"""What set_fit_request leaves on an estimator concerns its callers: it is not saved."""

VECTORIZERS = {f"sklearn.{cls.__name__}": cls for cls in (CountVectorizer, HashingVectorizer)}
VOCABULARY = ("vocabulary_", "fixed_vocabulary_")
"""What scikit-learn's counters of words are saved as, where no function is among their settings."""

LEFT_BEHIND = {
    "_state_": TrainingState,
    "_posterior": Posterior | None,
    "_seed": int,
    "classes_": np.ndarray,
    "n_features_in_": int,
    "feature_names_in_": np.ndarray,
    "inference_": str,
    "vocabulary_": dict[str, int],
    "fixed_vocabulary_": bool,
    "_powers": np.ndarray | None,
    "left_out_": dict[str, str],
}
"""What fitting leaves behind, and of which type."""


def save(estimator: BaseEstimator, path: str | os.PathLike) -> None:
    """Write a fitted estimator to a file of data without code; see `Classifier.save`."""
    parts = Assembly(own_estimators())
    write(path, estimator, saved_classes(), parts.apart, parts.whole)


def saved_classes(yours: Mapping[str, type] | None = None) -> dict[str, type]:
    """Return the dataclasses that a file may hold, by name; yours are of the user's own."""
    return registry((TrainingState,), yours)


def own_estimators() -> dict[str, type]:
    """Return the estimators of this library, and what counts words for them, by name."""
    return {cls.__name__: cls for cls in descendants(BaseEstimator) if ours(cls)} | VECTORIZERS


@dataclasses.dataclass(frozen=True, eq=False)
class Assembly:
    """Estimators taken apart into records and put together again.

    estimators: those that are known by name; taking apart adds the user's own ones.
    """

    estimators: dict[str, type]

    def apart(self, value: object) -> object:
        """Return an estimator as a record, and everything else as it is.

        Raises:
            UnsavableModel: its story is a program of the user's own, or it is a stranger's.
        """
        if not isinstance(value, BaseEstimator):
            return value
        cls = type(value)
        parameters = value.get_params(deep=False)
        if parameters.get("story") is not None:
            raise UnsavableModel.story(cls.__name__)
        if VECTORIZERS.get(name := f"sklearn.{cls.__name__}") is cls:
            kept = {key: vars(value)[key] for key in VOCABULARY if key in vars(value)}
            return Record(name, parameters, kept)
        name = cls.__name__ if ours(cls) else f"yours.{cls.__name__}"
        if not any(map(ours, cls.__mro__)):
            raise UnsavableModel.value("a part of the model", value)
        self.estimators[name] = cls
        # what the estimator itself keeps when it is copied: rows that it remembers are not among it
        state, skipped = value.__getstate__(), {*parameters, ROUTING}
        fitted = {key: part for key, part in state.items() if key not in skipped}
        return Record(name, parameters, fitted)

    def whole(self, value: object) -> object:
        """Return a record as an estimator, and everything else as it is.

        Raises:
            InvalidStructure: the record is not of its class, or its parts contradict each other.
        """
        if not isinstance(value, Record):
            return value
        if value.estimator not in self.estimators:
            raise UnknownClass(value.estimator)
        cls = self.estimators[value.estimator]
        names = inspect.signature(cls).parameters
        if set(value.parameters) - set(names):
            raise InvalidStructure.fields(cls.__name__, value.parameters, names)
        _require_left_behind(cls, value.fitted)
        made = cls(**value.parameters)
        vars(made).update(value.fitted)
        return made


def _require_left_behind(cls: type, fitted: dict[str, object]) -> None:
    """Refuse attributes that would hide methods, are of a wrong type, or contradict each other."""
    for name, part in fitted.items():
        known = inspect.getattr_static(cls, name, None)
        if not re.fullmatch(r"_?[a-z]\w*", name) or hasattr(type(known), "__get__"):
            raise InvalidStructure(f"{cls.__name__} has no place for {name!r}")
        if not matches(part, LEFT_BEHIND.get(name, object)):
            raise InvalidStructure(
                f"{name} is a {type(part).__name__}, which does not belong there"
            )
    if "members_" in fitted:
        _require_stack(fitted)
    if "_state_" in fitted:
        _require_whole(*(fitted.get(name) for name in ("_state_", "classes_", "_posterior")))


def _require_stack(fitted: dict[str, object]) -> None:
    """Refuse a stack whose members, weights and classes do not belong together."""
    members, weights, classes = (fitted.get(n) for n in ("members_", "weights_", "classes_"))
    if not (isinstance(members, dict) and isinstance(weights, dict) and members):
        raise InvalidStructure("it does not say what it is made of")
    if list(members) != list(weights) or not isinstance(classes, np.ndarray):
        raise InvalidStructure("its members have other names than their weights")
    for member in members.values():
        known = getattr(member, "classes_", None)
        if not isinstance(known, np.ndarray) or known.tolist() != classes.tolist():
            raise InvalidStructure("a member has other classes")
    share = np.array(list(weights.values()), dtype=float)
    if not (share > 0).all() or abs(share.sum() - 1) > 1e-6:
        raise InvalidStructure("the weights of its members are none")


def _require_whole(learned: object, classes: object, posterior: object) -> None:
    if not (isinstance(learned, TrainingState) and isinstance(classes, np.ndarray)):
        raise InvalidStructure("it does not say what was learned")
    if not isinstance(posterior, Posterior | None) or classes.tolist() != learned.classes.tolist():
        raise InvalidStructure("its classes are not those that were learned")
    require_fit(learned.schema, learned.likelihoods, classes, learned.statistics, posterior)
