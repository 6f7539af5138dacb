"""Sentences about images as lines, as JSON and as pictures, with and without attention, of cells and of regions."""

import json
import math
from types import SimpleNamespace

import pytest
import torch
from PIL import Image

from saccade.models import captioning, show_attend_and_tell
from saccade.models.image_encoder import FeatureEncoder, ImageEncoder
from saccade.models.show_and_tell import ShowAndTell
from saccade.models.show_attend_and_tell import ShowAttendAndTell
from saccade.tasks.caption.codec import Captions
from saccade.tasks.caption.task import Describes
from saccade.tasks.generate.coverage import Request
from saccade.tasks.image.features.store import Features
from saccade.tasks.image.influence import influence
from saccade.tasks.image.options import LookRequest
from saccade.tasks.image.shown import Shown, maps_of
from saccade.tasks.image.sight import Sight
from saccade.tasks.text.tokenizer import SpacedWords
from saccade.train.task import Unreadable
from tiers import rest_slow

SIZES = {"widths": "4,6", "stem_stride": 4, "cell_dim": 7, "hidden_dim": 10, "embedding_dim": 5}
WORDS = SpacedWords.learn(["a red dog runs over green grass"])
NOISE = torch.Generator().manual_seed(0)
IMAGE = Shown("dog.png", torch.randint(0, 256, (3, 32, 40), dtype=torch.uint8, generator=NOISE))
BOXES = torch.tensor([[0, 0, 0.5, 1], [0.5, 0, 1, 1], [0, 0, 0.25, 0.25]])
REGIONS = Shown("dog.png", Features(torch.rand(3, 5, generator=NOISE), BOXES))
KINDS = {
    "soft": (ShowAttendAndTell, show_attend_and_tell.Options(**SIZES)),
    "hard": (ShowAttendAndTell, show_attend_and_tell.Options(**SIZES, read="reinforce")),
    "none": (ShowAndTell, captioning.Options(**SIZES)),
}


def model(name, shown=IMAGE):
    torch.manual_seed(1)
    kind, options = KINDS[name]
    encoder = ImageEncoder(3, options) if shown is IMAGE else FeatureEncoder(5, 7)
    return kind(encoder, len(WORDS), options).eval()


