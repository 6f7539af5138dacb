import time

import pytest
import torch

from bench.fake import PLACE, Clock, row
from saccade.bench import run as module
from saccade.bench.machine import Probe
from saccade.bench.row import Absent, Work
from saccade.bench.run import distance, measure, measured
from saccade.errors import UnsupportedBackend


def failing(error):
    def prepare(*inputs):
        raise error

    return prepare


def test_both_sides_are_measured_and_compared():
    found = measure(row(), PLACE, seconds=0.0, least=3)
    assert found.rounds == 3
    assert found.difference == 0
    assert min(found.ours, found.peer, found.ratio) > 0
    assert found.absent is None


def test_the_limit_is_measured_in_the_same_turns():
    probe = {"multiply": Probe(lambda: time.sleep(1e-3), 7e6)}
    half = row(work=Work(1.0, "terms", "multiply", 2.0))
    found = measure(half, PLACE, seconds=0.0, least=3, probes=probe)
    assert 0 < found.limit < 3.5e9
    assert measure(row(work=None), PLACE, seconds=0.0, least=1, probes=probe).limit is None
    assert measure(half, PLACE, seconds=0.0, least=1).limit is None
    alone = measure(row(theirs=failing(Absent("no"))), PLACE, seconds=0.0, least=1, probes=probe)
    assert alone.limit > 0
    assert alone.ratio is None


def test_an_absent_peer_is_named_and_ours_measured():
    found = measure(row(theirs=failing(Absent("No module named 'other'"))), PLACE, seconds=0.0, least=2)
    assert found.absent == "other: No module named 'other'"
    assert found.ours > 0
    assert found.peer is found.ratio is None


def test_a_peer_that_fails_is_named_by_the_first_line_of_its_error():
    found = measure(row(theirs=lambda x: failing(RuntimeError("cannot do it\nmore"))), PLACE, seconds=0.0, least=1)
    assert found.absent == "other: cannot do it"
    assert found.ours > 0


def test_a_call_of_ours_that_is_refused_is_named():
    found = measure(row(ours=failing(UnsupportedBackend("backend='cpu': no"))), PLACE, seconds=0.0)
    assert found.absent == "ours: backend='cpu': no"
    assert found.ours is None


def test_an_error_of_ours_is_not_hidden():
    with pytest.raises(RuntimeError, match="a fault of ours"):
        measure(row(ours=failing(RuntimeError("a fault of ours"))), PLACE, seconds=0.0)


@pytest.mark.parametrize("other", [torch.tensor([1.0, 1.0, 1.5]), torch.tensor([1.0, 1.0, torch.nan])])
def test_different_results_are_not_compared_by_time(other):
    found = measure(row(theirs=lambda x: lambda: other), PLACE, seconds=0.0)
    assert "their numbers differ by" in found.absent
    assert found.ours is found.ratio is None
    assert measure(row(theirs=lambda x: lambda: other, same=False), PLACE, seconds=0.0, least=1).ratio > 0


def test_distance_is_the_largest_over_all_tensors():
    ones = torch.ones(3)
    assert distance((ones, 2 * ones), (ones, 4 * ones)) == 0.5
    assert distance(ones.requires_grad_(), ones) == 0


def test_a_peer_that_would_not_fit_is_absent(monkeypatch):
    monkeypatch.setattr(module, "free_bytes", lambda device: 2**30)
    found = measure(row(peer_bytes=2**30), PLACE, seconds=0.0, least=1)
    assert found.absent == "other: it takes 1.0 GiB, and 1.0 GiB are free"
    monkeypatch.setattr(module, "free_bytes", lambda device: None)
    assert measure(row(peer_bytes=2**60), PLACE, seconds=0.0, least=1).absent is None


def test_memory_is_asked_of_each_side(monkeypatch):
    monkeypatch.setattr(module, "peak_of", lambda row, side, place: {"ours": 2, "theirs": 8}[side])
    found = measure(row(memory=True), PLACE, seconds=0.0)
    assert (found.ours, found.peer, found.ratio) == (2.0, 8.0, 4.0)

    def absent(row, side, place):
        raise Absent(f"no {side}")

    monkeypatch.setattr(module, "peak_of", absent)
    assert measure(row(memory=True), PLACE, seconds=0.0).absent == "ours: no ours"
    monkeypatch.setattr(module, "peak_of", lambda row, side, place: 2 if side == "ours" else absent(row, side, place))
    assert measure(row(memory=True), PLACE, seconds=0.0).absent == "other: no theirs"


def test_rows_that_are_left_when_the_time_is_over_are_named():
    clock = Clock()
    slow = row(ours=lambda x: lambda: clock.taking(50.0)() or x)
    found = list(measured([slow, row(), row()], PLACE, seconds=0.0, least=1, whole=90.0, clock=clock))
    assert [result.absent for result in found] == [None, *["not begun: 90 seconds were over"] * 2]
