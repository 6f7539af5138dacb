import pytest
import torch

from saccade import masks, scores
from saccade.errors import ArgumentError
from saccade.prepared import prepared


def test_keys_are_as_their_score_wants_them():
    key, value, weight = torch.randn(2, 5, 4), torch.randn(2, 5, 3), torch.randn(4, 4)
    ready = prepared(key, value, scores.General(weight), masks.Lengths(torch.tensor([5, 2])))
    torch.testing.assert_close(ready.key, key @ weight.mT)
    assert type(ready.score) is scores.Dot and type(ready.prepare) is scores.General
    assert ready.mask.shape == (2, 1, 5) and ready.mask.sum() == 7 and ready.cache is None


def test_a_mask_of_queries_is_refused():
    key = torch.randn(2, 5, 4)
    with pytest.raises(ArgumentError, match="mask: expected one of these keys alone"):
        prepared(key, key, scores.Dot(), masks.Causal())
