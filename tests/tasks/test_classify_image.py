"""Image classification: data, codec, predictions, answers."""

import io
import json
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from saccade import runs
from saccade._system.files import read_json, write_json
from saccade.errors import ArgumentError
from saccade.models.cnn import CNN
from saccade.models.cnn import Options as Sizes
from saccade.tasks import task as jobs
from saccade.tasks.classify_image import BUILTIN, CLASSIFY_IMAGE, ImageAnswer, ImageRanks, Options, open_images, suited
from saccade.tasks.image.images import Pixels, encode_png, image_of
from saccade.tasks.image.labelled import LabelledImages
from saccade.tasks.image.linear import Neighbours
from saccade.tasks.image.maps import LookRequest
from saccade.tasks.labels.request import Request
from saccade.train.options import check_types
from saccade.train.task import Unreadable
from tiers import every

LEVELS = [(np.full((8, 9), 6 * level, np.uint8), f"class {level % 3}") for level in range(40)]


@pytest.mark.parametrize("name", list(BUILTIN))
def test_built_in_data_have_three_splits_and_a_fingerprint(name):
    data = open_images(name)
    for split in ("train", "validation", "test"):
        image, label, _ = data.example(split, 0)
        assert image.shape == data.shape and image.dtype == torch.uint8 and label in data.labels
    assert data.size("test") and data.fingerprint == open_images(name).fingerprint


def test_data_that_are_not_there_are_named(tmp_path):
    with pytest.raises(ArgumentError, match="no data set no/such, and no folder or archive; built in: shapes"):
        open_images("no/such")
    with pytest.raises(ArgumentError, match="did you mean shapes?"):
        open_images("shape")
    (tmp_path / "notes.txt").write_text("no images")
    with pytest.raises(ArgumentError, match=f"--data: expected in {tmp_path} a folder or archive of images") as error:
        open_images(str(tmp_path))
    assert "\n" not in str(error.value)


def test_images_of_one_size_have_no_other():
    with pytest.raises(ArgumentError, match="--size: expected none for shapes, whose images have one size; leave 64"):
        open_images("shapes", 64)


def test_folders_and_objects_of_the_same_images(tmp_path):
    for number, (image, label) in enumerate(LEVELS):
        (tmp_path / label).mkdir(exist_ok=True)
        data = encode_png(torch.from_numpy(image)[None])
        (tmp_path / label / f"{number}.png").write_bytes(data)
    folders, objects = open_images(str(tmp_path)), open_images("objects", None, LEVELS)
    assert tuple(folders.labels) == tuple(objects.labels) == ("class 0", "class 1", "class 2")
    assert sum(folders.size(split) for split in ("train", "validation", "test")) == 40
    assert objects.shape == (1, 8, 9)
    with pytest.raises(ArgumentError, match="expected the Python objects that this run was trained on, got none"):
        open_images("objects")


def test_unlabelled_rows_of_collections_are_refused():
    class Table(list):
        features = {"label": SimpleNamespace(names=["class 0", "class 1", "class 2"])}  # noqa: RUF012

    rows = Table({"image": image, "label": int(label[-1])} for image, label in LEVELS)
    assert open_images("objects", None, rows).fingerprint == open_images("objects", None, LEVELS).fingerprint
    for wrong in (-1, 3):
        with pytest.raises(ArgumentError, match="data: train, row 41, column "):
            open_images("objects", None, Table([*rows, {"image": LEVELS[0][0], "label": wrong}]))


@every(
    "image",
    [
        np.zeros((8, 7), np.uint8),
        np.zeros((2, 8, 9), np.uint8),
        np.zeros((8, 9), np.complex64),
        np.full((8, 9), 1.5),
        np.full((8, 9), np.nan),
        np.full((8, 9), -1),
        np.zeros((0, 0), np.uint8),
        None,
        "a text",
    ],
)
def test_what_is_no_image_is_named_by_its_row(image):
    with pytest.raises(ArgumentError, match="data: train, row 41: ") as error:
        open_images("objects", None, [*LEVELS, (image, "class 0")])
    assert "\n" not in str(error.value)


