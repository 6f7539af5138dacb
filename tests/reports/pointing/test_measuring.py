"""Measuring, of a model made by hand that looks at one thing and answers by it alone."""

import statistics

import pytest
import torch
from torch import nn

from saccade.models.answerer import Reads
from saccade.models.image_encoder import Cells
from saccade.reports.difference import unpacked, unpacked_counts, unpacked_shares
from saccade.reports.pointing.maps import covered
from saccade.reports.pointing.measuring import ANY, GRADIENT, OTHERS, RANDOM, THINGS, WEIGHTS, measured
from saccade.tasks.answer import AnswerQuestions
from saccade.tasks.answer.data import Asked, Posed, scenes
from saccade.tasks.image.pointing import pointed
from saccade.tasks.image.scenes.scene import Box
from saccade.train.results import measure
from saccade.train.task import options_class

SIDE, CELL = 96, (2, 5)  # of 8 x 8 cells
SMALL = {"widths": "4,6", "stem_stride": 6, "cell_dim": 6, "hidden_dim": 6, "batch_size": 4}


@pytest.fixture
def task(monkeypatch):
    monkeypatch.setattr(scenes, "HELD_OUT", 30)
    kind = options_class(AnswerQuestions, "show-ask-attend-and-answer")
    return AnswerQuestions.prepare(kind(model="show-ask-attend-and-answer", data="scenes", **SMALL))


class Looks(nn.Module):
    """Says "yes" if one cell is bright, and attends to that cell, or to another."""

    attends = True

    def __init__(self, task, at):
        super().__init__()
        self.bright, self.at = nn.Parameter(torch.tensor(8.0)), at
        self.yes, self.no = (task.output.numbers[answer] for answer in ("yes", "no"))
        self.count = len(task.vocabulary.output.labels)

    def encoder(self, visual):
        return Cells(visual.values.new_zeros(len(visual.values), 64, 1), None, (8, 8))

    def answers(self, visual, question, draws, reads: Reads):
        weights = torch.zeros(len(visual.values), 1, 8, 8)
        weights[:, :, self.at[0], self.at[1]] = 1.0
        reads.weights.append(weights.flatten(2))
        return self(visual, question)[:, None]

    def forward(self, visual, question):
        row, column = CELL
        cell = visual.values[:, :, 12 * row : 12 * row + 12, 12 * column : 12 * column + 12].mean((1, 2, 3))
        logits = torch.full((len(cell), self.count), -9.0)
        logits[:, self.yes], logits[:, self.no] = self.bright * cell, self.bright * (0.5 - cell)
        return logits


@pytest.fixture
def one_thing(task, monkeypatch):
    """Questions whose answer is "yes" since something bright lies in a cell."""
    image = torch.randint(0, 20, (3, SIDE, SIDE), dtype=torch.uint8)
    row, column = CELL
    box = Box(12 * column, 12 * row, 12 * column + 12, 12 * row + 12)
    image[:, box.top : box.bottom, box.left : box.right] = 250
    others = Box(2, 2, 11, 11), Box(86, 26, 95, 35)  # smaller than the thing that is asked for
    asked = Asked(image, Posed("is there a red circle ?", ("yes",), "existence"), "a", (box,), others)
    monkeypatch.setattr(type(task.data), "example", lambda self, split, index: asked)
    return task


def test_erasing_the_attended_thing_loses_the_answer(one_thing):
    row = measured(one_thing, Looks(one_thing, CELL), 1, 20)
    assert (row["chance"], row["blind"]) == (0.5, 0.53)
    assert row["accuracy"] == 1.0 and row["questions"] == 30 and row["examples"] <= 20
    count = row["examples"]
    for by in (WEIGHTS, GRADIENT, THINGS, ANY):
        found = row["erased"][by]
        assert all(unpacked(found["hits"], count)) and not any(unpacked(found["elsewhere"], count))
        assert [sum(unpacked_counts(right)) for right in found["right"]] == [0] * 4
        assert all(max(unpacked_shares(change)) < -0.5 for change in found["change"])
    assert set(unpacked_shares(row["erased"][WEIGHTS]["inside"])) == {1.0}
    kept = [sum(unpacked_counts(right)) / (5 * count) for right in row["erased"][RANDOM]["right"]]
    expected = [1 - erased / 64 for erased in row["counts"]]  # the cell is hit so often
    assert kept == pytest.approx(expected, abs=0.1) and kept[0] >= kept[-1]
    others = row["erased"][OTHERS]
    assert all(unpacked(others["elsewhere"], count)) and not any(unpacked(others["hits"], count))
    assert [sum(unpacked_counts(right)) for right in others["right"][:2]] == [count] * 2
    assert set(unpacked_shares(others["change"][1])) == {0.0}
    assert unpacked_shares(row["anything"]) == pytest.approx([1 / 3] * count, abs=1e-3)
    assert unpacked_shares(row["anywhere"]) == pytest.approx([1 / 64] * count, abs=1e-3)


def test_a_model_that_looks_elsewhere_is_found_out(one_thing):
    row = measured(one_thing, Looks(one_thing, (7, 0)), 1, 20)
    weights, things = row["erased"][WEIGHTS], row["erased"][THINGS]
    assert not any(unpacked(weights["hits"], row["examples"]))
    assert sum(unpacked_counts(weights["right"][0])) == row["examples"] and not sum(unpacked_counts(things["right"][0]))
    assert set(unpacked_shares(weights["change"][0])) == {0.0}


def test_random_looks_point_as_often_as_chance():
    data, hits, shares = scenes.Scenes(), [], []
    for index in range(300):
        one = data.example("test", index)
        if one.boxes and one.others:
            looks = covered(one.boxes + one.others, (8, 8), (SIDE, SIDE))
            hits.append(pointed(looks, one.boxes, (SIDE, SIDE)).hit)
            shares.append(len(one.boxes) / len(one.boxes + one.others))
    assert len(hits) > 200 and statistics.fmean(hits) == pytest.approx(statistics.fmean(shares), abs=0.07)


@pytest.mark.slow
def test_accuracy_and_pointing_are_the_runs_own(task):
    torch.manual_seed(0)
    model = task.build()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    row = measured(task, model, 1, 1000)
    own = measure(task, model, "test", 1).metrics
    assert row["accuracy"] == pytest.approx(own["accuracy"])
    assert list(row["erased"]) == [RANDOM, WEIGHTS, GRADIENT, THINGS, OTHERS, ANY] and row["cells"] == [8, 8]
    found = [task.data.example("test", index) for index in range(30)]
    assert row["examples"] == sum(bool(one.boxes) and bool(one.others) for one in found)
    assert 0 < row["examples"] < row["questions"] == 30
    assert measured(task, model, 1, 1000) == row
    assert model.training and all(torch.equal(before[name], value) for name, value in model.state_dict().items())
