import errno
import gc
import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from saccade.cli import VERBS, main
from tiers import every
from tiny import command, environment, program, python


def one_line(capsys):
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and err.startswith("error: ") and "Traceback" not in err
    return err


def test_help_names_every_verb(capsys):
    for arguments in ([], ["--help"], ["-h"]):
        assert main(arguments) == 0
        out = capsys.readouterr().out
        assert all(f"  {verb} " in out for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_helps(verb, capsys):
    if verb in ("train", "data", "report"):
        assert main([verb, "--help"]) == 0
    else:
        with pytest.raises(SystemExit) as stop:
            main([verb, "--help"])
        assert stop.value.code == 0
    assert capsys.readouterr().out.strip()


@every(
    ("arguments", "words"),
    [
        ("trian translate", "no verb trian; did you mean train?"),
        ("train translte", "TASK: there is no translte; did you mean translate?"),
        ("train translate --modle rnnsearch", "unknown option --modle; did you mean --model?"),
        ("train translate --modle=rnnsearch", "unknown option --modle; did you mean --model?"),
        ("train translate --lr 0.1", "unknown option --lr; here it is --learning-rate"),
        ("train translate --epochs=3", "unknown option --epochs; here it is --max-steps"),
        ("train translate --batch_size 8", "unknown option --batch_size; here it is --batch-tokens"),
        ("train classify-image --bs 8", "unknown option --bs; here it is --batch-size"),
        ("train regress --gpu", "unknown option --gpu; here it is --device"),
        ("predict runs/a --num-beams 3", "unknown option --num-beams; here it is --beam-size"),
        ("train translate --model rnnserch", "--model: there is no rnnserch; did you mean rnnsearch?"),
        ("train translate --max-steps many", "--max-steps"),
        ("train translate --max-steps", "--max-steps"),
        ("train translate --max-steps 0", "--max-steps: expected a number above 0, got 0"),
        ("train translate --max-minutes inf", "--max-minutes: expected a finite number above 0, got inf"),
        ("train translate --max-minutes 1e308", "--max-minutes: expected at most 100,000,000, got 1e+308"),
        ("train translate --threads 0", "--threads: expected a number above 0, got 0"),
        ("train translate --run -r", "--run: expected a value, got -r, which looks like an option; write --run=-r"),
        ("train translate --hidden-dim 33", "--hidden-dim: expected an even number from 2 to 1000000, got 33"),
        ("train translate --data no/such/folder", "no/such/folder"),
        ("train translate --data dats", "did you mean dates?"),
        ("train translate --data=", "--data: expected a built-in data set, a folder or a file, got an empty name"),
        ("train translate --device gpu7", "--device: expected one of auto, cpu"),
        ("train translate dates", "unexpected argument dates"),
        ("predict nowhere x", "nowhere: no such run"),
        ("predict", "RUN"),
        ("predict nowhere --nbst 3", "did you mean --nbest?"),
        ("predict nowhere x --nbest 0", "nowhere: no such run"),
        ("train translate --model=", "--model: there is no ; there is: rnnsearch"),
        ("train translate --batch-tokens 10000000000000", "--batch-tokens: expected a number from 1 to 10000000"),
        ("train translate --hidden-dim 1000000", "not enough memory; smaller dimensions"),
        ("predict nowhere x --input y", "nowhere: no such run"),
        ("predict --beem-size 3 nowhere", "unknown option --beem-size; did you mean --beam-size?"),
        ("eval", "RUN"),
        ("eval nowhere", "nowhere: no such run"),
        ("eval nowhere --split tset", "did you mean test?"),
        ("look", "RUN"),
        ("look nowhere x", "nowhere: no such run"),
        ("look nowhere x --ouput y", "did you mean --output?"),
        ("bench --rows nothing", "--rows: expected a part of a row's name, got nothing; rows: additive forward, "),
        ("bench --quik", "did you mean --quick?"),
        ("bench --seconds 0", "--seconds: expected a number above 0, got 0"),
        ("bench --threads 0", "--threads: expected a number from 1 to "),
        ("bench --backend cup", "did you mean cpu?"),
        ("bench --json=", "--json: expected the name of a new file, got an empty name"),
        ("bench --page no/such/page.md", "--page: expected a name in a folder that exists, got no/such/page.md"),
        ("bench --device gpu7", "--device: expected one of auto, cpu"),
        ("data translte", "TASK: there is no translte; did you mean translate?"),
        ("list tasks", "unexpected argument tasks"),
    ],
)
def test_wrong_words_get_one_line_with_the_fix(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments.split()) == 2
    assert words in one_line(capsys)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_to_is_refused_before_the_work(tmp_path, capsys, monkeypatch):
    def opening(*arguments):
        raise AssertionError("opened")

    monkeypatch.setattr("os.access", lambda path, mode: False)
    monkeypatch.setattr("saccade.tasks.task.Task.lazy_data", opening)
    monkeypatch.setattr("saccade.cli.export.load", opening)
    expected = f"expected a folder that can be written to, got {tmp_path}; name another"
    for words, option in (
        (["train", "translate", "--data", "gone.tsv", "--run", str(tmp_path / "run")], "--run"),
        (["train", "regress", "--run", str(tmp_path / "new" / "run")], "--run"),
        (["data", "regress", "--output", str(tmp_path / "data")], "--output"),
        (["export", "run", str(tmp_path / "a.onnx")], str(tmp_path / "a.onnx")),
    ):
        assert main(words) == 2
        assert one_line(capsys).startswith(f"error: {option}: {expected}")


def test_a_run_that_is_a_file_or_a_loop_of_links_is_said_so(tmp_path, capsys):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "loop").symlink_to("loop")
    for arguments, words in (
        (["predict", "file", "x"], "file: expected the folder of a run, got a file"),
        (["predict", "loop", "x"], "loop: expected a file or a folder, got links in a circle"),
        (["predict", "file/a", "x"], "file/a: expected a file or a folder, got a name below a file; "),
        (["train", "translate", "--run", "file"], "--run: expected a folder, got a file: "),
        (["train", "translate", "--run", "loop"], "--run: expected a folder, got a link that leads nowhere: "),
    ):
        place = {"predict": 1, "train": 3}[arguments[0]]
        arguments[place] = str(tmp_path / arguments[place])
        assert main(arguments) == 2
        assert words in one_line(capsys)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_error_that_cannot_be_written_is_error_all_the_same(monkeypatch):
    with Path("/dev/full").open("w", buffering=1) as full:
        monkeypatch.setattr(sys, "stderr", full)
        assert main(["predict", "nowhere", "x"]) == 2
        assert main(["list"]) == 0


