"""Codec of labelled images: labels, statistics, batches, the file of a run."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from saccade.errors import ArgumentError
from saccade.tasks.image.labelled import LabelledImages
from saccade.tasks.image.shapes import Shapes

OPTIONS = SimpleNamespace(size=None, seed=1, flip=False, shift=0)
SHAPES, _ = LabelledImages.fit(Shapes(), OPTIONS)
EXAMPLES = [Shapes().example("train", index) for index in range(7)]
SAMPLES = SHAPES.encode(EXAMPLES, "train")
SMALL = LabelledImages(("bad", "good"), (3, 8, 11), (0.5, 0.25, 0.125), (1.0, 0.5, 0.25))


def batch(step, **options):
    return replace(SHAPES, options=SimpleNamespace(**{**vars(OPTIONS), **options})).collate(SAMPLES, step)


def test_samples_have_the_numbers_of_their_labels():
    for example, sample in zip(EXAMPLES, SAMPLES, strict=True):
        assert torch.equal(sample.image, example.image) and SHAPES.labels[sample.label] == example.label
        assert sample.size == 1


def test_an_unknown_label_is_rejected():
    with pytest.raises(ArgumentError, match="expected labels of the run"):
        replace(SHAPES, labels=("cat", "dog")).encode(EXAMPLES, "train")


def test_images_are_floats_in_0_to_1():
    whole = SHAPES.collate(SAMPLES)
    assert whole.source.shape == (7, 3, 32, 32) and whole.source.dtype == torch.float32
    assert torch.equal((whole.source * 255).round().byte(), torch.stack([sample.image for sample in SAMPLES]))
    assert torch.equal(whole.source, batch(5).source)


def test_a_batch_is_a_function_of_seed_and_step():
    ways = {"flip": True, "shift": 3}
    first = batch(5, **ways)
    torch.manual_seed(123)
    again = batch(5, **ways)
    assert torch.equal(first.source, again.source) and torch.equal(first.labels, again.labels)
    assert not torch.equal(first.source, batch(6, **ways).source)
    assert not torch.equal(first.source, batch(5, **ways, seed=2).source)


def test_a_saved_codec_is_read_back(tmp_path):
    SMALL.save(tmp_path)
    assert LabelledImages.restore(tmp_path, None) == SMALL


def test_statistics_of_shapes():
    again, notes = LabelledImages.fit(Shapes(), OPTIONS)
    assert again == SHAPES and not notes and SHAPES.shape == (3, 32, 32) and len(SHAPES.labels) == 4
    assert all(0 < mean < 1 for mean in SHAPES.mean) and all(std > 0 for std in SHAPES.std)


@pytest.mark.parametrize(
    "change", [{"labels": ["one"]}, {"labels": "ab"}, {"height": 0}, {"channels": True}, {"mean": None}, {"std": ["x"]}]
)
def test_a_damaged_file_is_named(tmp_path, change):
    SMALL.save(tmp_path)
    path = tmp_path / "labels.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ArgumentError, match=r"labels\.json: expected the labels of this run, got"):
        LabelledImages.restore(tmp_path, None)
