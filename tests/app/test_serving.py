"""`bg.serve` answers at a socket until it is stopped, and says why where it cannot."""

import json
import socket
import subprocess
import sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from sklearn.exceptions import NotFittedError

import bayesgen as bg
from bayesgen.errors import InvalidArgument, MissingPackage


def asked(page, body):
    request = Request(page.address + "predict", body, {"Content-Type": "application/json"})
    with urlopen(request, timeout=60) as answer:
        return json.load(answer)


def test_a_page_answers_until_it_is_stopped(titanic):
    with bg.serve(titanic, port=0, wait=False) as page:
        assert page.address.startswith("http://127.0.0.1:")
        (found,) = asked(page, b'{"sex": "male"}')["answers"]
        assert found["predicted"] == "no"
        with pytest.raises(HTTPError) as refused:
            asked(page, b" " * 2_000_000)
        assert refused.value.code == 413
        refused.value.close()
        assert page.address in repr(page) and f'href="{page.address}"' in page._repr_html_()
    with pytest.raises(OSError):
        urlopen(page.address + "health", timeout=5)


def test_two_pages_of_a_process_answer_beside_each_other(titanic, penguins):
    with (
        bg.serve(titanic, port=0, wait=False) as one,
        bg.serve(penguins, port=0, wait=False) as two,
    ):
        assert len(asked(one, b"{}")["answers"][0]["probabilities"]) == 2
        assert len(asked(two, b"{}")["answers"][0]["probabilities"]) == 3


def test_it_answers_to_this_machine_alone(titanic):
    with bg.serve(titanic, port=0, wait=False) as page:
        port = int(page.address.rstrip("/").rpartition(":")[2])
        others = {found[4][0] for found in socket.getaddrinfo(socket.gethostname(), None)}
        for host in others - {"127.0.0.1", "::1"}:
            with pytest.raises(OSError), socket.create_connection((host, port), timeout=2):
                pass


def test_a_port_that_is_taken_and_hosts_that_are_none_are_refused(titanic):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidArgument, match=f"port {port}: .*Choose another port"):
            bg.serve(titanic, port=port, wait=False)
    with pytest.raises(InvalidArgument, match=r"no page can answer at no.such.host.invalid"):
        bg.serve(titanic, host="no.such.host.invalid", port=0, wait=False)
    with pytest.raises(InvalidArgument, match="port is 70000; allowed: 0 to 65535"):
        bg.serve(titanic, port=70_000, wait=False)


def test_what_is_stated_is_checked_before_anything_is_served(titanic):
    with pytest.raises(InvalidArgument, match="cost_of"):
        bg.serve(titanic, port=0, wait=False, cost_of={"height": 1})
    with pytest.raises(InvalidArgument, match="notes"):
        bg.serve(titanic, port=0, wait=False, notes="notes.md")
    with pytest.raises(NotFittedError):
        bg.serve(bg.NaiveBayes(), port=0, wait=False)


def test_the_extra_is_named_where_it_is_absent(titanic, monkeypatch):
    for package in ("starlette", "uvicorn"):
        with monkeypatch.context() as patch:
            patch.setattr(
                "bayesgen.errors.packages.find_spec",
                lambda name, gone=package: name != gone or None,
            )
            with pytest.raises(MissingPackage, match=r'pip install "bayesgen\[app\]"'):
                bg.serve(titanic, port=0, wait=False)


def test_a_script_waits_and_prints_the_address():
    code = (
        "import bayesgen as bg\n"
        "X, y = bg.datasets.load_play_tennis()\n"
        "bg.serve(bg.NaiveBayes().fit(X, y), port=0)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        address = line.split()[-4]
        assert "(Ctrl-C ends it)" in line
        with urlopen(address + "health", timeout=60) as answer:
            assert json.load(answer)["status"] == "ok"
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()
