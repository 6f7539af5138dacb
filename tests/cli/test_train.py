import errno
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

from commands import options
from saccade.cli import main
from saccade.errors import ArgumentError
from saccade.tasks import load_task
from saccade.tasks.task import Job, Task
from saccade.train.checkpoint import list_steps, state_file
from saccade.train.task import recipe
from tiny import SMALL, command, environment, equal, train, unread


def test_results_on_standard_output_and_the_rest_on_standard_error(tmp_path, capsys):
    assert train(tmp_path / "a", "--max-steps", 4, "--validation-steps", 2) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0].startswith("exact match on test: 0.")
    assert out.splitlines()[-1] == f"run: {tmp_path / 'a'}"
    assert err.splitlines()[0] == f"training in {tmp_path / 'a'} at step 0"
    assert err.splitlines()[1].startswith("step 2: loss ") and len(err.splitlines()) == 5


def test_a_finished_run_says_so(tmp_path, capsys):
    for _ in range(2):
        assert train(tmp_path / "a", "--max-steps", 2) == 0
    assert "is at its end, step 2, already; a larger --max-steps" in capsys.readouterr().err


def test_another_configuration_is_refused_in_one_line(run, capsys):
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert train(run, "--max-steps", 20, "--seed", 9) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "--seed 1, not 9" in err
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


@pytest.mark.slow
def test_a_damaged_checkpoint_costs_a_line(tmp_path, run, capsys):
    shutil.copytree(run, tmp_path / "a")
    folder = tmp_path / "a/checkpoints"
    state_file(folder, list_steps(folder)[-1]).write_text("{")
    assert train(tmp_path / "a", "--max-steps", 25) == 0
    assert "corrupt checkpoint" in capsys.readouterr().err
    assert json.loads((tmp_path / "a/results.json").read_text())["steps"] == 25
    assert train(tmp_path / "whole", "--max-steps", 25) == 0
    assert equal(tmp_path / "a", tmp_path / "whole")


def test_a_moved_run_answers_and_goes_on(tmp_path, run, capsys):
    shutil.copytree(run, tmp_path / "elsewhere")
    capsys.readouterr()
    for place in (run, tmp_path / "elsewhere"):
        assert main(["predict", str(place), "February 15, 2019"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second
    assert train(tmp_path / "elsewhere", "--max-steps", 22) == 0


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path, capsys):
    (tmp_path / "file").write_text("mine")
    assert train(tmp_path / "file", "--max-steps", 2) == 2
    assert train(tmp_path / "file/run", "--max-steps", 2) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2
    assert (tmp_path / "file").read_text() == "mine"


def test_data_and_model_choose_defaults_and_user_the_rest():
    kind = load_task("translate")
    chosen = options(kind, ["--seed", "5", "--no-resume"])
    assert (chosen.model, chosen.data, chosen.seed, chosen.resume) == ("rnnsearch", "dates", 5, False)
    assert options(kind, ["--max_minutes=2"]).max_steps is None
    assert options(kind, []).max_steps > 0
    assert options(kind, ["--max-minutes", "2", "--max-steps", "7"]).max_steps == 7
    assert chosen.hidden_dim == recipe(kind, "rnnsearch", "dates")["hidden_dim"] == 128


def test_a_constant_schedule_takes_no_horizon():
    kind = load_task("translate")
    usual = recipe(kind, "rnnsearch", "corpus")
    for typed in ("constant", "inverse-sqrt"):
        chosen = options(kind, ["--data", "corpus", "--schedule", typed])
        assert (chosen.schedule, chosen.schedule_steps, chosen.final_rate) == (typed, None, 0.0)
    chosen = options(kind, ["--data", "corpus", "--schedule=linear"])
    assert (chosen.schedule_steps, chosen.final_rate) == (usual["schedule_steps"], usual["final_rate"])
    with pytest.raises(ArgumentError, match="--schedule-steps: expected only with --schedule linear or cosine"):
        options(kind, ["--data", "corpus", "--schedule", "constant", "--schedule-steps", "9"])


@pytest.mark.slow
def test_finished_run_says_that_more_steps_are_at_last_rate(tmp_path, capsys):
    falling = ["--schedule", "linear", "--warmup-steps", 1, "--schedule-steps", 2]
    for _ in range(2):
        assert train(tmp_path / "a", "--max-steps", 2, *falling) == 0
    err = capsys.readouterr().err
    assert "a larger --max-steps or --max-minutes goes on (from step 2 on at the last learning rate of its sched" in err


def test_full_disk_is_one_line_with_way_out_and_run_goes_on(tmp_path, capsys, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full_at(tmp_path / "a/checkpoints"))
        assert train(tmp_path / "a", "--max-steps", 20) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert re.fullmatch(
        r"error: .*/a/checkpoints/step-00000010.safetensors: expected room on the disk, got none; "
        "make room, then give the command again",
        last,
    )
    assert list((tmp_path / "a/checkpoints").iterdir()) == []
    assert train(tmp_path / "a", "--max-steps", 10) == 0


def full_at(folder):
    """os.fsync of a disk that is full as soon as there is a folder."""
    fsync = os.fsync

    def fail(handle):
        if folder.exists():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(handle)

    return fail


def test_training_goes_on_when_nobody_reads_its_notes(tmp_path, capsys, monkeypatch):
    with unread() as stream, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stream)
        assert train(tmp_path / "a", "--max-steps", 4) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"run: {tmp_path / 'a'}"
    assert json.loads((tmp_path / "a/results.json").read_text())["steps"] == 4


