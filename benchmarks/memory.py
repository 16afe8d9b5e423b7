"""Print the MB that predict_proba adds to a process that holds a classifier and the rows."""

import argparse
import pickle
import resource
import sys
from pathlib import Path

from tables import normal_rows

STATUS = Path("/proc/self/status")


def main() -> None:
    """Load a classifier, simulate rows, predict, print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("classifier", type=Path, help="pickle of a fitted classifier")
    arguments.add_argument("rows", type=int, help="rows to predict")
    given = arguments.parse_args()
    classifier = pickle.loads(given.classifier.read_bytes())
    X, _ = normal_rows(given.rows, classifier.n_features_in_, len(classifier.classes_), seed=2)
    # once before: BLAS takes its own buffers at its first call
    classifier.predict_proba(X[:1])
    before = megabytes("VmRSS")
    classifier.predict_proba(X)
    print(megabytes("VmHWM") - before)


def megabytes(field: str) -> float:
    """Return memory now (VmRSS) or at its peak (VmHWM) in MB; elsewhere than on Linux the peak.

    Linux's ru_maxrss starts from the peak of the process that started this one, so it will not do.
    """
    if STATUS.exists():
        lines = STATUS.read_text(encoding="utf-8").splitlines()
        line = next(line for line in lines if line.startswith(field))
        return int(line.split()[1]) * 1024 / 1e6
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


if __name__ == "__main__":
    main()
