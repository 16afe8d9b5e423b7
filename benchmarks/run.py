"""Run all benchmarks, or those named: one Markdown table, and JSON with --json FILE."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from reporting import describe, machine_lines, table
from results import Result, read, write

SCRIPTS = {
    "fit": "fit_speed.py",
    "predict": "predict_speed.py",
    "draws": "draws_speed.py",
    "nuts": "nuts_speed.py",
    "whitening": "whitening_speed.py",
    "pymc": "pymc_speed.py",
    "checkpoint": "checkpoint_cost.py",
    "cold": "cold_start.py",
    "text": "text_speed.py",
    "growth": "scaling.py",
    "parquet": "out_of_core.py",
    "clusters": "clusters.py",
}
TABLES = {"scale": ("fit", "draws", "text", "pymc", "parquet", "clusters")}
"""Names of several scripts: what many rows cost, batch by batch, file by file and by draws."""
ABSENT = {
    "scale": [Result("GPU: NUTS", None, None, note="not measured: see gpu.py")],
}
"""Lines of work that needs a device of its own."""


def main() -> int:
    """Run scripts one after the other; a script that fails costs its lines and the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    every = ", ".join([*SCRIPTS, *TABLES])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of: {every}")
    parser.add_argument("--quick", action="store_true", help="small sizes: does everything run?")
    parser.add_argument("--repeats", type=int, help="pairs of timings (7; 1 when quick)")
    parser.add_argument("--threads", choices=("each", "one", "default"), default="each")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write figures and machine here")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - {*SCRIPTS, *TABLES}
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {every}")
    chosen = [one for name in arguments.names for one in TABLES.get(name, [name])]
    passed = ["--threads", arguments.threads, *["--quick"] * arguments.quick]
    if arguments.repeats:
        passed += ["--repeats", str(arguments.repeats)]
    machine = describe(quick=arguments.quick, repeats=arguments.repeats)
    print(machine_lines(machine), flush=True)
    results, failed = [], []
    for name in dict.fromkeys(chosen or SCRIPTS):
        print(f"running {name} ...", file=sys.stderr, flush=True)
        lines = _lines(SCRIPTS[name], passed)
        results += lines
        failed += [name] * (not lines)
    results += [line for name in arguments.names for line in ABSENT.get(name, [])]
    print("", table(results, quick=arguments.quick), sep="\n")
    if arguments.json:
        write(arguments.json, results, machine=machine, failed=failed)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


def _lines(script: str, passed: list[str]) -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.json"
        whole = str(Path(__file__).with_name(script))
        command = [sys.executable, whole, "--json", str(path), *passed]
        run = subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
        return read(path) if run.returncode == 0 else []


if __name__ == "__main__":
    sys.exit(main())
