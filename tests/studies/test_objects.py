import json

import numpy as np
import pytest
import torch

from saccade.cli import main
from saccade.errors import ArgumentError
from saccade.tasks.caption import CAPTION, codec
from saccade.tasks.caption.data import scenes
from saccade.tasks.image.scenes.grammar import references
from saccade.train.task import options_class
from studies import objects as study
from studies.frame.seeds import pack, unpack
from studies.frame.study import make
from studies.objects import ATTENTION, EXACT, FIXED, NAMED, STUDY, Findings, Options
from study_rows import complete, drawn, stored
from tiers import every

IMAGES = 120  # of each number of things
FIRST, SECOND = FIXED


def made_up(shares, seeds=3):
    """A report of models that name each thing with some probability, by the number of things; a row a seed."""
    things = [1 + place % 4 for place in range(4 * IMAGES)]

    def columns(name, share, numbers):
        named = [int((torch.rand(count, generator=numbers) < share(count)).sum()) for count in things]
        right = [one == count for one, count in zip(named, things, strict=True)]
        packed = {"things": pack(things, "counts"), "named": pack(named, "counts"), "right": pack(right, "bits")}
        return {"images": len(things), "exact_match": sum(right) / len(right), **packed}

    return drawn("scenes", dict(zip((ATTENTION, *FIXED), shares, strict=True)), columns, seeds)


def holds(**changed):
    """A report whose claim holds."""
    return made_up([lambda count: 0.95, lambda count: 1 - 0.15 * count, lambda count: 1 - 0.1 * count], **changed)


def claims(findings):
    return {text: verdict for text, _, verdict in findings.fields()["claims"][1:]}


def test_scores_and_slopes_are_those_of_the_images():
    findings = Findings(holds())
    assert findings.groups == [1, 2, 3, 4] and findings.images[2] == IMAGES
    assert findings.slope(NAMED, ATTENTION, FIRST).value == pytest.approx(0.15, abs=0.02)
    assert findings.group(FIRST, EXACT, 3).mean() == pytest.approx(0.55**3, abs=0.04)
    findings = Findings(holds(seeds=1))
    right = np.array(unpack(findings.rows[SECOND][0]["right"], "bits", 4 * IMAGES), dtype=float)
    slope = findings.slope(EXACT, SECOND)
    assert slope.value == pytest.approx(np.polyfit(findings.things, right, 1)[0])
    assert [source.freedom > 0 for source in slope.sources] == [False, True] and slope.sources[1].error > 0


def test_beside_a_model_that_learned_nothing_nothing_is_concluded():
    """It names more of many things than of one by chance, so that attention gains less with each."""
    findings = Findings(made_up([lambda count: 0.95, lambda count: 0.03 * count, lambda count: 1 - 0.1 * count]))
    verdicts = claims(findings)
    assert [verdict for text, verdict in verdicts.items() if FIRST in text] == ["nothing learned"] * 3
    assert [verdict for text, verdict in verdicts.items() if SECOND in text] == ["reproduced"] * 3
    assert findings.verdict.result == "not decided"
    assert f"nothing is concluded beside {FIRST}: " in findings.verdict.reason
    verdict = Findings(made_up([lambda count: 0.95] + 2 * [lambda count: 0.03 * count])).verdict
    assert verdict.result == "not decided" and f"beside {FIRST} and {SECOND}: " in verdict.reason


@every(
    ("content", "result"),
    [
        (holds(), "reproduced"),
        (holds(seeds=1), "not decided"),
        (made_up([lambda count: 1 - 0.15 * count] + 2 * [lambda count: 0.9]), "contradicted"),
        (made_up(3 * [lambda count: 0.9 if count < 4 else 0.8]), "not decided"),
        (made_up(3 * [lambda count: 0.0]), "not decided"),
    ],
)
def test_the_numbers_decide(content, result):
    assert Findings(content).verdict.result == result


def test_a_gain_in_sentences_is_not_one_in_things():
    """Sentences of more things are right more rarely, though each thing is as hard."""
    findings = Findings(made_up([lambda count: 0.9, lambda count: 0.6, lambda count: 0.6]))
    assert claims(findings)[f"attention gains more {NAMED} over {FIRST}"] == findings.verdict.result == "not decided"
    assert claims(findings)[f"{FIRST} gets fewer sentences right"] == "reproduced"