def test_a_folder_that_is_no_run_is_said_so(tmp_path, capsys):
    for verb in ("eval", "predict", "look"):
        assert main([verb, str(tmp_path), *(["x"] if verb != "eval" else [])]) == 2
        assert "not a run (it has no config.json)" in one_line(capsys)


def test_ctrl_c_is_one_line(monkeypatch, capsys):
    def interrupted(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("saccade.cli.list.run", interrupted)
    assert main(["list"]) == 130
    assert capsys.readouterr() == ("", "interrupted\n")


def test_only_a_lack_of_memory_is_called_one(monkeypatch, capsys):
    def fail(error):
        def run(arguments):
            raise error

        monkeypatch.setattr("saccade.cli.list.run", run)

    for error in (MemoryError(), torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")):
        fail(error)
        assert main(["list"]) == 2 and "not enough memory" in one_line(capsys)
    fail(RuntimeError("a fault of ours"))
    with pytest.raises(RuntimeError, match="a fault of ours"):
        main(["list"])


def test_a_name_that_the_system_cannot_write_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr("saccade.cli.list.run", lambda arguments: "15-мая".encode("ascii"))
    assert main(["list"]) == 2
    assert "15-мая: no name in this system's encoding, ascii" in one_line(capsys)


def test_half_a_character_in_a_name_is_one_line(run, capsys):
    assert main(["predict", str(run), "--input", "a\ud800"]) == 2
    assert "a\\ud800: expected a text, got half a character" in one_line(capsys)


@pytest.mark.parametrize("closed", ["stdin", "stdout", "stderr"])
def test_a_closed_stream_is_an_empty_one(run, closed, monkeypatch):
    monkeypatch.setattr(sys, closed, None)
    assert main(["predict", str(run), *(["18 juin 2025"] if closed != "stdin" else [])]) == 0
    getattr(sys, closed).close()


@pytest.mark.slow  # a process of its own
def test_all_streams_may_be_closed(run):
    shell = ["bash", "-c", '"$@" <&- >&- 2>&-', "bash", *command("predict", run)]
    assert subprocess.run(shell, env=environment(), check=False).returncode == 0


@pytest.mark.slow  # a process of its own
def test_a_broken_pipe_is_silent(run):
    process = subprocess.Popen(
        command("predict", run),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    process.stdout.close()
    try:
        process.stdin.write(b"18 juin 2025\n" * 5000)
        process.stdin.close()
    except BrokenPipeError:
        pass
    assert process.stderr.read() == b"" and process.wait() == 0
    process.stderr.close()


def test_a_pipe_that_is_not_the_output_is_an_error(monkeypatch, capfd):
    def broken(arguments):
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    monkeypatch.setattr("saccade.cli.list.run", broken)
    assert main(["list"]) == 2
    assert capfd.readouterr() == ("", "error: Broken pipe\n")


def test_the_program_and_the_module_are_one(run):
    done = program("predict", run, input="18 juin 2025\n\n", encoding="utf-8")
    assert done.returncode == 0 and done.stderr == "" and len(done.stdout.splitlines()) == 2


IMPORTS = """
import json, os, sys
import torch
from saccade.cli import main

for words, forbidden in json.loads(sys.argv[1]):
    child = os.fork()
    if not child:
        try:
            main(words)
        except SystemExit:
            pass
        os._exit(1 if set(forbidden) & set(sys.modules) else 0)
    if os.waitpid(child, 0)[1]:
        sys.exit(f"{words} imports one of {forbidden}")
"""


SLOW = ["lightning", "matplotlib", "sklearn", "scipy", "sympy"]


@pytest.mark.slow  # a process of its own
def test_nothing_slow_is_imported_where_it_is_not_used(run, tmp_path):
    """Each command in a process of its own, a fork of one that has imported nothing but what all of them do."""
    cases = [
        (["--help"], ["tyro"]),
        (["train", "translate", "--help"], ["lightning", "matplotlib"]),
        (["bench", "--help"], ["lightning", "matplotlib", "numba"]),
        (["train", "translate", "--modle", "x"], ["lightning", "matplotlib"]),
        (["predict", str(run), "18 juin 2025"], [*SLOW, "babel", "numba", "rich", "tokenizers"]),
        (["eval", str(run)], ["lightning", "matplotlib", "sklearn"]),
        (["look", str(run), "18 juin 2025", "--output", str(tmp_path)], ["lightning", "babel"]),
    ]
    command = python("-c", IMPORTS, json.dumps(cases))
    done = subprocess.run(command, check=False, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("before", [False, True])
def test_objects_of_before_are_frozen_while_a_command_runs(before, monkeypatch, capsys):
    counts = []
    monkeypatch.setattr("saccade.cli._run", lambda words: counts.append(gc.get_freeze_count()) or int(words[0]))
    if before:
        gc.freeze()
    try:
        assert main(["0"]) == 0 and counts[0] > 0
        with pytest.raises(ValueError):
            main(["x"])
        assert (gc.get_freeze_count() > 0) is before  # somebody else's stay
    finally:
        gc.unfreeze()


FIRST_STEP = """
import sys
import lightning.pytorch
before = set(sys.modules)
from saccade.cli import main
from saccade.train import engine
engine._fit = lambda *arguments: sys.exit(" ".join({name.partition(".")[0] for name in set(sys.modules) - before}))
main(sys.argv[1:])
"""


@pytest.mark.slow  # a process of its own
@pytest.mark.parametrize("task", ["translate", "regress"])
def test_a_training_adds_nothing_slow_to_lightning_s_imports(task, tmp_path):
    words = ["train", task, "--run", tmp_path / "a", "--max-steps", 4, "--device", "cpu"]
    done = subprocess.run(python("-c", FIRST_STEP, *words), env=environment(), capture_output=True, text=True)
    added = set(done.stderr.splitlines()[-1].split())
    assert "saccade" in added, done.stderr
    expected = {"saccade", "torch", "tyro", "typeguard", "docstring_parser", "jaxtyping", "babel", "encodings"}
    expected |= {"safetensors"}  # 3 ms
    assert added <= expected | sys.stdlib_module_names


@pytest.mark.slow  # a process of its own
def test_output_is_utf_8_in_every_locale():
    setting = {**environment(), "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    assert program("list", env=setting, encoding="utf-8").returncode == 0


def test_a_namesake_in_the_environment_is_warned_of(monkeypatch, capsys):
    names = {"saccade-attention", "saccade"}

    def distribution(name):
        if name not in names:
            raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", distribution)
    assert main(["--help"]) == 0
    assert capsys.readouterr().err.startswith("two distributions install the import saccade: ")
    names.remove("saccade")
    assert main(["--help"]) == 0 and not capsys.readouterr().err


@pytest.mark.parametrize("word", ["a\x1b[31m", "a\u202eb", "\udcff"])
def test_an_error_escapes_characters_that_no_line_has(word, capsys):
    for arguments in ([word], ["eval", word]):
        assert main(arguments) == 2
        assert ascii(word)[1:-1] in one_line(capsys)


def test_an_error_of_100000_columns_names_some_and_the_way_out(tmp_path, capsys):
    row = json.dumps({f"c{number}": "" for number in range(100_000)})
    (tmp_path / "manifest.jsonl").write_text(row)
    assert main(["data", "transcribe", "--data", str(tmp_path / "manifest.jsonl")]) == 2
    line = one_line(capsys)
    assert len(line) < 1000 and str(tmp_path) in line
    assert "got c0, c1, c2, c3, c4 and 99995 more; --audio-column and --text-column name them" in line
