"""Formats of files: which is at hand, by beginning and ending, and what makes a table of others."""

import io
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bayesgen.errors import Cure, InvalidData, MissingPackage, RecognizedFormat
from bayesgen.errors.sources import reason
from bayesgen.sources.defaults import NULLS

ENDINGS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".arff": "arff",
}
"""Ending of a name -> format; the beginning of a file tells others, and what is left is CSV."""

BEGINNINGS = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xd0\xcf\x11\xe0": "workbook",
    b"PK\x03\x04": "workbook",
}

READERS = {
    ".json": ("a JSON", "read_json({path!r})"),
    ".jsonl": ("a JSON", "read_json({path!r}, lines=True)"),
    ".ndjson": ("a JSON", "read_json({path!r}, lines=True)"),
    ".dta": ("a Stata", "read_stata({path!r})"),
    ".sav": ("an SPSS", "read_spss({path!r})"),
    ".sas7bdat": ("a SAS", "read_sas({path!r})"),
    ".xpt": ("a SAS", "read_sas({path!r})"),
    ".orc": ("an ORC", "read_orc({path!r})"),
    ".xml": ("an XML", "read_xml({path!r})"),
    ".html": ("an HTML", "read_html({path!r})[0]"),
    ".htm": ("an HTML", "read_html({path!r})[0]"),
    ".h5": ("an HDF5", "read_hdf({path!r})"),
    ".hdf5": ("an HDF5", "read_hdf({path!r})"),
    ".pkl": ("a pickle", "read_pickle({path!r})"),
    ".pickle": ("a pickle", "read_pickle({path!r})"),
}
"""Ending of other formats -> how sentences call it, and the call of pandas that reads it."""

TEXTS = {
    b"<!doctype": ".html",
    b"<html": ".html",
    b"<table": ".html",
    b"<?xml": ".xml",
    b'{"': ".json",
    b"[{": ".json",
}
"""Beginning of texts that are no CSV -> the ending that they should have."""

R_FILES = (".rds", ".rda", ".rdata")

ENGINES = {
    "openpyxl": "openpyxl",
    "calamine": "python-calamine",
    "xlrd": "xlrd",
    "odf": "odfpy",
}
"""Engine by which pandas reads workbooks -> the package that has it."""


def format_of(path: str) -> str:
    """Return "parquet", "arrow", "arff", "workbook" or "text", whichever a file is.

    Raises:
        InvalidData: it is of another format, with the line of pandas that converts it.
    """
    suffix = Path(path).suffix.lower()
    if suffix in ENDINGS:
        return ENDINGS[suffix]
    if suffix in R_FILES:
        raise InvalidData(
            "{source!r} is an R file, a format that is not read here.",
            "Write its rows in R: write.csv(rows, {out!r}, row.names=FALSE).",
            source=path,
            out=f"{Path(path).stem}.csv",
        )
    try:
        with open(path, "rb") as file:
            head = file.read(64)
    except OSError:  # of which a sentence comes where its rows are read
        return "text"
    start = head.lstrip().lower()
    suffix = next((ending for mark, ending in TEXTS.items() if start.startswith(mark)), suffix)
    if suffix in READERS:
        raise _other_format(path, *READERS[suffix])
    return next((form for mark, form in BEGINNINGS.items() if head.startswith(mark)), "text")


def _other_format(path: str, kind: str, call: str) -> InvalidData:
    """Return the error about a format that pandas reads, in how sentences call it."""
    return InvalidData(
        "{source!r} is {kind} file, a format that is not read here.",
        Cure(
            "Pass {call}.",
            'Convert it: python -c "import pandas; {call}.to_csv({out!r}, index=False)".',
        ),
        source=path,
        kind=kind,
        call=f"pandas.{call.format(path=path)}",
        out=f"{Path(path).stem}.csv",
    )


# -- ARFF ------------------------------------------------------------------------------------------


