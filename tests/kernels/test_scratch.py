"""Memory that is used again: by whom, of what size, in which thread."""

import threading

import pytest
import torch

from saccade.kernels import scratch as module
from saccade.kernels.scratch import scratch


@pytest.fixture(autouse=True)
def of_this_test_alone(monkeypatch):
    monkeypatch.setattr(module, "_local", threading.local())


def test_the_same_name_has_the_same_memory():
    first, second = scratch("one", (3, 5), torch.float32), scratch("one", (5, 3), torch.float32)
    assert first.data_ptr() == second.data_ptr() and second.shape == (5, 3)
    assert scratch("other", (3, 5), torch.float32).data_ptr() != first.data_ptr()


def test_less_fits_into_what_there_is_and_more_does_not():
    first = scratch("one", (8,), torch.float64)
    assert scratch("one", (4, 2), torch.float32).data_ptr() == first.data_ptr()
    assert scratch("one", (9,), torch.float64).data_ptr() != first.data_ptr()


def test_a_piece_that_is_too_large_is_not_kept(monkeypatch):
    monkeypatch.setattr(module, "_KEPT", 64)
    small, large = scratch("one", (16,), torch.float32), scratch("one", (17,), torch.float32)
    assert small.data_ptr() != large.data_ptr()
    assert scratch("one", (16,), torch.float32).data_ptr() == small.data_ptr()


def test_each_thread_has_its_own():
    places = [scratch("one", (4,), torch.float32).data_ptr()]
    keep = []

    def other():
        keep.append(scratch("one", (4,), torch.float32))
        places.append(keep[0].data_ptr())

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert len(set(places)) == 2


@pytest.mark.parametrize("shape", [(0,), (2, 0, 3)])
def test_nothing_takes_no_room(shape):
    assert scratch("one", shape, torch.float32).shape == shape


def test_a_default_device_does_not_move_it():
    with torch.device("meta"):
        assert scratch("one", (2,), torch.float32).is_cpu
