import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from saccade.train import progress
from saccade.train.progress import Bar, waiting
from tiny import unread


def test_without_a_terminal_notes_are_lines(capsys):
    with Bar(10, 0) as bar:
        bar.update(5, "loss 1.0")
        bar.note("step 5: [fine]")
    assert capsys.readouterr() == ("", "step 5: [fine]\n")


def test_on_a_terminal_there_is_one_line_of_progress(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with Bar(10, 2) as bar:
        bar.update(5, "loss 1.0000  exact match 0.5000  900 tokens/s")
        bar.note("step 5: [fine] \x1b]0;title\x9b")
    with Bar(None, 0) as bar:
        bar.update(7, "loss 1.0000")
    out, err = capsys.readouterr()
    assert (
        "step 7 " in err
        and "step 7 of" not in err
        and out == ""
        and "step 5 of 10" in err
        and "900 tokens/s" in err
        and "step 5: [fine] \\x1b]0;title\\x9b" in err
    )


@contextmanager
def full():
    """A stream onto a device that is always full."""
    with Path("/dev/full").open("w", buffering=1) as stream:
        yield stream


@pytest.mark.parametrize("broken", [unread, full])
def test_a_bar_that_nobody_sees_is_no_reason_to_stop(monkeypatch, broken):
    if broken is full and not Path("/dev/full").exists():
        pytest.skip("no device that is always full")
    for name, setting in {"FORCE_COLOR": "1", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, setting)
    with broken() as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        with Bar(10, 0) as bar:
            bar.update(5, "loss 1.0")
            bar.note("step 5")


def test_without_a_terminal_a_line_breaks_long_silence(capsys, monkeypatch):
    with Bar(10, 4) as bar:
        bar.update(4, "loss 2.0  0:08 left", 0.4)
        monkeypatch.setattr(progress, "QUIET", 0.0)
        bar.update(5, "loss 1.0  0:07 left", 0.5)
    with Bar(None, 0, shown=False) as bar:
        bar.update(1, "loss 1.0")
    assert capsys.readouterr().err == "step 5 of 10: loss 1.0  0:07 left\n"


def test_a_long_wait_is_a_line_and_on_a_terminal_a_bar(capsys, monkeypatch):
    for seconds in (20.0, 80.0):
        with waiting("measuring", seconds):
            pass
    assert capsys.readouterr().err == "measuring, about 1:20\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with waiting("measuring", 80.0):
        pass
    assert "measuring, about 1:20" in capsys.readouterr().err
