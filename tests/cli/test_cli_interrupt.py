"""Ctrl-C ends a command at any moment with one line, and leaves nothing half written."""

import signal
import subprocess
import sys
import time

import pytest
from paces import fast_only

from bayesgen.cli import data, main

pytestmark = pytest.mark.usefixtures("ctrl_c_is_heard")

CODE = """
import sys
from bayesgen.cli import run
print("ready", file=sys.stderr, flush=True)
run()
"""
COMMANDS = {
    "compare": "compare titanic_passengers --methods stacked,nuts --draws 9999",
    "fit": "fit iris --model lda --inference nuts --draws 99999 --out m.bgm",
}
MOMENTS = [f"{name} {seconds}" for name in COMMANDS for seconds in (0.05, 1, 2, 3, 5)]
LOST = """
import gc, signal, sys, time
from bayesgen import cli
from bayesgen.cli import data

class Callback:
    def __call__(self, *_):
        gc.callbacks.remove(self)
        signal.raise_signal(signal.SIGINT)

def works():
    {work}
    time.sleep(60)

data.datasets.names = works
sys.argv = ["bayesgen", "datasets"]
cli.run()
"""
WORK = {
    # JAX has such callbacks, and an exception raised in one is printed and lost
    "callback": "gc.callbacks.append(Callback()); gc.collect()",
    # extension modules of JAX abort the process where their import is interrupted
    "import": "import makes_enumerations",
}


def ended(process):
    """Return what a process that Ctrl-C ends has printed to stdout, having checked its stderr."""
    try:
        out, error = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130
    assert error.splitlines()[-1] == "interrupted; nothing written"
    assert "Traceback" not in error
    return out


def started(code, folder, *arguments):
    command = [sys.executable, "-c", code, *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, **pipes, cwd=folder, text=True)


@pytest.mark.parametrize("moment", fast_only([], MOMENTS, slow=["fit 0.05", "compare 3"]))
def test_ctrl_c_always_ends(moment, tmp_path):
    name, seconds = moment.split()
    process = started(CODE, tmp_path, *COMMANDS[name].split())
    assert process.stderr.readline() == "ready\n"
    time.sleep(float(seconds))
    process.send_signal(signal.SIGINT)
    # what was read may have been printed
    assert [line.split()[0] for line in ended(process).splitlines()] in ([], ["data", "target"])
    assert not list(tmp_path.iterdir())


@pytest.mark.slow  # a process of its own
@pytest.mark.parametrize("work", WORK)
def test_ctrl_c_that_is_lost_ends_the_process(work, tmp_path):
    code = "import signal\nsignal.raise_signal(signal.SIGINT)\nopen('imported', 'w').close()\n"
    (tmp_path / "makes_enumerations.py").write_text(code)
    assert ended(started(LOST.format(work=WORK[work]), tmp_path)) == ""
    assert (tmp_path / "imported").exists() == (work == "import")


def test_ctrl_c_prints_one_line(monkeypatch, capsys):
    monkeypatch.setattr(data.datasets, "names", lambda: signal.raise_signal(signal.SIGINT))
    assert main(["datasets"]) == 130
    assert capsys.readouterr() == ("", "interrupted; nothing written\n")


def test_a_command_in_the_background_ignores_ctrl_c(monkeypatch):
    def works():
        signal.raise_signal(signal.SIGINT)
        return []

    monkeypatch.setattr(data.datasets, "names", works)
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
