import json
import math
import statistics

import pytest
import torch
from torch import nn

from saccade.cli import main
from saccade.models.answerer import Reads
from saccade.models.image_encoder import Cells, ImageEncoder, Visual
from saccade.models.padded import Padded
from saccade.models.show_ask_attend_and_answer import Options as AttendingOptions
from saccade.models.show_ask_attend_and_answer import ShowAskAttendAndAnswer
from saccade.tasks.answer import ANSWER, codec
from saccade.tasks.answer.codec import Batch
from saccade.tasks.answer.data import Asked, Posed, scenes
from saccade.tasks.image.influence import cells_of
from saccade.tasks.image.pointing import pointed
from saccade.tasks.image.scenes.scene import Box
from saccade.train.results import measure
from saccade.train.task import options_class
from studies import pointing as study
from studies.frame.claims import judged
from studies.frame.seeds import pack, unpack
from studies.frame.training import Variant
from studies.pointing import (
    ANY,
    COUNTS,
    DRAWS,
    GRADIENT,
    OTHERS,
    RANDOM,
    STUDY,
    THINGS,
    VARIANTS,
    WEIGHTS,
    Findings,
    Options,
    answered,
    covered,
    ground,
    heaviest_first,
    maps,
    measured,
)
from study_rows import complete, drawn, stored
from tiers import every

EXAMPLES, QUESTIONS, GUESS, BLIND = 400, 600, 0.35, 0.55
ATTENDS = {"soft": True, "reinforce": True, "fixed vector": False}
LOST = {GRADIENT: 0.3, THINGS: 0.6, OTHERS: 0.05, ANY: 0.2}


def made_up(accuracy=0.8, hits=0.7, taken=0.4, seeds=3):
    """report.json of models that are right, point and lose with some probability.

    Args:
        accuracy: of all models, or of each by its name.
        hits: how often the heaviest cell lies on a thing; any cell does in 0.1, any thing in 0.3.
        taken: of the first answer's probability, by erasing heavy cells; 0.1 is by erasing any cells, 0.2 any things.
    """

    def columns(name, attends, numbers):
        def times(count, chance, draws=1):
            return (torch.rand(count, draws, generator=numbers) < chance).sum(1).tolist()

        def order(lost, draws=1):
            change = [(-lost + 0.02 * torch.randn(EXAMPLES, generator=numbers)).tolist() for _ in COUNTS]
            right = [pack(times(EXAMPLES, 0.9 - lost, draws), "counts") for _ in COUNTS]
            return {"right": right, "change": [pack(shares, "shares") for shares in change]}

        erased = {RANDOM: order(0.1, DRAWS)}
        for by, lost in {**({WEIGHTS: taken} if attends else {}), **LOST}.items():
            on = {"hits": pack(times(EXAMPLES, hits), "bits"), "inside": pack([0.5] * EXAMPLES, "shares")}
            erased[by] = {**order(lost), **on, "elsewhere": pack(times(EXAMPLES, 0.2), "bits")}
        right = times(QUESTIONS, accuracy[name] if isinstance(accuracy, dict) else accuracy)
        row = {"questions": QUESTIONS, "accuracy": sum(right) / QUESTIONS, "chance": GUESS, "blind": BLIND}
        row |= {"right": pack(right, "bits"), "examples": EXAMPLES, "cells": [4, 5], "counts": [*COUNTS]}
        row |= {"draws": DRAWS, "first": 0.7, "before": pack(times(EXAMPLES, 0.9), "bits")}
        row |= {"anywhere": pack([0.1] * EXAMPLES, "shares"), "anything": pack([0.3] * EXAMPLES, "shares")}
        return {**row, "erased": erased}

    return drawn("scenes", ATTENDS, columns, seeds)


def test_losses_are_beside_chance():
    result = Findings(made_up())
    assert result.pointing("soft", WEIGHTS).value == pytest.approx(0.4, abs=0.05)
    assert result.pointing("soft", WEIGHTS, "anywhere").value == pytest.approx(0.6, abs=0.05)
    assert result.lost("soft", WEIGHTS, "change", beside=ANY).value == pytest.approx(0.2, abs=0.005)
    assert result.lost("soft", OTHERS, "change", beside=ANY).value == pytest.approx(-0.15, abs=0.005)
    for key, error in (("change", 0.005), ("right", 0.05)):
        assert result.lost("soft", WEIGHTS, key).value == pytest.approx(0.3, abs=error)
        places = [result.lost("soft", WEIGHTS, key, place).value for place in range(4)]
        assert result.lost("soft", WEIGHTS, key).value == pytest.approx(sum(places) / 4)
        assert result.lost("soft", RANDOM, key).value == 0
    assert result.above_guess("soft").value == pytest.approx(0.25, abs=0.05)


