"""`bayesgen serve` serves a file of a model, or rows that it fits a stack to."""

import json
import os
import signal
import subprocess
import sys
from urllib.request import Request, urlopen

import pandas as pd
import pytest

import bayesgen as bg
from bayesgen.cli import main

RUN = [sys.executable, "-c", "from bayesgen.cli import run; run()", "serve"]


class Serving:
    """A command that serves, as a context; address: of its page; said: what it printed."""

    def __init__(self, *words):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen([*RUN, *words, "--port", "0"], **options)

    def __enter__(self):
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if line.startswith("bayesgen: "):
                break
        else:
            raise AssertionError(self.process.communicate()[1])
        self.said = "".join(lines)
        self.address = lines[-1].split(" is at ")[1].split()[0]
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def ask(self, row):
        head = {"Content-Type": "application/json"}
        request = Request(self.address + "predict", json.dumps(row).encode(), head)
        with urlopen(request, timeout=60) as answer:
            return json.load(answer)["answers"][0]

    def page(self, path, body=None):
        with urlopen(self.address + path, body, timeout=60) as answer:
            return answer.read().decode()


@pytest.fixture(scope="module")
def tennis(tmp_path_factory):
    """A file of rows, and one of a model of them."""
    folder = tmp_path_factory.mktemp("tennis")
    X, y = bg.datasets.load_play_tennis()
    X.assign(play=y).to_csv(folder / "tennis.csv", index=False)
    bg.NaiveBayes().fit(X, y).save(folder / "tennis.bgm")
    return folder


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.skipif(os.name == "nt", reason="Windows has other signals")
def test_a_model_is_served_until_a_signal_ends_it_without_a_word(tennis, end):
    with Serving(str(tennis / "tennis.bgm"), "--cost-of", "Outlook=2") as serving:
        assert serving.said.startswith("bayesgen: tennis is at http://127.0.0.1:")
        X, y = bg.datasets.load_play_tennis()
        row = X.iloc[0].to_dict()
        wanted = bg.NaiveBayes().fit(X, y).predict_proba(row)[0]
        assert list(serving.ask(row)["probabilities"].values()) == wanted.tolist()
        assert "costs 2" in serving.page("part/next", b"")
        serving.process.send_signal(end)
        out, error = serving.process.communicate(timeout=60)
        assert (serving.process.returncode, out) == (0, "")
        wanted = "rows that the model holds: none, but counts, means and the like"
        assert error.startswith(f"note: {wanted}") and error.count("\n") == 1


def test_rows_are_fitted_and_served(tennis, tmp_path):
    (tmp_path / "notes.md").write_text("# For whom\nTennis players.")
    words = [str(tennis / "tennis.csv"), "--target", "play", "--notes", str(tmp_path / "notes.md")]
    with Serving(*words) as serving:
        assert "target    play: " in serving.said
        row = pd.read_csv(tennis / "tennis.csv").drop(columns="play").iloc[0].to_dict()
        assert set(serving.ask(row)["probabilities"]) == {"No", "Yes"}
        assert "Tennis players." in serving.page("")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["absent.bgm"], "neither a file nor a bundled data set"),
        (["{rows}"], "which column of"),
        (["{model}", "--cost-of", "wind=-1"], "is no column and the cost of measuring it"),
        (["{model}", "--cost-of", "windy=1"], "cost_of: 'windy'=1.0 is no cost"),
        (["{model}", "--port", "70000"], "Must be <= 65535"),
        (["{model}", "--host", "999.1.1.1"], "no page can answer at 999.1.1.1"),
    ],
)
def test_what_cannot_be_served_is_refused_in_a_sentence(tennis, words, sentence, capsys):
    files = {"rows": tennis / "tennis.csv", "model": tennis / "tennis.bgm"}
    code = main(["serve", *(word.format(**files) for word in words)])
    said = " ".join("".join(capsys.readouterr()).replace("│", " ").split())
    assert code in (1, 2) and sentence in said
