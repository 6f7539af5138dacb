import pytest

from bench.fake import row
from saccade.bench.row import Absent, Result, package
from saccade.bench.targets import close_behind, times, within


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
