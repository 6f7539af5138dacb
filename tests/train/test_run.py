import json
import os
import re
from pathlib import Path

import pytest
import torch

from saccade._system.files import unfinished
from saccade.train.checkpoint import Checkpoint, save, state_file
from saccade.train.options import Options
from saccade.train.run import Run, RunError, beside
from tiers import every

CONFIG = {
    "task": "line",
    "model": "linear",
    "data": "points",
    "options": {"seed": 1, "model": "linear"},
    "saccade": "1",
    "files": {},
}


def create(folder):
    return Run.create(folder, CONFIG, lambda place: (place / "tokenizer.json").write_text("{}"))


def test_a_run_is_made_whole_and_opened_again(tmp_path):
    run = create(tmp_path / "runs/a")
    assert sorted(path.name for path in run.folder.iterdir()) == [".lock", "config.json", "tokenizer.json"]
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["a"]
    assert Run.open(run.folder) == run and list(run.config["files"]) == ["tokenizer.json"]


def test_an_empty_folder_may_become_a_run_but_no_other(tmp_path):
    (tmp_path / "empty").mkdir()
    assert create(tmp_path / "empty").folder.name == "empty"
    with pytest.raises(RunError, match="empty: another process has just made this run; the same command goes on"):
        create(tmp_path / "empty")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/thesis.txt").write_text("mine")
    with pytest.raises(RunError, match=r"full: it is there already and not a run; give another --run"):
        create(tmp_path / "full")
    assert (tmp_path / "full/thesis.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no config.json"),
        ("{", "not the configuration"),
        ("[]", r"not the configuration of a run \(expected a JSON object, got \[\]\)"),
        ("null", r"not the configuration of a run \(expected a JSON object, got null\)"),
        ("{}", "expected task, model, data, options, saccade, files, found no task"),
        (json.dumps({**CONFIG, "options": [1]}), "options: expected dict"),
    ],
)
def test_what_is_no_run_is_said_so(tmp_path, content, words):
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(RunError, match=words):
        Run.open(tmp_path)
    with pytest.raises(RunError, match="nowhere: no such run"):
        Run.open(tmp_path / "nowhere")


@every(
    ("task", "changed", "words"),
    [
        ("line", {"seed": 2}, "made with --seed 1, not 2; give another --run, or --no-resume"),
        ("other", {"seed": 1}, "made with task line, not other"),
        ("line", {"hidden_dim": 4}, "--hidden-dim None, not 4"),
    ],
)
def test_a_difference_is_named_with_both_values(tmp_path, task, changed, words):
    run = Run(tmp_path, CONFIG)
    run.refuse_difference("line", {"seed": 1})
    with pytest.raises(RunError, match=words):
        run.refuse_difference(task, changed)


@every(
    ("changed", "words"),
    [
        ({"colour": "red"}, "no option colour"),
        ({"max_steps": -1}, "--max-steps"),
        ({"seed": "one"}, "--seed: expected int, got 'one'"),
    ],
)
def test_options_of_another_version_are_named(tmp_path, changed, words):
    assert Run(tmp_path, CONFIG).options(Options) == Options(seed=1, model="linear")
    with pytest.raises(RunError, match=words):
        Run(tmp_path, {**CONFIG, "options": changed}).options(Options)


def test_weights_are_the_final_ones_or_those_of_the_newest_checkpoint(tmp_path):
    run = create(tmp_path / "a")
    with pytest.raises(RunError, match="nothing is trained yet"):
        run.weights()
    save(run.checkpoints, Checkpoint(3, {"w": torch.ones(2)}, {}, {}))
    assert torch.equal(run.weights()["w"], torch.ones(2))
    run.save_weights({"w": torch.zeros(2)}, 5, "mine")
    assert torch.equal(run.weights()["w"], torch.zeros(2))
    (run.folder / "model.safetensors").write_bytes(b"\x00" * 20)
    with pytest.raises(
        RunError, match=r"model.safetensors: damaged .*; move it away, and the same `saccade train` comm"
    ):
        run.weights()


