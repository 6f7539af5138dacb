import os
import subprocess
from pathlib import Path

import pytest
import torch

from bench.fake import SETUP, row
from saccade.bench import Absent, Setup, peak, rows, select
from tiny import python

MEBIBYTE = 2**20
GROWTH = f"""
import torch
from bench.fake import SETUP, row
from saccade.bench import peak
small, large = (row(ours=lambda x, n=n: lambda: torch.ones(n, {MEBIBYTE // 4})) for n in (1, 64))
print(*(peak.grown(*asked, SETUP) for asked in ((large, "ours"), (small, "ours"), (large, "theirs"))))
"""


def environment():
    folders = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))}


def smallest(setup):
    return select(rows(setup), "additive memory of training 1024x")[0]


@pytest.mark.slow  # a process of its own
@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="the system does not reset its mark")
def test_growth_is_what_one_call_takes_and_no_more():
    """In a process that has done nothing before, as the benchmark asks: what was free already does not grow."""
    done = subprocess.run(python("-c", GROWTH), env=environment(), capture_output=True, text=True, check=True)
    large, small, theirs = map(int, done.stdout.split())
    assert large >= 60 * MEBIBYTE and small < 40 * MEBIBYTE and theirs < 40 * MEBIBYTE


def test_a_side_runs_on_small_inputs_first():
    seen = []
    warmed = row(ours=lambda x: lambda: seen.append(len(x)), warm=lambda setup: (torch.ones(1),))
    peak.grown(warmed, "ours", SETUP)
    assert seen == [1, 3]


def test_without_linux_the_mark_is_the_systems_own(monkeypatch, tmp_path):
    monkeypatch.setattr(peak, "_STATUS", tmp_path / "nothing")
    assert peak.grown(row(), "ours", SETUP) >= 0


@pytest.mark.slow  # a process of its own
def test_a_process_that_is_refused_says_why():
    setup = Setup(torch.device("cpu"), "sdpa")
    with pytest.raises(Absent, match="^backend='sdpa': "):
        peak.peak_of(smallest(setup), "ours", setup)


def test_a_process_that_ends_without_a_word_is_an_absence(monkeypatch):
    class Done:
        returncode, stdout, stderr = -9, "", ""

    monkeypatch.setattr(subprocess, "run", lambda *words, **options: Done)
    with pytest.raises(Absent, match="ended with -9, as for want of memory"):
        peak.peak_of(smallest(SETUP), "ours", SETUP)


@pytest.mark.slow
def test_each_side_is_measured_in_a_process_of_its_own():
    textbook = peak.peak_of(smallest(SETUP), "theirs", SETUP)
    assert textbook > 250 * MEBIBYTE  # the sums, their tangents and a gradient of 128 MiB each
    assert 0 <= peak.peak_of(smallest(SETUP), "ours", SETUP) < textbook / 3
