"""The job `answer` through the command line and Python: lines, errors, pictures, measures."""

import json

import pytest
import torch

from image_files import plain
from saccade import runs
from saccade.cli import main
from saccade.errors import ArgumentError
from saccade.tasks.answer import vocabulary
from saccade.tasks.answer.answer import VisualAnswer
from saccade.tasks.answer.data import Posed, scenes
from saccade.tasks.answer.measures import Pointing, baselines, measured
from saccade.tasks.answer.options import LookRequest, Options
from saccade.train.task import Unreadable

SMALL = ["--widths", "4,6", "--stem-stride", "4", "--cell-dim", "6", "--hidden-dim", "6"]
LITTLE = [*SMALL, "--device", "cpu", "--max-steps", "2", "--batch-size", "4", "--validation-examples", "8"]


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(scenes, "HELD_OUT", 12)
    monkeypatch.setattr(vocabulary, "_ENDLESS", 150)
    monkeypatch.setattr(vocabulary, "_LOOKED_AT", 5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Photos, lines of questions about them, of which one to test on has an answer that nobody gave in training."""
    place = tmp_path_factory.mktemp("photos")
    for number in range(6):
        (place / f"{number}.png").write_bytes(plain((40 * number, 0, 0), (24, 16)))
    for split, numbers in (("train", (0, 1, 2, 3)), ("validation", (4,)), ("test", (5,))):
        rows = [f"{n}.png\tis it dark?\t{'yes' if n < 2 else 'no'}" for n in numbers]
        rows += [f"{n}.png\twhich is it?\tnumber {n % 2}" for n in numbers]
        rows += ["5.png\twhat is it?\ta wall"] if split == "test" else []
        (place / f"{split}.tsv").write_text("\n".join(rows))
    return place


@pytest.fixture(scope="module")
def run(folder, tmp_path_factory):
    """A run of two steps, not to be changed."""
    place = tmp_path_factory.mktemp("runs") / "run"
    words = ["--data", str(folder), "--model", "ask-attend-and-answer", "--run", str(place)]
    assert main(["train", "answer", *words, *LITTLE]) == 0
    return place


def test_a_batch_has_each_image_once_with_all_that_is_asked_of_it(run):
    task = runs.load(run, device="cpu").task
    batch = task.batch(3)
    names = {task.data.example("train", index).name for index in range(task.data.size("train"))}
    assert len(batch.visual.values) < len(batch.question.lengths) == len(batch.wanted) == len(batch.visual.index)
    assert len(batch.visual.values) <= len(names) and batch.visual.index.max() == len(batch.visual.values) - 1


def test_answers_that_are_unknown_count_as_wrong_and_are_said(run, capsys):
    assert main(["eval", str(run), "--device", "cpu"]) == 0
    told = capsys.readouterr()
    assert "test: 1 of 3 questions have no answer among the run's 4; they count as wrong" in told.err
    assert "accuracy on test" in told.out and "question (the most frequent answer to the question" in told.out
    assert "pointing" not in told.out  # of whose things nobody knows
    results = json.loads((run / "results-test.json").read_text())
    assert results["metrics"]["accuracy"] <= 2 / 3 + 1e-9
    assert set(results["groups"]["accuracy"]) <= {"is", "which", "what", "other"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{0}/0.png", "expected an image, a tab and a question, got no tab"),
        ("{0}/0.png\t ", "line 1: expected a question behind the tab, got none"),
        ("\tis it dark?", "line 1: expected an image before the tab, got none"),
        ("{0}/gone.png\tis it dark?", "gone.png: expected an image, found none"),
        ("{0}/train.tsv\tis it dark?", "train.tsv: expected an image"),
        ("{0}\tis it dark?", "expected an image, got a folder"),
        ("a\0b\tis it dark?", "expected an image"),
    ],
)
def test_a_line_that_cannot_be_asked_is_one_line(run, folder, capsys, line, said):
    assert main(["predict", str(run), line.format(folder), "--device", "cpu"]) == 2
    told = capsys.readouterr()
    assert said in told.err and len(told.err.strip().splitlines()) == 1 and not told.out.strip()


def test_lines_are_answered_in_order_from_the_folder_one_is_in(run, folder, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    (tmp_path / "asked.txt").write_text("0.png\tis it dark?\ngone.png\tis it?\n1.png\tis it dark?\n")
    assert main(["predict", str(run), "--input", str(tmp_path / "asked.txt"), "--device", "cpu", "--nbest", "2"]) == 2
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert len(lines) == 6 and lines[2:4] == ["", ""] and "gone.png" in told.err
    assert main(["predict", str(run), "1.png\tis it dark?", "--device", "cpu"]) == 0
    assert capsys.readouterr().out.splitlines() == [lines[4].partition("\t")[0]] or "\t" in lines[4]


def test_a_long_question_is_cut_and_that_is_said(run, folder, capsys):
    question = f"{folder}/0.png\t{'is it dark ' * 30}"
    assert main(["predict", str(run), question, "--device", "cpu"]) == 0
    assert "line 1: longer than 40 words (--max-length)" in capsys.readouterr().err


def test_look_is_one_picture_with_numbers_behind(run, folder, tmp_path):
    found = runs.load(run, device="cpu")
    line = f"{folder}/2.png\twhich is it?"
    paths = {path.suffix: path for path in found.draw(line, tmp_path / "pictures", json=True)}
    assert set(paths) == {".png", ".svg", ".json"}
    told = json.loads(paths[".json"].read_text())
    assert told["rows"] == ["hop 1", "hop 2"] and told["tokens"] == ["which", "is", "it", "?"]
    assert sum(told["words"]) == pytest.approx(1, abs=1e-4) and len(told["answers"]) == 4
    assert sum(map(sum, told["values"][0])) == pytest.approx(1, abs=1e-4)
    paths = {path.suffix: path for path in found.draw(line, tmp_path / "pictures", json=True, by="gradient")}
    told = json.loads(paths[".json"].read_text())
    assert told["rows"] == ["gradient"] and max(told["words"]) == 1.0 and len(told["values"][0]) == 16
    [described] = found.align(line)
    assert described["weights"].keys() == {"hop 1", "hop 2"} and described["question"] == "which is it?"


@pytest.mark.parametrize("model", ["question-only", "image-only"])
def test_what_does_not_attend_is_drawn_by_gradients_of_what_it_reads(model, tmp_path, folder):
    options = {"widths": "4,6", "cell_dim": 6, "hidden_dim": 6} if model == "image-only" else {"hidden_dim": 6}
    common = {"max_steps": 2, "device": "cpu", "batch_size": 4, "validation_examples": 8}
    found = runs.train("answer", data=str(folder), model=model, run=tmp_path / "run", **options, **common)
    line = f"{folder}/2.png\twhich is it?"
    [told] = [json.loads(p.read_text()) for p in found.draw(line, tmp_path / "out", json=True) if p.suffix == ".json"]
    assert told["rows"] == (["gradient"] if model == "image-only" else ["words"])
    with pytest.raises(ArgumentError, match="--by: expected gradient of a model that does not attend"):
        found.draw(line, tmp_path / "out", by="attention")


def test_scenes_are_pointed_at(tmp_path, capsys):
    words = ["--data", "scenes", "--model", "show-ask-attend-and-answer", "--run", str(tmp_path / "run")]
    assert main(["train", "answer", *words, *LITTLE]) == 0
    results = json.loads((tmp_path / "run/results.json").read_text())
    assert {"accuracy", "pointing", "pointing_mean", "weight_inside"} <= results["metrics"].keys()
    assert set(results["groups"]["accuracy"]) <= {"existence", "colour", "counting", "relation"}
    assert "pointing on test" in capsys.readouterr().out


def test_what_is_measured_is_the_last_read_and_the_mean_of_all():
    weights = torch.tensor([[[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.6], [0.0, 0.4]]])
    pointing = Pointing.of("colour", weights, [(8, 0, 16, 8)], (16, 16))
    assert pointing.hits == [False, True] and pointing.shares == pytest.approx([0.0, 0.6])
    posed = [Posed("what?", ("red",), "colour"), Posed("how many?", ("2",), "")]
    metrics, groups = measured(["red", "3"], posed, [pointing])
    assert metrics == {"accuracy": 0.5, "pointing": 1.0, "pointing_mean": 0.5, "weight_inside": pytest.approx(0.6)}
    assert groups == {"accuracy": {"colour": 1.0}, "pointing": {"colour": 1.0}}
    ten = Posed("is it?", ("yes",) * 2 + ("no",) * 8, "is")
    assert measured(["yes"], [ten], [])[0]["accuracy"] == pytest.approx(0.6)


def test_a_question_that_was_never_asked_has_the_most_frequent_answer():
    train = [Posed("Is it?", ("yes",), "")] * 3 + [Posed("how many?", ("2",), "")] * 2
    asked = [Posed("is it ?", ("yes",), ""), Posed("how many?", ("2",), ""), Posed("why?", ("no",), "")]
    found = baselines(train, asked)
    assert found["majority"].metrics["accuracy"] == pytest.approx(1 / 3)
    assert found["question"].metrics["accuracy"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"answers": 1}, "--answers: expected"),
        ({"size": 4}, "--size: expected pixels from 8 to 1024, got 4"),
        ({"max_length": 0}, "--max-length"),
        ({"label_smoothing": 1.0}, "--label-smoothing"),
        ({"shift": -1}, "--shift"),
    ],
)
def test_options_that_mean_nothing_are_refused(more, said):
    with pytest.raises(ArgumentError) as caught:
        Options(**more)
    assert said in str(caught.value)


def test_options_of_scenes_are_refused_for_files(folder, capsys):
    assert main(["train", "answer", "--data", str(folder), "--least", "5", *LITTLE]) == 2
    assert "--least: expected only with --data scenes, got 5" in capsys.readouterr().err
    with pytest.raises(ArgumentError, match="--by"):
        LookRequest(by="grad-cam")


def test_what_could_not_be_read_is_blank():
    blank = VisualAnswer(Unreadable("a\tb"), None, 2)
    assert blank.lines() == ["", ""] and blank.to_json() == {"line": "a\tb", "answers": [], "probabilities": {}}
    assert repr(blank) == r"VisualAnswer('\n')"
