import base64

import numpy as np
import pytest
import torch

from saccade.cli import main
from saccade.errors import ArgumentError
from saccade.models.region_words import Alignment
from saccade.tasks.caption.data import scenes
from saccade.tasks.image.images import encode_png
from studies import regions as study
from studies.frame.direct import Budget
from studies.frame.seeds import pack, unpack
from studies.regions import DEPTHS, IMAGES, SENTENCES, STRENGTHS, STUDY, WAYS, Findings, Options
from study_rows import complete, described, stored
from tiers import every

CPU, COUNT = torch.device("cpu"), 200
SMALL = {"widths": "4,6", "blocks": 1, "cell_dim": 6, "hidden_dim": 16, "embedding_dim": 4}


def made_up(recall=0.4, pointing=0.7, seeds=3, known=True):
    """report.json of models that are right with some probabilities; those of a half of the images are larger."""
    rows, rng = [], np.random.default_rng(1)
    hard = np.where(np.arange(COUNT) % 2, 0.02, -0.02)
    for seed in range(1, seeds + 1):
        found = {}
        for way in WAYS:
            ranks = np.where(rng.random(COUNT) < recall + hard, 1, rng.integers(1, COUNT, COUNT))
            hits = [pack((ranks <= depth).tolist(), "bits") for depth in DEPTHS]
            chance = [depth / COUNT for depth in DEPTHS]
            found[way] = {"rows": COUNT, "candidates": COUNT, "median": 3.0, "hits": hits, "chance": chance}
        row = {"model": study.MODEL, "seed": seed, "images": COUNT, "recall": found}
        if known:
            shares = [(rng.random(COUNT) < pointing + hard).astype(float).tolist() for _ in STRENGTHS]
            chances = {key: pack([share] * COUNT, "shares") for key, share in (("cells", 0.02), ("any", 0.35))}
            groups = {"first colour": 0.5, "first shape": 0.6}
            row["pointing"] = {"hits": [pack(share, "shares") for share in shares], **chances, "groups": groups}
        rows.append({**row, "steps": 9, "seconds": 1.5, "parameters": 1000})
    png = base64.b64encode(encode_png(torch.zeros(3, 8, 8, dtype=torch.uint8))).decode()
    about = {"image": png, "words": ["a", "red", "circle"], "cells": [[0, 0], [1, 1], [1, 1]], "shape": [2, 2]}
    rows[0]["shown"] = [about, about]
    runs = {str(row["seed"]): {**row, "budget": {"max_steps": 9, "max_minutes": 1}} for row in rows}
    content = {"report": "regions", "command": "c", "arguments": {}, "runs": runs, "rows": rows, "data": "scenes"}
    return {**content, "hardware": {"device": "cpu"}, "versions": {"torch": "2"}}


@every(
    ("changed", "result"),
    [
        ({}, "reproduced"),
        ({"known": False}, "reproduced"),
        ({"seeds": 1}, "not decided"),
        ({"pointing": 0.0}, "contradicted"),
        ({"pointing": 0.022}, "not decided"),
        ({"recall": 0.0}, "not decided"),
    ],
)
def test_the_numbers_decide(changed, result):
    assert Findings(made_up(**changed)).verdict.result == result


def test_claims_are_beyond_chance():
    findings = Findings(made_up())
    assert findings.recall(IMAGES, 0).value == pytest.approx(0.4 - 1 / COUNT, abs=0.06)
    assert findings.beyond("any").value == pytest.approx(0.7 - 0.35, abs=0.05)
    assert len(Findings(made_up(known=False)).claims) == 2


def test_the_page_is_complete(tmp_path):
    words = ["1412.2306", "**reproduced**", "The 3 claims are judged together", "200 images", "colours and shapes"]
    words += [f"| {SENTENCES}, by chance | 0.50 | 2.50 | 5.00 |", "smoothed by 4", "| by chance: any thing | 3"]
    complete(STUDY, made_up(), tmp_path, words, "regions")
    drawn = described(tmp_path / "regions.svg")["desc"]
    assert drawn.startswith("a at row 1, column 1, red at row 2, column 2, circle at row 2, column 2; ")
    (tmp_path / "photos").mkdir()
    words = ["Only the things of built-in scenes are known.", "The 2 claims are judged together"]
    complete(STUDY, made_up(known=False), tmp_path / "photos", words, "regions")


@pytest.fixture
def few(monkeypatch, tmp_path):
    """Small models of forty scenes."""
    monkeypatch.setattr(scenes, "HELD_OUT", 40)
    monkeypatch.setattr("saccade.tasks.caption.codec._ENDLESS", 50)
    monkeypatch.setattr("saccade.tasks.image.dataset._SAMPLED", 5)
    monkeypatch.setattr(study, "_SIZES", SMALL)
    monkeypatch.setattr(study, "_SCENES", {})
    monkeypatch.setattr(study, "_BATCH", 4)
    monkeypatch.chdir(tmp_path)


