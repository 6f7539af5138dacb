import pytest
import torch

from bench.fake import Clock
from saccade.bench.measure import behind, medians, ratio, turns, waiting


def test_a_slower_side_of_ours_is_a_ratio_below_one():
    clock = Clock()
    rounds = turns([clock.taking(3.0), clock.taking(1.0)], seconds=20.0, clock=clock)
    assert ratio(rounds) == pytest.approx(1 / 3)
    assert behind(rounds) == 2.0
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
    assert len(turns([clock.taking(3.0), clock.taking(1.0)], seconds=0.1, least=5, most=7.0, clock=clock)) == 2
    assert len(turns([clock.taking(9.0)], seconds=0.1, least=5, most=7.0, clock=clock)) == 1


def test_the_reference_begins_each_round():
    clock = Clock()
    runs = [clock.taking(1.0, "a"), clock.taking(2.0, "b")]
    rounds = turns(runs, seconds=0.0, least=2, beside=clock.taking(4.0, "limit"), clock=clock)
    assert rounds == [[1.0, 2.0, 4.0]] * 2
    assert clock.calls[3:] == ["limit", "a", "b", "limit", "b", "a"]
    assert ratio(rounds) == 2.0


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
    assert ratio([[1.0, 2.0], [50.0, 2.0], [1.0, 2.0]]) == 2.0


def test_a_cpu_is_not_waited_for():
    assert waiting(torch.device("cpu"))() is None
    assert waiting(torch.device("cuda")) is torch.cuda.synchronize
