"""Several processes on a CPU, talking by gloo: they start slowly, so few runs have to show much."""

import multiprocessing
import os
import signal
import subprocess

import pytest
import torch

from saccade.errors import ArgumentError, SaccadeError
from saccade.train import launch
from saccade.train.checkpoint import list_steps
from saccade.train.fit import train
from saccade.train.optimization import learning_rate, make_optimizer
from saccade.train.randomness import derive
from saccade.train.run import RunError
from tiny import Line, command, environment, line_options, python, weights


def options(run, **changed):
    return line_options(run, **{"max_steps": 20, "threads": 1, "processes": 2, **changed})


class Watched(Line):
    """Writes the weights that each process has at step 12, and suffers what its test asks for there."""

    def loss(self, model, batch):
        rank = int(os.environ.get("RANK", "0"))
        if torch.equal(batch, self.batch(12 * 2 + rank)):
            torch.save(model[0].weight.detach().clone(), f"{self.settings.run}.{rank}.pt")
            if rank == 1 and (number := os.environ.get("SACCADE_TEST_SIGNAL")):
                os.kill(os.getpid(), int(number))
            if rank == 1 and (file := os.environ.get("SACCADE_TEST_ERROR")):
                raise OSError(2, "No such file", file)
        return super().loss(model, batch)


def by_hand(settings):
    """What two processes have to come to: each its own batch and dropout, the mean of their gradients."""
    with torch.random.fork_rng():
        torch.manual_seed(derive(settings.seed, "weights"))
        model = Line(settings).build()
    optimizer = make_optimizer(model, settings)
    for step in range(settings.max_steps):
        optimizer.param_groups[0]["lr"] = learning_rate(step, settings)
        optimizer.zero_grad()
        for rank in range(2):
            torch.manual_seed(derive(settings.seed, "step", step, *((rank,) if rank else ())))
            (Line(settings).loss(model, Line(settings).batch(2 * step + rank)).total / 2).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
        optimizer.step()
    return model


@pytest.mark.slow
def test_two_processes_train_stop_and_resume_to_the_same_bits(tmp_path, monkeypatch, capfd):
    whole = train(Watched, options(tmp_path / "whole"))
    assert capfd.readouterr().err.count("training in") == 1
    first, second = (torch.load(f"{tmp_path / 'whole'}.{rank}.pt", weights_only=True) for rank in (0, 1))
    assert torch.equal(first, second)
    model = by_hand(options(tmp_path / "whole"))
    assert torch.allclose(weights(tmp_path / "whole")["0.weight"], model[0].weight, atol=1e-5)
    with monkeypatch.context() as patch:
        patch.setenv("SACCADE_TEST_SIGNAL", str(int(signal.SIGINT)))  # to the second process
        stopped = train(Watched, options(tmp_path / "parts"))
    assert stopped.results is None and stopped.step == 13
    assert list_steps(tmp_path / "parts/checkpoints")[-1] == 13
    train(Line, options(tmp_path / "parts"))
    one, other = weights(tmp_path / "whole"), weights(tmp_path / "parts")
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert whole.step == 20 and "RANK" not in os.environ
    assert capfd.readouterr().err.count("going on in") == 1
    with pytest.raises(RunError, match="made with --processes 2, not 1"):
        train(Line, options(tmp_path / "parts", processes=1, max_steps=30))


class Ending:
    """A process that has just ended: nobody knows its code before it was joined."""

    def __init__(self, code):
        read, write = os.pipe()
        os.close(write)
        self.sentinel, self.exitcode, self.code = read, None, code

    def join(self, seconds):
        self.exitcode = self.code


def ending(code, words=None):
    ear, mouth = multiprocessing.Pipe(duplex=False)
    if words:
        mouth.send(words)
    mouth.close()
    return launch._Worker(Ending(code), ear)


KEPT = "the last checkpoint is kept, and the same command goes on from there"


@pytest.mark.parametrize(
    ("ends", "kind", "words"),
    [
        ([(-9, None)], SaccadeError, f"process 1 of 2 ended with code -9; {KEPT}"),
        ([(3, None), (1, None)], SaccadeError, f"process 2 of 3 ended with code 1; {KEPT}"),
        ([(3, None)], SaccadeError, f"another process cannot be reached; {KEPT}"),
        ([(0, None)], SaccadeError, f"another process cannot be reached; {KEPT}"),
        ([(1, "a.txt: No such file")], SaccadeError, "process 1 of 2 ended (a.txt: No such file)"),
        ([(1, "x"), (130, None)], KeyboardInterrupt, ""),
    ],
)
def test_the_one_to_blame_is_waited_for_and_named(ends, kind, words):
    cause = launch._cause([ending(code, error) for code, error in ends], 1)
    assert isinstance(cause, kind) and str(cause) == words


@pytest.mark.slow
def test_an_error_in_another_process_is_said_by_the_first(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("SACCADE_TEST_ERROR", "a.txt")
    with pytest.raises(SaccadeError, match=r"^process 1 of 2 ended \(a.txt: No such file\)$"):
        train(Watched, options(tmp_path / "a"))
    assert list_steps(tmp_path / "a/checkpoints") == [10]
    assert len(capfd.readouterr().err.splitlines()) == 3  # that it began, a validation and a sample


@pytest.mark.slow
def test_a_process_that_is_killed_ends_the_run_in_one_line(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("SACCADE_TEST_SIGNAL", str(int(signal.SIGKILL)))
    with pytest.raises(SaccadeError, match="process 1 of 2 ended with code -9; the last checkpoint is kept"):
        train(Watched, options(tmp_path / "a"))
    assert list_steps(tmp_path / "a/checkpoints") == [10]
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.slow
def test_no_process_outlives_one_that_leads_and_is_killed(tmp_path):
    small = ["--hidden-dim", "8", "--embedding-dim", "4", "--batch-tokens", "100", "--data", "dates"]
    words = ["train", "translate", *small, "--processes", "2", "--run", tmp_path / "a", "--max-steps", 10**6]
    with subprocess.Popen(command(*words), stderr=subprocess.PIPE, text=True, env=environment()) as leader:
        assert any("training in" in line for line in leader.stderr)
        leader.kill()
        leader.stderr.read()  # to its end, which comes when the last process that could write there is gone


def test_other_processes_than_were_started_are_refused(tmp_path, monkeypatch):
    for name, number in {"RANK": 0, "WORLD_SIZE": 4, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 4}.items():
        monkeypatch.setenv(name, str(number))
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "x")
    with pytest.raises(ArgumentError, match="--processes: expected 4, as many as there are, got 2"):
        train(Line, options(tmp_path / "a"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_torchrun_starts_them_as_well(tmp_path):
    small = ["--hidden-dim", "8", "--embedding-dim", "4", "--batch-tokens", "100", "--max-steps", "3"]
    more = ["--processes", "2", "--threads", "1", "--run", str(tmp_path / "a"), "--device", "cpu", *small]
    torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "--", "saccade"]
    (tmp_path / "pairs.tsv").write_text("".join(f"satz {n}\tline {n}\n" for n in range(60)))
    words = python("-m", *torchrun, "train", "translate", "--data", str(tmp_path / "pairs.tsv"), *more)
    finished = subprocess.run(words, check=False, capture_output=True, text=True, env=environment())
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.count("run: ") == 1 and finished.stderr.count("training in") == 1
    assert (tmp_path / "a/model.safetensors").exists()
