import pytest
import torch

from saccade.models.listener import Listener, SpecAugment, halved
from saccade.models.padded import Padded
from tiers import every

LENGTHS = torch.tensor([9, 4, 1])


def test_a_pyramid_reads_two_steps_as_one():
    torch.manual_seed(0)
    listener = Listener(3, 8, layers=3, pyramid=2).double()
    frames = torch.randn(3, 9, 3, dtype=torch.double)
    found, lengths = listener(Padded(frames, LENGTHS))
    assert found.shape == (3, 3, 8) and lengths.tolist() == [3, 1, 1]
    x = torch.cat([frames[0], torch.zeros(1, 3).double()]).view(1, 5, 6)  # the first utterance alone, layer by layer
    for depth, layer in enumerate(listener.layers):
        if depth == 1:  # five steps of 8 features, and zeros
            x = torch.cat([x, torch.zeros(1, 1, 8).double()], 1).view(1, 3, 16)
        x = torch.cat([layer.forwards(x)[0], layer.backwards(x.flip(1))[0].flip(1)], -1)
    torch.testing.assert_close(found[:1], x)


def test_padding_changes_nothing():
    torch.manual_seed(0)
    listener = Listener(3, 8, layers=3, pyramid=2).double()
    frames = torch.randn(3, 9, 3, dtype=torch.double)
    together, lengths = listener(Padded(frames, LENGTHS))
    rubbish = frames.clone()
    for row, length in enumerate(LENGTHS.tolist()):
        rubbish[row, length:] = 1e6
        alone, _ = listener(Padded(frames[row : row + 1, :length], LENGTHS[row : row + 1]))
        torch.testing.assert_close(together[row, : lengths[row]], alone[0])
    again, _ = listener(Padded(rubbish, LENGTHS))
    for row, length in enumerate(lengths.tolist()):
        assert torch.equal(again[row, :length], together[row, :length])


def test_halves_of_odd_lengths_end_with_zeros():
    frames = torch.arange(1.0, 11.0).view(2, 5, 1)
    found, lengths = halved(Padded(frames, torch.tensor([5, 3])))
    assert found.tolist() == [[[1, 2], [3, 4], [5, 0]], [[6, 7], [8, 0], [0, 0]]] and lengths.tolist() == [3, 2]


def test_what_is_hidden_is_stretches_and_bands_within_bounds():
    torch.manual_seed(0)
    augment, lengths = SpecAugment(1, 7, 1, 3), torch.tensor([100, 20, 3])
    seen_time, seen_band = set(), set()
    for _ in range(300):
        hidden = augment(Padded(torch.ones(3, 100, 8), lengths)).values == 0
        for row, length in enumerate(lengths.tolist()):
            inside = hidden[row, :length]
            bands = int(inside.all(0).sum())
            stretch = inside.all(1).nonzero()[:, 0]
            assert bands <= 3 and len(stretch) <= min(7, length // 5)
            if len(stretch):
                assert int(stretch[-1] - stretch[0]) == len(stretch) - 1
            seen_band.add(bands)
            if row == 0:
                seen_time.add(len(stretch))
    assert seen_band == {0, 1, 2, 3} and seen_time == set(range(8))


@pytest.mark.parametrize("augment", [SpecAugment(2, 10, 2, 5).eval(), SpecAugment(0, 10, 0, 5)])
def test_nothing_is_hidden_outside_training_or_without_masks(augment):
    frames = torch.ones(2, 30, 8)
    assert torch.equal(augment(Padded(frames, torch.tensor([30, 5]))).values, frames)


@pytest.mark.parametrize("pyramid", [0, 1, 2])
def test_padding_that_is_no_number_is_in_no_gradient(pyramid):
    torch.manual_seed(0)
    listener = Listener(3, 8, layers=2, pyramid=pyramid).double()
    frames = torch.randn(3, 9, 3, dtype=torch.double)
    spoilt = Padded(frames.masked_fill(~Padded(frames, LENGTHS).within[..., None], torch.nan), LENGTHS)
    grads = []
    for source in (Padded(frames, LENGTHS), spoilt):
        found = listener(source)
        heard = torch.where(found.within[..., None], found.values, 0.0)
        grads.append(torch.autograd.grad(heard.square().sum(), list(listener.parameters())))
    for one, other in zip(*grads, strict=True):
        torch.testing.assert_close(one, other)


@every("lengths", [[1], [2], [5, 8], [3, 1, 7]])
@every("pyramid", [0, 1, 3])
def test_so_many_steps_are_heard_as_the_frames_need(pyramid, lengths):
    listener, lengths = Listener(3, 4, layers=3, pyramid=pyramid), torch.tensor(lengths)
    found = listener(Padded(torch.randn(len(lengths), int(lengths.max()), 3), lengths))
    assert found.lengths.tolist() == [-(-length // 2**pyramid) for length in lengths.tolist()]
    assert found.values.shape == (len(lengths), int(found.lengths.max()), 4)


def test_derivatives_are_right():
    torch.manual_seed(0)
    listener = Listener(2, 4, layers=2, pyramid=1).double()
    frames = torch.randn(2, 5, 2, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: listener(Padded(x, torch.tensor([5, 2]))).values, (frames,))


def test_a_seed_repeats_what_is_hidden_and_lengths_stay():
    augment, source = SpecAugment(2, 7, 2, 3), Padded(torch.ones(3, 100, 8), torch.tensor([100, 20, 3]))
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(augment(source))
    assert torch.equal(found[0].values, found[1].values) and not torch.equal(found[0].values, found[2].values)
    assert all(hidden.lengths is source.lengths for hidden in found)
