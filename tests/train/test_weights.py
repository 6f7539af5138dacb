import copy
import json

import pytest
import torch
from safetensors.torch import load, save
from torch import nn

from saccade.train.weights import by_columns, deserialize, load_into, mean, not_finite, savable, serialize, tensors
from tiers import every


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
    for names in (kept, model.state_dict()):  # the second has both names of the tied one
        load_into(again, names)
        assert torch.equal(again.output.weight, model.embedding.weight)
        assert again.output.weight is again.embedding.weight
        again = Tied()


def test_the_state_of_tied_weights_by_columns_saves_bit_for_bit():
    model, again = nn.Sequential(Tied(), nn.Linear(4, 2)), nn.Sequential(Tied(), nn.Linear(4, 2))
    for part in (model, model[0]):  # as an ensemble has members that were loaded
        by_columns(part)
        savable(part)
    kept = load(save(copy.deepcopy(model).state_dict()))
    assert kept.keys() == model.state_dict().keys() == again.state_dict().keys()
    assert all(torch.equal(kept[name], held) for name, held in model.state_dict(keep_vars=True).items())
    again.load_state_dict(kept)
    assert all(map(torch.equal, again.parameters(), model.parameters()))
    assert not model[1].weight.is_contiguous() and tensors(model).keys() == tensors(again).keys()


def test_weights_of_another_model_or_dtype_are_refused():
    half = {name: tensor.half() if tensor.is_floating_point() else tensor for name, tensor in tensors(Tied()).items()}
    for wrong in ({}, {**tensors(Tied()), "other": torch.ones(1)}, tensors(nn.Linear(3, 5)), half):
        words = (
            r"embedding.weight: expected torch.float32, got torch.float16" if wrong is half else "Missing|Unexpected"
        )
        with pytest.raises(RuntimeError, match=words):
            load_into(Tied(), wrong)


def test_the_mean_is_exact_to_a_rounding_and_integers_are_the_last_ones():
    several = [{"w": torch.randn(7), "count": torch.tensor(n), "flag": torch.tensor(n > 1)} for n in range(3)]
    found = mean(several)
    exact = torch.stack([one["w"].double() for one in several]).mean(0)
    assert found["w"].dtype == torch.float32 and (found["w"] - exact).abs().max() < 1e-7
    assert found["count"] == 2 and found["flag"] and torch.equal(mean(several[:1])["w"], several[0]["w"])


WEIGHTS = {
    "scalar": torch.tensor(2.5),
    "table": torch.arange(6, dtype=torch.int64).reshape(2, 3),
    "half": torch.tensor([0.1, -0.0], dtype=torch.bfloat16),
    "mask": torch.tensor([True, False]),
    "empty": torch.zeros(0, 3),
}


def test_a_file_of_weights_is_the_same_bytes_and_comes_back_as_it_was():
    content = serialize(WEIGHTS, step=12, run="mine")
    assert all(serialize(dict(reversed(WEIGHTS.items())), step=12, run="mine") == content for _ in range(5))
    again, about = deserialize(content)
    assert again.keys() == WEIGHTS.keys() and about == {"step": 12, "run": "mine"}
    assert all(torch.equal(again[name], tensor) for name, tensor in WEIGHTS.items())
    assert all(again[name].dtype == tensor.dtype for name, tensor in WEIGHTS.items())
    assert not_finite(again) is None


def header(content):
    return json.loads(json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]["saccade"])


@every(
    "changed",
    [
        {"scalar": torch.tensor(2.6)},
        {"table": torch.arange(6).reshape(3, 2)},
        {"half": torch.tensor([0.1, 0.0], dtype=torch.bfloat16)},
        {"mask": torch.tensor([1, 0], dtype=torch.uint8)},
        {"more": torch.ones(1)},
    ],
)
def test_weights_under_the_digest_of_others_are_damaged(changed):
    about = header(serialize(WEIGHTS, step=12))
    with pytest.raises(ValueError, match="its digest is of other weights"):
        deserialize(save({**WEIGHTS, **changed}, {"saccade": json.dumps(about)}))
    with pytest.raises(ValueError, match="its digest is of other weights"):
        deserialize(save(WEIGHTS, {"saccade": json.dumps({**about, "step": 13})}))


@every("metadata", [{"step": "5"}, {"saccade": "{}"}, {"saccade": "[]"}, {"saccade": "no JSON"}])
def test_a_file_without_a_digest_is_rejected(metadata):
    with pytest.raises(ValueError, match=r".+"):
        deserialize(save(WEIGHTS, metadata))
    with pytest.raises(ValueError, match=r".+"):
        deserialize(b"\x00" * 20)
