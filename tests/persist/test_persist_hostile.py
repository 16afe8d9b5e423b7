"""Files that are damaged, foreign or forged: one sentence, and nothing in them is run."""

import json
import pickle
import re
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from forged import (
    NODES,
    TEXT,
    fields,
    forged,
    members,
    npy,
    refused,
    rewritten,
    spots_of,
    with_value,
    zipped,
)

import bayesgen as bg
from bayesgen.errors import InvalidFile

ROWS = np.array([["l1", 0.0], ["l0", 2.5]], object)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the bytes of a good file: numbers, levels, a kept column, three classes."""
    rng = np.random.default_rng(3)
    y = np.arange(60) % 3
    X = np.array([[f"l{k}", float(v)] for k, v in zip(y, rng.normal(size=60), strict=True)], object)
    X[:, 1] = X[:, 1].astype(float)
    path = tmp_path_factory.mktemp("whole") / "model.bgm"
    bg.NaiveBayes(inference="map").fit(X, y).save(path)
    return path.read_bytes()


def proba(content, tmp_path):
    """Return what the classifier of a file's bytes says."""
    path = tmp_path / "good.bgm"
    path.write_bytes(content)
    return bg.load(path).predict_proba(ROWS)


# -- damaged ---------------------------------------------------------------------------------------


def test_load_takes_a_file_that_was_zipped_again(whole, tmp_path):
    expected = proba(whole, tmp_path)
    np.testing.assert_array_equal(proba(forged(whole), tmp_path), expected)
    np.testing.assert_array_equal(proba(whole + b"\n", tmp_path), expected)


def test_load_refuses_a_file_cut_off_anywhere(whole, tmp_path):
    ends = range(len(whole) - 30, len(whole))
    for size in {*range(1, 200, 13), *range(200, len(whole), 211), *ends}:
        refused(whole[:size], tmp_path, "not a zip file|Truncated|Bad|EOF|end")


def test_load_refuses_a_flipped_bit_or_it_changes_nothing(whole, tmp_path, rng):
    """Dates and attributes of members, which are not read, are all that no checksum covers."""
    expected, survived = proba(whole, tmp_path), 0
    for _ in range(50):
        content = bytearray(whole)
        content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
        try:
            found = proba(bytes(content), tmp_path)
        except InvalidFile:
            refused(bytes(content), tmp_path)
        else:
            np.testing.assert_array_equal(found, expected)
            survived += 1
    assert survived < 20


def test_load_refuses_every_flipped_bit_of_a_member(whole, tmp_path, rng):
    for part in members(whole).values():
        start = whole.index(part)
        content = bytearray(whole)
        content[start + rng.integers(len(part))] ^= 1 << int(rng.integers(8))
        refused(bytes(content), tmp_path, "Bad CRC-32 for file")


# -- foreign ---------------------------------------------------------------------------------------


class Bomb:
    """A pickle that writes a file when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_load_reads_no_pickle(whole, tmp_path):
    bomb = tmp_path / "exploded"
    content = pickle.dumps(Bomb(bomb))
    refused(content, tmp_path, "File is not a zip file; nothing in it was run")
    # and none inside a .npy
    objects = npy(np.zeros(1))[:128].replace(b"'<f8'", b"'|O' ") + content
    name = next(name for name in members(whole) if name.endswith("count.npy"))
    refused(forged(whole, arrays={name: objects}), tmp_path, "is an array of object")
    assert not bomb.exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "File is not a zip file"),
        (b"a,b\n1,2\n", "File is not a zip file"),
        (zipped([("word/document.xml", b"<w/>")]), "it is a zip archive without model.json"),
    ],
)
def test_load_refuses_other_files(content, words, tmp_path):
    refused(content, tmp_path, f"{words}; nothing in it was run. Pass a file that clf.save")


def test_load_names_what_it_cannot_read(tmp_path):
    paths = (tmp_path / "no.bgm", "No such file or directory"), (tmp_path, "Is a directory")
    for path, words in paths:
        sentence = rf"cannot read '{re.escape(str(path))}': {words}"
        with pytest.raises(InvalidFile, match=sentence):
            bg.load(path)


# -- forged text -----------------------------------------------------------------------------------


EMPTY, NONE = {"list": []}, {"list": [0]}


def made(kind, **parts):
    """Return the node of an object of NumPy's."""
    return {"object": {"type": f"numpy.{kind}", "parts": parts}}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (with_value("format", 2), r"has the format 2; .* reads the format 1. Upgrade: pip"),
        (with_value("format", "1"), r"has the format '1'; .* reads the format 1"),
        (with_value("type", "value.Schema"), r"Schema.__init__.. got an unexpected keyword"),
        (with_value("type", "program"), r"its text lacks 'path'"),
        (rewritten("value.Schema", "subprocess.Popen"), r"refers to 'subprocess.Popen'"),
        (rewritten("value.Schema", "likelihood.Likelihood"), r"refers to 'likelihood.Likelihood'"),
        (
            rewritten("value.Schema", "value.Report"),
            r"argument:? '(blocks|method)'",
        ),
        (with_value("fitted", {"dict": []}), "it holds no fitted classifier"),
        (with_value("unseen", made("scalar", dtype="<U999999999", value="a")), r"lacks '<U999999"),
        (with_value("unseen", made("type", name="|O")), r"its text lacks '.O'"),
        (with_value("unseen", made("objects", shape={"list": [10**15]}, items=EMPTY)), "reshape"),
        (with_value("unseen", {"eval": "1"}), r"its text lacks 'eval'"),
        (with_value("unseen", [1]), r"a list stands where a value belongs"),
        (with_value("unseen", {"array": "nowhere"}), r"it has no array 'nowhere'"),
        (lambda text: [text], r"TypeError: list indices"),
        (lambda text: {"format": 1}, r"its text lacks 'model'"),
        (lambda text: {"format": 1, "model": 7}, r"it holds no fitted classifier"),
        (lambda text: b"[" * 100_000, r"RecursionError"),
        (lambda text: b'"\xff\xff', r"can't decode byte 0xff"),
    ],
)
def test_load_refuses_a_forged_text(change, sentence, whole, tmp_path):
    refused(forged(whole, change), tmp_path, sentence)


