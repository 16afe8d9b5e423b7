"""Run notebooks, all or the files that are named, and store them as tests/project wants them.

Outputs stay; times, versions and what went to stderr (warnings, progress bars) do not, and pictures
get a palette of 256 colors, which makes them a third as large.
"""

import base64
import io
import json
import os
import subprocess
import sys
from pathlib import Path

from PIL import Image


def with_palette(png: str) -> str:
    """Return a picture with 256 colors at most, in its resolution."""
    picture = Image.open(io.BytesIO(base64.b64decode(png)))
    dpi = picture.info["dpi"]
    white = Image.new("RGBA", picture.size, "white")
    white.alpha_composite(picture.convert("RGBA"))
    small = white.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    out = io.BytesIO()
    small.save(out, "PNG", dpi=dpi, optimize=True)
    return base64.b64encode(out.getvalue()).decode() + "\n"


def tidied(notebook: dict) -> dict:
    """Return a notebook without what changes from run to run."""
    for cell in notebook["cells"]:
        cell["metadata"] = {k: v for k, v in cell["metadata"].items() if k == "tags"}
        outputs = cell.get("outputs", [])
        outputs[:] = [output for output in outputs if output.get("name") != "stderr"]
        for output in outputs:
            data = output.get("data", {})
            if "image/png" in data:
                data["image/png"] = with_palette(data["image/png"])
    kernel = notebook["metadata"]["kernelspec"]
    return notebook | {"metadata": {"kernelspec": kernel, "language_info": {"name": "python"}}}


for file in sys.argv[1:] or sorted(map(str, Path("notebooks").glob("*.ipynb"))):
    quiet = os.environ | {"TQDM_DISABLE": "1"}
    subprocess.run(["jupyter", "execute", "--inplace", file], check=True, env=quiet)
    notebook = tidied(json.loads(Path(file).read_text(encoding="utf-8")))
    text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    Path(file).write_text(text, encoding="utf-8")
