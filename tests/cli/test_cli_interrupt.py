"""Ctrl-C ends a command at any moment, and leaves nothing half written."""

import contextlib
import gc
import signal
import subprocess
import sys
import time

import pytest

from bayesgen.cli import main
from bayesgen.cli.commands import datasets

pytestmark = pytest.mark.usefixtures("ctrl_c_is_heard")

CODE = """
import sys
from bayesgen.cli import run
print("ready", file=sys.stderr, flush=True)
run()
"""
COMMANDS = (
    ("compare", "titanic_passengers", "--methods", "stacked,nuts", "--draws", "9999"),
    ("fit", "iris", "--model", "lda", "--inference", "nuts", "--draws", "99999", "--out", "m.bgm"),
)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=["compare", "fit"])
@pytest.mark.parametrize("seconds", [0.05, 1.0, 2.0, 3.0, 5.0])
def test_ctrl_c_always_ends(command, seconds, tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        text=True,
    )
    assert process.stderr.readline() == "ready\n"
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    try:
        out, error = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130
    assert error.splitlines()[-1] == "interrupted; nothing written"
    assert "Traceback" not in error
    assert out == ""
    assert not list(tmp_path.iterdir())


class SwallowedOnce:
    """A callback of the garbage collector that Ctrl-C falls into, as JAX has some."""

    def __init__(self):
        self.calls = 0

    def __call__(self, *_):
        self.calls += 1
        if self.calls == 1:
            signal.raise_signal(signal.SIGINT)


def test_ctrl_c_in_a_callback_is_repeated(monkeypatch, capsys):
    callback = SwallowedOnce()

    def works():
        gc.collect()
        for _ in range(100):
            time.sleep(0.05)
        return []

    monkeypatch.setattr(datasets.datasets, "names", works)
    gc.callbacks.append(callback)
    try:
        assert main(["datasets"]) == 130
    finally:
        gc.callbacks.remove(callback)
    assert callback.calls > 1
    assert capsys.readouterr().err.splitlines()[-1] == "interrupted; nothing written"


def test_ctrl_c_that_a_library_catches_is_repeated(monkeypatch, capsys):
    def works():
        with contextlib.suppress(BaseException):
            signal.raise_signal(signal.SIGINT)
        for _ in range(100):
            time.sleep(0.05)
        return []

    monkeypatch.setattr(datasets.datasets, "names", works)
    before = signal.getsignal(signal.SIGINT)
    assert main(["datasets"]) == 130
    assert signal.getsignal(signal.SIGINT) is before
    assert capsys.readouterr().err.splitlines()[-1] == "interrupted; nothing written"


def test_ctrl_c_waits_for_the_end_of_an_import(monkeypatch, tmp_path):
    (tmp_path / "makes_enumerations.py").write_text(
        "import signal\nsignal.raise_signal(signal.SIGINT)\nimported = True\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    def works():
        __import__("makes_enumerations")
        for _ in range(100):
            time.sleep(0.05)
        return []

    monkeypatch.setattr(datasets.datasets, "names", works)
    assert main(["datasets"]) == 130
    assert sys.modules.pop("makes_enumerations").imported


def test_ctrl_c_prints_one_line(monkeypatch, capsys):
    def stops():
        raise KeyboardInterrupt

    monkeypatch.setattr(datasets.datasets, "names", stops)
    assert main(["datasets"]) == 130
    assert capsys.readouterr() == ("", "interrupted; nothing written\n")


def test_a_command_in_the_background_ignores_ctrl_c(monkeypatch):
    def works():
        signal.raise_signal(signal.SIGINT)
        return []

    monkeypatch.setattr(datasets.datasets, "names", works)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert main(["datasets"]) == 0
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.mark.slow
def test_these_tests_pass_in_the_background_of_a_script():
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", __file__]
    # a shell ignores the signal: after a test that loads JAX, this process must not fork
    ignoring = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", *command]
    run = subprocess.run(ignoring, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout
