"""Files as a forger writes them: a good one with another text or arrays, and fitting checksums."""

import io
import json
import zipfile

import numpy as np
import pytest

import bayesgen as bg
from bayesgen.errors import InvalidFile

TEXT = "model.json"


def members(content):
    """Return the members of a file by name."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(parts, compression=zipfile.ZIP_STORED):
    """Return the bytes of a zip archive, whose checksums fit."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, part in parts:
            archive.writestr(zipfile.ZipInfo(name), part, compression)
    return buffer.getvalue()


def npy(array, *, shape=None):
    """Return an array as a .npy, which may say that it has another shape."""
    buffer = io.BytesIO()
    header = np.lib.format.header_data_from_array_1_0(array)
    np.lib.format.write_array_header_1_0(buffer, header | ({"shape": shape} if shape else {}))
    return buffer.getvalue() + array.tobytes()


def forged(content, change_text=None, arrays=None):
    """Return a file with another text, and other members of some names."""
    parts = members(content)
    text = json.loads(parts[TEXT])
    text = change_text(text) if change_text else text
    parts[TEXT] = text if isinstance(text, bytes) else json.dumps(text).encode()
    return zipped({**parts, **(arrays or {})}.items())


def refused(content, tmp_path, match=None):
    """Fail unless loading the bytes gives one sentence; return it."""
    path = tmp_path / "forged.bgm"
    path.write_bytes(content)
    with pytest.raises(InvalidFile, match=match) as caught:
        bg.load(path)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.startswith(("cannot read ", repr(str(path))))
    assert sentence.endswith(".")
    return sentence


def fields(text):
    """Return the parts of the estimator."""
    return text["model"]["object"]["parts"]


def with_value(key, value):
    """Return a change that sets the value of a pair of a dictionary, wherever it stands first."""

    def change(text):
        def walk(node):
            if isinstance(node, dict):
                for name, part in node.items():
                    if name == key:
                        node[name] = value
                        return True
                    if walk(part):
                        return True
            elif isinstance(node, list):
                if len(node) == 2 and node[0] == key:
                    node[1] = value
                    return True
                return any(walk(part) for part in node)
            return False

        assert walk(text), key
        return text

    return change


def rewritten(old, new):
    """Return a change that writes something else wherever a piece of text stands."""

    def change(text):
        reported = json.dumps(text)
        assert old in reported
        return json.loads(reported.replace(old, new))

    return change


NODES = [None, True, 0, -1, 10**30, 0.5, "", "x", [], {}, {"tuple": []}, {"number": "nan"}]
NODES += [{"dict": []}, {"list": [1]}, {"object": {}}, {"array": {}}, {"transposed": ["_", [0]]}]


def spots_of(node):
    items = enumerate(node) if isinstance(node, list) else ()
    for key, part in node.items() if isinstance(node, dict) else items:
        yield node, key
        yield from spots_of(part)
