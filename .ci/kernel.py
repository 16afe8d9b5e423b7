"""Exit 0 where every copy of OpenBLAS runs the kernel named, else say that this CPU lacks it."""

import sys

import scipy.linalg  # noqa: F401  the second copy
import threadpoolctl

found = {part.get("architecture") for part in threadpoolctl.threadpool_info()}
if found != {sys.argv[1]}:
    sys.exit(f"skipped: this processor runs {sorted(map(str, found))}, not {sys.argv[1]}")