def test_the_page_is_complete(tmp_path):
    words = ["1502.03044", "1409.0473", "**reproduced**: with one thing more", "480 images of 1 to 4 things"]
    words += ["6 claims are judged together", f"| things | images | {ATTENTION} | {FIRST} | {SECOND} | attention −"]
    complete(STUDY, holds(), tmp_path, words, "objects-exact-match", "objects-things-named")


SMALL = {"widths": "4,6", "blocks": 1, "cell_dim": 6, "hidden_dim": 8, "embedding_dim": 4, "batch_size": 4}


@pytest.mark.slow
def test_every_model_writes_about_the_same_scenes(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(scenes, "HELD_OUT", 24)
    monkeypatch.setattr("saccade.tasks.caption.task._ENDLESS", 50)
    monkeypatch.setattr("saccade.tasks.image.dataset._SAMPLED", 5)
    monkeypatch.setattr(study, "scheduled", lambda options: {**SMALL, "schedule_steps": 4, "warmup_steps": 1})
    monkeypatch.chdir(tmp_path)
    words = ["report", "objects", "--data", "scenes", "--most", "3", "--max-steps", "2"]
    assert main(words) == 0 and "things named, %" in capsys.readouterr().out
    folder = tmp_path / "reports/objects-scenes"
    rows = stored(folder)["rows"]
    assert [row["model"] for row in rows] == [ATTENTION, *FIXED]
    [things] = {row["things"] for row in rows}
    assert {*unpack(things, "counts")} == {1, 2, 3} and len(things) == 24
    for name in (ATTENTION, *FIXED):
        config = json.loads((folder / f"runs/{name}-1/config.json").read_text())["options"]
        assert {"least": 1, "most": 3, "max_steps": 2, "cell_dim": 6}.items() <= config.items()
    assert main([*words, "--least", "2"]) == 2 and "made with" in capsys.readouterr().err


def test_captions_are_read_by_the_grammar(monkeypatch):
    monkeypatch.setattr(scenes, "HELD_OUT", 20)
    monkeypatch.setattr(codec, "_ENDLESS", 50)
    task = CAPTION.prepare(options_class(CAPTION, ATTENTION)(model=ATTENTION, data="scenes", most=4, **SMALL))
    shown = [task.data.example("test", index).scene for index in range(20)]
    perfect = {index: references(scene)[-1] for index, scene in enumerate(shown)}
    texts = perfect | {0: "no sentence", 2: f"{perfect[2]} a", 1: perfect[1].split(" left of ")[0].split(" above ")[0]}

    class Said:
        def __init__(self, text):
            self.outputs = [type("Output", (), {"text": text})]

    monkeypatch.setattr(type(task), "answer", lambda self, model, images, request: [Said(texts[n]) for n in range(20)])
    row = study.measured(task, torch.nn.Linear(1, 1), 1)
    right, named, things = (
        unpack(row[key], kind) for key, kind in (("right", "bits"), ("named", "counts"), ("things", "counts"))
    )
    assert things == [len(scene.things) for scene in shown] and all(right[3:]) and named[2:] == things[2:]
    assert not right[0] and named[0] == 0 and named[1] >= 1
    assert not right[2]  # all things are named, but not by a sentence
    assert row["exact_match"] == pytest.approx(sum(right) / 20)


@every(
    ("options", "words"),
    [
        ({"data": "flickr8k"}, "--data: expected scenes, whose things are counted, got flickr8k"),
        ({"data": "scenes", "most": 9}, "--most: expected"),
        ({"data": "scenes", "most": 0}, "--"),
        ({"data": "scenes", "least": 4, "most": 3}, "--least: expected"),
        ({"data": "scenes", "least": 2, "most": 2}, "expected several numbers of things to compare, got 2 alone"),
    ],
)
def test_things_that_cannot_be_compared_are_rejected(options, words, tmp_path):
    with pytest.raises(ArgumentError, match=words):
        make(STUDY, Options(**options, output=str(tmp_path / "report")))
    assert not (tmp_path / "report").exists()


def test_quick_has_fewer_things():
    assert Options(quick=True).things == (1, 3) and Options(quick=True, most=5).things == (1, 5)
