import shutil
from dataclasses import replace

import pytest
import torch
from safetensors.torch import save_file

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


@pytest.mark.parametrize(
    ("model", "changed", "words"),
    [
        ("linear", {"width": 5}, "expected the weights of this run, got those of another one"),
        ("cubic", {}, "its model is cubic, which this Saccade has not: linear"),
        ("linear", {"model": "cubic"}, "config.json: it names two models, linear and cubic"),
    ],
)
def test_what_does_not_belong_together_is_refused(folder, model, changed, words):
    run = Run.open(folder)
    config = {**run.config, "model": model, "options": {**run.config["options"], **changed}}
    with pytest.raises(RunError, match=words):
        load_trained(Line, replace(run, config=config), CPU)


def test_weights_without_a_digest_are_rejected(folder, tmp_path):
    place = shutil.copytree(folder, tmp_path / "other")
    save_file(Run.open(folder).weights(), place / "model.safetensors")
    with pytest.raises(RunError, match="model.safetensors: damaged"):
        load_trained(Line, Run.open(place), CPU)


def test_what_the_task_saved_is_checked_before_it_is_read(folder, tmp_path):
    place = shutil.copytree(folder, tmp_path / "altered")
    (place / "line.json").write_text('{"width": 7}')
    with pytest.raises(RunError, match=r"line.json: not what this run was made with"):
        load_trained(Line, Run.open(place), CPU)


def test_the_weights_of_another_seed_are_refused(folder, tmp_path):
    other = LineOptions(run=str(tmp_path / "b"), model="linear", data="points", max_steps=3, device="cpu", seed=2)
    train(Line, other)
    shutil.copy(folder / "model.safetensors", tmp_path / "b")
    with pytest.raises(RunError, match="got those of another one"):
        load_trained(Line, Run.open(tmp_path / "b"), CPU)