@every(
    ("name", "value"),
    [
        ("size", 7),
        ("size", 1025),
        ("size", -1),
        ("batch_size", 0),
        ("batch_size", 10**7),
        ("shift", -1),
        ("shift", 1001),
        ("label_smoothing", 1.0),
        ("label_smoothing", float("nan")),
    ],
)
def test_what_means_nothing_is_refused_by_name(name, value):
    with pytest.raises(ArgumentError, match=f"^--{name.replace('_', '-')}: expected ") as error:
        Options(**{name: value})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("by", ["nonsense", 3, ["attention"], True])
def test_only_methods_are_ways_to_look(by):
    for way in (None, "attention", "gradient", "grad-cam"):
        check_types(LookRequest, {"by": way})
    with pytest.raises(ArgumentError, match="^--by: expected attention or rollout or flow or gradient or grad-cam"):
        check_types(LookRequest, {"by": by})


def test_the_built_in_images_are_not_turned_about():
    for model in CLASSIFY_IMAGE.models:
        own, files = (runs.options(CLASSIFY_IMAGE, data, model, {}) for data in ("shapes", "some/folder"))
        assert not own.flip and own.shift == 0
        learns = model != "pretrained"
        assert (files.flip, files.shift, files.label_smoothing) == ((True, 4, 0.1) if learns else (False, 0, 0.0))
    assert list(CLASSIFY_IMAGE.requests) == ["predict", "eval", "look"]


def test_few_images_small_ones_sides_and_colours_choose_the_recipe():
    alike = Neighbours(0.5, 0.5, 0.5, sides=False, coloured=False)
    assert suited(50_000, 32, alike) == {}
    few = suited(400, 64, alike)
    assert (few["batch_size"], few["max_steps"], few["schedule_steps"], few["warmup_steps"]) == (64, 800, 800, 80)
    assert suited(4_000, 64, alike)["max_steps"] == 2500 and "shift" not in few
    clear = alike._replace(sides=True, coloured=True)
    assert suited(50_000, 8, clear) == {"shift": 1, "stem_stride": 1, "flip": False, "colours": True}


def sided(count=200):
    """Images that are bright on the left or on the right."""
    numbers = np.random.default_rng(0)
    images = numbers.integers(0, 40, (count, 8, 8)).astype(np.uint8)
    for number, image in enumerate(images):
        image[:, :3] += 150 * (number % 2 == 0)
        image[:, 5:] += 150 * (number % 2 == 1)
    return [(image, ("left", "right")[number % 2]) for number, image in enumerate(images)]


def test_images_are_not_mirrored_where_sides_matter(monkeypatch):
    found = CLASSIFY_IMAGE.suited("cnn", {"data": "objects"}, sided())
    assert not found.options["flip"] and found.options["label_smoothing"] == 0.1
    assert "right for 100% by pixels, 0% mirrored, " in found.reason and "--no-flip" in found.reason
    upright = CLASSIFY_IMAGE.suited("cnn", {"data": "objects"}, [(image.T, label) for image, label in sided()])
    assert "flip" not in upright.options and "--shift 1 --stem-stride 1" in upright.reason
    given = CLASSIFY_IMAGE.suited("cnn", {"data": "objects", "flip": True, "batch_size": 7}, sided())
    assert "flip" not in given.options and "batch_size" not in given.options
    monkeypatch.setattr(CNN, "recipes", {"files": {}})  # a model of another package, whose schedule does not fall
    assert "schedule_steps" not in CLASSIFY_IMAGE.suited("cnn", {"data": "objects"}, sided()).options


def test_linear_baselines_name_the_way_to_them():
    task = CLASSIFY_IMAGE.prepare(runs.options(CLASSIFY_IMAGE, "objects", "cnn", {}), sided())
    found = task.baselines("test")
    assert list(found) == ["majority", "pixels", "colours"] and found["pixels"].metrics["accuracy"] == 1.0
    assert "LogisticRegression" in found["pixels"].advice and found["majority"].advice == ""


def test_a_folder_may_be_named_from_here(tmp_path, monkeypatch):
    for number, (image, label) in enumerate(LEVELS):
        (tmp_path / "mine" / label).mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / label / f"{number}.png").write_bytes(encode_png(torch.from_numpy(image)[None]))
    monkeypatch.chdir(tmp_path)
    assert open_images("mine").fingerprint == open_images(str(tmp_path / "mine")).fingerprint