def test_variance_over_seeds_is_of_differences():
    result = Findings(made_up())
    changes = []
    for row in result.rows["soft"]:
        things, weights = (
            statistics.fmean(share for shares in row["erased"][by]["change"] for share in unpack(shares, "shares"))
            for by in (ANY, WEIGHTS)
        )
        changes.append(things - weights)
    expected = math.sqrt(statistics.variance(changes) / 3)
    assert result.lost("soft", WEIGHTS, "change", beside=ANY).sources[0].error == pytest.approx(expected)


def test_looking_anywhere_reproduces_nothing():
    result = Findings(made_up(hits=0.3, taken=0.2))  # both far above cells at random
    assert result.verdict.result == "not decided"
    assert judged([result.pointing("soft", WEIGHTS, "anywhere")]) == ["reproduced"]
    assert judged([result.lost("soft", WEIGHTS, "change")]) == ["reproduced"]


@every(
    ("changed", "result"),
    [
        ({}, "reproduced"),
        ({"hits": 0.02}, "contradicted"),
        ({"taken": 0.05}, "contradicted"),
        ({"taken": 0.2}, "not decided"),
        ({"seeds": 1}, "not decided"),
        ({"accuracy": 0.35}, "not decided"),
        ({"accuracy": 0.55}, "not decided"),  # above a guess of the answers, but not of the image alone
    ],
)
def test_the_numbers_decide(changed, result):
    verdict = Findings(made_up(**changed)).verdict
    assert verdict.result == result and ("one seed says nothing" in verdict.reason) is ("seeds" in changed)


def test_a_model_that_learned_nothing_is_left_out_and_named():
    result = Findings(made_up({"soft": 0.8, "reinforce": 0.35, "fixed vector": 0.8}))
    assert result.verdict.result == "reproduced"
    assert result.verdict.reason.endswith("; left out, since not shown to be beyond the best guess: reinforce")
    claims = result.fields()["claims"][1:]
    assert [row[-1] for row in claims] == ["reproduced"] * 2 + ["not shown to have learned"] * 2
    others = Findings(made_up({"soft": 0.35, "reinforce": 0.35, "fixed vector": 0.8}))
    assert others.verdict.result == "not decided"  # the fixed vector does not attend


def test_tables_have_every_model_and_order():
    fields = Findings(made_up()).fields()
    assert [row[0] for row in fields["models"][1:]] == ["soft", "reinforce", "fixed vector"]
    assert len(fields["pointed"]) == 1 + 2 + 2 + 1 and len(fields["erased"]) == 1 + 4 * (6 + 6 + 5)
    first = fields["erased"][1]
    assert first[:2] == ["soft, by its weights", "1"] and first[3].startswith("+")
    assert float(first[4].split()[0]) == pytest.approx(30, abs=0.5)  # of 70 before


def test_the_page_is_complete(tmp_path):
    words = ["1902.10186", "1908.04626", "1906.03731", "**reproduced**", "of 4 × 5", "5 orders", "The 4 claims"]
    words += ["same image's ground", "| soft, by any things | 8 |", "Before anything is erased: soft "]
    complete(STUDY, made_up(), tmp_path, words, "pointing")


ROWS, COLUMNS, SIDE, CELL = 3, 5, 4, 7  # cells, pixels of a cell's side, and the cell that the answer depends on


def lit(*cells):
    """Images with a noisy dark ground whose cells are bright at their middles."""
    image = 0.1 * torch.rand(1, 3, ROWS * SIDE, COLUMNS * SIDE, generator=torch.Generator().manual_seed(3))
    for row, column in (divmod(cell, COLUMNS) for cell in cells):
        image[..., SIDE * row + 1 : SIDE * row + 3, SIDE * column + 1 : SIDE * column + 3] = 1.0
    return image


def random_numbers():
    return torch.Generator().manual_seed(5)


