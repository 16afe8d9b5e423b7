"""The pictures of docs/how-to/check-and-diagnose.md: outputs of notebooks/09_diagnose_a_fit.ipynb.

Nothing is fitted: run it after the notebook. The pictures are those that the notebook holds,
half as large.
"""

import base64
import io
import json
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "notebooks" / "09_diagnose_a_fit.ipynb"
FOLDER = ROOT / "docs" / "how-to"
PICTURES = {
    "diagnose-rank.png": "azp.plot_rank(tree",
    "diagnose-funnel.png": 'title="centered: a funnel"',
    "diagnose-statistic.png": "azp.plot_ppc_tstat(",
    "diagnose-compare.png": "azp.plot_compare(",
    "diagnose-calibration.png": "azp.plot_ppc_pava(",
}
"""Files, and the code of the cell whose last picture each of them is."""
COLORS = 64


def pictures(cells: list[dict], code: str) -> list[bytes]:
    """Return the pictures of the one cell that holds the code."""
    (cell,) = [cell for cell in cells if code in "".join(cell["source"])]
    data = [output.get("data", {}) for output in cell["outputs"]]
    return [base64.b64decode(d["image/png"]) for d in data if "image/png" in d]


def write(picture: bytes, path: Path) -> None:
    """Write a picture with few colors, at most 1,000 pixels wide."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.thumbnail((1000, 1000))
    few = image.quantize(COLORS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


if __name__ == "__main__":
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    for name, code in PICTURES.items():
        write(pictures(cells, code)[-1], FOLDER / name)
        print(f"docs/how-to/{name}: {(FOLDER / name).stat().st_size:,} bytes")