def predictor(shown=IMAGE, limit=4):
    sight = Sight((3, 32, 40), (0.5,) * 3, (0.5,) * 3) if shown is IMAGE else Sight(dim=5)
    return Describes(Captions(WORDS, limit // 2, sight, SimpleNamespace(beam_size=1, length_penalty=0.6, seed=5)))


def asked(name, form, shown=IMAGE, **request):
    whole = model(name, shown)
    with torch.inference_mode():
        return predictor(shown).answer(whole, [shown], Request(min_length=2, **request), form)[0]


@pytest.mark.parametrize("name", KINDS)
def test_each_of_several_outputs_has_weights_of_its_own(name):
    answer = asked(name, "json", beam_size=3, nbest=3)
    assert len(answer.lines()) == len(answer.outputs) == 3 and answer.shape == (4, 5)
    whole = model(name)
    for output in answer.outputs:
        assert len(output.tokens) == len(output.ids) + 1
        if name == "none":
            assert output.weights is None
            continue
        assert output.weights.shape == (len(output.ids) + 1, 20)
        with torch.inference_mode():
            [[alone]] = predictor().attend(whole, IMAGE, [output])
        torch.testing.assert_close(alone.weights, output.weights)
    told = json.loads(json.dumps(answer.to_json()))
    assert told["file"] == "dog.png" and told["cells"] == [4, 5] and len(told["captions"]) == 3


@pytest.mark.parametrize(("name", "shown"), rest_slow((name, shown) for name in KINDS for shown in (IMAGE, REGIONS)))
def test_it_is_drawn_word_by_word(name, shown, tmp_path):
    answer = asked(name, "pictures", shown)
    paths = list(answer.draw(tmp_path, json=True))
    assert sorted(path.suffix for path in paths) == [*([] if name == "none" else [".gif"]), ".json", ".png", ".svg"]
    for path in paths:
        if path.suffix == ".gif":
            with Image.open(path) as animation:
                assert animation.n_frames == len(answer.outputs[0].tokens) and max(animation.size) < 450
    behind = json.loads(next(path for path in paths if path.suffix == ".json").read_text())
    maps = torch.tensor(behind["values"])
    side = (4, 5) if shown is IMAGE else (64, 64)
    assert maps.shape == (len(answer.outputs[0].ids) + 1, *side)
    assert ("boxes" in behind) == (name == "hard")
    svg = next(path for path in paths if path.suffix == ".svg").read_text()
    assert "⏎" in svg and ("no attention" in svg) == (name == "none")


def test_shares_of_gradients_sum_to_one():
    whole, [output] = model("none"), asked("none", "json").outputs
    found = influence(whole, IMAGE, output.ids, (4, 5))
    assert found.shape == (len(output.ids) + 1, 20)
    torch.testing.assert_close(found.sum(1), torch.ones(len(found)))


def test_draws_follow_from_the_line_not_its_neighbours():
    whole, request = model("soft"), Request(nbest=2, sample=True)
    other = IMAGE._replace(name="cat.png", number=2)
    with torch.inference_mode():
        together = predictor(limit=6).predict(whole, [IMAGE, other], request)
        alone = predictor(limit=6).predict(whole, [other], request)
    assert [one.ids for one in together[1]] == [one.ids for one in alone[0]]


@pytest.mark.parametrize("shown", [IMAGE, REGIONS], ids=["cells", "regions"])
def test_coverage_ranks_all_that_the_search_has_found(shown):
    beta, changed, whole = 5.0, 0, model("soft", shown)
    with torch.inference_mode():
        for parameter in whole.attention.parameters():
            parameter.mul_(8)  # untrained, it gives all cells as much, whatever was written
        [answer] = predictor(shown, 8).answer(whole, [shown], Request(beam_size=5, nbest=5), "json")
    for count in (1, 3):
        request = Request(beam_size=5, nbest=count, coverage_penalty=beta)
        with torch.inference_mode():
            [ranked] = predictor(shown, 8).predict(whole, [shown], request)
        scores = {}
        for output in answer.outputs:  # every cell counts, the last one too: an image has no end
            sums = [sum(cell) for cell in zip(*output.weights.tolist(), strict=True)]
            scores[tuple(output.ids)] = output.score + beta * sum(math.log(min(max(each, 1e-6), 1.0)) for each in sums)
        order = sorted(scores, key=lambda ids: -scores[ids])[:count]
        assert [tuple(output.ids) for output in ranked] == order
        assert [output.score for output in ranked] == pytest.approx([scores[ids] for ids in order], rel=1e-4)
        changed += order != [tuple(output.ids) for output in answer.outputs[:count]]
    assert changed or shown is REGIONS  # all three of which any sentence has read


@pytest.mark.parametrize("shown", [IMAGE, REGIONS], ids=["cells", "regions"])
def test_who_attends_is_found_out(shown):
    assert [predictor(shown).attends(model(name, shown)) for name in KINDS] == [True, True, False]


def test_what_could_not_be_read_has_blank_lines_in_its_place():
    with torch.inference_mode():
        found = predictor().answer(model("soft"), [Unreadable("gone.png"), IMAGE], Request(nbest=2, beam_size=2))
    assert found[0].lines() == ["", ""] and found[0].to_json() == {"file": "gone.png", "cells": None, "captions": []}
    assert list(found[0].draw(None)) == [] and len(found[1].lines()) == 2 and repr(found[1]).startswith("ImageCaption(")


@pytest.mark.parametrize("shown", rest_slow([IMAGE, REGIONS]))
def test_word_gradients_are_drawn_of_attention_if_asked(shown, tmp_path):
    whole = model("soft", shown)
    with torch.inference_mode():
        [outputs] = predictor(shown).predict(whole, [shown], Request(min_length=2), "pictures")
        answer = predictor(shown).describe(whole, shown, outputs, 1, "pictures", LookRequest(by="gradient"))
        plain = asked("soft", "pictures", shown)
    paths = list(answer.draw(tmp_path / "moved", json=True))
    assert sorted(path.suffix for path in paths) == [".json", ".png", ".svg"]  # where it looks at nothing in turn
    assert answer.outputs[0].weights is not None and answer.lines() == plain.lines() and plain.influence is None
    moved = influence(whole, shown, plain.outputs[0].ids, answer.shape)
    torch.testing.assert_close(answer.influence, maps_of(shown, moved, answer.shape))
    svg = next(path for path in paths if path.suffix == ".svg").read_text()
    assert "moves each word" in svg and "no attention" not in svg


@pytest.mark.parametrize("shown", rest_slow([IMAGE, REGIONS]))
def test_the_part_that_a_hard_read_reads_is_framed(shown, tmp_path):
    answer = asked("hard", "pictures", shown)
    paths = list(answer.draw(tmp_path, json=True))
    [told] = [json.loads(path.read_text()) for path in paths if path.suffix == ".json"]
    weights = answer.outputs[0].weights
    assert len(told["boxes"]) == len(weights) > 0
    for row, box in zip(weights, told["boxes"], strict=True):
        number = int(row.argmax())
        if shown is REGIONS:
            wanted = BOXES[number].tolist()
        else:
            (y, x), (rows, columns) = divmod(number, answer.shape[1]), answer.shape
            wanted = [x / columns, y / rows, (x + 1) / columns, (y + 1) / rows]
        assert box == pytest.approx(wanted)
