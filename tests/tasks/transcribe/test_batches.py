import torch

from saccade.tasks.transcribe.batches import Utterance, pad, stretched


def utterance(size, ids=(4,), value=1.0):
    return Utterance("a", torch.full((size, 3), value), list(ids))


def test_utterances_are_padded_side_by_side():
    batch = pad([utterance(4, [7, 8]), utterance(2, [9])]).to(torch.device("cpu"))
    assert batch.source.lengths.tolist() == [4, 2] and batch.source.values.shape == (2, 4, 3)
    assert float(batch.source.values[1, 2:].abs().sum()) == 0 and float(batch.source.values[1, :2].min()) == 1
    assert batch.target.tolist() == [[1, 7, 8, 2], [1, 9, 2, 0]]


def test_stretching_changes_the_time_alone():
    ramp = Utterance("a", torch.linspace(0, 1, 200)[:, None].expand(200, 2).contiguous(), [5])
    found = stretched([ramp] * 50, 0.2, torch.Generator().manual_seed(3))
    sizes = {one.size for one in found}
    assert min(sizes) >= 160 and max(sizes) <= 240 and len(sizes) > 20
    for one in found:  # a straight line stays one, from end to end
        expected = torch.linspace(0, 1, one.size)
        torch.testing.assert_close(one.frames[:, 0], expected, atol=0.01, rtol=0)
        assert one.ids == [5] and one.name == "a"
    again = stretched([ramp] * 50, 0.2, torch.Generator().manual_seed(3))
    assert [one.size for one in again] == [one.size for one in found]


def test_one_frame_may_be_stretched():
    [one] = stretched([utterance(1)], 0.5, torch.Generator().manual_seed(0))
    assert one.size >= 1 and bool((one.frames == 1).all())


def test_utterances_are_sorted_by_frames_then_tokens():
    found = sorted([utterance(3, [4, 5]), utterance(3, [4]), utterance(2, [4, 5, 6])], key=lambda one: one.order)
    assert [(one.size, len(one.ids)) for one in found] == [(2, 3), (3, 1), (3, 2)]


def test_without_a_share_nothing_is_stretched():
    [same] = stretched([utterance(7)], 0.0, torch.Generator().manual_seed(1))
    assert same.size == 7 and torch.equal(same.frames, utterance(7).frames)