class Exact:
    """A model whose words take the cell of their thing, and whose scores are those of true sentences."""

    def __init__(self, examples):
        self.examples = examples

    def align(self, seen, sentences):
        products = torch.zeros(len(self.examples), sentences.values.shape[1], 64)
        for row, example in enumerate(self.examples):
            place = 0
            for name in example.caption.split(" left of "):
                [box] = [thing.box for thing in example.scene.things if name == f"a {thing.colour} {thing.shape}"]
                cell = (box.top + box.bottom) // 24 * 8 + (box.left + box.right) // 24
                products[row, place : place + 3, cell] = 1.0
                place += 5
        return Alignment(torch.zeros(len(products)), products.argmax(-1), products, (8, 8))


def test_pointing_is_judged_by_boxes(few):
    task = study.prepared(Options())
    examples = [task.data.example("test", index) for index in range(40)]
    looks = [{thing[:2] for thing in example.scene.things} for example in examples]
    examples = [x for x, own in zip(examples, looks, strict=True) if len(own) == len(x.scene.things)]
    row = study.pointed(task, Exact(examples), examples, CPU)
    assert unpack(row["hits"][0], "shares") == [1.0] * len(examples)
    assert row["groups"] == dict.fromkeys(("first colour", "first shape", "later colour", "later shape"), 1.0)
    assert unpack(row["cells"], "shares") == pytest.approx([1 / 64] * len(examples), abs=1e-3)
    things = [1 / len(example.scene.things) for example in examples]
    assert unpack(row["any"], "shares") == pytest.approx(things, abs=1e-3)
    [picture, *_] = study.examples_of(task, Exact(examples[:1]), examples[:1], CPU)
    assert picture["words"] == examples[0].caption.split(" ") and picture["cells"][0] == picture["cells"][2]


def test_ranks_count_wrong_candidates_of_equal_score():
    scores = torch.tensor([[3.0, 2.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0], [0.0, 1.0, 2.0, 3.0]])
    right = torch.tensor([[0, 1, 0, 1], [1, 0, 0, 0], [0, 0, 0, 1]], dtype=torch.bool)
    row = study._recall(scores, right)  # the first right ones are second, fourth and first
    assert unpack(row["hits"][0], "bits", 3) == [False, False, True] and row["median"] == 2
    assert unpack(row["hits"][1], "bits", 3) == [True, True, True]
    assert row["chance"] == pytest.approx([(2 / 4 + 1 / 4 + 1 / 4) / 3, 1.0, 1.0])


@pytest.mark.slow
def test_a_report_is_made_once_and_takes_more_seeds(few, tmp_path, capsys):
    words = ["report", "regions", "--max-steps", "2", "--threads", "1", "--seeds"]
    assert main([*words, "1"]) == 0 and "a sentence finds its image" in capsys.readouterr().out
    folder = tmp_path / "reports/regions-scenes"
    [first] = stored(folder)["rows"]
    assert len(first["shown"]) == 3 and first["images"] == 40 and first["steps"] == 2
    assert len(unpack(first["pointing"]["hits"][0], "shares")) == 40
    assert main([*words, "2"]) == 0
    rows = stored(folder)["rows"]
    assert rows[0] == first and rows[1]["seed"] == 2 and "shown" not in rows[1]
    assert main([*words, "2", "--most", "3"]) == 2 and "made with" in capsys.readouterr().err


def test_photographs_have_all_their_captions(few, tmp_path):
    colours = torch.randint(256, (12, 3), generator=torch.Generator().manual_seed(1))
    for number, colour in enumerate(colours):
        image = colour.to(torch.uint8)[:, None, None].expand(3, 20, 20)
        (tmp_path / f"{number}.png").write_bytes(encode_png(image.contiguous()))
    for split, numbers in (("train", range(6)), ("validation", range(6, 8)), ("test", range(8, 12))):
        lines = [f"{number}.png\t{word} number {number % 6}\n" for number in numbers for word in ("the", "a")]
        (tmp_path / f"{split}.tsv").write_text("".join(lines))
    task = study.prepared(Options(data=str(tmp_path)))
    row = study.measured(task, 1, Budget(2, 1.0), CPU)
    assert row["images"] == 4 and len(row["shown"]) == 3 and "pointing" not in row
    sentences, images = row["recall"][IMAGES], row["recall"][SENTENCES]
    assert (sentences["rows"], sentences["candidates"], images["rows"], images["candidates"]) == (8, 4, 4, 8)
    assert sentences["chance"] == [0.25, 1.0, 1.0]
    assert images["chance"] == pytest.approx([2 / 8, 1 - 3 / 28, 1.0])


@every(
    ("options", "words"),
    [
        ({"most": 9}, "--most: expected"),
        ({"least": 4, "most": 3}, "--least: expected"),
        ({"least": 0}, "--least: "),
        ({"data": "photos", "least": 1}, "--least, --most: expected none without --data scenes"),
        ({"data": "photos", "quick": True}, "--quick: expected no --data but scenes beside it, got photos"),
    ],
)
def test_options_without_meaning_are_rejected(options, words):
    with pytest.raises(ArgumentError, match=words):
        study.prepared(Options(**options))


def test_batches_are_those_of_the_seed(few):
    task = study.prepared(Options())
    weights = [study.trained(task, seed, Budget(2, 1.0), CPU)[0].embedding.weight for seed in (1, 1, 2)]
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])