LABELS = ("cat", "dog", "eel")
PREDICTOR = ImageRanks(LabelledImages(LABELS, (3, 10, 12)))
IMAGE = torch.randint(0, 256, (3, 10, 12), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def model():
    return CNN(3, 3, Sizes(widths="4,6", stem_stride=1), (0.5,) * 3, (0.25,) * 3).eval()


def test_an_image_is_read_as_the_run_takes_it(tmp_path, monkeypatch):
    (tmp_path / "a.png").write_bytes(encode_png(IMAGE))
    found = image_of(str(tmp_path / "a.png"), 3, (10, 12))
    assert found.name == str(tmp_path / "a.png") and torch.equal(found.image, IMAGE)
    assert image_of(str(tmp_path / "a.png"), 1, (5, 6)).image.shape == (1, 5, 6)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(encode_png(IMAGE))))
    assert torch.equal(image_of("-", 3, (10, 12)).image, IMAGE)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"noise")))
    with pytest.raises(ArgumentError, match="^standard input: "):
        image_of("-", 3, (10, 12))
    with pytest.raises(ArgumentError, match="gone"):
        image_of(str(tmp_path / "gone.png"), 3, (10, 12))


def test_answers_are_softmax_of_each_image_alone_in_order(model):
    given = [Pixels("a", IMAGE), Unreadable("gone.png"), Pixels("b", IMAGE.flip(2))]
    with torch.inference_mode():
        found = PREDICTOR.answer(model, given, Request(nbest=2), "json")
        expected = model(torch.stack([IMAGE, IMAGE.flip(2)]).float() / 255).softmax(-1)
    assert [len(answer.lines()) for answer in found] == [2, 2, 2] and found[1].lines() == ["", ""]
    for answer, shares in zip((found[0], found[2]), expected, strict=True):
        assert list(answer.to_json()["probabilities"].values()) == pytest.approx(shares.tolist(), abs=1e-5)
        assert answer.lines()[0].split("\t")[0] == LABELS[int(shares.argmax())] and answer.remark == ""
    assert PREDICTOR.answer(model, [], None) == []


def test_what_could_not_be_read_is_told_by_its_name(tmp_path):
    blank = ImageAnswer(Unreadable("gone.png"), None, 2)
    assert blank.to_json() == {"file": "gone.png", "answers": [], "probabilities": {}} and str(blank) == "\n"
    assert json.loads(json.dumps(blank.to_json())) == blank.to_json()


ROWS = [
    (np.random.default_rng(level).integers(0, 256, (3, 9, 11), np.uint8), f"class {level % 3}") for level in range(40)
]
SIZES = {"cnn": {"widths": "4,6"}, "cnn-attention": {"widths": "4,6", "attention_dim": 4, "attention_stage": 1}}


def prepared(model="cnn", rows=ROWS, **more):
    options = {"batch_size": 7, "stem_stride": 1, "shift": 2, **SIZES[model], **more}
    return CLASSIFY_IMAGE.prepare(runs.options(CLASSIFY_IMAGE, "objects", model, options), rows)


@pytest.fixture(scope="module")
def task():
    return prepared()


def test_a_batch_is_images_in_0_to_1_with_their_labels(task):
    batch = task.batch(3)
    assert batch.source.shape == (7, 3, 9, 11) and batch.source.dtype == torch.float32
    assert 0 <= float(batch.source.min()) < float(batch.source.max()) <= 1 and set(batch.labels.tolist()) <= {0, 1, 2}
    moved = batch.to(torch.device("meta"))
    assert moved.source.is_meta and moved.labels.is_meta


