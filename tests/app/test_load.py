"""Eight people at once for a minute: no wrong answer, and no growth of memory."""

import json
import random
import socket
import threading
import time
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode, urlparse

import pytest

import bayesgen as bg

PEOPLE = 8
GROWTH = 30_000_000
"""Bytes: the arrays of a few answers. A kilobyte kept of each request would be more."""


def memory():
    """Return the bytes of this process that are in memory."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * 4096


def person(number, address, cells, wanted, end, found):
    """Ask about rows until the end, as a page and as a program, and leave some answers unheard."""
    place, choose, head = urlparse(address).netloc, random.Random(number), {}
    head["Content-Type"] = "application/json"
    connection = HTTPConnection(place, timeout=60)
    while time.monotonic() < end:
        i = choose.randrange(len(cells))
        typed = urlencode({f"x.{name}": cell for name, cell in cells[i].items() if cell})
        kind = choose.choice(["rows", "rows", "part", "leaves", "wrong"])
        if kind == "leaves":
            with socket.create_connection(tuple(place.split(":")), timeout=60) as gone:
                length = f"Content-Length: {len(typed)}\r\n\r\n"
                text = f"POST /part/next HTTP/1.1\r\nHost: {place}\r\n{length}{typed}"
                gone.sendall(text.encode())
            continue
        path, body = "/predict", json.dumps(cells[i])
        if kind == "part":
            path, body = "/part/answer", typed
        elif kind == "wrong":
            body = body[:-3]
        connection.request("POST", path, body, head if kind != "part" else {})
        answer = connection.getresponse()
        text, status = answer.read().decode(), answer.status
        if status == 503:
            found["busy"] += 1
        elif kind == "wrong":
            found["right" if status == 422 else "wrong"] += 1
        elif kind == "part":
            right = all(f'data-p="{p}"' in text for p in wanted[i])
            found["right" if right else "wrong"] += 1
        else:
            p = list(json.loads(text)["answers"][0]["probabilities"].values())
            found["right" if p == wanted[i] else "wrong"] += 1
    connection.close()


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read as on Linux")
@pytest.mark.parametrize("seconds", [60])
def test_eight_people_for_a_minute(seconds):
    X, y = bg.datasets.load_titanic_passengers()
    clf = bg.NaiveBayes().fit(X, y)
    rows = X.head(200)
    cells = rows.astype(object).where(rows.notna(), None).to_dict("records")
    wanted = clf.predict_proba(rows).tolist()
    found, sizes = dict.fromkeys(["right", "wrong", "busy"], 0), []
    with bg.serve(clf, port=0, wait=False) as page:
        end = time.monotonic() + seconds
        arguments = (page.address, cells, wanted, end, found)
        threads = [threading.Thread(target=person, args=(k, *arguments)) for k in range(PEOPLE)]
        for thread in threads:
            thread.start()
        while time.monotonic() < end:
            time.sleep(seconds / 12)
            sizes.append(memory())
        for thread in threads:
            thread.join()
    assert found["wrong"] == 0 and found["right"] > 10 * seconds
    assert sizes[-1] - sizes[len(sizes) // 3] < GROWTH
    assert not any(thread.is_alive() for thread in threads)
