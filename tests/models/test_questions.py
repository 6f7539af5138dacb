"""What reads questions: the state after the last word, whatever lies behind it."""

import pytest
import torch

from saccade.errors import ArgumentError
from saccade.models.padded import Padded
from saccade.models.questions import Asking, LastState, Questions

LENGTHS = torch.tensor([5, 1, 3])


def test_the_last_state_is_that_of_each_sequence_read_alone():
    torch.manual_seed(0)
    reader = LastState(4, 7).double()
    values = torch.randn(3, 5, 4, dtype=torch.float64)
    padded = torch.where((torch.arange(5) < LENGTHS[:, None])[..., None], values, torch.nan)
    found = reader(Padded(padded, LENGTHS))
    for row, length in enumerate(LENGTHS.tolist()):
        _, (alone, _) = reader.lstm(values[row : row + 1, :length])
        torch.testing.assert_close(found[row], alone[0, 0], rtol=0, atol=1e-12)


def test_words_are_bounded_vectors_and_padding_is_none():
    torch.manual_seed(0)
    reader = Questions(11, Asking(embedding_dim=3, hidden_dim=7))
    with torch.no_grad():
        reader.embedding.weight.mul_(100)
    ids = torch.randint(4, 11, (3, 5))
    seen = []
    hook = reader.last.register_forward_pre_hook(lambda _, given: seen.append(given[0].values.detach()))
    found = reader(Padded(ids, LENGTHS))
    hook.remove()
    assert float(seen[0].abs().max()) <= 1 and bool((seen[0][1, 1:] == 0).all())
    other = ids.clone()
    other[1, 1:] = 10
    assert torch.equal(found[1], reader(Padded(other, LENGTHS))[1])


@pytest.mark.parametrize("option", ["embedding_dim", "hidden_dim"])
def test_sizes_that_mean_nothing_are_refused(option):
    with pytest.raises(ArgumentError, match=f"--{option.replace('_', '-')}: expected"):
        Asking(**{option: 0})
