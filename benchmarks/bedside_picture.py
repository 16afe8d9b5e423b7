"""Draw docs/how-to/bedside.png: the page of a half-filled row.

python benchmarks/bedside_picture.py
"""

from pathlib import Path

from browser import Browser
from PIL import Image

import bayesgen as bg

OUT = Path(__file__).parents[1] / "docs" / "how-to" / "bedside.png"
FIELDS = "#x.island=Dream&x.body_mass_g=3700&x.flipper_length_mm=196,5"
WIDTH, HEIGHT = 1100, 790

if __name__ == "__main__":
    clf = bg.StackedClassifier(random_state=0).fit(*bg.datasets.load_penguins())
    with bg.serve(clf, port=0, wait=False, title="Which penguin?") as page, Browser() as browser:
        browser.open(page.address + FIELDS)
        browser.picture(OUT, WIDTH)
    with Image.open(OUT) as picture:
        part = picture.convert("RGB").crop((0, 0, WIDTH, HEIGHT))
        part.quantize(64, dither=Image.Dither.NONE).save(OUT, optimize=True)