def sees(visual, question):
    """A model that gives the second answer if the cell is bright."""
    row, column = divmod(CELL, COLUMNS)
    cell = visual.values[:, :, SIDE * row : SIDE * (row + 1), SIDE * column : SIDE * (column + 1)]
    bright = cell.amax((1, 2, 3))
    return torch.stack([1 - bright, bright], -1).log()


def test_answers_change_at_the_count_that_reaches_the_cell(monkeypatch):
    monkeypatch.setattr(study, "COUNTS", (0, 1, 2, 3, 4, 15))
    others = [cell for cell in range(ROWS * COLUMNS) if cell != CELL]
    batch = Batch(Visual(lit(CELL, 2, 11)), None, None)
    for place in (0, 3):
        order = torch.tensor([[*others[:place], CELL, *others[place:]]])
        shares = answered(sees, batch, ground(batch.visual.values, 0.1, random_numbers()), order, (ROWS, COLUMNS))
        changed = [count > place for count in (0, 1, 2, 3, 4, 15)]
        assert [share.argmax().item() == 0 for share in shares] == changed
        assert all(share[0, 1] < 0.11 for share in shares[place + 1 :]) and shares[place][0, 1] == 1


def test_cells_that_do_not_divide_the_image_cover_all_of_it_once(monkeypatch):
    monkeypatch.setattr(study, "COUNTS", (1,))
    seen = []
    batch = Batch(Visual(torch.ones(6, 1, 7, 11)), None, None)

    def model(visual, question):
        seen.append(visual.values)
        return torch.zeros(6, 2)

    orders = torch.stack([torch.arange(6).roll(-cell) for cell in range(6)])
    answered(model, batch, torch.zeros(6, 1, 7, 11), orders, (2, 3))
    assert torch.equal((1 - seen[0]).sum(0), torch.ones(1, 7, 11))


def test_ground_pixels_follow_the_images_own_noise():
    noise = torch.randint(0, 4, (2, 3, 60, 80), generator=random_numbers()) / 255
    noise[1] += 8 / 255
    images = noise.clone()
    images[:, 1, 20:40, 30:50] = 0.9  # one channel is bright: these are no ground
    made = ground(images, 31 / 255, random_numbers())
    for image, own in zip(images, made, strict=True):
        kept, count = (pixels.flatten(1).T.unique(dim=0, return_counts=True) for pixels in (image[:, :20], own))
        assert torch.equal(kept[0], count[0]) and len(kept[0]) == 64  # whole pixels, not channels by themselves
        assert float((count[1] / 4800 - 1 / 64).abs().max()) < 0.012


def test_cells_come_by_weight_and_ties_in_order():
    weights, ties = torch.zeros(2, ROWS, COLUMNS), torch.rand(2, ROWS * COLUMNS, generator=random_numbers()).argsort(-1)
    weights[:, 1, 2], weights[:, 0, 1] = 0.75, 0.25
    for order, tied in zip(heaviest_first(weights, ties).tolist(), ties.tolist(), strict=True):
        assert order == [CELL, 1, *(cell for cell in tied if cell not in (CELL, 1))]


def test_boxes_cover_as_many_pixels_as_they_have():
    boxes = [(3, 2, 9, 8), (14, 10, 24, 20)]
    for shape in ((4, 6), (20, 24), (1, 1)):
        shares = covered(boxes, shape, (20, 24))
        assert float(shares.max()) <= 1 and float(shares.mean()) * 20 * 24 == pytest.approx(36 + 100, rel=1e-5)
    assert covered([(0, 0, 6, 4)], (2, 2), (8, 8)).tolist() == [[1.0, 0.5], [0.0, 0.0]]


TINY = {"widths": "4,6", "stem_stride": 4, "cell_dim": 5, "hidden_dim": 6, "classifier_dim": 8}


