"""Word counts against scikit-learn's MultinomialNB: seconds, memory, and the log loss of texts.

Sparse counts by Zipf's law, 5 classes. The exact Dirichlet-multinomial is timed against a plug-in:
the answers differ, so it is the mode that is checked to be MultinomialNB's. Memory is the peak of
what Python and NumPy ask for while fitting, the counts themselves left out. The texts are sentences
of scikit-learn's docstrings, to be told by their subpackage; the log loss is that of sentences that
were not fitted, and is no ratio.
"""

import tracemalloc
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
from measure import Options, assert_close, compared, in_turn, main, ratio
from results import Result
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import accuracy_score, log_loss
from sklearn.naive_bayes import BernoulliNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from texts import docstring_sentences, zipf_counts

import bayesgen as bg

N_CLASSES = 5


def measure(options: Options) -> list[Result]:
    """Return what fits and predictions cost, the memory of fits, and log losses."""
    warnings.simplefilter("ignore", bg.errors.BayesgenWarning)
    small = (5_000, 10_000) if not options.quick else (300, 500)
    large = (20_000, 50_000) if not options.quick else (600, 1_000)
    return [
        *speed(*small, options, fit_goal="<= 1", predict_goal=None),
        *speed(*large, options, fit_goal="<= 1.2", predict_goal="<= 1.4"),
        *losses(options),
    ]


def speed(
    n: int, p: int, options: Options, *, fit_goal: str, predict_goal: str | None
) -> list[Result]:
    """Return the time and memory of one size, in those of scikit-learn."""
    X, y = zipf_counts(n, p, N_CLASSES)
    mode = bg.BagOfWords(probs="uniform", rows_per_word=1, class_prior="empirical", inference="map")
    theirs = MultinomialNB().fit(X, y)
    some = X[:300]
    answers = mode.fit(X, y).predict_proba(some), theirs.predict_proba(some)
    assert_close(*answers, 1e-8, "word counts")
    results = []
    pairs = [
        ("word counts", bg.BagOfWords(), theirs, X, fit_goal, predict_goal),
        (
            "presence",
            bg.NaiveBayes(bg.Bernoulli()),
            BernoulliNB(binarize=None),
            (X > 0).astype(np.int64),
            None,
            None,
        ),
    ]
    for name, ours, peer, rows, fit, predict in pairs:
        size, over = f"{n:,} x {p:,} sparse, {name}", f"time over {type(peer).__name__}'s"
        calls = partial(ours.fit, rows, y), partial(peer.fit, rows, y)
        found = ratio(in_turn(*calls, options.repeats), faster=False)
        results.append(compared(f"fit {size}: {over}", fit, found))
        memory = highest(calls[0]) / highest(calls[1])
        goal = None if fit is None else "<= 3"
        results.append(Result(f"fit {size}: memory over {type(peer).__name__}'s", goal, memory))
        calls = partial(ours.predict_proba, rows), partial(peer.predict_proba, rows)
        found = ratio(in_turn(*calls, options.repeats), faster=False)
        results.append(compared(f"predict_proba {size}: {over}", predict, found))
    return results


def highest(call: Callable) -> int:
    """Return the most bytes that a call holds at once."""
    call()
    tracemalloc.start()
    call()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def losses(options: Options) -> list[Result]:
    """Return the log loss of unseen sentences after fitting few and many."""
    texts, labels = docstring_sentences("sklearn", 6)
    order = np.random.default_rng(0).permutation(len(texts))
    texts, labels = texts[order], labels[order]
    rivals = {
        "word counts": bg.BagOfWords(),
        "word counts, laplace": bg.BagOfWords(probs="uniform", rows_per_word=1),
        "presence": bg.BagOfWords(binary=True),
        "MultinomialNB": make_pipeline(CountVectorizer(), MultinomialNB()),
        "BernoulliNB": make_pipeline(CountVectorizer(), BernoulliNB()),
    }
    results = []
    for n in (200, 1000, 5000)[: options.size(3, 1)]:
        for name, rival in rivals.items():
            rival.fit(texts[:n], labels[:n])
            proba = rival.predict_proba(texts[n : n + 3000])
            loss = log_loss(labels[n : n + 3000], proba, labels=rival.classes_)
            right = accuracy_score(labels[n : n + 3000], rival.classes_[proba.argmax(axis=1)])
            work = f"texts: log loss after {n:,} sentences, {name}"
            results.append(Result(work, None, loss, "nats", note=f"accuracy {right:.3f}"))
    return results


if __name__ == "__main__":
    main(__file__, __doc__, measure, threads=("one",))
