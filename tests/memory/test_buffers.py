"""Room behind tensors: who may write into it."""

import torch

from saccade.memory._buffers import extended, with_room


def test_what_is_written_behind_is_written_once():
    with torch.no_grad():
        old, new = [torch.zeros(2, 3)], [torch.ones(1, 3)]
        room = with_room(old, 5)
        first, (buffer, end) = extended(old, new, room)
        assert buffer is room.buffer and end == buffer.used == 3 and len(buffer.parts[0]) == 5
        second, (other, _) = extended(old, [new[0] + 1], room)
        assert other is not buffer and first[0][2].eq(1).all() and second[0][2].eq(2).all()


def test_rows_that_are_dropped_stay_in_the_buffer():
    with torch.no_grad():
        first, room = extended([torch.tensor([[1.0], [2.0]])], [torch.tensor([[3.0]])], None, dropped=1)
        second, _ = extended(first, [torch.tensor([[4.0]])], room, dropped=1)
    assert first[0].flatten().tolist() == [2, 3] and second[0].flatten().tolist() == [3, 4]
    assert first[0].untyped_storage().data_ptr() == second[0].untyped_storage().data_ptr()


def test_with_gradients_there_is_no_room():
    joined, room = extended([torch.zeros(2, 3)], [torch.ones(1, 3)], None)
    assert room is None and joined[0].shape == (3, 3)


def test_two_threads_never_write_the_same_room():
    olds = [torch.zeros(2, 3)]
    buffer, _ = with_room(olds, 5)
    assert not buffer.takes([olds[0][None]], 2, 4) and not buffer.takes([*olds, *olds], 2, 4)
    assert buffer.takes(olds, 2, 4) and buffer.used == 4
    assert not buffer.takes(olds, 2, 3) and buffer.used == 4
    assert not buffer.takes(olds, 4, 6) and buffer.used == 4
