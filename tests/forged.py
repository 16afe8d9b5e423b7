"""Files as a forger writes them: a good one with another text or index, sealed again."""

import hashlib
import json

import pytest

import bayesgen as bg
from bayesgen.errors import InvalidModelFile
from bayesgen.sealed.container import SEAL, SEAL_BYTES


def parts(content):
    """Return what stands before the index, the index and the JSON text of a file."""
    seal = SEAL.fullmatch(content[-SEAL_BYTES:])
    end = len(content) - SEAL_BYTES - int(seal[1])
    index = json.loads(content[end:-SEAL_BYTES])
    start, size = index["text"]
    return content[:end], index, json.loads(content[start : start + size])


def sealed(body, index):
    """Return a file with a seal that fits: what a forger writes."""
    index = index if isinstance(index, bytes) else json.dumps(index).encode()
    content = body + index
    digest = hashlib.sha256(content).hexdigest()
    return content + f"bayesgen {len(index):012} sha256 {digest}\n".encode()


def forged(content, change_text=None, change_index=None):
    """Return a file whose text and index were changed, sealed again."""
    body, index, text = parts(content)
    text = change_text(text) if change_text else text
    told = text if isinstance(text, bytes) else json.dumps(text).encode()
    index["text"] = [len(body), len(told)]
    if change_index:
        index = change_index(index) or index
    return sealed(body + told, index)


def refused(content, tmp_path, match=None):
    """Fail unless loading the bytes gives one sentence; return it."""
    path = tmp_path / "forged.nc"
    path.write_bytes(content)
    with pytest.raises(InvalidModelFile, match=match) as caught:
        bg.load(path)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.startswith(("cannot read ", repr(str(path))))
    assert sentence.endswith(".")
    return sentence


def fields(text):
    """Return the fields of the estimator's record, as pairs that may be changed."""
    return text["model"]["object"]["fields"]


def found(node, key):
    """Return the first value of a key below a node."""
    if isinstance(node, dict) and key in node:
        return node[key]
    below = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return next((hit for part in below if (hit := found(part, key)) is not None), None)


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
        told = json.dumps(text)
        assert old in told
        return json.loads(told.replace(old, new))

    return change


def places(key, value):
    """Return a change of where the first array of a name stands."""

    def change(index):
        name = next(name for name in index["arrays"] if name.endswith(key))
        index["arrays"][name] = value(index["arrays"][name])

    return change


NODES = [None, True, 0, -1, 10**30, 0.5, "", "x", [], {}, {"tuple": []}, {"number": "nan"}]
NODES += [{"dict": []}, {"list": [1]}, {"object": {}}, {"array": {}}, {"values": {}}]


def spots_of(node):
    items = enumerate(node) if isinstance(node, list) else ()
    for key, part in node.items() if isinstance(node, dict) else items:
        yield node, key
        yield from spots_of(part)
