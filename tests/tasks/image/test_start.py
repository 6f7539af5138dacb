"""Pretrained weights of a run: its own copy, refusals before it exists, and features before its plan."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from saccade import runs
from saccade.cli import main
from saccade.errors import ArgumentError
from saccade.models import encoders
from saccade.tasks import load_task
from saccade.tasks.image.images import encode_png
from saccade.tasks.image.start import PretrainedStart
from saccade.train.task import options_class
from tiny_encoder import WITH_TINY, Tiny

COUNT = 40


@pytest.fixture(autouse=True)
def library(monkeypatch):
    monkeypatch.setattr(encoders, "BUILDERS", WITH_TINY)


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """A folder of two classes, and weights beside it, in the working folder."""
    numbers = np.random.default_rng(0)
    for number in range(COUNT):
        label = ("dark", "light")[number % 2]
        image = numbers.integers(0, 90, (3, 24, 24)) + 140 * (label == "light")
        path = tmp_path / "photos" / label / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode_png(torch.from_numpy(image.astype(np.uint8))))
    torch.manual_seed(1)
    save_file(Tiny().state_dict(), tmp_path / "tiny.safetensors")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(**more):
    values = {
        "data": "photos", "model": "pretrained", "encoder": "own:tiny", "weights": "tiny.safetensors",
        "resolution": 16, "threads": 1, "device": "cpu", "run": "run", "max_steps": 30, "warmup_steps": 3,
        "learning_rate": 0.05, "dropout": 0.0,
    } | more  # fmt: skip
    return ["train", "classify-image", *(f"--{name.replace('_', '-')}={value}" for name, value in values.items())]


def options(**more):
    flat = options_class(load_task("classify-image"), "pretrained", checked=False)
    return replace(flat(encoder="own:tiny", weights="tiny.safetensors", resolution=16, shift=0), **more)


def test_a_run_is_trained_moved_and_resumed_without_the_file(photos, capsys):
    assert main(command()) == 0
    trained = load_file(photos / "run" / "model.safetensors")
    for name, tensor in load_file(photos / "tiny.safetensors").items():
        assert name.startswith("fc.") or torch.equal(trained[f"encoder.{name}"], tensor)
    (photos / "tiny.safetensors").unlink()
    assert main(command(max_steps=40)) == 0
    (photos / "elsewhere").mkdir()
    (photos / "run").rename(photos / "elsewhere" / "moved")
    capsys.readouterr()
    assert main(["predict", "elsewhere/moved", "photos/light/1.png"]) == 0
    assert capsys.readouterr().out.startswith("light")
    run = runs.load(photos / "elsewhere" / "moved", device="cpu")
    assert run.predict(["photos/dark/2.png"])[0].lines()[0].startswith("dark")


def test_a_training_that_was_killed_before_its_first_checkpoint_begins_again(photos, capsys):
    assert main(command()) == 0
    whole = load_file(photos / "run" / "model.safetensors")
    for path in [*(photos / "run" / "checkpoints").iterdir(), *photos.glob("run/*.json*"), photos / "tiny.safetensors"]:
        if path.name not in ("config.json", "labels.json"):
            path.unlink()
    (photos / "run" / "model.safetensors").unlink()
    assert main(command()) == 0
    again = load_file(photos / "run" / "model.safetensors")
    assert all(torch.equal(again[name], tensor) for name, tensor in whole.items())


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"weights": "nowhere.safetensors"}, "--weights: expected a file of weights, found none at nowhere"),
        ({"weights": "other.safetensors"}, "expected weights of own:tiny, got others: stem.bias is missing"),
        ({"encoder": "resnet18"}, "--encoder: expected torchvision:NAME or timm:NAME"),
        ({"shift": 2}, "--shift: expected 0, since the features of an image are computed once, got 2"),
        ({"layer": "layer3"}, "--layer: expected a module of own:tiny, got layer3"),
    ],
)
def test_a_run_that_cannot_begin_is_one_line_and_leaves_nothing(photos, capsys, more, message):
    state = Tiny().state_dict()
    del state["stem.bias"]
    save_file(state, photos / "other.safetensors")
    assert main(command(**more)) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert message in error and not (photos / "run").exists()


def test_weights_have_to_be_given(photos):
    with pytest.raises(ArgumentError, match="--weights: expected the file of the encoder's weights, got none"):
        PretrainedStart.open(options(weights=None))
    with pytest.raises(ArgumentError, match="--encoder: expected the network of --weights, .*, got none"):
        PretrainedStart.open(options(encoder=None))
    assert len(PretrainedStart.open(options(encoder=None, weights=None, layer=None)).weights) == 4  # random ones
    assert PretrainedStart.open(object()) is None and PretrainedStart.restore(Path(), object()) is None


@pytest.mark.parametrize(("minutes", "count"), [(600.0, None), (None, 0), (1e-9, 5)])
def test_all_features_are_computed_before_a_plan_that_has_the_time(photos, minutes, count):
    data = load_task("classify-image")._open(options(data="photos"), None)
    start = PretrainedStart.open(options())
    start.prepare(data, options(max_minutes=minutes, max_steps=None if minutes else 9, flip=True))
    kept = len(start.features._kept)
    sizes = {split: data.size(split) for split in ("train", "validation", "test")}
    assert sum(sizes.values()) == COUNT
    assert kept == (COUNT + sizes["train"] if count is None else count)
