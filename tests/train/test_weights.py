import pytest
import torch
from torch import nn

from saccade.train.weights import load_into, mean, tensors


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5, 3)
        self.output = nn.Linear(3, 5)
        self.output.weight = self.embedding.weight
        self.norm = nn.BatchNorm1d(3)


def test_what_is_tied_is_kept_once_and_comes_back_tied():
    model, again = Tied(), Tied()
    kept = tensors(model)
    assert "embedding.weight" in kept and "output.weight" not in kept
    load_into(again, kept)
    assert torch.equal(again.output.weight, model.embedding.weight)
    assert again.output.weight is again.embedding.weight


def test_both_names_of_what_is_tied_are_taken_too():
    model, again = Tied(), Tied()
    load_into(again, model.state_dict())
    assert torch.equal(again.output.weight, model.embedding.weight)


def test_weights_of_another_model_are_refused():
    for wrong in ({}, {**tensors(Tied()), "other": torch.ones(1)}, tensors(nn.Linear(3, 5))):
        with pytest.raises(RuntimeError, match=r"Missing|Unexpected"):
            load_into(Tied(), wrong)


def test_the_mean_is_exact_to_a_rounding_and_integers_are_the_last_ones():
    several = [{"w": torch.randn(7), "count": torch.tensor(n), "flag": torch.tensor(n > 1)} for n in range(3)]
    found = mean(iter(several))
    exact = torch.stack([one["w"].double() for one in several]).mean(0)
    assert found["w"].dtype == torch.float32 and (found["w"] - exact).abs().max() < 1e-7
    assert found["count"] == 2 and found["flag"]


def test_the_mean_of_one_is_itself_bit_for_bit():
    one = {"w": torch.randn(100)}
    assert torch.equal(mean([one])["w"], one["w"])
