import json

import pytest
import torch

from saccade import runs
from saccade._system.files import write_json
from saccade.cli import main
from saccade.errors import ArgumentError, SaccadeError
from saccade.tasks.memorize import MEMORIZE, answer, problem
from saccade.tasks.memorize.problems import PROBLEMS, Copy
from saccade.tasks.memorize.symbols import Symbols
from saccade.tasks.memorize.task import Sequences
from tiers import every, rest_slow

SMALL = {"hidden_dim": 8, "cells": 6, "cell_dim": 4, "max_steps": 2, "batch_size": 3, "warmup_steps": 2, "threads": 1}
STORY = "1 Mary moved to the {0}.\n2 John went to the hall.\n3 Where is Mary?\t{0}\t1\n4 Where is John?\thall\t2\n"
PAIRS = [(f"{a} {b}", f"{b} {a}") for a in "abcde" for b in "fghij"]


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(problem, "HELD_OUT", 10)


def prepared(data="copy", model="ntm", **more):
    return MEMORIZE.prepare(runs.options(MEMORIZE, data, model, {**SMALL, "longest": None, **more}))


def copier(folder, model="ntm", **more):
    words = {**(SMALL if model == "ntm" else {"hidden_dim": 8, "max_steps": 2}), "longest": 3, **more}
    return runs.train("memorize", data="copy", model=model, run=folder / "run", device="cpu", **words)


