from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from saccade import runs
from saccade.errors import ArgumentError
from saccade.tasks.classify_image import ClassifyImage
from saccade.tasks.classify_image import task as module
from saccade.tasks.classify_image.options import LookRequest
from saccade.tasks.labels.request import Request
from saccade.train.files import read_json, write_json
from tiers import every

ROWS = [
    (np.random.default_rng(level).integers(0, 256, (3, 9, 11), np.uint8), f"class {level % 3}") for level in range(40)
]
SIZES = {"cnn": {"widths": "4,6"}, "cnn-attention": {"widths": "4,6", "attention_dim": 4, "attention_stage": 1}}


def prepared(model="cnn", rows=ROWS, **more):
    options = {"batch_size": 7, "stem_stride": 1, "shift": 2, **SIZES[model], **more}
    return ClassifyImage.prepare(runs.options(ClassifyImage, "objects", model, options), rows)


@pytest.fixture(scope="module")
def task():
    return prepared()


def test_a_batch_is_images_in_0_to_1_with_their_labels(task):
    batch = task.batch(3)
    assert batch.images.shape == (7, 3, 9, 11) and batch.images.dtype == torch.float32
    assert 0 <= float(batch.images.min()) < float(batch.images.max()) <= 1 and set(batch.labels.tolist()) <= {0, 1, 2}
    moved = batch.to(torch.device("meta"))
    assert moved.images.is_meta and moved.labels.is_meta


def test_training_mirrors_or_moves_images_only_if_asked():
    plain, mirrored = (prepared(shift=0, flip=flip) for flip in (False, True))
    moved = prepared(flip=False, shift=2)
    changed = 0
    for step in range(4):
        one, other, third = (each.batch(step) for each in (plain, mirrored, moved))
        assert torch.equal(one.labels, other.labels) and torch.equal(one.labels, third.labels)
        for image, turned in zip(one.images, other.images, strict=True):
            assert torch.equal(image, turned) or torch.equal(image.flip(2), turned)
            changed += not torch.equal(image, turned)
        for image, shifted in zip(one.images, third.images, strict=True):
            around = F.pad(image[None], (2, 2, 2, 2), mode="reflect")[0]
            found = [around[:, row : row + 9, column : column + 11] for row in range(5) for column in range(5)]
            assert any(torch.equal(shifted, part) for part in found)
    assert 4 < changed < 24  # about half of 28


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_the_loss_is_the_cross_entropy_of_the_labels(smoothing):
    task = prepared(label_smoothing=smoothing)
    model, batch = task.build().eval(), task.batch(0)
    loss, gains = task.loss(model, batch), model(batch.images).log_softmax(-1)
    picked = gains[torch.arange(7), batch.labels]
    torch.testing.assert_close(loss.total, -((1 - smoothing) * picked + smoothing * gains.mean(-1)).mean())
    assert loss.count == 7


def test_a_split_is_measured_in_parts_as_a_whole(task, monkeypatch):
    model = task.build().eval()
    with torch.inference_mode():
        whole = task.evaluate(model, "train")
        monkeypatch.setattr(module, "_AT_ONCE", 5)
        parts, few = task.evaluate(model, "train"), task.evaluate(model, "train", 6)
    assert parts.metrics == whole.metrics and parts.groups == whole.groups and parts.count == whole.count == 36
    assert few.examples == 6


def test_channels_are_known_and_model_normalises_by_itself(task):
    images = torch.stack([torch.from_numpy(image) for image, _ in ROWS]).double() / 255
    inside = images.mean((0, 2, 3))
    assert task.known.shape == (3, 9, 11) and task.known.labels == ("class 0", "class 1", "class 2")
    assert list(task.known.mean) == pytest.approx(inside.tolist(), abs=0.02)
    assert "mean" in dict(task.build().named_buffers()) and len(task.known.std) == 3


def test_images_smaller_than_their_shift_are_refused():
    with pytest.raises(ArgumentError, match="--shift: expected less than the images' 9, got 9"):
        prepared(shift=9)
    prepared(shift=8)