def test_damaged_checkpoints_are_said_whoever_asks_for_weights(tmp_path, capsys):
    run = create(tmp_path / "a")
    for step in (3, 5):
        save(run.checkpoints, Checkpoint(step, {"w": torch.ones(2)}, {}, {}))
    state_file(run.checkpoints, 5).write_text("{")
    assert torch.equal(run.weights()["w"], torch.ones(2))
    assert re.fullmatch(r"corrupt checkpoint: .*step-00000005.*; using step 3\n", capsys.readouterr().err)
    state_file(run.checkpoints, 3).write_text("{")
    with pytest.raises(
        RunError, match=r"corrupt checkpoint: .*step-00000005.*, nor any other; the same `saccade train`"
    ):
        run.weights()
    assert capsys.readouterr().err == ""


STEP = b'{"step": 10, "loss": 0.5}\n'
END = b'{"step": 20, "final_validation_exact_match": 0.5}\n'
NOTES = b'my notes\n[1]\n{"a": 1}\n{"step": "x"}\n\xff\xfe\n{"step": 99, "lamp": "red"}\n'


@every(
    ("step", "content", "kept"),
    [
        (20, STEP + b'{"step": 2', STEP),
        (20, STEP + b'{"step": 20, "loss": 1}', STEP + b'{"step": 20, "loss": 1}\n'),
        (20, STEP + b"my notes", STEP + b"my notes\n"),
        (20, STEP + b'{"step": 30, "loss": 1}', STEP),
        (20, NOTES + STEP.replace(b"10", b"30"), NOTES),
        (20, STEP + END, STEP),
        (10, STEP + END, STEP),
        (30, STEP + END, STEP + END),
        (0, STEP, b""),
    ],
)
def test_the_log_loses_later_lines_and_half_ones(tmp_path, step, content, kept):
    run = Run(tmp_path, CONFIG)
    run.rewind_log(0)
    (tmp_path / "metrics.jsonl").write_bytes(content)
    run.rewind_log(step)
    assert (tmp_path / "metrics.jsonl").read_bytes() == kept


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_log_that_cannot_be_written_is_named(tmp_path):
    run = create(tmp_path / "a")
    (run.folder / "metrics.jsonl").symlink_to("/dev/full")
    with pytest.raises(OSError, match=r"No space left on device: .*metrics.jsonl"):
        run.log(step=10)