def arff_table(path: str) -> pa.Table:
    """Return the rows of a file of Weka's format; its question marks are missing.

    Raises:
        InvalidData: SciPy does not read it.
    """
    from scipy.io import arff

    with open(path, "rb") as file:
        content = file.read()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    try:
        rows, about = arff.loadarff(io.StringIO(text))
    except (ValueError, NotImplementedError, StopIteration, IndexError) as error:
        raise InvalidData(
            "cannot read {source!r} as ARFF: {reason}.",
            "SciPy reads numeric and nominal attributes, row by row; leave out attributes of text, "
            "or write the rows as CSV.",
            source=path,
            reason=reason(error),
        ) from error
    columns = {}
    for name in about.names():
        cells: Any = rows[name]
        if cells.dtype.kind == "S":
            words = [cell.decode().strip().strip("'\"") for cell in cells.tolist()]
            columns[_unquoted(name)] = pa.array([None if w == "?" else w for w in words])
        else:
            numbers = np.asarray(cells, dtype=float)
            columns[_unquoted(name)] = pa.array(numbers, mask=np.isnan(numbers))
    return pa.table(columns)


def _unquoted(name: str) -> str:
    return name.strip().strip("'\"")


# -- workbooks -------------------------------------------------------------------------------------


def workbook_text(path: str) -> tuple[str, list[RecognizedFormat]]:
    """Return the cells of the first sheet of a workbook as CSV, and what is to be said of it.

    Raises:
        MissingPackage: pandas has no engine that reads it.
        InvalidData: it is no workbook.
    """
    import pandas as pd

    engine = _engine(path)
    try:
        # every cell as it is: header and missing cells are recognized as in other texts
        sheets = pd.read_excel(
            path,
            sheet_name=None,
            header=None,
            dtype=str,
            keep_default_na=False,
            na_values=[],
            engine=engine,
        )
    except ImportError as error:
        raise MissingPackage(
            "the workbook {source!r} needs the package {package}, which is not installed.",
            Cure(
                "Type: pip install {package}, or save the sheet as CSV UTF-8.",
                "Type: pip install {package}, or save the sheet as CSV UTF-8 (in Excel: File, Save "
                "As).",
            ),
            source=path,
            package=ENGINES[engine],
        ) from error
    except (ValueError, OSError, KeyError, zipfile.BadZipFile) as error:
        raise _no_workbook(path, reason(error)) from error
    (name, first), *others = sheets.items()
    said = []
    if others:
        said.append(
            RecognizedFormat(
                "{source!r} has {count:,} sheets; the first, {sheet!r}, is read.",
                Cure(
                    "For another, pass pandas.read_excel({source!r}, sheet_name={other!r}).",
                    "For another, save it as a file of its own.",
                ),
                source=path,
                count=len(sheets),
                sheet=name,
                other=others[0][0],
            )
        )
    return first.to_csv(index=False, header=False, na_rep=NULLS[0]), said


def _engine(path: str) -> Any:
    """Return the engine by which pandas reads a workbook.

    Raises:
        InvalidData: it begins as a zip archive, and is no workbook.
    """
    with open(path, "rb") as file:
        if file.read(2) != b"PK":  # .xls, for which pandas is to give up xlrd
            return "xlrd" if find_spec("xlrd") and not find_spec("python_calamine") else "calamine"
    if not zipfile.is_zipfile(path):
        raise _no_workbook(path, "it begins as a zip archive and is none")
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if any(name.startswith("xl/") for name in names):
        return "openpyxl"
    if "content.xml" in names:
        return "odf"
    raise InvalidData(
        "{source!r} is a zip archive of {names:listed}.",
        "Unpack it: python -m zipfile -e {source!r} {folder!r}.",
        source=path,
        names=names,
        folder=Path(path).stem,
    )


def _no_workbook(path: str, why: str) -> InvalidData:
    return InvalidData(
        "cannot read {source!r} as a table: {reason}.",
        "Write the file again, or save its sheet as CSV; a CSV file is text (in Excel: File, Save "
        "As, CSV UTF-8).",
        source=path,
        reason=why,
    )
