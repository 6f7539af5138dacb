import io
import json
import sys

import pytest
import torch

from saccade.errors import ArgumentError
from saccade.models.cnn import CNN, Options
from saccade.tasks.classify_image.answer import ImageAnswer, answers
from saccade.tasks.classify_image.options import LookRequest
from saccade.tasks.image.images import Pixels, encode_png, image_of
from saccade.train.task import Unreadable

LABELS = ("cat", "dog", "eel")
IMAGE = torch.randint(0, 256, (3, 10, 12), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def model():
    return CNN(3, 3, Options(widths="4,6", stem_stride=1), (0.5,) * 3, (0.25,) * 3).eval()


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
        found = answers(model, given, LABELS, 2, "json", LookRequest())
        expected = model(torch.stack([IMAGE, IMAGE.flip(2)]).float() / 255).softmax(-1)
    assert [len(answer.lines()) for answer in found] == [2, 2, 2] and found[1].lines() == ["", ""]
    for answer, shares in zip((found[0], found[2]), expected, strict=True):
        assert list(answer.to_json()["probabilities"].values()) == pytest.approx(shares.tolist(), abs=1e-5)
        assert answer.lines()[0].split("\t")[0] == LABELS[int(shares.argmax())] and answer.remark == ""
    assert answers(model, [], LABELS, 1, "lines", LookRequest()) == []


def test_what_could_not_be_read_is_told_by_its_name(tmp_path):
    blank = ImageAnswer(Unreadable("gone.png"), None, 2)
    assert blank.to_json() == {"file": "gone.png", "answers": [], "probabilities": {}} and str(blank) == "\n"
    assert json.loads(json.dumps(blank.to_json())) == blank.to_json()
