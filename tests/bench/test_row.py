import pytest

from bench.fake import row
from saccade.bench.row import (
    Absent,
    Result,
    Work,
    as_fast,
    at_most,
    beyond,
    close_behind,
    linear,
    of_limit,
    package,
    quicker,
    speed_of,
    times,
    within,
)
from tiers import every


def test_targets_that_speak_of_peer_say_nothing_without_one():
    assert Result(row(targets=(times(2),)), ours=1.0).met is None
    assert Result(row(targets=()), ours=1.0, peer=9.0, ratio=9.0).met is None
    assert Result(row(targets=(within(400),), memory=True), ours=399 * 2.0**20).met is True
    assert Result(row(targets=(within(400),), memory=True)).met is None


def test_all_targets_have_to_be_met():
    both = row(targets=(times(2), close_behind()))
    assert Result(both, 1.0, 2.0, 2.0, -1.0).met is True
    assert Result(both, 1.0, 1.9, 1.9, -0.9).met is False


def test_speed_is_work_over_our_time_and_memory_has_none():
    assert Result(row(), ours=2.0).speed == 3e6
    assert Result(row()).speed is None
    assert Result(row(memory=True), ours=2.0).speed is None
    assert Result(row(work=None), ours=2.0).speed is None


def test_a_package_that_is_not_there_is_named():
    with pytest.raises(Absent, match="No module named 'no_such_package'"):
        package("no_such_package")
    assert package("math").pi > 3


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
        (quicker(120e-6), 120e-6, 1.0, True),
        (quicker(120e-6), 121e-6, 1.0, False),
        (linear(1.2, 300, 500), 660.0, 1.0, True),
        (linear(1.2, 300, 500), 661.0, 1.0, False),
        (within(1), 2.0**20 - 1, 1.0, True),
        (within(1), 2.0**20, 1.0, False),
    ],
)
def test_what_is_met_and_what_is_not(target, ours, peer, met):
    assert reached(target, ours, peer) is met


@pytest.mark.parametrize(("threads", "met"), [(1, True), (2, True), (3, False)])
def test_a_speed_is_wanted_of_each_thread(threads, met):
    assert reached(speed_of(5e9, "terms", threads), work=Work(1e10, "terms", "multiply")) is met


@pytest.mark.parametrize(("limit", "met"), [(9e6, True), (11e6, False), (None, False)])
def test_a_share_of_the_limit_is_of_speed(limit, met):
    assert Result(row(targets=(of_limit(0.6),)), 1.0, limit=limit).met is met
