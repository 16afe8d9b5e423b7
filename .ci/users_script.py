"""Check a script by a type checker that users have: it must report the marked lines, and no other.

python .ci/users_script.py SCRIPT COMMAND...: the command takes the path of a file, and prints
basedpyright's JSON.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

MARK = "# mistake"


def main() -> None:
    """Print the lines that were missed or reported wrongly; exit with 1 if there are any."""
    text, command = Path(sys.argv[1]).read_text(encoding="utf-8"), sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "users_script.py"
        script.write_text(text, encoding="utf-8")
        # the checker exits with 1 where it finds anything
        output = subprocess.run([*command, script], capture_output=True, text=True, check=False)
    found = json.loads(output.stdout)["generalDiagnostics"]
    said = {one["range"]["start"]["line"] + 1: one["message"] for one in found}
    lines = text.splitlines()
    marked = {i for i, line in enumerate(lines, 1) if line.endswith(MARK)}
    for number in sorted(marked ^ said.keys()):
        print(f"{number}: {lines[number - 1]}: {said.get(number, 'is not reported')}")
    print(f"{len(marked & said.keys())} of {len(marked)} mistakes were reported")
    sys.exit(marked != said.keys())


if __name__ == "__main__":
    main()