def test_training_mirrors_or_moves_images_only_if_asked():
    plain, mirrored = (prepared(shift=0, flip=flip) for flip in (False, True))
    moved = prepared(flip=False, shift=2)
    changed = 0
    for step in range(4):
        one, other, third = (each.batch(step) for each in (plain, mirrored, moved))
        assert torch.equal(one.labels, other.labels) and torch.equal(one.labels, third.labels)
        for image, turned in zip(one.source, other.source, strict=True):
            assert torch.equal(image, turned) or torch.equal(image.flip(2), turned)
            changed += not torch.equal(image, turned)
        for image, shifted in zip(one.source, third.source, strict=True):
            around = F.pad(image[None], (2, 2, 2, 2), mode="reflect")[0]
            found = [around[:, row : row + 9, column : column + 11] for row in range(5) for column in range(5)]
            assert any(torch.equal(shifted, part) for part in found)
    assert 4 < changed < 24  # about half of 28


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_the_loss_is_the_cross_entropy_of_the_labels(smoothing):
    task = prepared(label_smoothing=smoothing)
    model, batch = task.build().eval(), task.batch(0)
    loss, gains = task.loss(model, batch), model(batch.source).log_softmax(-1)
    picked = gains[torch.arange(7), batch.labels]
    torch.testing.assert_close(loss.total, -((1 - smoothing) * picked + smoothing * gains.mean(-1)).mean())
    assert loss.count == 7


def test_a_split_is_measured_in_parts_as_a_whole(task, monkeypatch):
    model = task.build().eval()
    with torch.inference_mode():
        whole = task.evaluate(model, "train")
        monkeypatch.setattr(jobs, "AT_ONCE", 5)
        parts, few = task.evaluate(model, "train"), task.evaluate(model, "train", 6)
    assert parts.metrics == whole.metrics and parts.groups == whole.groups and parts.count == whole.count == 28
    assert few.examples == 6
    right = sum(row.get(label, 0) for label, row in whole.confusion.items())
    assert parts.confusion == whole.confusion and right / 28 == pytest.approx(whole.metrics["accuracy"])


def test_channels_are_known_and_model_normalises_by_itself(task):
    images = torch.stack([torch.from_numpy(image) for image, _ in ROWS]).double() / 255
    inside = images.mean((0, 2, 3))
    assert task.codec.shape == (3, 9, 11) and task.codec.labels == ("class 0", "class 1", "class 2")
    assert list(task.codec.mean) == pytest.approx(inside.tolist(), abs=0.02)
    assert "mean" in dict(task.build().named_buffers()) and len(task.codec.std) == 3


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
    ("task", "module", "options"),
    [
        ("classify-image", "image.labelled", {"model": "cnn", "widths": "4,6", "stem_stride": 1, "batch_size": 7}),
        ("glimpse", "glimpse.task", {"model": "whole", "hidden_dim": 4, "batch_size": 7}),
    ],
)
def test_a_size_is_refused_of_new_runs_on_arrays_alone(tmp_path, monkeypatch, task, module, options):
    whole, more = tmp_path / "a", {**options, "data": ROWS, "device": "cpu", "schedule": "constant"}
    with pytest.raises(ArgumentError, match="--size: expected none for arrays and Pillow images, .* leave 16 out"):
        runs.train(task, run=whole, max_steps=1, size=16, **more)
    assert not whole.exists()
    with monkeypatch.context() as before:  # runs had one to no effect
        before.setattr(f"saccade.tasks.{module}.check_scaled", lambda data, size: None)
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
        CLASSIFY_IMAGE.restore(task.settings, tmp_path)


@every(
    ("model", "request_", "message"),
    [
        ("cnn", Request(nbest=4), "--nbest: expected at most 3, as many labels as there are, got 4"),
        (
            "cnn",
            LookRequest(by="attention"),
            "--by: expected gradient, grad-cam or integrated-gradients for this run, got attention",
        ),
        (
            "cnn-attention",
            LookRequest(label="class 1"),
            "--label: expected only with --by gradient, grad-cam or integrated-gradients",
        ),
        (
            "cnn-attention",
            LookRequest(label="class 1", by="attention"),
            "--label: expected only with --by gradient, grad-cam or integrated-gradients",
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
    assert same.codec is task.codec and len(ensemble.members) == 2


def test_a_label_that_came_later_is_named(task):
    later = replace(task, codec=replace(task.codec, labels=("class 0", "class 1")))
    with pytest.raises(ArgumentError, match=r"expected labels of the run \(.*\), got 'class 2' in train"):
        later.evaluate(later.build().eval(), "train")