def kill(folder, arguments, delay):
    """Kill a training process a moment after it wrote something new into its checkpoints; False if it ended before."""
    process = subprocess.Popen(
        command(*arguments), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment()
    )
    seen = list_steps(folder / "checkpoints")
    while process.poll() is None and list_steps(folder / "checkpoints") == seen:
        time.sleep(0.005)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return process.returncode == -signal.SIGKILL


@pytest.mark.slow
def test_a_killed_run_comes_to_the_same_weights(tmp_path):
    (tmp_path / "pairs.tsv").write_text("".join(f"satz {n}\tline {n}\n" for n in range(200)))
    more = ["--seed", "3", "--max-steps", "40", "--dropout", "0.2", "--validation-steps", "15"]
    more += ["--data", str(tmp_path / "pairs.tsv")]  # the other process has the built-in data whole
    whole, killed = (
        ["train", "translate", "--run", str(tmp_path / name), *SMALL, *more] for name in ("whole", "killed")
    )
    assert main(whole) == 0
    assert kill(tmp_path / "killed", killed, random.Random(7).uniform(0, 0.1))
    assert main(killed) == 0
    assert equal(tmp_path / "whole", tmp_path / "killed")
    logs = [(tmp_path / name / "metrics.jsonl").read_text().splitlines() for name in ("whole", "killed")]
    measured = [[{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in log] for log in logs]
    assert measured[0] == measured[1]


def test_ctrl_c_is_one_line_and_the_run_goes_on(tmp_path, capsys, monkeypatch):
    fsync, pressed = os.fsync, []

    def press(handle):
        fsync(handle)
        if (tmp_path / "a/checkpoints").exists() and not pressed:
            pressed.append(True)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("os.fsync", press)
    assert train(tmp_path / "a", "--max-steps", 100000, "--checkpoint-steps", 2) == 130
    out, err = capsys.readouterr()
    last = err.splitlines()[-1]
    assert out == "" and last.startswith("interrupted at step ") and "checkpoint is kept" in last
    step = int(last.split()[3].rstrip(";"))
    assert step < 9 and list_steps(tmp_path / "a/checkpoints")[-1] == step


REWRITTEN = {
    "translate": ("satz {n} wort\tline {n} word", ["--hidden-dim", "4", "--embedding-dim", "4"]),
    "classify-text": ("text {n} word\tlabel{half}", ["--model", "sum", "--embedding-dim", "4"]),
    "memorize": ("a b {n}\tb a", ["--model", "lstm", "--hidden-dim", "4"]),
}


@pytest.mark.parametrize("cut", [False, True], ids=["rewritten", "cut"])
@pytest.mark.parametrize("task", REWRITTEN)
def test_a_corpus_rewritten_under_a_training_changes_nothing(task, cut, tmp_path, monkeypatch):
    """On its inode, as an editor that keeps the file does."""
    (row, options), kind, data = REWRITTEN[task], load_task(task), tmp_path / "data.tsv"
    data.write_text("".join(f"{row.format(n=n, half=n % 2)}\n" for n in range(60)))
    words = ["train", task, "--data", str(data), "--max-steps", "3", "--device", "cpu", *options, "--run"]
    assert main([*words, str(tmp_path / "run")]) == 0
    owner = Job if isinstance(kind, Task) else kind
    batch = owner.batch

    def rewriting(self, step):
        if step == 1:
            with data.open("r+b") as file:
                file.truncate(100) if cut else file.write(b"x" * 100)
        return batch(self, step)

    monkeypatch.setattr(owner, "batch", rewriting)
    assert main([*words, str(tmp_path / "rewritten")]) == 0 and equal(tmp_path / "rewritten", tmp_path / "run")
