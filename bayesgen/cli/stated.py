"""What options state, as objects of the library: a classifier, costs, a class prior."""

import itertools
import shlex
from collections.abc import Iterable, Mapping

import numpy as np

from bayesgen import decide
from bayesgen.cli.options import (
    DEFAULT_LENGTH,
    AnyModelName,
    InferenceName,
    Sampling,
    Unlabelled,
    UnusableOptions,
)
from bayesgen.decide import Loss
from bayesgen.estimators import LDA, QDA, BagOfWords, JointTable, NaiveBayes, StackedClassifier
from bayesgen.estimators.classifier import Classifier
from bayesgen.inference import NUTS

MODELS = {
    "naive-bayes": (NaiveBayes, "naive Bayes"),
    "lda": (LDA, "LDA"),
    "qda": (QDA, "QDA"),
    "joint-table": (JointTable, "joint table"),
    "bag-of-words": (BagOfWords, "bag of words"),
}
"""Class and common name of each model."""
EXAMPLE = 6
"""Pairs of classes that are written out: those of three classes."""


def nuts(sampling: Sampling, *, samples: bool, why: str, cure: str) -> NUTS:
    """Return NUTS with the settings that were typed.

    Args:
        sampling: the settings.
        samples: whether NUTS is to run.
        why: it does not.
        cure: the options that let it run.

    Raises:
        UnusableOptions: settings were typed, and NUTS does not run.
    """
    settings = {name: value for name, value in vars(sampling).items() if value is not None}
    if settings and not samples:
        options = ", ".join(f"--{name}" for name in settings)
        raise UnusableOptions(
            f"{options}: only NUTS takes these, and {why}. Add {cure}, or leave {options} out."
        )
    return NUTS(**settings)


def new_classifier(
    model: AnyModelName,
    inference: InferenceName,
    seed: int,
    unlabelled: Unlabelled = "learn",
    sampling: Sampling = DEFAULT_LENGTH,
) -> Classifier:
    """Return the classifier of a name, not yet fitted.

    Args:
        model: which one.
        inference: how to fit it.
        seed: of everything random.
        unlabelled: weight of rows without a class.
        sampling: settings of NUTS.

    Raises:
        UnusableOptions: a stack with an inference of its own, or settings of NUTS without it.
    """
    samples = inference == "nuts"
    sampler = nuts(
        sampling, samples=samples, why=f"--inference is {inference}", cure="--inference nuts"
    )
    if model != "stacked":
        method = sampler if samples else inference
        return MODELS[model][0](inference=method, random_state=seed, unlabelled=unlabelled)
    if inference != "auto":
        raise UnusableOptions(
            f"--inference is {inference!r}; a stack consists of closed forms, weighted by "
            "leave-one-out score, and takes only auto. Leave --inference out, or add --model "
            "naive-bayes."
        )
    return StackedClassifier(random_state=seed, unlabelled=unlabelled)


def losses(costs: Mapping[str, float] | None, labels: Iterable) -> Loss:
    """Return the costs of --cost as {(true, decided): cost}; labels: of the classes.

    Raises:
        BayesgenError: a pair that does not begin with a class, or pairs without a cost.
    """
    if costs is None:
        return None
    names, loss = {_whole(label): label for label in labels}, {}
    classes = {str(label): label for label in names.values()} | names
    for pair, cost in costs.items():
        # of "a" and "a:b" the longer one: a name may hold a colon
        begins = (name for name in classes if _after(pair, name).startswith(":"))
        true = max(begins, key=len, default="")
        decided = _after(pair, true)[1:].strip()
        if true not in classes or not decided:
            every = [f"{k}:{d}=1" for k, d in itertools.permutations(names, 2)]
            more = "" if len(every) <= EXAMPLE else ", and so on for every pair of classes"
            raise UnusableOptions(
                f"--cost {pair}: the true class comes first, one of {', '.join(names)}, then a "
                f"colon and the decision. Type --cost {shlex.quote(','.join(every[:EXAMPLE]))}"
                f"{more}."
            )
        loss[classes[true], classes.get(decided, decided)] = cost
    decide.rule(loss, np.array(list(names.values())))  # refuses pairs without a cost
    return loss


def _whole(label: object) -> str:
    """Return a label as it is printed: 1.0 as 1."""
    return str(label).removesuffix(".0") if isinstance(label, float) else str(label)


def _after(pair: str, name: str) -> str:
    """Return what follows a name at the beginning of a pair; "" if it does not begin so."""
    return pair.removeprefix(name).lstrip() if pair.startswith(name) else ""


def with_prior(classifier: Classifier, prior: Mapping[str, float] | None) -> Classifier:
    """Return a fitted classifier with the class probabilities of --prior, if there are any.

    Raises:
        UnusableOptions: the classes are others.
    """
    if prior is None:
        return classifier
    classes = {str(label): label for label in classifier.classes_.tolist()}
    if prior.keys() != classes.keys():
        example = ",".join(f"{name}={1 / len(classes):.2g}" for name in classes)
        raise UnusableOptions(
            f"--prior names the classes {', '.join(prior)}, and the model has "
            f"{', '.join(classes)}. Name each once, such as --prior {example}."
        )
    return classifier.with_class_prior({classes[name]: share for name, share in prior.items()})
