"""A fit in a process of its own, which is stopped from outside: python interrupted.py FILE HOW.

HOW is "kill:SECONDS" or "int:SECONDS" (a signal so long after the first step), "full:BYTES" (no
file may be longer), or "never". Prints what became of the fit as JSON; draws go to FILE.npz.
"""

import contextlib
import json
import os
import resource
import signal
import sys
import threading
import warnings

import numpy as np

import bayesgen as bg
from bayesgen.inference import checkpoint, nuts

SIGNALS = {"kill": signal.SIGKILL, "int": signal.SIGINT}


def rows(seed=0):
    """Return a small table of truth values and its labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=40)
    return (rng.random((40, 3)) < 0.3 + 0.4 * y[:, None]).astype(float), y


def classifier(path=None, **changed):
    """Return a classifier whose chains are so short that nobody would believe them."""
    settings = {"draws": 330, "warmup": 170, "chains": 2, "checkpoint": path, **changed}
    sampler = bg.NUTS(**settings)
    return bg.NaiveBayes(bg.Bernoulli(prob=0.5), inference=sampler, random_state=7)


def draws(fitted):
    """Return every number that a fit by sampling leaves behind, by name."""
    posterior = fitted.posterior_.components
    own = {f"{o}.{n}": v for o, parts in posterior.params.items() for n, v in parts.items()}
    return own | posterior.sample_stats


@contextlib.contextmanager
def room(word, most):
    """Let files be no longer than so many bytes, if "full" is the word."""
    if word != "full":
        yield
        return
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(most), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def main(path, how):
    """Fit, with a signal on its way."""
    # written at every step, so that the signal meets every stage of writing
    checkpoint.PAUSE, checkpoint.SHARE = 0.0, np.inf
    word, _, seconds = how.partition(":")
    taken = nuts.CompiledNUTS.taken

    def starting(self, *arguments, **options):
        if word in SIGNALS and arguments[2]:
            timer = threading.Timer(float(seconds), os.kill, (os.getpid(), SIGNALS[word]))
            timer.daemon = True
            timer.start()
            nuts.CompiledNUTS.taken = taken
        return taken(self, *arguments, **options)

    nuts.CompiledNUTS.taken = starting
    X, y = rows()
    clf = classifier(path)
    try:
        with warnings.catch_warnings(record=True) as caught, room(word, seconds):
            warnings.simplefilter("always")
            clf.fit(X, y)
        print(json.dumps({"warnings": [warning.category.__name__ for warning in caught]}))
    except KeyboardInterrupt as stop:
        # none where all draws had been taken
        notes = getattr(stop, "__notes__", [])
        print(json.dumps({"attributes": sorted(vars(clf))} | ({"notes": notes} if notes else {})))
        return
    np.savez(f"{path}.npz", **draws(clf))


if __name__ == "__main__":
    main(*sys.argv[1:])