@pytest.mark.parametrize("read", [{}, {"read": "straight-through"}, {"normalizer": "sparsemax"}])
def test_maps_are_weights_and_gradients_by_cell(read):
    torch.manual_seed(0)
    options = AttendingOptions(**TINY, glimpses=1, **read)
    model = ShowAskAttendAndAnswer(ImageEncoder(3, options), 11, 5, options).eval()
    question, first = Padded(torch.tensor([[4, 5, 6], [6, 8, 0]]), torch.tensor([3, 2])), torch.tensor([1, 3])
    visual = Visual(torch.rand(2, 3, 24, 40, generator=random_numbers()))
    shape, asked = cells_of(model, visual), 2 * [Asked(None, Posed("", ("",), ""), "", (), ())]
    with torch.inference_mode():
        result = maps(model, Batch(visual, question, None), asked, first, shape)
    looked = model.look(visual, question)
    assert result[WEIGHTS].shape == (2, *shape) and shape == looked.shape
    torch.testing.assert_close(result[WEIGHTS].sum((1, 2)), torch.ones(2))
    assert torch.equal(result[WEIGHTS].flatten(1).argmax(1), looked.weights[:, 0].argmax(1))
    assert result[WEIGHTS].count_nonzero() > 2  # also if one cell is read
    pixels = visual.values.clone().requires_grad_()
    model(Visual(pixels), question)[torch.arange(2), first].sum().backward()
    expected = pixels.grad.abs().sum(1).view(2, shape[0], 24 // shape[0], shape[1], 40 // shape[1]).mean((2, 4))
    torch.testing.assert_close(result[GRADIENT], expected)


@pytest.fixture
def task(monkeypatch):
    monkeypatch.setattr(scenes, "HELD_OUT", 30)
    kind = options_class(ANSWER, "show-ask-attend-and-answer")
    small = {"widths": "4,6", "stem_stride": 6, "cell_dim": 6, "hidden_dim": 6, "batch_size": 4}
    return ANSWER.prepare(kind(model="show-ask-attend-and-answer", data="scenes", **small))


class Looks(nn.Module):
    """Answer "yes" if one of 8 × 8 cells is bright, and attend to that cell, or to another."""

    attends = True

    def __init__(self, task, at):
        super().__init__()
        self.bright, self.at = nn.Parameter(torch.tensor(8.0)), at
        self.yes, self.no = (task.codec.output.numbers[answer] for answer in ("yes", "no"))
        self.count = len(task.codec.output.labels)

    def encoder(self, visual):
        return Cells(visual.values.new_zeros(len(visual.values), 64, 1), None, (8, 8))

    def answers(self, visual, question, draws, reads: Reads):
        weights = torch.zeros(len(visual.values), 1, 8, 8)
        weights[:, :, self.at[0], self.at[1]] = 1.0
        reads.weights.append(weights.flatten(2))
        return self(visual, question)[:, None]

    def forward(self, visual, question):
        cell = visual.values[:, :, 24:36, 60:72].mean((1, 2, 3))
        logits = torch.full((len(cell), self.count), -9.0)
        logits[:, self.yes], logits[:, self.no] = self.bright * cell, self.bright * (0.5 - cell)
        return logits


@pytest.fixture
def one_thing(task, monkeypatch):
    """Questions whose answer is "yes" since something bright lies in the cell at row 2 and column 5."""
    image = torch.randint(0, 20, (3, 96, 96), dtype=torch.uint8)
    image[:, 24:36, 60:72] = 250
    others = Box(2, 2, 11, 11), Box(86, 26, 95, 35)  # smaller than the thing of the question
    posed = Posed("is there a red circle ?", ("yes",), "existence")
    asked = Asked(image, posed, "a", (Box(60, 24, 72, 36),), others)
    monkeypatch.setattr(type(task.data), "example", lambda self, split, index: asked)
    return task


def test_erasing_the_attended_thing_loses_the_answer(one_thing):
    row = measured(one_thing, Looks(one_thing, (2, 5)), 1, 20)
    assert (row["chance"], row["blind"], row["accuracy"], row["questions"]) == (0.5, 0.53, 1.0, 30)
    count = row["examples"]
    for by in (WEIGHTS, GRADIENT, THINGS, ANY):
        result = row["erased"][by]
        assert all(unpack(result["hits"], "bits", count)) and not any(unpack(result["elsewhere"], "bits", count))
        assert [sum(unpack(right, "counts")) for right in result["right"]] == [0] * 4
        assert all(max(unpack(change, "shares")) < -0.5 for change in result["change"])
    assert set(unpack(row["erased"][WEIGHTS]["inside"], "shares")) == {1.0}
    kept = [sum(unpack(right, "counts")) / (5 * count) for right in row["erased"][RANDOM]["right"]]
    assert kept == pytest.approx([1 - erased / 64 for erased in row["counts"]], abs=0.1) and kept[0] >= kept[-1]
    others = row["erased"][OTHERS]
    assert all(unpack(others["elsewhere"], "bits", count)) and not any(unpack(others["hits"], "bits", count))
    assert [sum(unpack(right, "counts")) for right in others["right"][:2]] == [count] * 2
    assert set(unpack(others["change"][1], "shares")) == {0.0}
    assert unpack(row["anything"], "shares") == pytest.approx([1 / 3] * count, abs=1e-3)
    assert unpack(row["anywhere"], "shares") == pytest.approx([1 / 64] * count, abs=1e-3)


def test_a_model_that_looks_elsewhere_is_found_out(one_thing):
    row = measured(one_thing, Looks(one_thing, (7, 0)), 1, 20)
    weights, things = row["erased"][WEIGHTS], row["erased"][THINGS]
    assert not any(unpack(weights["hits"], "bits", row["examples"]))
    assert sum(unpack(weights["right"][0], "counts")) == row["examples"]
    assert not sum(unpack(things["right"][0], "counts")) and set(unpack(weights["change"][0], "shares")) == {0.0}


def test_random_looks_point_as_often_as_chance():
    data, hits, shares = scenes.Scenes(), [], []
    for example in (data.example("test", index) for index in range(300)):
        if example.boxes and example.others:
            looks = covered(example.boxes + example.others, (8, 8), (96, 96))
            hits.append(pointed(looks, example.boxes, (96, 96)).hit)
            shares.append(len(example.boxes) / len(example.boxes + example.others))
    assert len(hits) > 200 and statistics.fmean(hits) == pytest.approx(statistics.fmean(shares), abs=0.07)


@pytest.mark.slow
def test_accuracy_is_the_runs_own_and_the_model_stays(task):
    torch.manual_seed(0)
    model = task.build()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    row = measured(task, model, 1, 1000)
    assert row["accuracy"] == pytest.approx(measure(task, model, "test", 1).metrics["accuracy"])
    assert list(row["erased"]) == [RANDOM, WEIGHTS, GRADIENT, THINGS, OTHERS, ANY] and row["cells"] == [8, 8]
    examples = [task.data.example("test", index) for index in range(30)]
    assert 0 < row["examples"] == sum(bool(one.boxes) and bool(one.others) for one in examples) < 30
    assert measured(task, model, 1, 1000) == row
    assert model.training and all(torch.equal(before[name], value) for name, value in model.state_dict().items())


@pytest.mark.slow
def test_every_model_is_trained_and_measured(monkeypatch, tmp_path, capsys):
    small = {"widths": "4,6", "cell_dim": 6, "hidden_dim": 6, "batch_size": 4, "validation_examples": 4}
    monkeypatch.setattr(scenes, "HELD_OUT", 12)
    monkeypatch.setattr(codec, "_ENDLESS", 150)
    monkeypatch.setattr("saccade.tasks.answer.task._ENDLESS", 150)
    monkeypatch.setattr("saccade.tasks.image.dataset._SAMPLED", 5)
    monkeypatch.setattr(study, "VARIANTS", [Variant(one.name, one.model, {**one.values, **small}) for one in VARIANTS])
    monkeypatch.chdir(tmp_path)
    assert main(["report", "pointing", "--data", "scenes", "--max-steps", "2"]) == 0
    folder = tmp_path / "reports/pointing-scenes"
    content = stored(folder)
    names = ["soft", "sparsemax", "reinforce", "word by word", "fixed vector"]
    assert [row["model"] for row in content["rows"]] == names == [run["model"] for run in content["runs"].values()]
    assert [*content["rows"][-1]["erased"]] == ["random", "gradient", "things", "other things", "any things"]
    options = [json.loads((folder / f"runs/{name}-1/config.json").read_text())["options"] for name in names[:3]]
    assert options[1]["normalizer"] == "sparsemax" and options[2]["read"] == "reinforce"
    assert {"schedule_steps": 2, "max_steps": 2, "read": "soft"}.items() <= options[0].items()
    assert "lost beyond random" in capsys.readouterr().out


def test_data_without_known_things_are_rejected(rejects):
    rejects("pointing --data easy_vqa", "--data: expected scenes, whose answers depend on known things, got easy_vqa")


def test_quick_has_time_for_two_smaller_models():
    quick = STUDY.measure.variants(Options(quick=True, data="scenes"))
    assert [variant.name for variant in quick] == ["soft", "fixed vector"] and quick[0].values["widths"] == "24,32"
