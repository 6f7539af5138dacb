import math
import time
from statistics import median

import pytest
import torch

from bench.fake import SETUP, Clock, row
from saccade.bench import measure as module
from saccade.bench.measure import (
    Probe,
    distances,
    interval,
    look_at,
    measure_row,
    measure_rows,
    medians,
    probes,
    ratios,
    turns,
    waiting,
)
from saccade.bench.row import Absent, Work
from saccade.errors import UnsupportedBackend

CPU = torch.device("cpu")


def test_a_slower_side_of_ours_is_a_ratio_below_one():
    clock = Clock()
    rounds = turns([clock.taking(3.0), clock.taking(1.0)], seconds=20.0, clock=clock)
    assert median(ratios(rounds)) == pytest.approx(1 / 3)
    assert medians(rounds) == [3.0, 1.0]


def test_sides_alternate_in_who_begins():
    clock = Clock()
    turns([clock.taking(1.0, "a"), clock.taking(1.0, "b")], seconds=0.0, least=3, clock=clock)
    assert clock.calls[2:] == ["a", "b", "b", "a", "a", "b"]  # behind a call of each that does not count


def test_rounds_fill_the_time_and_reach_the_minimum():
    clock = Clock()
    assert len(turns([clock.taking(1.0), clock.taking(1.0)], seconds=20.0, clock=clock)) == 10
    assert len(turns([clock.taking(1.0), clock.taking(1.0)], seconds=1.0, least=4, clock=clock)) == 4


def test_slow_calls_have_fewer_rounds_than_least_but_one():
    clock = Clock()
    assert len(turns([clock.taking(3.0), clock.taking(1.0)], seconds=0.1, least=5, bound=7.0, clock=clock)) == 2
    assert len(turns([clock.taking(9.0)], seconds=0.1, least=5, bound=7.0, clock=clock)) == 1


def test_the_reference_begins_each_round():
    clock = Clock()
    runs = [clock.taking(1.0, "a"), clock.taking(2.0, "b")]
    rounds = turns(runs, seconds=0.0, least=2, beside=clock.taking(4.0, "limit"), clock=clock)
    assert rounds == [[1.0, 2.0, 4.0]] * 2
    assert clock.calls[3:] == ["limit", "a", "b", "limit", "b", "a"]
    assert median(ratios(rounds)) == 2.0


def test_short_calls_are_repeated_and_counted_one_by_one():
    clock = Clock()
    rounds = turns([clock.taking(1e-4, "a"), clock.taking(1.0, "b")], seconds=0.0, least=2, clock=clock)
    assert medians(rounds) == pytest.approx([1e-4, 1.0])
    assert clock.calls[4:].count("a") == pytest.approx(22, abs=2)  # two samples of ten, each behind one to warm up
    assert clock.calls[4:].count("b") == 2


def test_a_slow_first_call_does_not_set_the_repeats():
    """What ran before has the caches: the first call is slower, and no sample counts it."""
    clock = Clock()
    fast, other = clock.taking(1e-4, "a"), clock.taking(1.0, "b")

    def cold_after_the_other():
        clock.now += 5e-3 if clock.calls[-1:] in ([], ["b"]) else 0.0
        fast()

    rounds = turns([cold_after_the_other, other], seconds=0.0, least=4, clock=clock)
    assert medians(rounds) == pytest.approx([1e-4, 1.0])


def test_call_that_returns_before_it_is_done_is_waited_for():
    clock, begun = Clock(), []

    def wait():
        clock.now += sum(begun)
        begun.clear()

    rounds = turns([lambda: begun.append(2.0)], seconds=0.0, least=3, clock=clock, wait=wait)
    assert medians(rounds) == [2.0]


def test_one_slow_round_does_not_move_the_ratio():
    assert median(ratios([[1.0, 2.0], [50.0, 2.0], [1.0, 2.0]])) == 2.0


def test_a_cpu_is_not_waited_for():
    assert waiting(torch.device("cpu"))() is None
    assert waiting(torch.device("cuda")) is torch.cuda.synchronize


def test_an_interval_holds_the_median_in_95_of_100_samples():
    torch.manual_seed(0)
    samples = torch.rand(2000, 25).tolist()
    inside = sum(low <= 0.5 <= high for low, high in map(interval, samples))
    assert 0.93 < inside / len(samples) < 0.98


def test_an_interval_of_few_rounds_is_from_least_to_most():
    assert interval([3.0, 1.0, 2.0]) == (1.0, 3.0)


def test_a_rate_is_an_amount_over_the_shortest_time(monkeypatch):
    monkeypatch.setattr(module, "turns", lambda runs, **settings: [[0.75], [0.5]])
    found = look_at(CPU, {"multiply": Probe(lambda: None, 4.0)})
    assert found.rates == {"multiply": 8.0}
    assert found.versions["torch"] == torch.__version__
    assert found.hardware["threads"] == torch.get_num_threads()


def test_the_probes_do_what_they_say():
    known = probes(CPU)
    assert known["multiply"].amount == 2 * 1024**3
    assert known["multiply"].run().shape == (1024, 1024)
    assert known["copy"].amount == 2 * known["copy"].run().nbytes


