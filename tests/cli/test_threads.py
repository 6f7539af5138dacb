"""How many threads a verb computes with."""

import pytest
import torch

from saccade.cli import main, threads
from saccade.train.fit import train
from saccade.train.run import RunError
from tiny import Line, line_options, registered


@pytest.fixture(autouse=True)
def as_before():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def busy(monkeypatch):
    """Other processes use two of four cores, and torch would take four."""
    monkeypatch.setattr(threads, "busy_cores", lambda: 2.0)
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    torch.set_num_threads(4)


def test_a_verb_takes_what_a_busy_machine_has_to_spare_and_says_so(busy, capsys):
    threads.set_threads(None)
    assert torch.get_num_threads() == 2
    words = "using 2 of 4 threads: other processes use 2.0 of 4 cores; --threads chooses otherwise\n"
    assert capsys.readouterr().err == words


def test_what_is_asked_for_is_taken_whatever_the_load(busy, capsys):
    threads.set_threads(3)
    assert torch.get_num_threads() == 3
    threads.set_threads(4, advise=True)
    assert torch.get_num_threads() == 4 and capsys.readouterr().err == ""


def test_what_trains_is_left_as_it_is_and_told(busy, capsys):
    threads.set_threads(None, advise=True)
    assert torch.get_num_threads() == 4
    assert capsys.readouterr().err == "other processes use 2.0 of 4 cores: --threads 2 may well be faster than 4\n"


def test_threads_are_mentioned_once_while_work_is_left(tmp_path):
    said = []

    def go(name="run", **more):
        options = line_options(tmp_path / name, **{"max_steps": 2, "threads": 1, **more})
        train(Line, options, accepted=lambda: said.append(1))

    go()
    assert len(said) == 1
    with pytest.raises(RunError):
        go(seed=99, max_steps=4)
    go()
    assert len(said) == 1
    go("torn")
    for weights in (tmp_path / "torn").glob("checkpoints/*.safetensors"):
        weights.write_bytes(b"torn")
    with pytest.raises(RunError):
        go("torn", max_steps=3)
    assert len(said) == 2
    go(max_steps=3)
    assert len(said) == 3


def test_an_idle_machine_is_not_worth_a_word(monkeypatch, capsys):
    monkeypatch.setattr(threads, "busy_cores", lambda: 0.0)
    torch.set_num_threads(2)
    threads.set_threads(None)
    threads.set_threads(None, advise=True)
    assert torch.get_num_threads() == 2 and capsys.readouterr().err == ""


def test_every_verb_that_asks_a_run_takes_threads(tmp_path, capsys, busy):
    with registered():
        train(Line, line_options(tmp_path / "run", max_steps=2, threads=1))
        seen = []
        for verb, more in (("eval", []), ("predict", ["1 2 3 4"]), ("look", ["1 2 3 4"])):
            assert main([verb, str(tmp_path / "run"), *more, "--threads", "3"]) == 0
            seen.append(torch.get_num_threads())
            assert main([verb, str(tmp_path / "run"), *more, "--threads", "0"]) == 2
    assert seen == [3, 3, 3]
    assert capsys.readouterr().err.count("--threads: expected a number above 0, got 0") == 3


def test_a_report_takes_threads_for_its_training_too(monkeypatch, capsys):
    torch.set_num_threads(1)
    assert main(["report", "complexity", "--threads", "2000"]) == 2
    assert "--threads: expected at most 1024, got 2000" in capsys.readouterr().err