WRONG = (
    {"labels": ["a"]},
    {"labels": "abc"},
    {"height": 0},
    {"channels": True},
    {"width": "9"},
    {"mean": 3},
    {"mean": ["a", "b", "c"]},
    {"std": None},
)


@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("classify-image", {"model": "cnn", "widths": "4,6", "stem_stride": 1, "batch_size": 7}),
        ("glimpse", {"model": "whole", "hidden_dim": 4, "batch_size": 7}),
    ],
)
def test_a_size_is_refused_of_new_runs_on_arrays_alone(tmp_path, monkeypatch, task, options):
    whole, more = tmp_path / "a", {**options, "data": ROWS, "device": "cpu", "schedule": "constant"}
    with pytest.raises(ArgumentError, match="--size: expected none for arrays and Pillow images, .* leave 16 out"):
        runs.train(task, run=whole, max_steps=1, size=16, **more)
    assert not whole.exists()
    with monkeypatch.context() as before:  # runs had one to no effect
        before.setattr(f"saccade.tasks.{task.replace('-', '_')}.task.check_scaled", lambda data, size: None)
        runs.train(task, run=whole, max_steps=1, size=16, **more)
    assert runs.load(whole, device="cpu", data=ROWS).evaluate("test").count
    assert runs.train(task, run=whole, max_steps=2, size=16, **more).results["steps"] == 2


@pytest.mark.parametrize("change", ["{", "[]", None, *WRONG])
def test_labels_that_are_damaged_are_named(task, tmp_path, change):
    task.save(tmp_path)
    whole = read_json(tmp_path / "labels.json")
    if change is None:
        (tmp_path / "labels.json").unlink()
    elif isinstance(change, str):
        (tmp_path / "labels.json").write_text(change)
    else:
        write_json(tmp_path / "labels.json", {**whole, **change})
    with pytest.raises(ArgumentError, match=r"labels\.json: expected the labels of this run, got "):
        ClassifyImage.restore(task.settings, tmp_path)


@every(
    ("model", "request_", "message"),
    [
        ("cnn", Request(nbest=4), "--nbest: expected at most 3, as many labels as there are, got 4"),
        ("cnn", LookRequest(by="attention"), "--by: expected gradient or grad-cam of a model that does not attend"),
        ("cnn-attention", LookRequest(label="class 1"), "--label: expected only with --by gradient or grad-cam"),
        (
            "cnn-attention",
            LookRequest(label="class 1", by="attention"),
            "--label: expected only with --by gradient or grad-cam",
        ),
        (
            "cnn",
            LookRequest(label="class 9", by="gradient"),
            "--label: expected one of class 0, class 1, class 2, got class 9",
        ),
    ],
)
def test_what_means_nothing_here_is_refused(model, request_, message):
    task = prepared(model)
    with pytest.raises(ArgumentError, match=message):
        task.check(task.build(), request_)


def test_what_means_something_is_taken():
    task = prepared("cnn-attention")
    for request in (None, Request(nbest=3), LookRequest(), LookRequest(by="gradient", label="class 2")):
        task.check(task.build(), request)
    task.check(task.build(), LookRequest(by="attention"))


def test_members_of_other_labels_or_sizes_are_refused(task):
    def trained(other):
        return SimpleNamespace(task=other, model=other.build(), run=SimpleNamespace(folder="runs/b"))

    relabelled = prepared(rows=[(image, f"other {label}") for image, label in ROWS])
    smaller = prepared(rows=[(image[:, :8], label) for image, label in ROWS])
    for other, message in ((relabelled, "the labels of RUN, got other class 0"), (smaller, "the images' size of RUN")):
        with pytest.raises(ArgumentError, match=f"--ensemble runs/b: expected {message}"):
            task.join(task.build(), [trained(other)])
    same, ensemble = task.join(task.build(), [trained(prepared("cnn-attention"))])
    assert same is task and len(ensemble.members) == 2


def test_a_label_that_came_later_is_named(task):
    later = replace(task, known=replace(task.known, labels=("class 0", "class 1")))
    with pytest.raises(ArgumentError, match="the label 'class 2' of the train split is none of the run's"):
        later.evaluate(later.build().eval(), "train")
