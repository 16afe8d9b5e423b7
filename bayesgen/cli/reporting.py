"""`bayesgen report`: one HTML page about a model and its rows."""

from pathlib import Path

from bayesgen.cli import show
from bayesgen.cli.arguments import AnyModel, DataName, Flag, Folds, Missing, Seed
from bayesgen.cli.files import Data, classes_in, read
from bayesgen.cli.models import (
    STACK,
    AnyModelName,
    Fitted,
    InferenceName,
    classifiers,
    in_words,
    unfitted,
)
from bayesgen.compare import Comparison, compare
from bayesgen.estimators.loading import load_classifier
from bayesgen.plots.style import pyplot
from bayesgen.report import report_html
from bayesgen.table import read_table

LOGISTIC = "logistic regression"


def report_page(
    data: DataName,
    /,
    *,
    html: Path,
    target: str | None = None,
    fitted: Path | None = None,
    model: AnyModel = "naive-bayes",
    inference: InferenceName = "auto",
    cv: Folds = 5,
    seed: Seed = 0,
    missing: Missing = (),
    json: Flag = False,
) -> None:
    """Write one self-contained HTML page: data, story, posterior, verdict, comparison, odd rows.

    Fits the model (or takes a fitted one), compares maximum likelihood, the posterior and logistic
    regression on the same folds, and shows reliability, the least certain and the strangest rows.

    Args:
        data: A file, or the name of a bundled data set.
        html: File to write.
        target: Column that holds the classes; a bundled data set knows its own.
        fitted: A model that `bayesgen fit` saved; the page is then about it, without a comparison.
        model: Which one.
        inference: exact is the posterior in closed form; mle and map are points; nuts samples; auto
            is exact where that exists.
        cv: Number of stratified folds.
        seed: Seed of everything random.
        missing: One more text.
        json: Print JSON: where the page is and how the fit ended.
    """
    pyplot()  # refuse before anything is read or fitted
    rows = read(data, target, missing)
    if fitted is not None:
        classifier, comparison = load_classifier(fitted), None
    else:
        classifier = unfitted(model, inference, seed)
        comparison = _compared(rows, model, cv, seed)
        classifier.fit(rows.X, rows.y)
    html.write_text(_page(rows, classifier, comparison), encoding="utf-8")
    facts = _facts(rows, classifier, model, html)
    if json:
        print(show.as_json(facts))
        return
    show.print_facts({name: str(value) for name, value in facts.items()})


def _page(rows: Data, classifier: Fitted, comparison: Comparison | None) -> str:
    return report_html(
        classifier,
        rows.X,
        rows.y,
        title=f"{rows.name}: {rows.target}",
        comparison=comparison,
        candidate=None if comparison is None else _bayes(comparison),
    )


def _compared(rows: Data, model: AnyModelName, cv: int, seed: int) -> Comparison:
    from bayesgen.compare.rivals import logistic_regression

    table = read_table(rows.X)
    rivals: dict[str, object] = dict(
        classifiers("naive-bayes", (STACK, "exact", "mle"), seed, table)
        if model == STACK
        else classifiers(model, ("exact", "mle"), seed, table)
    )
    rivals[LOGISTIC] = logistic_regression(table)
    with classes_in(rows.target):
        return compare(rivals, rows.X, rows.y, cv=cv, random_state=seed)


def _bayes(comparison: Comparison) -> str:
    return next(iter(comparison.probabilities))


def _facts(rows: Data, classifier: Fitted, model: AnyModelName, html: Path) -> dict[str, object]:
    words = in_words(model, classifier, read_table(rows.X))
    return {
        "data": rows.name,
        "target": rows.target,
        "model": words,
        "fit": f"{classifier.inference_}: {classifier.report_.verdict}",
        "page": f"{html} ({html.stat().st_size:,} bytes)",
    }
