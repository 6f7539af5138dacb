import pytest

from bench.fake import row
from saccade.bench.row import Result, Work
from saccade.bench.targets import as_fast, at_most, beyond, close_behind, speed_of, times, within
from tiers import every


def reached(target, ours=1.0, peer=1.0, **changes):
    return Result(row(targets=(target,), **changes), ours, peer, peer / ours, ours - peer).met


@every(
    ("target", "ours", "peer", "met"),
    [
        (times(30), 1.0, 30.0, True),
        (times(30), 1.0, 29.9, False),
        (as_fast(0.6, 1e6, 1e8), 1.0, 60.1, True),
        (as_fast(0.6, 1e6, 1e8), 1.0, 59.9, False),
        (at_most(1.5), 1.5, 1.0, True),
        (at_most(1.5), 1.51, 1.0, False),
        (beyond(1.5), 3.5, 2.0, True),
        (beyond(1.5), 3.6, 2.0, False),
        (close_behind(), 34e-6, 10e-6, True),
        (close_behind(), 36e-6, 10e-6, False),
        (close_behind(), 1.04, 1.0, True),
        (close_behind(), 1.06, 1.0, False),
        (within(1), 2.0**20 - 1, 1.0, True),
        (within(1), 2.0**20, 1.0, False),
    ],
)
def test_what_is_met_and_what_is_not(target, ours, peer, met):
    assert reached(target, ours, peer) is met


@pytest.mark.parametrize(("threads", "met"), [(1, True), (2, True), (3, False)])
def test_a_speed_is_wanted_of_each_thread(threads, met):
    assert reached(speed_of(5e9, "terms", threads), work=Work(1e10, "terms", "multiply")) is met