def test_a_run_may_lie_behind_a_link(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to("disk")
    create(tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "disk/config.json").exists()


def test_a_folder_that_cannot_be_made_leaves_nothing(tmp_path):
    def full(place):
        (place / "half").write_text("half")
        raise OSError(28, "No space left on device")

    def stopped(place):
        (place / "half").write_text("half")
        raise KeyboardInterrupt

    for fails, error in ((full, OSError), (stopped, KeyboardInterrupt)):
        with pytest.raises(error):
            Run.create(tmp_path / "a", CONFIG, fails)
        assert list(tmp_path.iterdir()) == []


def test_the_folder_that_another_process_makes_is_left_to_it(tmp_path):
    def races(place):
        with pytest.raises(RunError, match="another process is making this run"):
            create(tmp_path / "a")
        (place / "tokenizer.json").write_text("{}")

    Run.create(tmp_path / "a", CONFIG, races)
    assert Run.open(tmp_path / "a").config["task"] == "line"


def test_a_run_killed_in_its_making_is_made_anew(tmp_path):
    (tmp_path / "a").mkdir()
    for name in (".lock", "tokenizer.json"):
        (tmp_path / "a" / name).write_text("half")
    with pytest.raises(RunError, match="not a run"):
        Run.open(tmp_path / "a")
    run = create(tmp_path / "a")
    run.check_files()
    lost = tmp_path / "lost"
    (lost / "checkpoints").mkdir(parents=True)
    (lost / ".lock").touch()  # a run that lost its config.json is no such case
    with pytest.raises(RunError, match="lost: it is there already and not a run"):
        create(lost)
    left = [unfinished(run.folder / name) for name in ("model.safetensors", "metrics.jsonl", "results.json")]
    run.checkpoints.mkdir()
    left += [unfinished(run.checkpoints / name) for name in ("step-00000020.safetensors", "best.safetensors")]
    kept = [run.checkpoints / ".thesis.txt.partial", unfinished(run.folder / "notes.txt")]  # a user's
    kept += [unfinished(run.folder / "results-test.json")]  # of a running evaluation
    for path in left + kept:
        path.write_bytes(b"half")
    with run.locked():
        assert not any(path.exists() for path in left) and all(path.exists() for path in kept)


def test_a_loop_of_links_and_a_file_are_no_runs(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").write_text("mine")
    for go in (Run.open, create):
        with pytest.raises(OSError, match=r"symbolic links.*loop"):
            go(tmp_path / "loop")
        with pytest.raises(OSError, match=r"Not a directory.*file/a"):
            go(tmp_path / "file/a")
    with pytest.raises(RunError, match="file: expected the folder of a run, got a file"):
        Run.open(tmp_path / "file")
    with pytest.raises(RunError, match="file: it is there already and not a run"):
        create(tmp_path / "file")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors", "results.json", ".lock"])
def test_a_pipe_in_a_files_place_is_an_error_and_no_wait(tmp_path, name):
    run = create(tmp_path / "a")
    (run.folder / name).unlink(missing_ok=True)
    os.mkfifo(run.folder / name)
    with pytest.raises(OSError, match=rf"expected a file, got a pipe: .*{name}|No such device or address: .*{name}"):
        opened = Run.open(run.folder)
        opened.check_files()
        opened.results()
        with opened.locked():
            opened.weights()


def test_what_the_task_saved_is_what_it_wrote(tmp_path):
    run = create(tmp_path / "a")
    run.check_files()
    (run.folder / "tokenizer.json").write_text('{"reordered": 1}')
    with pytest.raises(RunError, match=r"tokenizer.json: not what this run was made with .*\. Put it back"):
        Run.open(run.folder).check_files()
    (run.folder / "tokenizer.json").unlink()
    with pytest.raises(RunError, match=r"tokenizer.json: gone"):
        Run.open(run.folder).check_files()
    (run.folder / "config.json").write_text(json.dumps({**CONFIG, "files": {"a\0b": "0"}}))
    with pytest.raises(RunError, match="gone, and no answer without it"):
        Run.open(run.folder).check_files()


def test_damaged_weights_and_those_of_another_run_are_refused(tmp_path):
    run = create(tmp_path / "a")
    save(run.checkpoints, Checkpoint(3, {"w": torch.ones(2)}, {}, {"origin": "theirs"}))
    with pytest.raises(RunError, match=r"checkpoints: expected the weights of this run, got those of another one"):
        run.weights("mine")
    assert run.weights("theirs")["w"].tolist() == [1.0, 1.0]
    path = run.folder / "model.safetensors"
    run.save_weights({"w": torch.arange(1.0, 500.0)}, 5, "mine")
    whole = path.read_bytes()
    path.write_bytes(whole[:-400] + bytes(400))  # a block of zeros
    with pytest.raises(RunError, match=r"model.safetensors: damaged \(its digest is of other weights\); move it away"):
        run.weights()
    path.write_bytes(whole)
    assert len(run.weights("mine")["w"]) == 499
    with pytest.raises(RunError, match=r"model.safetensors: expected the weights of this run, got those of another"):
        run.weights("others")
    run.save_weights({"w": torch.tensor([1.0, float("nan")])}, 5, "mine")
    with pytest.raises(RunError, match=r"model.safetensors: the weights w are not finite"):
        run.weights("mine")


def test_results_that_are_no_results_are_none(tmp_path):
    run = create(tmp_path / "a")
    wrong = '{"steps": 3, "seconds": 1, "metrics": {"accuracy": "high"}, "validation": {}}'
    for content in ("{", "[]", "{}", '{"steps": "3", "seconds": 1, "metrics": {}, "validation": {}}', wrong):
        (run.folder / "results.json").write_text(content)
        assert run.results() is None


def test_one_process_at_a_time_trains_a_run(tmp_path):
    run = create(tmp_path / "a")
    another = Run.open(run.folder).locked()  # the lock is one of the open file, whichever process opened it
    with run.locked(), pytest.raises(RunError, match="another process is training this run"), another:
        pass
    with run.locked():
        pass


def test_the_next_free_name_beside_a_run(tmp_path, monkeypatch):
    for name in ("a", "a-2"):
        (tmp_path / name).mkdir()
    assert beside(tmp_path / "a") == tmp_path / "a-3"
    monkeypatch.chdir(tmp_path / "a")
    assert beside(Path()) == tmp_path / "a-3" and beside(Path("a")) == Path("a-2")


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_folder_that_cannot_be_written_is_error_of_system(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError):
        create(tmp_path / "a")
