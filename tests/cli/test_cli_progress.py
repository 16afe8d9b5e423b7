"""Lines of progress: of commands whose stderr is no terminal, and of nothing else."""

import io
import sys
import threading

import pytest

import bayesgen as bg
from bayesgen.cli import main, progress
from bayesgen.progress_bar import WATCHED, progress_bar, status_line


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self):
        return True


class Lines(io.StringIO):
    """A stream that says when it was given a line."""

    def __init__(self):
        super().__init__()
        self.given = threading.Event()

    def write(self, text):
        self.given.set()
        return super().write(text)


@pytest.mark.parametrize(
    ("counted", "words"),
    [
        (None, "fitting, 20 s"),
        ({"total": 11, "unit": "member", "already": 4}, "fitting: 4 of 11 members, 20 s"),
        ({"total": None, "unit": "row", "already": 65_536}, "fitting: 65,536 rows, 20 s"),
        ({"total": 1, "unit": "fit"}, "fitting: 0 of 1 fit, 20 s"),
    ],
)
def test_a_line_says_how_far_the_work_is(counted, words):
    token = WATCHED.set([])
    try:
        steps = WATCHED.get()
        if counted is None:
            assert progress.in_words("fitting", steps, 19.9) == words
            return
        with progress_bar(counted.pop("total"), "auto", **counted) as bar:
            with progress_bar(3, "auto", unit="step"):  # of the work within
                bar.update(0)
                assert progress.in_words("fitting", steps, 19.9) == words
            bar.update(2)
            assert progress.in_words("fitting", steps, 19.9) != words
        assert steps == []
        with status_line("compiling", "auto"):
            assert progress.in_words("fitting", steps, 3.0) == "fitting: compiling, 3 s"
    finally:
        WATCHED.reset(token)


def test_a_long_command_prints_lines_off_a_terminal(monkeypatch):
    monkeypatch.setattr(progress, "SECONDS", 0.01)
    monkeypatch.setattr(sys, "stderr", Lines())
    with progress.progress_lines("fit"), progress_bar(2, "auto", unit="member"):
        assert sys.stderr.given.wait(60)
    assert WATCHED.get() is None
    before = sys.stderr.getvalue()
    assert before.startswith("fitting") and before.endswith(" s\n")


@pytest.mark.parametrize(("command", "stream"), [("fit", Terminal), ("datasets", io.StringIO)])
def test_nothing_is_counted_on_a_terminal_or_in_a_short_command(monkeypatch, command, stream):
    monkeypatch.setattr(sys, "stderr", stream())
    with progress.progress_lines(command):
        assert WATCHED.get() is None


def test_every_command_that_works_long_says_what_it_does():
    from bayesgen.cli.main import EXAMPLES

    # of `serve` the fit says so, not the page
    assert {*EXAMPLES} - {*progress.DOING} == {"datasets", "serve"}


def test_a_fit_of_a_stack_is_counted_by_members(monkeypatch, tmp_path):
    """The lines of a command whose every step would be one, in place of one in ten seconds."""
    seen = []
    of_members = progress.Steps.update

    def update(steps, n=1):
        of_members(steps, n)
        seen.append(progress.in_words("fitting", [steps], 0))

    monkeypatch.setattr(progress.Steps, "update", update)
    assert main(["fit", "iris", "--out", str(tmp_path / "iris.bgm")]) == 0
    assert any(line.startswith("fitting: 4 of ") and "members" in line for line in seen)


def test_the_library_counts_for_nobody(capsys):
    X, y = bg.datasets.load_iris()
    bg.StackedClassifier(["naive", "linear"], random_state=0).fit(X, y)
    assert capsys.readouterr().err == ""
