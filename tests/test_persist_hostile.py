"""Files that are damaged, foreign or forged: one sentence, and nothing in them is run."""

import pickle
import re

import numpy as np
import pytest
import xarray as xr
from forged import (
    NODES,
    fields,
    forged,
    found,
    parts,
    places,
    refused,
    rewritten,
    sealed,
    spots_of,
    with_value,
)

import bayesgen as bg
from bayesgen.errors import InvalidModelFile


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the bytes of a good file: numbers, levels, a kept column, three classes."""
    rng = np.random.default_rng(3)
    y = np.arange(60) % 3
    X = np.array([[f"l{k}", float(v)] for k, v in zip(y, rng.normal(size=60), strict=True)], object)
    X[:, 1] = X[:, 1].astype(float)
    path = tmp_path_factory.mktemp("whole") / "model.nc"
    bg.NaiveBayes(inference="map").fit(X, y).save(path)
    return path.read_bytes()


# -- damaged ---------------------------------------------------------------------------------------


def test_the_helpers_leave_a_good_file_good(whole, tmp_path):
    path = tmp_path / "good.nc"
    path.write_bytes(forged(whole))
    assert bg.load(path).predict(np.array([["l1", 0.0]], object)).shape == (1,)


def test_a_file_cut_off_anywhere(whole, tmp_path):
    for size in {
        *range(1, 200, 7),
        *range(200, len(whole), 501),
        *range(len(whole) - 99, len(whole)),
    }:
        refused(whole[:size], tmp_path, "is damaged|is no netCDF|is a text|pickle")


def test_a_flipped_bit_anywhere(whole, tmp_path, rng):
    for _ in range(200):
        content = bytearray(whole)
        content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
        refused(bytes(content), tmp_path)


@pytest.mark.parametrize("extra", [b"\n", b"\0" * 4096])
def test_a_file_with_something_behind_it(extra, whole, tmp_path):
    refused(whole + extra, tmp_path, "its end is missing, or something else")


def test_a_file_that_other_software_wrote_again(whole, tmp_path):
    path, other = tmp_path / "model.nc", tmp_path / "other.nc"
    path.write_bytes(whole)
    with xr.open_datatree(path, engine="h5netcdf") as tree:
        tree.load().to_netcdf(other, engine="h5netcdf")
    with pytest.raises(InvalidModelFile, match=r"or something else than .* wrote or changed it"):
        bg.load(other)


# -- foreign ---------------------------------------------------------------------------------------


class Bomb:
    """A pickle that writes a file when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_a_pickle_is_not_read(tmp_path):
    bomb = tmp_path / "exploded"
    refused(pickle.dumps(Bomb(bomb)), tmp_path, "is a pickle, which could run code, no model")
    assert not bomb.exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is an empty file"),
        (b"a,b\n1,2\n", "is a text file"),
        ("größe,klasse\n".encode(), "is a text file"),
        (b"PK\x03\x04....", "is a zip archive"),
        (b"PAR1....", "is a Parquet file"),
        (b"CDF\x01....", "is a netCDF file of an older kind"),
        (b"\xff\xfe\x00", "is no netCDF file"),
    ],
)
def test_other_files(content, words, tmp_path):
    refused(content, tmp_path, f"{words}, no model that bayesgen saved; nothing in it was run")


def test_another_netcdf_file(tmp_path):
    path = tmp_path / "other.nc"
    xr.Dataset({"x": ("row", np.arange(3.0))}).to_netcdf(path, engine="h5netcdf")
    with pytest.raises(InvalidModelFile, match="is damaged: its end is missing, or something"):
        bg.load(path)


def test_no_file(tmp_path):
    for path, words in ((tmp_path / "no.nc", "there is no such file"), (tmp_path, "it is no file")):
        with pytest.raises(
            InvalidModelFile, match=rf"cannot read '{re.escape(str(path))}': {words}"
        ):
            bg.load(path)


