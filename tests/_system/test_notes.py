import logging
import sys
import threading
from pathlib import Path

import pytest

from saccade._system.notes import Repeated, StandardError, caught, say
from tiny import unread


def test_of_several_processes_the_first_speaks_and_one_alone_always(monkeypatch, capsys):
    monkeypatch.setenv("RANK", "1")
    say("alone")
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "x")
    say("second")
    monkeypatch.setenv("RANK", "0")
    say("first")
    assert capsys.readouterr().err.splitlines() == ["alone", "first"]


def test_notes_are_records_of_a_logger(capsys):
    logger, records = logging.getLogger("saccade.notes"), []
    handler = logging.Handler()
    handler.emit = records.append
    logger.addHandler(handler)
    say("100% done")
    logger.removeHandler(handler)
    logger.setLevel(logging.WARNING)
    say("unseen")
    logger.setLevel(logging.INFO)
    assert [record.getMessage() for record in records] == ["100% done"] and capsys.readouterr().err == "100% done\n"


def test_notes_that_nobody_reads_are_no_reason_to_stop(monkeypatch):
    with unread() as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        say("first")
        say("second")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_notes_that_the_disk_has_no_room_for_are_no_reason_to_stop(monkeypatch):
    with Path("/dev/full").open("w", buffering=1) as full:
        monkeypatch.setattr(sys, "stderr", full)
        say("first")
        say("second")
        StandardError().write("third\n")
        StandardError().flush()


def test_control_characters_of_a_note_are_escaped(capsys):
    say("a\tb\x1b[31m\x7f\x9b\u202e\u2066\ud800\udcff é")
    assert capsys.readouterr().err == "a\tb\\x1b[31m\\x7f\\x9b\\u202e\\u2066\\ud800\\udcff é\n"


def test_a_note_is_one_line(capsys):
    say("a name\nof two lines")
    assert capsys.readouterr().err == "a name\\nof two lines\n"


def test_a_long_note_keeps_its_ends(capsys):
    say("begin" + "x" * 10**6 + "end")
    line = capsys.readouterr().err
    assert len(line) == 5004 and line.startswith("begin") and line.endswith("end\n")


def test_of_equal_notes_the_first_and_the_last_are_logged_with_their_number(capsys):
    repeated = Repeated()
    with caught(repeated):
        for number in range(1, 101):
            say(f"line {number}: longer than 50 tokens; what follows them is not read")
            assert capsys.readouterr().err.count("\n") == (number == 1)
        for name in ("a", "b"):
            say(f"{name}.wav: resampled from {8 if name == 'a' else 16},000 to 4,000 Hz")
        say("alone")
    assert capsys.readouterr().err.splitlines() == ["a.wav: resampled from 8,000 to 4,000 Hz", "alone"]
    repeated.close()
    assert capsys.readouterr().err.splitlines() == [
        "line 100: longer than 50 tokens; what follows them is not read (98 more like this)",
        "b.wav: resampled from 16,000 to 4,000 Hz",
    ]


def test_notes_are_caught_in_their_thread_alone(capsys):
    lines = []

    def catch(name):
        with caught(lines.append):
            barrier.wait()
            say(name)
            barrier.wait()

    barrier = threading.Barrier(3)
    threads = [threading.Thread(target=catch, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    barrier.wait()
    say("outside")
    barrier.wait()
    for thread in threads:
        thread.join()
    assert sorted(lines) == ["a", "b"] and capsys.readouterr().err == "outside\n"
