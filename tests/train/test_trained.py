import json
from dataclasses import replace

import pytest
import torch

from saccade.train.fit import train
from saccade.train.run import Run, RunError
from saccade.train.trained import load_trained
from tiny import Line, LineOptions

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("trained") / "run"
    train(Line, LineOptions(run=str(place), model="linear", data="points", max_steps=3, device="cpu"))
    return place


def test_a_model_comes_back_ready_to_answer(folder):
    trained = load_trained(Line, Run.open(folder), CPU)
    assert not trained.model.training
    assert torch.equal(trained.model[0].weight, Run.open(folder).weights()["0.weight"])


def test_what_does_not_belong_together_is_refused(folder):
    run = Run.open(folder)
    with pytest.raises(RunError, match="config.json and the trained weights are of different models"):
        load_trained(Line, replace(run, config={**run.config, "options": {**run.config["options"], "width": 5}}), CPU)
    with pytest.raises(RunError, match="its model is cubic, which this Saccade has not: linear"):
        load_trained(Line, replace(run, config={**run.config, "model": "cubic"}), CPU)
    with pytest.raises(RunError, match=r"config.json: it names two models, linear and cubic"):
        load_trained(
            Line, replace(run, config={**run.config, "options": {**run.config["options"], "model": "cubic"}}), CPU
        )
    assert json.loads((folder / "config.json").read_text())["model"] == "linear"