# -- forged ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (with_value("format", 2), r"has the format 2; .* reads formats up to 1. Upgrade: pip"),
        (with_value("format", "1"), r"it has no format that bayesgen knows"),
        (with_value("format", True), r"it has no format that bayesgen knows"),
        (with_value("estimator", "Popen"), r"asks for 'Popen', which this version"),
        (with_value("estimator", "os.system"), r"asks for 'os.system', which this version"),
        (with_value("class", "subprocess.Popen"), r"asks for 'subprocess.Popen'"),
        (with_value("class", "likelihood.Likelihood"), r"asks for 'likelihood.Likelihood'"),
        (with_value("class", "value.Schema"), r"Schema has the fields estimator"),
        (with_value("class", ["value.Record"]), r"unhashable"),
        (with_value("_state_", None), r"does not say what was learned|_state_ is a NoneType"),
        (with_value("_seed", "x"), r"_seed is a str, which does not belong there"),
        (with_value("_posterior", 3), r"_posterior is a int"),
        (with_value("inference_", None), r"inference_ is a NoneType"),
        (with_value("classes_", {"values": {"dtype": "|O", "shape": [0], "items": []}}), "classes"),
        (with_value("reader", None), r"Draws.reader is a NoneType"),
        (with_value("kept", {"dict": []}), r"reader has .* where nothing belongs"),
        (with_value("blocks", {"dict": []}), r"where nothing belongs|other columns"),
        (rewritten('["l0", "l1", "l2"]', '["l0", "l1"]'), r"3 along its level axis where 2 belong"),
        (rewritten('"name": "x0"', '"name": "x7"'), r"blocks have other columns than its table"),
        (with_value("spread", "neither"), r"Normal.spread is a str"),
        (with_value("mean_rows", -1.0), r"must be positive|positive"),
        (with_value("n_levels", {"tuple": ["a"]}), r"n_levels is a tuple"),
        (
            with_value("unseen", {"scalar": {"dtype": "<U999999999", "shape": [], "items": ["a"]}}),
            r"text of the type",
        ),
        (
            with_value("unseen", {"scalar": {"dtype": "|V9", "shape": [], "items": [1]}}),
            "type '.V9'",
        ),
        (
            with_value("unseen", {"values": {"dtype": "<f8", "shape": [10**15], "items": [1]}}),
            "reshape",
        ),
        (with_value("unseen", {"values": {"dtype": "<f8", "shape": [-1], "items": [1]}}), "length"),
        (with_value("unseen", {"eval": "1"}), r"its text lacks 'eval'"),
        (with_value("unseen", {"distribution_class": "__builtins__"}), r"asks for '__builtins__'"),
        (
            with_value("unseen", {"distribution_class": "kl_divergence"}),
            r"asks for 'kl_divergence'",
        ),
        (with_value("unseen", [1]), r"a list stands where a value belongs"),
        (lambda text: [text], r"does not say what it holds"),
        (lambda text: {"format": 1}, r"its text lacks 'model'"),
        (lambda text: {"format": 1, "model": 7}, r"it holds no classifier"),
        (lambda text: b"[" * 100_000, r"RecursionError"),
        (lambda text: b'{"format": 1, "model": ' + b'{"list": [' * 50_000, r"RecursionError|JSON"),
        (lambda text: b'"\xff\xff', r"UnicodeDecodeError"),
        (lambda text: b"", r"JSONDecodeError"),
    ],
)
def test_forged_text(change, sentence, whole, tmp_path):
    refused(forged(whole, change), tmp_path, sentence)


@pytest.mark.parametrize("name", ["predict", "__class__", "fit", "posterior_", "a b", "save", "_X"])
def test_attributes_cannot_hide_methods(name, whole, tmp_path):
    def change(text):
        fields(text)["fitted"]["dict"].append([name, 1])
        return text

    refused(forged(whole, change), tmp_path, rf"NaiveBayes has no place for '{name}'")