@pytest.fixture
def stories(tmp_path):
    folder = tmp_path / "babi"
    folder.mkdir()
    rooms = ["kitchen", "garden", "office", "bathroom"]
    for split, count in (("train", 40), ("test", 8)):
        content = "".join(STORY.format(rooms[n % 4] + "s" * (n // 4 % 3)) for n in range(count))
        (folder / f"qa1_single_{split}.txt").write_text(content)
    return folder


def test_the_loss_is_what_a_sequence_costs():
    task = prepared(longest=3)
    model, batch = task.build().eval(), task.batch(2)
    logits, total = model(batch.source), 0.0
    for row in range(3):
        own = batch.asked[row]
        total += torch.nn.functional.binary_cross_entropy_with_logits(
            logits[row, own], batch.targets[row, own], reduction="sum"
        )
    torch.testing.assert_close(task.loss(model, batch).total, total / 3)
    assert task.loss(model, batch).count == int(batch.source.lengths.sum())


def test_batches_are_of_like_length():
    task = prepared(longest=6)
    spans = [task.batch(step).source.lengths for step in range(16)]
    assert all(len(span) == 3 for span in spans) and sum(int(span.max() - span.min()) for span in spans) < 16


def test_bit_errors_are_grouped_by_length_and_batches_of_memories_fit_the_room(monkeypatch):
    task = prepared(model="dnc", longest=3)
    model, sizes = task.build().eval(), []
    found = task.evaluate(model, "test")
    assert list(found.groups["bit_error"]) == ["1-3", "3", "6", "12", "18"]
    assert found.metrics.keys() == {"exact_match", "accuracy", "bit_error", "bits"} and found.examples == 10
    model.register_forward_hook(lambda module, given, logits: sizes.append(len(logits)))
    monkeypatch.setattr(answer, "_BYTES", 3 * model.nbytes(model.cells))
    assert task.evaluate(model, "test").metrics == pytest.approx(found.metrics)
    assert max(sizes) <= 3 and sum(sizes) == 10
    assert model.nbytes(2000) > 3 * 4 * 2000**2 > 100 * prepared(longest=3).build().nbytes(2000)


def test_stories_are_learned_measured_by_task_and_asked(stories, tmp_path, capsys):
    suited = MEMORIZE.suited("dnc", {"data": str(stories)})
    assert suited.options["sentences"] and suited.options["cells"] == 32 and "a sentence a step" in suited.reason
    assert "sentences" not in MEMORIZE.suited("dnc", {"data": "pairs.tsv"}).options
    run = runs.train("memorize", data=stories, model="dnc", run=tmp_path / "run", device="cpu", **SMALL)
    assert run.task.batch(0).source.values.ndim == 3 and set(run.results["groups"]["accuracy"]) == {"qa1"}
    assert "held out from training" in capsys.readouterr().err
    [one] = run.predict(["Mary moved to the kitchen. Where is Mary?"])
    assert str(one) in run.task.codec.language.outputs
    [two] = run.predict(["Where is Mary? Where is John?"], nbest=2)
    assert [len(line.split()) for line in two.lines()] == [2, 2]
    told = json.loads(json.dumps(two.to_json()))
    assert told["outputs"] == two.lines() and told["input"].startswith("Where")
    paths = run.draw("Mary moved to the kitchen. Where is Mary?", tmp_path / "pictures", json=True)
    assert "links" in json.loads(paths[-1].read_text(encoding="utf-8"))


@pytest.mark.parametrize("model", rest_slow(["ntm", "dnc", "lstm", "past-attention", "transformer"]))
def test_an_answer_tells_where_attention_went(model, tmp_path):
    more = SMALL if model in ("ntm", "dnc") else {"max_steps": 2}
    run = runs.train("memorize", data=PAIRS, model=model, run=tmp_path / "run", device="cpu", **more)
    run.model.output.bias.data[0] = 2.0  # so that it falls silent before it must
    [told] = run.align("a f c")
    said = told["outputs"][0].split()
    assert told["steps"] == ["a", "f", "c", *(f"→ {symbol}" for symbol in said), "→"] and len(said) < 4
    names = {
        "ntm": {"read", "write"},
        "dnc": {"read 1", "read 2", "write", "usage", "links"},
        "lstm": {"output gate"},
        "past-attention": {"past states"},
        "transformer": {"layer 1", "layer 2"},
    }
    assert told["memory"].keys() == names[model]
    steps = len(told["steps"])
    assert {len(row) for name, rows in told["memory"].items() if name != "links" for row in rows} == {steps}
    if model == "past-attention":
        columns = zip(*told["memory"]["past states"], strict=True)
        assert [sum(column) for column in columns] == pytest.approx([0, *[1] * (steps - 1)], abs=1e-4)
    paths = run.draw("a f c", tmp_path / "pictures", json=True)
    assert json.loads(paths[-1].read_text(encoding="utf-8"))["columns"] == told["steps"]
    assert run.align("")[0] == {"input": "", "outputs": [], "steps": [], "memory": {}}


def test_a_memory_has_more_cells_where_it_is_asked_to(tmp_path, capsys):
    run = copier(tmp_path)
    line = " ".join(["10010110"] * 7)
    capsys.readouterr()
    before = run.predict([line])[0].lines()
    assert "7 vectors, and the memory has 6 cells; --cells 7 makes room" in capsys.readouterr().err
    after = run.predict([line], cells=50)[0].lines()
    assert "makes room" not in capsys.readouterr().err and len(before[0].split()) == len(after[0].split()) == 7
    assert run.model.cells == 6 and run.evaluate("test", cells=9).examples == 10
    run.predict(["10010110 11111111"], cells=1)
    assert "2 vectors, and the memory has 1 cell; --cells 2 makes room" in capsys.readouterr().err
    for line in ("1001", "a b c", "10010110:3", "\x00"):
        assert main(["predict", str(tmp_path / "run"), line]) == 2
        assert capsys.readouterr().err.startswith("error: line 1: expected words of 8 bits")


@every(
    ("more", "message"),
    [
        ({"cells": 2}, "--cells: expected at least 3, one for each vector of --longest, got 2"),
        ({"least_cells": 2}, "--least-cells: expected at least 3, one for each vector of --longest, got 2"),
        ({"longest": 0}, "--longest: expected a number from 1 to 1666, got 0"),
        ({"batch_size": 0}, "--batch-size: expected a number from 1"),
        ({"data": "copie", "longest": None}, "no data set copie, .*; did you mean copy?"),
        ({"test_split": "a"}, "--test-split: expected none for copy"),
    ],
)
def test_useless_options_are_refused_before_training(more, message):
    with pytest.raises(SaccadeError, match=message):
        prepared(**{"longest": 3, **more})


def test_cells_are_for_memories(tmp_path):
    run = copier(tmp_path, "lstm")
    with pytest.raises(SaccadeError, match="--cells: expected only of a model with an external memory"):
        run.predict(["10010110"], cells=9)
    for cells in (0, -1, 1 << 30):
        with pytest.raises(SaccadeError, match="--cells: expected a number from 1 to"):
            run.request("predict", {"cells": cells})


LANGUAGES = [
    *(problem() for problem in PROBLEMS.values()),
    Copy(2000),  # too long to measure something longer, but not to answer
    Symbols(("a", "b"), ("b", "c"), story=False, longest=2),
    Symbols(("a", "b"), ("b",), story=True, longest=1, width=3),
]


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: getattr(language, "name", "symbols"))
def test_a_language_is_read_back_from_a_run(language, tmp_path):
    Sequences(language).save(tmp_path)
    again = Sequences.restore(tmp_path, None).language
    assert again.to_json() == language.to_json() and again.sizes == language.sizes
    assert again.most_held == language.most_held


@pytest.mark.parametrize(
    "content",
    [
        {"problem": "copie", "longest": 3},
        {"problem": "copy", "longest": 0},
        {"problem": ["copy"], "longest": 3},
        *(
            {**LANGUAGES[-1].to_json(), name: value}
            for name, value in (("inputs", [1]), ("story", 1), ("longest", True))
        ),
        {},
        [],
    ],
)
def test_a_file_that_says_something_else_is_refused_by_name(content, tmp_path):
    write_json(tmp_path / "tokenizer.json", content)
    with pytest.raises(ArgumentError, match=r"tokenizer.json: expected how questions are read of this run"):
        Sequences.restore(tmp_path, None)
