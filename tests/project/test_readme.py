"""What the README shows is what happens, and its figures are those of the pages it links to."""

import re
import tomllib
from itertools import takewhile

from pages import ROOT, blocks, page, printed
from readme_picture import PICTURE, SHARES, SHOWN, cells, mean_losses

import bayesgen as bg

README = page("README.md")
CALIBRATION = page("docs/explanation/calibration.md")
URLS = tomllib.loads(page("pyproject.toml"))["project"]["urls"]
SETTINGS = {"40 % of": "40 %", "24 training": "24 rows", "all rows": "full"}
"""Beginnings of the README's rows, and of the columns of the page that they quote."""
RIVALS = {
    "logistic regression": ("logistic", "logistic, iterative imputer"),
    "random forest": ("forest", "forest, calibrated"),
    "CatBoost": ("CatBoost",),
}
"""Names of the README's columns, and of the page's classifiers of which it shows the best."""


def code(language, number):
    return [text for found, text in blocks(README) if found == language][number]


def evidence():
    """Return {setting: cells} of the table of evidence."""
    lines = README.split("## How good")[1].split("\n## ")[0].splitlines()
    return {cells(line)[0]: cells(line)[1:] for line in lines if line.startswith("|")}


def column(figures, start):
    return next(value for name, value in figures.items() if name.startswith(start))


def wins():
    """Return {classifier: {setting: as printed}} of the page's table of tables won."""
    lines = iter(CALIBRATION.splitlines())
    header = cells(next(line for line in lines if line.startswith("| rival |")))[1:]
    next(lines)
    rows = [cells(line) for line in takewhile(lambda line: line.startswith("|"), lines)]
    return {name: dict(zip(header, rest, strict=True)) for name, *rest in rows}


BADGE = re.compile(r"^\[!\[\w+\]\((\S+)\)\]\((\S+)\)$", re.MULTILINE)


def test_at_most_900_words():
    assert len(BADGE.sub("", README).split()) <= 900


def test_quick_start_prints_what_is_shown_and_a_prior_is_stated(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = bg.datasets.load_titanic_passengers()
    X.assign(survived=y).to_csv("passengers.csv", index=False)
    scope = {}
    assert len(code("python", 0).splitlines()) <= 9  # eight and an empty line
    assert printed(code("python", 0), scope) == code("text", 0)
    exec(code("python", 1), scope)
    prior = scope["age"]
    assert (prior.mean, prior.mean_rows) == (30, 10)
    unstated = bg.NaiveBayes().fit(X, y)
    assert abs(scope["clf"].predict_proba(X) - unstated.predict_proba(X)).max() > 0.001


def test_evidence_is_that_of_the_calibration_page():
    losses, won, shown = mean_losses(CALIBRATION), wins(), evidence()
    assert cells("|" + "|".join(shown[""]))[1:] == [*RIVALS]
    for start, setting in SETTINGS.items():
        ours, *rivals = column(shown, start)
        assert ours == f"**{column(losses['stack'], setting)}**"
        for names, shown_loss in zip(RIVALS.values(), rivals, strict=True):
            measured = {name: column(losses[name], setting) for name in names}
            best = min((name for name in names if measured[name] != "-"), key=measured.get)
            tables = column(won[best], setting).split(" (")[0]
            assert shown_loss == f"{measured[best]} ({tables})"
        line = next(row for row in shown if row.startswith(start))
        assert line.endswith(f"{column(won['*tables*'], setting)} tables")


def test_the_strongest_rival_of_the_page_is_shown():
    losses = mean_losses(CALIBRATION)
    shown = {name for names in RIVALS.values() for name in names}
    for setting in SETTINGS.values():
        figures = {name: column(losses[name], setting) for name in losses if name != "stack"}
        measured = {name: float(loss) for name, loss in figures.items() if loss != "-"}
        assert min(measured, key=measured.get) in shown
    assert "logistic, iterative imputer" in SHOWN


def test_ours_is_lowest_at_every_share_of_the_picture():
    losses = mean_losses(CALIBRATION)
    assert PICTURE.is_file()
    for share in SHARES:
        figures = {name: float(losses[name][share]) for name in SHOWN}
        assert min(figures, key=figures.get) == "stack"


def test_links_work_on_a_package_index_page():
    """They are whole addresses, and what they lead to is in the repository."""
    badges = [address for pair in BADGE.findall(README) for address in pair]
    assert len(badges) == 8 and all(address.startswith("https://") for address in badges)
    targets = re.findall(r"\]\(([^)]+)\)", BADGE.sub("", README))
    assert len(targets) > 10
    ours = re.compile(
        r"https://(?:github\.com/bayesgen/bayesgen/(?:blob|tree)"
        r"|raw\.githubusercontent\.com/bayesgen/bayesgen)/main/(.+)"
    )
    for target in targets:
        found = ours.fullmatch(target)
        assert found or target in {URLS["Documentation"], URLS["Issues"]}, target
        assert found is None or (ROOT / found[1]).exists(), target


def test_set_up_stands_alone_in_the_first_bash_block():
    (setup,) = [text for language, text in blocks(README) if language == "bash"]
    first, second = setup.splitlines()
    assert "uv run -p '>=3.12' bayesgen compare" in first and second.endswith("pytest")
    assert README.split("```bash")[0].rstrip().endswith("## From source")
