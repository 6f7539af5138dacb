import pytest
import torch

from saccade import masks, scores
from saccade.errors import ArgumentError, SaccadeError
from saccade.memory._prepared import prepared


def test_keys_are_as_their_score_wants_them():
    key, value, weight = torch.randn(2, 5, 4), torch.randn(2, 5, 3), torch.randn(4, 4)
    lengths = masks.Lengths(torch.tensor([5, 2]))
    score, projected, _, cache, mask, prepare = prepared(key, value, scores.General(weight), lengths)
    torch.testing.assert_close(projected, key @ weight.mT)
    assert type(score) is scores.Dot and type(prepare) is scores.General
    assert mask.shape == (2, 1, 5) and mask.sum() == 7 and cache is None


def test_a_mask_of_queries_is_refused():
    key = torch.randn(2, 5, 4)
    with pytest.raises(ArgumentError, match="mask: expected one of these keys alone"):
        prepared(key, key, scores.Dot(), masks.Causal())


def test_errors_name_what_was_given():
    for key, value in (([1.0], [2.0]), (torch.randn(2, 4).half(), torch.randn(2, 4)), (torch.randn(4), 0)):
        with pytest.raises(SaccadeError) as caught:
            prepared(key, value, scores.Dot(), None)
        assert "query" not in str(caught.value) and str(caught.value).startswith(("key: ", "value: "))