ADDED = [("fitted", name) for name in ("predict", "__class__", "posterior_", "a b", "_X")]


@pytest.mark.parametrize(("part", "name"), [*ADDED, ("parameters", "verbose")])
def test_load_refuses_attributes_that_hide_methods_and_parameters_of_another_class(
    part, name, whole, tmp_path
):
    def change(text):
        fields(text)[part]["dict"].append([name, 1])
        return text

    missing = {"fitted": "place for", "parameters": "parameter"}[part]
    refused(forged(whole, change), tmp_path, rf"NaiveBayes has no {missing} '{name}'")


def test_load_bears_any_node_in_the_place_of_any_other(whole, tmp_path, rng):
    path, text = tmp_path / "forged.bgm", json.loads(members(whole)[TEXT])
    spots, loaded = list(spots_of(text)), 0
    for _ in range(60):
        holder, key = spots[rng.integers(len(spots))]
        before, holder[key] = holder[key], NODES[rng.integers(len(NODES))]
        path.write_bytes(forged(whole, lambda _: text))
        holder[key] = before
        try:
            bg.load(path)
        except InvalidFile as error:
            assert "\n" not in str(error)
        else:
            loaded += 1  # another name of a column, another number of seconds
    assert loaded < 30


# -- forged arrays ---------------------------------------------------------------------------------

HUGE = 10**15
MEAN = "inferred/components/params/normal/mean.npy"
SHAPED = [
    (MEAN, npy(np.zeros((1, 1, 3, 1)), shape=(HUGE,) * 9), "not as large as its shape"),
    (MEAN, npy(np.zeros((1, 1, 3, 1)), shape=(-1, -1, 3, 1)), "ValueError|negative"),
    (MEAN, npy(np.zeros((2, 2), order="F")), "not an array as clf.save"),
    (MEAN, npy(np.zeros(3, "M8[s]")), "is an array of datetime64"),
    (MEAN, b"", "EOF|expected"),
]


@pytest.mark.parametrize(("name", "array", "sentence"), SHAPED)
def test_load_refuses_forged_arrays(name, array, sentence, whole, tmp_path):
    (found,) = (member for member in members(whole) if member.endswith(name))
    refused(forged(whole, arrays={found: array}), tmp_path, sentence)


def test_load_refuses_members_that_are_not_there(whole, tmp_path):
    parts = members(whole)
    for name in list(parts)[1:]:
        rest = [(word, part) for word, part in parts.items() if word != name]
        refused(zipped(rest), tmp_path, f"no array '{name.removesuffix('.npy')}'")


def bombs(whole):
    """Yield files that would take far more memory than their bytes, and what is said of each."""
    parts = list(members(whole).items())
    zeros = npy(np.zeros(2_000_000))
    packed = [*parts, ("bomb.npy", zeros)]
    yield zipped(packed, compression=zipfile.ZIP_DEFLATED), "compressed, which clf.save"
    yield zipped([*parts, parts[1]]), "two of its members have the same name"
    # one large member under many names, in the directory alone
    large = zipped([*parts, *((f"{i:06}.npy", zeros if not i else b"") for i in range(300))])
    sizes, directory = struct.pack("<LL", len(zeros), len(zeros)), large.rindex(b"000000.npy") - 46
    first, out = large[directory : directory + 46], bytearray(large)
    for i in range(1, 300):
        at = large.rindex(f"{i:06}.npy".encode()) - 46
        out[at + 20 : at + 28], out[at + 42 : at + 46] = sizes, first[42:46]
    yield bytes(out), "members are larger than the file"
    # one array in many places
    text = json.loads(dict(parts)[TEXT])
    node = {"list": [{"array": parts[1][0].removesuffix(".npy")}] * 10_000}
    yield forged(whole, lambda _: with_value("unseen", node)(text)), "or asks for it twice"


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_load_takes_no_more_memory_than_the_file(whole, tmp_path):
    for content, sentence in bombs(whole):
        tracemalloc.start()
        try:
            refused(content, tmp_path, sentence)
            highest = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        # a quarter of the smallest bomb: JSON takes several times its text
        assert highest < 4e6, sentence
