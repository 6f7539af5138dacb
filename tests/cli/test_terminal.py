"""Nothing raw reaches a terminal from any verb; a pipe or a file gets every byte."""

import contextlib
import os
import pty
import shutil
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from saccade._system import notes
from saccade._system.files import read_json, write_json
from saccade._system.notes import CONTROL
from saccade.cli import main
from saccade.tasks.image.features.__main__ import main as extract
from tiny import Line, registered

HOSTILE = "\x1b[31m\x9b\u202e"
SHOWN = "\\x1b[31m\\x9b\\u202e"


@contextlib.contextmanager
def terminal(patch):
    """Standard output and standard error are a terminal; gives the list of what it shows."""
    master, slave = pty.openpty()
    shown = []

    def read():
        with contextlib.suppress(OSError):  # the terminal is closed
            while part := os.read(master, 4096):
                shown.append(part)

    reader = threading.Thread(target=read)
    reader.start()
    screen = SimpleNamespace(text="")
    with patch.context() as streams, os.fdopen(slave, "w", encoding="utf-8") as stream:
        streams.setattr(sys, "stdout", stream)
        streams.setattr(sys, "stderr", stream)
        yield screen
    reader.join()
    os.close(master)
    screen.text = b"".join(shown).decode().replace("\r\n", "\n")


@pytest.fixture
def shown(monkeypatch):
    """Runs the program on a terminal; returns its exit code and what the terminal shows."""

    def run(*words, program=main):
        with terminal(monkeypatch) as screen:
            try:
                code = program(list(map(str, words)))
            except SystemExit as stop:
                code = stop.code
        return code, screen.text

    return run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run in a folder with a hostile name, whose labels and data have hostile names too."""
    folder = tmp_path_factory.mktemp("terminal")
    data = folder / f"data{HOSTILE}.tsv"
    data.write_text("".join(f"word{n} word\tlabel{n % 2}{HOSTILE}\n" for n in range(60)), encoding="utf-8")
    words = ["--model", "sum", "--embedding-dim", "8", "--max-steps", "2", "--device", "cpu"]
    place = folder / f"run{HOSTILE}"
    assert main(["train", "classify-text", "--data", str(data), "--run", str(place), *words]) == 0
    return place


def test_what_predict_eval_look_and_data_show_is_escaped(run, shown, tmp_path):
    data = run.parent / f"data{HOSTILE}.tsv"
    for words, parts in (
        (["predict", run, "word1"], [f"label0{SHOWN}", f"label1{SHOWN}"]),
        (["predict", run, f"word{HOSTILE}", "--names"], [f"word{SHOWN}"]),
        (["predict", run, f"word{HOSTILE}", "--json"], [f"label0\\u001b{SHOWN[4:]}"]),
        (["eval", run], [f"label0{SHOWN}", f"label1{SHOWN}"]),
        (["look", run, "word1", "--output", tmp_path / HOSTILE], [f"/{SHOWN}/"]),
        (["data", "classify-text", "--data", data], [f"label0{SHOWN}", f"label1{SHOWN}"]),
        (["train", "classify-text", "--data", data, "--help"], [f"data{SHOWN}.tsv"]),
    ):
        code, text = shown(*words)
        lines = "".join(text.split())  # a long path goes over two lines
        assert code == 0 and any(part in lines for part in parts), (words, text)
        assert not CONTROL.search(text if "--help" not in words else text.replace("\x1b[", "")), words


def test_a_pipe_gets_every_byte(run, capfdbinary):
    data = run.parent / f"data{HOSTILE}.tsv"
    assert main(["predict", str(run), "word1"]) == 0 and main(["data", "classify-text", "--data", str(data)]) == 0
    lines = capfdbinary.readouterr().out.splitlines()
    assert len(lines) == 6 and all(HOSTILE.encode() in line for line in lines)


def test_list_is_escaped(shown, monkeypatch):
    monkeypatch.setattr(Line, "builtin", {**Line.builtin, "own": HOSTILE})
    with registered():
        code, text = shown("list")
    assert code == 0 and f"own     {SHOWN}\n" in text and not CONTROL.search(text)


@pytest.mark.parametrize(
    "words",
    [
        ["nowhere" + HOSTILE, "--encoder", "own:tiny", "--weights", "w", "--output", "store"],
        ["images", "--encoder", "own:tiny", "--weights", "w", "--output", "store", HOSTILE],
    ],
)
def test_extraction_of_features_fails_in_one_escaped_line(words, shown):
    code, text = shown(*words, program=extract)
    assert code == 2 and text.count("\n") == 1 and SHOWN in text and not CONTROL.search(text)


@pytest.mark.parametrize("on_terminal", [True, False])
def test_lone_surrogates_are_written_wherever_output_goes(on_terminal, monkeypatch, capfdbinary):
    if on_terminal:
        with terminal(monkeypatch) as screen:
            notes.open_streams()
            notes.output("a\udcffb\ud800")
        assert screen.text == "a\\udcffb\\ud800\n"
    else:
        monkeypatch.setattr("saccade.cli.list.run", lambda words: notes.output("a\udcffb\ud800"))
        assert not main(["list"])
        assert capfdbinary.readouterr().out == b"a\xffb\\ud800\n"


@pytest.fixture
def halved(run, tmp_path):
    """A run, one of whose labels is half a character."""
    folder = Path(shutil.copytree(run, tmp_path / "halved"))
    for name, changed in (("config.json", {"files": {}}), ("tokenizer.json", {"labels": ["\ud800", "\udcff"]})):
        write_json(folder / name, {**read_json(folder / name), **changed})
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ["predict", "word1", "--nbest", "2"],
        ["predict", "word1", "--json"],
        ["look", "word1", "--json"],
        ["eval"],
    ],
)
def test_half_characters_of_a_run_are_answered_or_refused(words, halved, capfd):
    verb, *rest = words
    code = main([verb, str(halved), *rest])
    out, err = capfd.readouterr()
    assert (code == 0 and out) or (code == 2 and err.count("\nerror: ") <= 1), err
