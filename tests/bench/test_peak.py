import os

import pytest
import torch

from bench.fake import PLACE, row
from saccade.bench import peak
from saccade.bench.row import Absent, Place
from saccade.bench.rows import rows, select

MEBIBYTE = 2**20


def smallest(place):
    return select(rows(place), "additive memory of training 1024x")[0]


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="the system does not reset its mark")
def test_growth_is_what_one_call_takes_and_no_more():
    def holding(count):
        return lambda x: lambda: torch.ones(count, MEBIBYTE // 4)

    small, large = row(ours=holding(1)), row(ours=holding(64))
    assert peak.grown(large, "ours", PLACE) >= 60 * MEBIBYTE
    assert peak.grown(small, "ours", PLACE) < 40 * MEBIBYTE
    assert peak.grown(large, "theirs", PLACE) < 40 * MEBIBYTE


def test_a_side_runs_on_small_inputs_first():
    seen = []
    warmed = row(ours=lambda x: lambda: seen.append(len(x)), warm=lambda place: (torch.ones(1),))
    peak.grown(warmed, "ours", PLACE)
    assert seen == [1, 3]


def test_without_linux_the_mark_is_the_systems_own(monkeypatch, tmp_path):
    monkeypatch.setattr(peak, "_STATUS", tmp_path / "nothing")
    assert peak.grown(row(), "ours", PLACE) >= 0


def test_a_process_that_is_refused_says_why():
    place = Place(torch.device("cpu"), "sdpa")
    with pytest.raises(Absent, match="^backend='sdpa': "):
        peak.peak_of(smallest(place), "ours", place)


def test_a_process_that_ends_without_a_word_is_an_absence(monkeypatch):
    class Done:
        returncode, stdout, stderr = -9, "", ""

    monkeypatch.setattr(peak.subprocess, "run", lambda *words, **options: Done)
    with pytest.raises(Absent, match="ended with -9, as for want of memory"):
        peak.peak_of(smallest(PLACE), "ours", PLACE)


@pytest.mark.slow
def test_each_side_is_measured_in_a_process_of_its_own():
    textbook = peak.peak_of(smallest(PLACE), "theirs", PLACE)
    assert textbook > 250 * MEBIBYTE  # the sums, their tangents and a gradient of 128 MiB each
    assert 0 <= peak.peak_of(smallest(PLACE), "ours", PLACE) < textbook / 3
