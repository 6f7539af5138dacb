"""Room behind tensors: who may write into it."""

import torch

from saccade.memory._buffers import extended, with_room


def test_what_is_written_behind_is_written_once():
    with torch.no_grad():
        old, new = [torch.zeros(2, 3)], [torch.ones(1, 3)]
        first, buffer = extended(old, new, with_room(old, 5))
        assert buffer.used == 3 and len(buffer.parts[0]) == 5
        second, other = extended(old, [new[0] + 1], buffer)
        assert other is not buffer and first[0][2].eq(1).all() and second[0][2].eq(2).all()


def test_with_gradients_there_is_no_room():
    joined, buffer = extended([torch.zeros(2, 3)], [torch.ones(1, 3)], None)
    assert buffer is None and joined[0].shape == (3, 3)


def test_two_threads_never_write_the_same_room():
    buffer = with_room([torch.zeros(2, 3)], 5)
    assert buffer.takes(2, 4, 1) and buffer.used == 4
    assert not buffer.takes(2, 3, 1) and buffer.used == 4
    assert not buffer.takes(4, 6, 1) and buffer.used == 4
