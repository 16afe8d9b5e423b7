"""Exit 0 where every copy of OpenBLAS can run the kernel named, else say why not."""

import sys
from pathlib import Path

import scipy.linalg  # noqa: F401  the second copy
import threadpoolctl

AVX2_KERNELS = ("Haswell", "Zen")


def main(kernel: str) -> None:
    """Exit with a reason unless all copies run the kernel, and run it safely."""
    copies = threadpoolctl.threadpool_info()
    found = {copy.get("architecture") for copy in copies}
    if found != {kernel}:
        sys.exit(f"skipped: this processor runs {sorted(map(str, found))}, not {kernel}")
    # https://github.com/OpenMathLib/OpenBLAS/issues/6021: block sizes chosen for Zen 4 overrun the
    # stack of these kernels, which only a forced name runs there; products then crash at random
    old = [copy["version"] for copy in copies if copy["version"].startswith("0.3.34")]
    if old and kernel in AVX2_KERNELS and amd_with_avx512():
        sys.exit(
            f"skipped: OpenBLAS {old[0]} crashes where Zen 4 and later are told to run {kernel}"
        )


def amd_with_avx512() -> bool:
    """Return whether this is an AMD processor with AVX-512."""
    facts = Path("/proc/cpuinfo")
    text = facts.read_text() if facts.exists() else ""
    return "AuthenticAMD" in text and "avx512f" in text


if __name__ == "__main__":
    main(sys.argv[1])
