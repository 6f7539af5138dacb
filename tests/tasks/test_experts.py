import json

import torch
from torch import nn

from saccade.nn import MixtureOfExperts
from saccade.tasks.experts import Taken, draw_taken, taken


def test_only_mixtures_are_told_of():
    assert taken(nn.Linear(2, 2), lambda: 1 / 0) == []  # which is not even run
    mixture = nn.ModuleDict({"layer": nn.ModuleDict({"experts": MixtureOfExperts(4, 3, 2)})}).eval()
    [found] = taken(mixture, lambda: mixture["layer"]["experts"](torch.randn(1, 5, 4)))
    assert found.name == "layer" and torch.equal((found.weights > 0).sum(-1), torch.full((5,), 2))


def test_a_picture_has_a_row_a_token_and_a_column_an_expert(tmp_path):
    weights = torch.tensor([[0.25, 0.75, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    paths = [*draw_taken([Taken("layers.0", weights)], ["a", "b"], tmp_path / "text", "good 0.9", json=True)]
    assert [path.name for path in paths] == [f"text-layers-0-experts.{end}" for end in ("png", "svg", "json")]
    told = json.loads(paths[-1].read_text())
    assert told["rows"] == ["a", "b"] and told["columns"] == ["#1", "#2", "#3"]
    assert told["values"] == [[0.25, 0.75, 0.0], [0.0, 0.0, 1.0]]
    assert told["title"].startswith("good 0.9, experts of layers.0: sharp, ")