def test_parameters_are_those_of_the_class(whole, tmp_path):
    def change(text):
        fields(text)["parameters"]["dict"].append(["verbose", 1])
        return text

    refused(forged(whole, change), tmp_path, "NaiveBayes has the fields .*verbose")


HUGE = 10**15


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            places("params.normal.mean", lambda p: [p[0], p[1], [1, 1, HUGE]]),
            "larger than the file",
        ),
        (places("params.normal.mean", lambda p: [p[0], p[1], [HUGE] * 9]), "larger than the file"),
        (places("params.normal.mean", lambda p: [HUGE, *p[1:]]), "ValueError: offset"),
        (places("params.normal.mean", lambda p: [-8, *p[1:]]), "-8 stands where a length belongs"),
        (places("params.normal.mean", lambda p: [1.5, *p[1:]]), "1.5 stands where a length"),
        (places("params.normal.mean", lambda p: [p[0], "|O", p[2]]), "is no array of float64"),
        (places("params.normal.mean", lambda p: [p[0], "<f4", p[2]]), "is no array of float64"),
        (places("params.normal.mean", lambda p: [p[0], p[1], [3]]), "axes|order"),
        (
            places("params.normal.mean", lambda p: [p[0], p[1], [1, 1, 2, 1]]),
            "2 along its class axis",
        ),
        (places("params.normal.mean", lambda p: [p[0], p[1], [1, 1, 3, 0]]), "0 along its feature"),
        (
            places("params.normal.mean", lambda p: [p[0], p[1], [3, 1, 1, 1]]),
            "3 along its chain axis",
        ),
        (places("statistics.blocks.normal.mean", lambda p: [p[0], p[1], [1, 3]]), "class axis"),
        (places("statistics.count", lambda p: [p[0], p[1], [1]]), "1 along its class axis"),
        (places("statistics.blocks.normal.mean", lambda p: []), "not enough values|ValueError"),
        (lambda index: index["arrays"].clear(), "its text lacks"),
        (lambda index: index.pop("arrays") and None, "its text lacks 'arrays'"),
        (lambda index: index.update(text=[0, HUGE]), "Unicode"),
        (lambda index: index.update(text="ab"), "stands where a length belongs"),
        (lambda index: [1], "TypeError"),
    ],
)
def test_forged_index(change, sentence, whole, tmp_path):
    refused(forged(whole, change_index=change), tmp_path, sentence)


def test_not_a_number_where_a_number_is_needed(whole, tmp_path):
    body, index, _ = parts(whole)
    for name in ("params.normal.mean", "params.class.probs", "statistics.blocks.normal.scatter"):
        start = next(p[0] for at, p in index["arrays"].items() if at.endswith(name))
        content = bytearray(body)
        content[start : start + 8] = np.array([np.nan]).tobytes()
        refused(sealed(bytes(content), index), tmp_path, "holds NaN")


def test_one_array_asked_for_many_times_takes_no_more_than_the_file(whole, tmp_path):
    def change(text):
        node = {"array": found(fields(text)["fitted"], "array")}
        return with_value("unseen", {"list": [node] * 100_000})(text)

    body, index, _ = parts(whole)
    large = {**index["arrays"]}
    for name in large:
        large[name] = [0, "<f8", [len(body) // 16]]
    refused(forged(whole, change, lambda i: i.update(arrays=large)), tmp_path)


def test_any_node_replaced_by_anything(whole, tmp_path, rng):
    path = tmp_path / "forged.nc"
    _, _, text = parts(whole)
    spots, loaded = list(spots_of(text)), 0
    for _ in range(120):
        holder, key = spots[rng.integers(len(spots))]
        before, holder[key] = holder[key], NODES[rng.integers(len(NODES))]
        path.write_bytes(forged(whole, lambda _: text))
        holder[key] = before
        try:
            bg.load(path)
        except InvalidModelFile as error:
            assert "\n" not in str(error)
        else:
            loaded += 1  # another name of a column, another number of seconds
    assert loaded < 40
