"""Cures of errors and warnings as options to type, in place of the library's Python."""

import ast
import re
import shlex
from collections.abc import Callable

QUOTED = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
"""A name as sentences quote it."""
NAME = rf"(?:{QUOTED}|-?\d+)"

Cure = str | Callable[[re.Match], str]


def _drop(match: re.Match) -> str:
    names = [str(ast.literal_eval(name)) for name in re.findall(NAME, match["names"])]
    return f"--drop {shlex.quote(','.join(names))}"


def _leave_out(match: re.Match) -> str:
    return f"Leave it out: {_drop(match)}"


def _date(match: re.Match) -> str:
    return (
        f"column {match['names']} {match['found']} Leave it out, {_drop(match)}, or write the part "
        "that matters, such as the month, into a column of its own"
    )


def _sampler(match: re.Match) -> str:
    """Return how a method with more draws is asked for."""
    if "NUTS" in match[0]:
        return f"--inference nuts {_longer(match)}".rstrip()
    return "--inference auto"


def _longer(match: re.Match) -> str:
    settings = re.findall(r"(draws|warmup|chains)=(\d+)", match[0])
    return " ".join(f"--{name} {count}" for name, count in settings)


CURES: tuple[tuple[str, Cure], ...] = (
    # columns that are no features
    (
        rf"column (?P<names>{NAME}) (?P<found>holds dates [^.]*\.) Extract the part that matters, "
        r"for example X\[column\]\.dt\.month, or drop the column",
        _date,
    ),
    (r"or drop the column\b", "or leave it out by --drop"),
    (
        r"name it: X\.replace\(.*?, 'blank', regex=True\); X\.replace\(.*?regex=True\) makes it "
        r"missing without this warning",
        "name it in the file",
    ),
    (
        rf"write them alike: (?:X\[{NAME}\] = X\[{NAME}\]|pandas\.Series\(y\))\.str\.split\(\)\.str"
        r"\.join\(' '\)\.str\.lower\(\)",
        "write them alike in the file",
    ),
    (
        rf"if not, pass X\.astype\(\{{{NAME}: 'category'\}}\)",
        "if not, give them names that differ by more",
    ),
    (
        r"name it: pandas\.Series\(y\)\.replace\(.*?, 'blank', regex=True\); pandas\.Series\(y\)"
        r"\.replace\(.*?regex=True\) silences this warning",
        "name it in the file; leave these cells empty to silence this warning",
    ),
    (r",? or read the file by pandas\.read_csv\(path, index_col=0\)", ""),
    (rf" If it is a measurement, pass X\.astype\(\{{{NAME}: float\}}\)\.", ""),
    (rf" If it is meant as text, pass X\.astype\(\{{{NAME}: 'category'\}}\)\.", ""),
    (rf"Leave it out, X\.drop\(columns=(?P<names>{NAME})\), or state a prior variance", _leave_out),
    (rf"X\.drop\(columns=\[?(?P<names>{NAME}(?:, {NAME})*)\]?\)", _drop),
    (r"Leave them out, or state prior guesses for them", "Leave them out by --drop"),
    # cells
    (
        rf"X\[{NAME}\] = pandas\.to_numeric\(X\[{NAME}\], errors='coerce'\); on the command line ",
        "add ",
    ),
    (rf", in Python polars\.scan_csv\(path, null_values=\[{QUOTED}\]\)", ""),
    (
        r"pass X\.replace\(\[numpy\.inf, -numpy\.inf\], numpy\.nan\)",
        "add --missing inf --missing=-inf",
    ),
    (
        r"Pass X\.fillna\(0\) if a missing count means 0, leave these rows out, or use Poisson: "
        r"likelihood=Poisson\(\)",
        "Write 0 where a missing count means 0, or leave these rows out of the file",
    ),
    (r"Pass missing='ignorable' if it may", "If it may, use --model naive-bayes"),
    (
        r"Declare it before fitting, as a pandas Categorical or a polars Enum with all its levels, "
        r'or pass unseen="(?:error|missing)"',
        "Fit again with rows that have it",
    ),
    (
        r"Add what is known to X(?:; X\.reindex\(columns=clf\.feature_names_in_\) adds empty "
        r"columns without this warning, as None for each of them does in a dict)?",
        "Add what is known to the file",
    ),
    (r"\bX lacks ", "the file lacks "),
    (r"\bX has more than one column", "the file has more than one column"),
    (r"Rename them, in pandas by X\.columns = \[\.\.\.\]", "Rename them in the file"),
    # likelihoods
    (
        r"Give it a likelihood for numbers, likelihood=\{.*?\}, or cut it into levels, "
        r"pandas\.cut\(X\[column\], 5\)",
        "Use --model naive-bayes, or leave the column out by --drop",
    ),
    (
        r"For measurements use Normal: likelihood=\{.*?\.\.\.\}",
        "For measurements use --model naive-bayes",
    ),
    (
        r"Leave columns out, merge rare levels, or let some columns stand alone or in a smaller "
        r"table: bg\.GenerativeClassifier\(\{.*\}\)",
        "Leave columns out by --drop, merge rare levels, or use --model naive-bayes",
    ),
    (r"Use bg\.StackedClassifier\(\), or \w+\(temper='columns'\)", "Use --model stacked"),
    (
        r"Pass members=\{.*?\} to fit (it|them) anyway",
        r"Name fewer columns by --columns to fit \1",
    ),
    (
        r"Pass members=\{.*?\} that suit the columns",
        "Use --model naive-bayes, or leave columns out by --drop",
    ),
    (r" Leave it out of members= to silence this warning\.", ""),
    (r" \(for texts, those of CountVectorizer, not TF-IDF weights\)", ""),
    # inference
    (r" \(inference_ says (?:which|so)\)", ""),
    (r"\bpredict_(interval|draws) needs", r"--\1 needs"),
    (r"\binference= is", "--inference is"),
    (r"Call fit with all rows", "Fit all rows together by `bayesgen fit`"),
    (r", or set another floor by MLE\(variance_floor=1e-9\)", ""),
    (
        r"raise target_accept \(NUTS\(target_accept=0\.95\)\) or state a stronger prior",
        "sample for longer, --warmup 4000 --draws 4000, or use --inference auto",
    ),
    (r"ask for more, NUTS\([^)]*\)", lambda match: f"ask for more, {_longer(match)}"),
    (r"(?:inference=)?(?:bg\.)?(?:NUTS|Augmentation|Exact)\([^)]*\)", _sampler),
    (r"inference='(\w+)' or (?:inference=)?'(\w+)'", r"--inference \1 or \2"),
    (r"inference='(\w+)'", r"--inference \1"),
    (r"--inference auto: 'exact' where", "--inference auto: exact where"),
    (r"Pass --inference", "Add --inference"),
    # classes
    (
        r"If -1 is a class, pass numpy\.asarray\(y\)\.astype\(str\) or unlabelled=None; "
        r"otherwise pass None in place of -1 to silence this warning",
        "If -1 is a class, write it as a word; otherwise leave these cells empty",
    ),
    (r"unlabelled='learn'", "--unlabelled learn"),
    (r"unlabelled=None", "--unlabelled none"),
    (r"unlabelled=([\d.]+\d)", r"--unlabelled \1"),
    (
        r"Pass y\.astype\(str\), or cut y into classes: pandas\.cut\(y, 2\)",
        "Write classes into this column, such as low and high",
    ),
    (
        r"Cut it into classes first, pandas\.cut\(y, 3\)\.astype\(str\)",
        "Write classes into this column, such as low and high",
    ),
    (
        r"Check the selection of rows, or name all classes in partial_fit\(X, y, "
        r"classes=\[\.\.\.\]\)",
        "Check the rows of the file, and --target",
    ),
    (r"Unknown label type: continuous\. y holds", "the column of classes holds"),
    (r"\by holds\b", "the column of classes holds"),
    (r"\by has (?=\d+ class)", "the column of classes has "),
    (
        r"Leave these rows out: keep = .*?; fit\(X\[keep\], y\[keep\]\)",
        "Leave these rows out of the file",
    ),
    # files and models
    (r"a file that clf\.save\(path\) wrote", "a file that `bayesgen fit` wrote"),
    (
        r"If it is a class of your own, pass it: bg\.load\(path, classes=\[\.\.\.\]\)",
        "If it is a class of your own, the model opens in Python alone",
    ),
    (r"Pass the program: bg\.load\(path, story=\.\.\.\)", "Such a model opens in Python alone"),
    (
        r"State it in both: likelihood=\{.*\.\.\.\}",
        "Fit both files with the same --model",
    ),
    (r"State the same likelihood= in both", "Fit both files with the same --model"),
    (r"Fit both to X\[(\[.*?\])\]", r"Fit both with their columns in the order \1"),
    (
        r"Declare (?:them|the levels)(?: in the same order)? in both: pandas\.Categorical\(.*\)",
        "Fit both to files that hold all levels",
    ),
    (r"Fit both to y\.astype\(str\)", "Write the classes as words in both"),
    (r"with missing values \(NaN\) where it is unknown", "with empty cells where it is unknown"),
)
"""Pattern in a sentence of the library -> what stands there on the command line."""


def in_options(sentence: str) -> str:
    """Return a sentence of the library with cures that can be typed on the command line.

    Examples:
        >>> in_options("column 'id' looks like a key. Leave it out: X.drop(columns='id').")
        "column 'id' looks like a key. Leave it out: --drop id."
        >>> in_options("its variance was raised. Use inference='exact'.")
        'its variance was raised. Use --inference exact.'
    """
    for pattern, cure in CURES:
        sentence = re.sub(pattern, cure, sentence, flags=re.DOTALL)
    return sentence
