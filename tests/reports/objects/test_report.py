import json

import pytest
import torch

from saccade.cli import main
from saccade.errors import ArgumentError
from saccade.reports.difference import unpacked, unpacked_counts
from saccade.reports.objects import report
from saccade.reports.objects.findings import ATTENTION, FIXED
from saccade.reports.objects.report import Objects, Options
from saccade.tasks.caption import Caption, vocabulary
from saccade.tasks.caption.data import scenes
from saccade.tasks.image.scenes.grammar import references
from saccade.train.task import options_class

SMALL = {"widths": "4,6", "blocks": 1, "cell_dim": 6, "hidden_dim": 8, "embedding_dim": 4, "batch_size": 4}


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Models of next to nothing, on few scenes."""
    monkeypatch.setattr(scenes, "HELD_OUT", 24)
    monkeypatch.setattr("saccade.tasks.caption.task._ENDLESS", 50)
    monkeypatch.setattr(report, "_SMALL", SMALL)
    monkeypatch.setattr(report, "scheduled", lambda options: {**SMALL, "schedule_steps": 4, "warmup_steps": 1})
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
def test_models_are_trained_measured_and_written_about(small, tmp_path, capsys):
    words = ["report", "objects", "--data", "scenes", "--most", "3", "--max-steps", "2"]
    assert main(words) == 0
    folder = tmp_path / "reports/objects-scenes"
    content = json.loads((folder / "report.json").read_text())
    assert [row["model"] for row in content["rows"]] == [ATTENTION, *FIXED]
    [things] = {row["things"] for row in content["rows"]}
    assert set(unpacked_counts(things)) == {1, 2, 3} and len(things) == 24
    for name in (ATTENTION, *FIXED):
        config = json.loads((folder / f"runs/{name}-1/config.json").read_text())["options"]
        assert {"least": 1, "most": 3, "max_steps": 2, "cell_dim": 6}.items() <= config.items()
    assert "exact match on test" in capsys.readouterr().out
    for name in ("index.md", "index.html", "objects-exact-match.png", "objects-things-named.svg"):
        assert (folder / name).stat().st_size > 500
    before = (folder / "report.json").read_bytes()
    assert main(words) == 0 and (folder / "report.json").read_bytes() == before  # complete: nothing is done
    assert main([*words, "--least", "2"]) == 2 and "made with" in capsys.readouterr().err


def test_what_is_named_and_what_is_right_is_read_by_grammar(monkeypatch):
    monkeypatch.setattr(scenes, "HELD_OUT", 20)
    monkeypatch.setattr(vocabulary, "_ENDLESS", 50, raising=False)
    task = Caption.prepare(options_class(Caption, ATTENTION)(model=ATTENTION, data="scenes", most=4, **SMALL))
    shown = [task.data.example("test", index).scene for index in range(20)]
    perfect = {index: references(scene)[-1] for index, scene in enumerate(shown)}
    texts = perfect | {0: "no sentence", 2: f"{perfect[2]} a", 1: perfect[1].split(" left of ")[0].split(" above ")[0]}

    class Said:
        def __init__(self, text):
            self.outputs = [type("Output", (), {"text": text})]

    monkeypatch.setattr(Caption, "answer", lambda self, model, images, request: [Said(texts[n]) for n in range(20)])
    row = report._measured(task, torch.nn.Linear(1, 1), 1)
    right, named, things = unpacked(row["right"], 20), unpacked_counts(row["named"]), unpacked_counts(row["things"])
    assert things == [len(scene.things) for scene in shown] and all(right[3:]) and named[2:] == things[2:]
    assert not right[0] and named[0] == 0 and named[1] >= 1
    assert not right[2]  # no sentence, in which all things are named
    assert row["exact_match"] == pytest.approx(sum(right) / 20)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"data": "flickr8k"}, "--data: expected scenes, whose things are counted, got flickr8k"),
        ({"data": "scenes", "most": 9}, "--most: expected"),
        ({"data": "scenes", "least": 4, "most": 3}, "--least: expected"),
        ({"data": "scenes", "least": 2, "most": 2}, "expected several numbers of things to compare, got 2 alone"),
    ],
)
def test_things_that_cannot_be_compared_are_refused(options, said, tmp_path):
    with pytest.raises(ArgumentError, match=said):
        Objects.make(Options(**options, output=str(tmp_path / "report")))
    assert not (tmp_path / "report").exists()


def test_every_model_has_the_options_that_it_is_given():
    for options in (Options(data="scenes", max_steps=10), Options(quick=True, data="scenes")):
        for one in report._variants(options):
            assert set(one.values) <= set(options_class(Caption, one.model).__dataclass_fields__), one.name
    assert Options(quick=True).things == (1, 3) and Options(quick=True, most=5).things == (1, 5)