def failing(error):
    def prepare(*inputs):
        raise error

    return prepare


def test_both_sides_are_measured_and_compared():
    found = measure_row(row(), SETUP, seconds=0.0, least=3)
    assert found.rounds == 3
    assert found.difference == 0
    assert min(found.ours, found.peer, found.ratio) > 0
    assert found.absent is None


def test_the_limit_is_measured_in_the_same_turns():
    probe = {"multiply": Probe(lambda: time.sleep(1e-3), 7e6)}
    half = row(work=Work(1.0, "terms", "multiply", 2.0))
    found = measure_row(half, SETUP, seconds=0.0, least=3, probes=probe)
    assert 0 < found.limit < 3.5e9
    assert measure_row(row(work=None), SETUP, seconds=0.0, least=1, probes=probe).limit is None
    assert measure_row(half, SETUP, seconds=0.0, least=1).limit is None
    alone = measure_row(row(theirs=failing(Absent("no"))), SETUP, seconds=0.0, least=1, probes=probe)
    assert alone.limit > 0
    assert alone.ratio is None


def test_an_absent_peer_is_named_and_ours_measure_rows():
    found = measure_row(row(theirs=failing(Absent("No module named 'other'"))), SETUP, seconds=0.0, least=2)
    assert found.absent == "other: No module named 'other'"
    assert found.ours > 0
    assert found.peer is found.ratio is None


def test_a_failing_peer_is_named_by_its_first_line():
    found = measure_row(row(theirs=lambda x: failing(RuntimeError("cannot do it\nmore"))), SETUP, seconds=0.0, least=1)
    assert found.absent == "other: cannot do it"
    assert found.ours > 0


def test_a_call_of_ours_that_is_refused_is_named():
    found = measure_row(row(ours=failing(UnsupportedBackend("backend='cpu': no"))), SETUP, seconds=0.0)
    assert found.absent == "ours: backend='cpu': no"
    assert found.ours is None


def test_an_error_of_ours_is_not_hidden():
    with pytest.raises(RuntimeError, match="a fault of ours"):
        measure_row(row(ours=failing(RuntimeError("a fault of ours"))), SETUP, seconds=0.0)


@pytest.mark.parametrize("other", [torch.tensor([1.0, 1.0, 1.5]), torch.tensor([1.0, 1.0, torch.nan])])
def test_different_results_are_not_compared_by_time(other):
    found = measure_row(row(theirs=lambda x: lambda: other), SETUP, seconds=0.0)
    assert "their numbers differ by" in found.absent
    assert found.ours is found.ratio is None
    assert measure_row(row(theirs=lambda x: lambda: other, same=False), SETUP, seconds=0.0, least=1).ratio > 0


def test_distance_is_of_each_pair_over_the_peers_largest():
    ones = torch.ones(3)
    assert distances((ones, 2 * ones), (ones, 4 * ones)) == [0, 0.5]
    assert distances(ones.requires_grad_(), ones) == [0]


def test_a_part_that_is_none_differs_wherever_it_stands():
    parts = tuple(torch.tensor([value]) for value in (1.0, math.nan, 2.0))
    found = measure_row(row(ours=lambda x: lambda: (torch.ones(1),) * 3, theirs=lambda x: lambda: parts), SETUP)
    assert found.absent == "both: their numbers differ by nan in part 1 of 3"


def test_a_peer_that_would_not_fit_is_absent(monkeypatch):
    monkeypatch.setattr(module, "free_bytes", lambda device: 2**30)
    found = measure_row(row(peer_bytes=2**30), SETUP, seconds=0.0, least=1)
    assert found.absent == "other: it takes 1.0 GiB, and 1.0 GiB are free"
    monkeypatch.setattr(module, "free_bytes", lambda device: None)
    assert measure_row(row(peer_bytes=2**60), SETUP, seconds=0.0, least=1).absent is None


def test_memory_is_asked_of_each_side(monkeypatch):
    monkeypatch.setattr(module, "peak_of", lambda row, side, setup: {"ours": 2, "theirs": 8}[side])
    found = measure_row(row(memory=True), SETUP, seconds=0.0)
    assert (found.ours, found.peer, found.ratio) == (2.0, 8.0, 4.0)

    def absent(row, side, setup):
        raise Absent(f"no {side}")

    monkeypatch.setattr(module, "peak_of", absent)
    assert measure_row(row(memory=True), SETUP, seconds=0.0).absent == "ours: no ours"
    monkeypatch.setattr(module, "peak_of", lambda row, side, setup: 2 if side == "ours" else absent(row, side, setup))
    assert measure_row(row(memory=True), SETUP, seconds=0.0).absent == "other: no theirs"


def test_rows_that_are_left_when_the_time_is_over_are_named():
    clock = Clock()
    slow = row(ours=lambda x: lambda: clock.taking(50.0)() or x)
    found = list(measure_rows([slow, row(), row()], SETUP, seconds=0.0, least=1, whole=90.0, clock=clock))
    assert [result.absent for result in found] == [None, *["not begun: 90 seconds were over"] * 2]
