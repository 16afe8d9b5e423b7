"""How the text of a file is a table: what is recognized of it, and that each thing is said."""

import gzip
import re
import sys
import warnings

import pandas as pd
import pytest

import bayesgen as bg
from bayesgen.errors import InvalidData, MissingPackage, RecognizedFormat
from bayesgen.sources.defaults import NULLS

ROWS = ["1.5,2,p", "2.5,3,q", "3.5,5,p", "4.5,4,q"]
FOUND = {"a": [1.5, 2.5, 3.5, 4.5], "b": [2, 3, 5, 4], "class": ["p", "q", "p", "q"]}


def text(*lines):
    return "\n".join(lines) + "\n"


def read(path, **options):
    """Return the cells of a file, and what was said of it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        source = bg.file_source(path, **options)
        parts = [part.frame for part in source.parts()]
    assert all(isinstance(warning.message, RecognizedFormat) for warning in caught)
    cells = {name: [c for p in parts for c in p.column(name).to_pylist()] for name in source.names}
    return cells, " ".join(str(warning.message) for warning in caught)


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a file and returns its path."""

    def written(content, name="rows.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return written


COMMAS = text("a,b,class", *ROWS)
SEMICOLONS = text("a;b;class", *(row.replace(",", ";").replace(".", ",") for row in ROWS))
AS_FOUND = {
    "commas": (COMMAS, ""),
    "semicolons": (SEMICOLONS, "separated by semicolons.*decimals of .* follow a comma"),
    "stray blanks": (
        SEMICOLONS.replace(";", " ; ").replace("a ;", " a;"),
        "separated by semicolons",
    ),
    "tabs": (COMMAS.replace(",", "\t"), "separated by tabs"),
    "bars": (COMMAS.replace(",", "|"), "separated by '|'"),
    "stated in the first line": ("sep=;\n" + SEMICOLONS, "separated by semicolons"),
    "comments": ("# one\n#two, three\n" + COMMAS, "2 lines above the header .* begin with #"),
    "header with a mark": ("# " + COMMAS, "the header of .* begins with #"),
    "title": ("Rows of 2020\n\n" + COMMAS, "1 line above the header .* holds one cell"),
    "trailing comma": (COMMAS.replace("\n", ",\n"), "column 4 .* has neither a name nor a cell"),
    "trailing comma of rows": (
        text("a,b,class", *(f"{row}," for row in ROWS)),
        "column 4 .* has neither a name nor a cell: ignored",
    ),
    "units": (text("a,b,class", "cm,kg,", *ROWS), "two rows of names .* those of the first"),
    "groups": (text("size,,", "a,b,class", *ROWS), "two rows of names .* those of the second"),
    "carriage returns": (COMMAS.replace("\n", "\r\n"), ""),
    "byte order mark": ("\ufeff" + COMMAS, ""),
}


@pytest.mark.parametrize("shape", AS_FOUND)
def test_a_table_is_the_same_in_every_dialect_and_what_is_recognized_is_said(shape, write):
    content, said = AS_FOUND[shape]
    path = write(content)
    cells, notes = read(path)
    assert cells == FOUND
    assert re.search(said, notes, re.DOTALL) and bool(said) == bool(notes), notes
    for name in re.findall(r"'(/[^']*)'", notes):
        assert name == str(path)


def test_compressed_files_are_read_alike(write):
    path = write(gzip.compress(SEMICOLONS.encode()), "rows.csv.gz")
    assert read(path)[0] == FOUND


@pytest.mark.parametrize(
    ("encoding", "said"),
    [
        ("utf-8", ""),
        ("utf-8-sig", ""),
        ("latin-1", "not UTF-8; it is read as Windows-1252"),
        ("cp1252", "not UTF-8; it is read as Windows-1252"),
        ("utf-16", "read as UTF-16"),
        ("utf-16-le", "read as UTF-16"),
        ("utf-16-be", "read as UTF-16"),
    ],
)
def test_letters_of_every_encoding_are_read_in_header_and_cells(encoding, said, write):
    path = write(text("größe,klasse", "1,grün", "2,blau", "3,grün", "4,blau"), encoding=encoding)
    cells, notes = read(path)
    assert cells == {"größe": [1, 2, 3, 4], "klasse": ["grün", "blau", "grün", "blau"]}
    assert said in notes and bool(said) == bool(notes)
    assert read(path, encoding=encoding) == (cells, "")


def test_an_encoding_that_does_not_fit_is_named(write):
    path = write(text("größe,k", "1,p", "2,q"), encoding="latin-1")
    with pytest.raises(InvalidData, match="in the encoding 'utf-8': its bytes are not of it"):
        read(path, encoding="utf-8")
    with pytest.raises(InvalidData, match="in the encoding 'utf-9': Python knows none"):
        read(path, encoding="utf-9")


# -- headers ---------------------------------------------------------------------------------------

WORDS = ["vhigh,2,more,unacc", "low,4,2,acc", "vhigh,2,more,acc", "low,4,2,unacc"]


@pytest.mark.parametrize(
    ("rows", "width"),
    [
        (ROWS, 3),
        (["3,3,1", "4,5,0", "3,2,1", "5,1,0"], 3),
        (WORDS, 4),
        (["?,2,p", "1.5,3,q", "2.5,4,p", "3.5,5,q"], 3),
        (["2020-01-01,5%,p", "2020-01-02,6%,q", "2020-01-03,7%,p", "2020-01-04,8%,q"], 3),
    ],
)
def test_rows_without_a_header_are_refused_and_read_as_the_sentence_says(rows, width, write):
    path = write(text(*rows))
    with pytest.raises(InvalidData, match="looks like data and not like names") as caught:
        bg.file_source(path)
    assert f"its {width} columns x0 to x{width - 1}" in str(caught.value)
    (cure,) = re.findall(r"bg\.file_source\([^)]*\)", str(caught.value))
    source = eval(cure)
    assert source.names == tuple(f"x{j}" for j in range(width))
    assert sum(map(len, source.parts())) == len(rows)
    names = [f"n{j}" for j in range(width)]
    cells, notes = read(path, names=names)
    assert "looks like data, and is read as a row" in notes
    assert list(cells) == names and len(cells["n0"]) == len(rows)
    assert len(read(path, header=True, names=names)[0]["n0"]) == len(rows) - 1


@pytest.mark.parametrize(
    "content",
    [
        text("x,y", "1,2", "3,4"),
        text("1990,1991,1992,class", *(f"{i},{i + 3},{i + 1},{'pq'[i % 2]}" for i in range(6))),
        text("0,1,2", "5.5,1.5,2.5", "6.5,1.5,2.5"),
        text("name,sex", "Ann,f", "Bob,m", "Cid,m", "Eve,f"),
        text("a,b"),
        text("a"),
        text("class,text", "p,one", "q,two"),
    ],
)
def test_a_header_is_none_of_the_rows(content, write):
    path = write(content)
    cells, notes = read(path)
    assert notes == ""
    assert list(cells) == pd.read_csv(path).columns.astype(str).tolist()
    assert len(next(iter(cells.values()))) == content.count("\n") - 1


def test_the_law_notices_a_row_that_is_taken_for_names(write, monkeypatch):
    monkeypatch.setattr("bayesgen.sources.header.looks_like_data", lambda *_: False)
    cells, _ = read(write(text(*ROWS)))
    assert len(cells["p"]) == len(ROWS) - 1


def test_names_that_occur_twice_get_names_to_type(write):
    path = write('a,"b, c",a,a.1,"b, c"\n1,2,3,4,u\n2,3,4,1,v\n1,3,5,2,v\n4,1,2,3,u\n')
    with pytest.raises(InvalidData, match="more than one column named 'a', 'b, c'") as raised:
        bg.file_source(path)
    names = ("a", "b, c", "a.2", "a.1", "b, c.1")
    code, option = (
        raised.value.written(to).split("Name the columns: ")[1].rstrip(".")
        for to in ("python", "shell")
    )
    assert eval(code, {"bg": bg}).names == names
    assert option == '--names \'a,"b, c",a.2,a.1,"b, c.1"\''


@pytest.mark.filterwarnings("ignore::bayesgen.errors.RecognizedFormat")
def test_names_are_as_many_as_columns(write):
    for stated in ({"names": ["a"]}, {"names": ["a", "b", "c", "d"], "header": False}):
        with pytest.raises(InvalidData, match=r"stated, and .* has 3 columns"):
            bg.file_source(write(COMMAS), **stated)
    with pytest.raises(InvalidData, match="more than one column named 'a'"):
        bg.file_source(write(COMMAS), names=["a", "a", "b"])
    # columns that are ignored need none
    path = write(COMMAS.replace("\n", ",\n"))
    assert list(read(path, names=["d", "e", "f"])[0]) == ["d", "e", "f"]


def test_columns_without_a_name_are_named_as_pandas_names_them(write):
    path = write(text("a,,,class", *(row.replace(",", ",0,", 1) for row in ROWS)))
    cells, notes = read(path)
    assert list(cells) == pd.read_csv(path).columns.tolist()
    assert "columns 2, 3 of" in notes and "'Unnamed: 1', 'Unnamed: 2'" in notes
    # the names of rows, as R writes them
    path = write(text("a,b,class", *(f"{i},{row}" for i, row in enumerate(ROWS))))
    assert read(path)[0] == {"Unnamed: 0": [0, 1, 2, 3], **FOUND}


def test_a_column_that_is_ignored_may_not_get_cells(write):
    rows = ["1,2,p,"] * 400_000
    path = write(text("a,b,class,", *rows, "1,2,p,late", *rows))
    with (
        pytest.warns(RecognizedFormat, match="neither a name nor a cell"),
        pytest.raises(InvalidData, match=r"row 400,000: column 4 has no name.*'late' here"),
    ):
        list(bg.file_source(path).parts())


def test_names_in_two_rows_are_joined_where_neither_is_enough(write):
    path = write(
        text("left,,right,,", "mean,sd,mean,sd,class", *(f"1,2,3,{r[:3]},p" for r in ROWS))
    )
    assert list(read(path)[0]) == ["left mean", "left sd", "right mean", "right sd", "class"]
    # the second is a row where one of its cells is a number, or a level
    path = write(text("a,b,class", "low,2,p", "1,3,p", "2,4,q", "3,5,q"))
    cells, notes = read(path)
    assert cells["a"] == ["low", "1", "2", "3"] and notes == ""


# -- separators ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "separator"),
    [
        ("a,b\nx;y,2\nx;z,3\n", ","),
        ('a,b\n"x;y;z",2\n"x|y",3\n', ","),
        ("a\nx y\nz w\n", ","),
        ("a;b\n1,5;2,5\n3,5;4,5\n", ";"),
        ("1,5;2,5\n3,5;4,5\n", ";"),
        ("a\tb\n1,2,3\t4\n5,6,7\t8\n", "\t"),
    ],
)
def test_the_mark_that_splits_all_lines_alike_separates(content, separator):
    from bayesgen.sources.dialect import separator_of

    assert separator_of(content.splitlines(), ",") == separator


def test_what_is_stated_is_not_recognized(write):
    path = write(SEMICOLONS)
    assert read(path, separator=";", decimal=",") == (FOUND, "")
    assert read(path, separator=";", decimal=".")[0]["a"] == ["1,5", "2,5", "3,5", "4,5"]
    thousands = write(text("a;k", "1,000;p", "2,500;q", "3,000;p", "4,000;q"))
    assert "follow a comma" not in read(thousands)[1]


def test_cells_between_blanks_are_refused_with_the_call_that_reads_them(write):
    path = write(COMMAS.replace(",", "  "), "rows.dat")
    with pytest.raises(InvalidData, match="separated by blanks") as caught:
        bg.file_source(path)
    (cure,) = re.findall(r"pandas\.read_csv\(.*\)", str(caught.value))
    assert eval(cure, {"pandas": pd}).to_dict("list") == FOUND


# -- words for missing -----------------------------------------------------------------------------


def fitted(path, y, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf = bg.NaiveBayes().fit(bg.file_source(path, **options), y=y)
    notes = [w.message for w in caught if isinstance(w.message, RecognizedFormat)]
    return clf, " ".join(map(str, notes))


def test_words_for_missing_are_those_of_pandas():
    from pandas._libs.parsers import STR_NA_VALUES

    assert {*NULLS} == STR_NA_VALUES


def test_a_class_called_none_is_one(write):
    path = write(
        text("x,y", "0.1,none", "0.4,none", "1.2,mild", "1.1,mild", "2.3,severe", "2.2,severe")
    )
    clf, notes = fitted(path, "y")
    assert clf.classes_.tolist() == ["mild", "none", "severe"] and notes == ""
    frame = pd.read_csv(path)
    assert bg.NaiveBayes().fit(frame[["x"]], frame["y"]).classes_.tolist() == clf.classes_.tolist()


@pytest.mark.parametrize("word", ["None", "null", "NULL", "n/a", "N/A"])
def test_a_word_that_the_target_holds_twice_is_a_class(word, write):
    path = write(text("x,y", f"0.1,{word}", f"0.4,{word}", "1.2,mild", "1.1,mild"))
    clf, notes = fitted(path, "y")
    assert clf.classes_.tolist() == sorted([word, "mild"])
    assert f"word '{word}' of the column of classes 'y', in 2 rows, is read as a class" in notes
    assert f"missing=['{word}']" in notes
    # otherwise it is missing, as an option or its number says
    with pytest.raises(ValueError, match="'y' is missing in 2 of 4 rows"):
        fitted(path, "y", missing=[word])
    path = write(text("x,y", f"0.1,{word}", "0.4,high", "1.2,mild", "1.1,mild"))
    with pytest.raises(ValueError, match="'y' is missing in 1 of 4 rows"):
        fitted(path, "y")


@pytest.mark.parametrize("word", ["", "NA", "NaN", "nan", "<NA>", "#N/A"])
def test_other_words_are_rows_without_a_class(word, write):
    path = write(text("x,y", f"0.1,{word}", f"0.4,{word}", "1.2,mild", "1.1,high"))
    with pytest.raises(ValueError, match="'y' is missing in 2 of 4 rows"):
        fitted(path, "y")
    if word:
        assert word in fitted(path, "y", not_missing=[word])[0].classes_.tolist()


def test_every_word_is_counted_by_column_and_can_be_a_level(write):
    rows = [
        f"{['NA', '1.5', '', ' null '][i % 4]},{['NA', 'u'][i % 2]},{'pq'[i % 3 > 0]}"
        for i in range(12)
    ]
    path = write(text("a,b,y", *rows))
    clf, notes = fitted(path, "y")
    assert "missing in columns 'a' ('NA' 3, 'null' 3), 'b' ('NA' 6)." in notes
    assert "not_missing=['NA']" in notes
    clf, notes = fitted(path, "y", not_missing=["NA"])
    assert "missing in column 'a' ('null' 3)." in notes
    assert clf.state_.schema.blocks["categorical"][1].levels == ("NA", "u")
    # a part, a batch and the whole read the same
    whole = bg.file_source(path).parts(rows=5)
    assert [cell for part in whole for cell in part.table["b"].to_list()] == [None, "u"] * 6


def test_the_class_is_the_same_in_batches_and_in_folders(write, tmp_path):
    (tmp_path / "rows").mkdir()
    for i in range(2):
        # once in each file
        write(text("x,y", "0.1,None", "0.4,a", f"1.{i},b"), f"rows/{i}.csv")
    clf, notes = fitted(tmp_path / "rows", "y")
    assert clf.classes_.tolist() == ["None", "a", "b"]
    assert clf.state_.statistics.count.tolist() == [2, 2, 2]
    assert "in 2 rows, is read as a class" in notes


def test_digits_after_zeros_are_codes(write):
    rows = [f"{['00501', '10001', '02138'][i % 3]},{i % 5},{'pq'[i % 2]}" for i in range(12)]
    path = write(text("zip,b,y", *rows))
    clf, notes = fitted(path, "y")
    assert "column 'zip' holds digits after zeros, such as '00501': codes" in notes
    levels = clf.state_.schema.blocks["categorical"][0].levels
    assert sorted(levels) == ["00501", "02138", "10001"]
    assert clf.state_.schema.blocks["normal"][0].name == "b"
    assert read(write(text("a,y", "0,p", "10,q", "0.5,p")))[0]["a"] == [0, 10, 0.5]


# -- quotes ----------------------------------------------------------------------------------------


def test_all_lines_with_an_open_quote_are_named_at_once_and_read_as_the_sentence_says(write):
    lines = [f"{i},{'"' if i % 5 == 2 else ''}inch {i},{'pq'[i % 2]}" for i in range(85)]
    path = write(text('a,t,"y"', *lines))
    with pytest.raises(InvalidData, match="rows that begin on lines 4, 9, 14, ") as caught:
        list(bg.file_source(path).parts())
    assert len(re.search(r"on lines ([\d, ]+) of", str(caught.value))[1].split(",")) == 17
    (cure,) = re.findall(r"bg\.file_source\([^)]*\)", str(caught.value))
    with pytest.warns(RecognizedFormat, match="on lines 4, 9, .* are read as characters"):
        (part,) = eval(cure).parts()
    assert part.frame.column("t").to_pylist()[:4] == ["inch 0", "inch 1", '"inch 2', "inch 3"]
    assert part.frame.column("y").to_pylist() == [line[-1] for line in lines]


def test_cells_in_quotes_stay_whole_beside_stray_ones(write):
    path = write(text("a,t,y", '1,"x, y",p', '2,"5" pipe",q', '3,"z,p', '4,"""w""",q'))
    cells, _ = read(path, stray_quotes=True)
    assert cells["t"] == ["x, y", '5" pipe', '"z', '"w"']
    assert cells["y"] == ["p", "q", "p", "q"]


# -- other formats ---------------------------------------------------------------------------------

ARFF = """% a comment
@relation rows
@attribute 'a b' numeric
@attribute color {red, blue}
@attribute class {p, q}
@data
1.5, red, p
?, blue, q
2.5, ?, p
"""


def test_arff_is_read(write):
    cells, notes = read(write(ARFF, "rows.arff"))
    assert cells == {
        "a b": [1.5, None, 2.5],
        "color": ["red", "blue", None],
        "class": ["p", "q", "p"],
    }
    assert notes == ""
    with pytest.raises(InvalidData, match=r"cannot read .* as ARFF: .*SciPy reads numeric"):
        read(write(ARFF.replace("numeric", "string"), "rows.arff"))


@pytest.mark.parametrize(
    ("content", "package"),
    [(b"\xd0\xcf\x11\xe0" + bytes(600), "python-calamine"), (None, "openpyxl")],
)
def test_workbooks_name_the_package_that_reads_them(content, package, write, monkeypatch):
    for name in ("xlrd", package.replace("-", "_")):
        monkeypatch.setitem(sys.modules, name, None)
    path = write(content or workbook(), "rows.xls" if content else "rows.xlsx")
    with pytest.raises(MissingPackage, match=f"Type: pip install {package}, or save the sheet"):
        bg.file_source(path)


def workbook():
    """Return the bytes of an archive that is laid out as a workbook."""
    import io
    import zipfile

    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return stream.getvalue()


def test_the_first_sheet_of_a_workbook_is_read_as_a_text(write, monkeypatch):
    lines = [["Rows", "", ""], ["a", "b", "class"], *(row.split(",") for row in ROWS)]
    sheets = {"one": pd.DataFrame(lines), "two": pd.DataFrame([["x"]])}
    monkeypatch.setattr(pd, "read_excel", lambda path, **options: sheets)
    cells, notes = read(write(workbook(), "rows.xlsx"))
    assert cells == FOUND
    assert "has 2 sheets; the first, 'one', is read" in notes and "two rows of names" in notes


@pytest.mark.parametrize(
    ("name", "cure"),
    [
        ("rows.dta", "pandas.read_stata({path!r})"),
        ("rows.h5", "pandas.read_hdf({path!r})"),
        ("rows.json", "pandas.read_json({path!r})"),
        ("rows.sas7bdat", "pandas.read_sas({path!r})"),
        ("rows.sav", "pandas.read_spss({path!r})"),
    ],
)
def test_other_formats_are_refused_with_the_call_that_reads_them(name, cure, write):
    path = write(b"\0\1\2", name)
    with pytest.raises(InvalidData, match="a format that is not read here") as caught:
        bg.file_source(path)
    call = cure.format(path=str(path))
    assert f"Pass {call}." in str(caught.value)
    out = f"python -c \"import pandas; {call}.to_csv('rows.csv', index=False)\""
    assert out in caught.value.written("shell")


@pytest.mark.parametrize(
    ("content", "call"),
    [(b"<html><table>", "read_html"), (b'[{"a": 1}]', "read_json"), (b"<?xml ?>", "read_xml")],
)
def test_a_page_or_a_tree_under_the_name_of_a_table_is_no_csv(content, call, write):
    for name in ("rows.csv", "rows.xls"):
        with pytest.raises(InvalidData, match=f"not read here. Pass pandas.{call}"):
            bg.file_source(write(content, name))


def test_what_is_no_text_and_no_table_is_one_sentence(write):
    for content, said in (
        (b"\x89HDF\r\n\x1a\n\0\0", "is no text: it begins with 89 48"),
        (b"PK\x03\x04abc", "begins as a zip archive and is none"),
        (b"", "Empty CSV file"),
    ):
        with pytest.raises(InvalidData, match=said) as caught:
            list(bg.file_source(write(content)).parts())
        assert "\n" not in str(caught.value)
