"""The job `answer` through the command line and Python: lines, errors, pictures, measures."""

import json

import pytest
import torch

from image_files import plain
from saccade import runs
from saccade.cli import main
from saccade.errors import ArgumentError
from saccade.tasks.answer import AnswerQuestions, task, vocabulary
from saccade.tasks.answer.answer import VisualAnswer
from saccade.tasks.answer.data import Posed, scenes
from saccade.tasks.answer.measures import measured
from saccade.tasks.answer.options import LookRequest, Options
from saccade.tasks.generate.answers import WrittenAnswers
from saccade.tasks.image.features.store import FeatureStore, write_store
from saccade.tasks.image.pointing import Pointing
from saccade.tasks.labels.baselines import usual
from saccade.train.task import Unreadable
from tiers import every, rest_slow

SMALL = ["--widths", "4,6", "--stem-stride", "4", "--cell-dim", "6", "--hidden-dim", "6"]
LITTLE = [*SMALL, "--device", "cpu", "--max-steps", "2", "--batch-size", "4", "--validation-examples", "8"]


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(scenes, "HELD_OUT", 12)
    monkeypatch.setattr(vocabulary, "_ENDLESS", 150)
    monkeypatch.setattr("saccade.tasks.image.dataset._SEEN", 5)


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
    assert len(batch.visual.values) < len(batch.question.lengths) == len(batch.wanted) == len(batch.visual.about)
    assert len(batch.visual.values) <= len(names) and batch.visual.about.max() == len(batch.visual.values) - 1


def test_answers_that_are_unknown_count_as_wrong_and_are_said(run, capsys):
    assert main(["eval", str(run), "--device", "cpu"]) == 0
    told = capsys.readouterr()
    assert "test: 1 of 3 questions have no answer among the run's 4; they count as wrong" in told.err
    assert "accuracy on test" in told.out and "question (the most frequent answer to the question" in told.out
    assert "pointing" not in told.out  # of whose things nobody knows
    results = json.loads((run / "results-test.json").read_text())
    assert results["metrics"]["accuracy"] <= 2 / 3 + 1e-9
    assert set(results["groups"]["accuracy"]) <= {"is", "which", "what", "other"}


def test_training_questions_are_counted_once_for_all_splits(run, monkeypatch):
    task = runs.load(run, device="cpu").task
    asked, posed = list[str](), type(task.data).posed
    monkeypatch.setattr(type(task.data), "posed", lambda own, split, at: asked.append(split) or posed(own, split, at))
    assert {name for split in ("test", "validation") for name in task.baselines(split)} == {"majority", "question"}
    assert asked.count("train") == task.data.size("train")


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


def test_lines_are_answered_in_order_from_folder_one_is_in(run, folder, capsys, tmp_path, monkeypatch):
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


@pytest.mark.slow
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
    paths = {path.suffix: path for path in found.draw(line, tmp_path / "pictures", json=True, by="jacobian")}
    told = json.loads(paths[".json"].read_text())
    [moved] = told["values"]
    assert told["rows"] == ["words"] and len(moved) == 4 and max(moved) == 1.0 and min(moved) > 0
    [described] = found.align(line)
    assert described["weights"].keys() == {"hop 1", "hop 2"} and described["question"] == "which is it?"


@pytest.mark.parametrize("regions", rest_slow([False, True]))
def test_the_part_that_a_hard_read_reads_is_framed(folder, tmp_path, regions):
    more = ["--features", str(stored(folder, tmp_path / "store", regions=True))] if regions else []
    words = ["--data", str(folder), "--model", "show-ask-attend-and-answer", "--read", "reinforce", *more]
    little = LITTLE[4:] if regions else LITTLE  # features are not seen by a network
    assert main(["train", "answer", *words, "--run", str(tmp_path / "run"), *little]) == 0
    found = runs.load(tmp_path / "run", device="cpu")
    paths = {path.suffix: path for path in found.draw(f"{folder}/2.png\twhich is it?", tmp_path / "drawn", json=True)}
    told = json.loads(paths[".json"].read_text())
    assert len(told["boxes"]) == len(told["rows"]) == 2 and all(len(box) == 4 for box in told["boxes"])
    for (left, top, right, bottom), values in zip(told["boxes"], told["values"], strict=True):
        rows = torch.tensor(values)
        assert sorted(set(rows.flatten().tolist())) in ([0, 1], [1])
        down, across = rows.shape
        y, x = divmod(int(rows.argmax()), across)
        assert left <= (x + 0.5) / across <= right and top <= (y + 0.5) / down <= bottom


@pytest.mark.parametrize("model", ["question-only", "image-only"])
def test_gradients_are_drawn_without_attention(model, tmp_path, folder):
    options = {"widths": "4,6", "cell_dim": 6, "hidden_dim": 6} if model == "image-only" else {"hidden_dim": 6}
    common = {"max_steps": 2, "device": "cpu", "batch_size": 4, "validation_examples": 8}
    found = runs.train("answer", data=str(folder), model=model, run=tmp_path / "run", **options, **common)
    line = f"{folder}/2.png\twhich is it?"
    [told] = [json.loads(p.read_text()) for p in found.draw(line, tmp_path / "out", json=True) if p.suffix == ".json"]
    assert told["rows"] == (["gradient"] if model == "image-only" else ["words"])
    with pytest.raises(ArgumentError, match="--by: expected gradient of a model that does not attend"):
        found.draw(line, tmp_path / "out", by="attention")
    if model == "image-only":
        with pytest.raises(ArgumentError, match="--by: expected gradient of a model that does not read the question"):
            found.draw(line, tmp_path / "out", by="jacobian")


@pytest.mark.slow
def test_scenes_are_pointed_at(tmp_path, capsys):
    words = ["--data", "scenes", "--model", "show-ask-attend-and-answer", "--run", str(tmp_path / "run")]
    assert main(["train", "answer", *words, *LITTLE]) == 0
    results = json.loads((tmp_path / "run/results.json").read_text())
    assert {"accuracy", "pointing", "pointing_mean", "weight_inside"} <= results["metrics"].keys()
    assert set(results["groups"]["accuracy"]) <= {"existence", "colour", "counting", "relation"}
    assert "pointing on test" in capsys.readouterr().out


def test_what_is_measured_is_last_read_and_the_mean_of_all():
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
    pairs = ((one.question, one.answers) for one in train)
    found = usual(pairs, [one.question for one in asked], lambda answers: measured(answers, asked)[0])
    assert found["majority"].metrics["accuracy"] == pytest.approx(1 / 3)
    assert found["question"].metrics["accuracy"] == pytest.approx(2 / 3)


@every(
    ("more", "said"),
    [
        ({"answers": 1}, "--answers: expected"),
        ({"size": 4}, "--size: expected pixels from 8 to 1024, got 4"),
        ({"max_length": 0}, "--max-length"),
        ({"label_smoothing": 1.0}, "--label-smoothing"),
        ({"shift": -1}, "--shift"),
        ({"generate": True, "answers": 50}, "--answers: expected only without --generate, got 50"),
        ({"beam_size": 2}, "--beam-size: expected only with --generate, got 2"),
        ({"generate": True, "beam_size": 0}, "--beam-size: expected"),
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


def stored(folder, place, *, regions=False, names=None, dim=5):
    """A store of features of photos, 2 × 3 cells each, or as many regions as their number says."""
    numbers = range(6) if names is None else names
    values = [torch.full((2 + n % 3 if regions else 6, dim), n / 6) for n in numbers]
    boxes = [torch.tensor([[0.0, 0.0, 0.5, 0.5]]).expand(len(one), 4) for one in values] if regions else None
    write_store(place, [f"{n}.png" for n in numbers], values, boxes, grid=None if regions else (2, 3))
    return place


FEATURED = {"max_steps": 2, "device": "cpu", "batch_size": 4, "validation_examples": 8, "cell_dim": 6, "hidden_dim": 6}


@pytest.mark.parametrize(
    ("model", "regions"),
    rest_slow([("ask-attend-and-answer", True), ("ask-attend-and-answer", False), ("show-and-answer", True)]),
)
def test_features_are_asked_about_in_the_place_of_images(folder, tmp_path, model, regions, capsys):
    store = stored(folder, tmp_path / "store", regions=regions)
    common = {**FEATURED, "data": str(folder), "model": model, "features": str(store)}
    runs.train("answer", run=tmp_path / "run", **common)
    found = runs.load(tmp_path / "run", device="cpu")
    assert (found.task.settings.shift, found.task.settings.dropout) == (0, 0.1)  # of the recipe what features have
    assert found.evaluate("test").metrics.keys() == {"accuracy"}  # of whose things nobody knows
    [answer] = found.predict(["2.png\tis it dark?"])  # of which there is no file here
    assert answer.lines() == found.predict([f"{folder}/2.png\tis it dark?"])[0].lines()
    example = found.task.example("test", 0)
    assert example.file is None and example.text == "5.png\tis it dark?"
    assert found.task.read(f"{folder}/2.png\tis it dark?", 1).shown.image.shape == (3, 224, 224)
    paths = {path.suffix: path for path in found.draw(f"{folder}/2.png\tis it dark?", tmp_path / "out", json=True)}
    told = json.loads(paths[".json"].read_text())
    attends = model == "ask-attend-and-answer"
    assert told["rows"] == (["hop 1", "hop 2"] if attends else ["gradient"])
    values = torch.tensor(told["values"])
    assert values.shape[1:] == ((64, 64) if regions else (2, 3))
    if attends:
        [described] = found.align("2.png\tis it dark?")
        weights = torch.tensor(described["weights"]["hop 1"])
        assert weights.shape == ((4,) if regions else (2, 3)) and float(weights.sum()) == pytest.approx(1, abs=1e-4)
    capsys.readouterr()
    assert main(["predict", str(tmp_path / "run"), "gone.png\tis it?", "--device", "cpu"]) == 2
    told = capsys.readouterr().err.strip()
    assert "expected features of gone.png, found none" in told and len(told.splitlines()) == 1


def test_features_are_read_once_for_all_questions_about_an_image(folder, tmp_path, monkeypatch):
    store = stored(folder, tmp_path / "store")
    options = {**FEATURED, "data": str(folder), "model": "show-and-answer", "features": str(store)}
    task = runs.train("answer", run=tmp_path / "run", **options).task
    again, read, get = type(task).restore(task.settings, tmp_path / "run"), [], FeatureStore.get
    monkeypatch.setattr(FeatureStore, "get", lambda self, name: read.append(name) or get(self, name))
    assert again.sampler.batch(0) and not read  # what waits for its step has no features yet
    for step in range(4):
        batch = again.batch(step)
        assert len(read) == len(set(read)) == len(batch.visual.values) < len(batch.question.lengths) == 4
        read.clear()


@pytest.mark.parametrize(
    "model",
    [
        "ask-attend-and-answer",
        "show-ask-attend-and-answer",
        "attention-lstm",
        "show-and-answer",
        "image-only",
        "question-only",
    ],
)
def test_one_question_is_batch_enough(folder, tmp_path, model):
    sees = {} if model == "question-only" else {"widths": "4,6", "stem_stride": 4, "cell_dim": 6}
    options = {"max_steps": 3, "device": "cpu", "batch_size": 1, "validation_examples": 8, "hidden_dim": 6, **sees}
    found = runs.train("answer", data=str(folder), model=model, run=tmp_path / "run", **options)
    assert found.results["steps"] == 3 and all(bool(one.isfinite().all()) for one in found.model.state_dict().values())
    assert [len(found.task.batch(step).question.lengths) for step in range(20)] == [1] * 20


def test_a_question_alone_needs_no_images(folder, tmp_path):
    store = stored(folder, tmp_path / "store")
    blind = {name: value for name, value in FEATURED.items() if name != "cell_dim"}
    common = {**blind, "data": str(folder), "model": "question-only", "features": str(store)}
    assert runs.train("answer", run=tmp_path / "run", **common).results["steps"] == 2


@pytest.mark.parametrize("data", ["scenes", "files"])
def test_a_question_alone_has_no_image_to_shift(folder, tmp_path, data):
    own = {"data": str(folder) if data == "files" else data, "model": "question-only", "max_steps": 2, "device": "cpu"}
    with pytest.raises(ArgumentError, match="--shift: expected none with --model question-only, .* got 3; leave it"):
        runs.train("answer", run=tmp_path / "run", shift=3, **own)
    assert not (tmp_path / "run").exists()
    assert runs.options(AnswerQuestions, own.pop("data"), own.pop("model"), own).shift == 0


def test_features_that_do_not_fit_are_one_line(folder, tmp_path, capsys):
    def said(*words):
        assert main(["train", "answer", "--run", str(tmp_path / "new"), *words]) == 2
        lines = capsys.readouterr().err.strip().splitlines()
        assert len(lines) == 1
        return lines[0]

    files, short = ["--data", str(folder)], LITTLE[4:]
    assert "expected a store of features (index.json), found none" in said(*files, "--features", str(folder), *short)
    few = stored(folder, tmp_path / "few", names=(0, 1, 2, 4, 5))
    assert "expected features of it in the store, found none: 3.png" in said(*files, "--features", str(few), *short)
    assert "--features: expected none for scenes" in said("--data", "scenes", "--features", str(few), *short)
    assert "--size: expected none with --features, got 32" in said(*files, "--features", str(few), "--size", "32")
    for option, value in (("--widths", "8,16"), ("--stem", "double"), ("--shift", "3")):
        told = said(*files, "--features", str(few), option, value)
        assert f"{option}: expected none with --features, which are taken as they are, got {value}" in told
    index = tmp_path / "few/index.json"
    index.write_text(index.read_text().replace('"format": 1', '"format": 9'))
    assert "expected a whole store of features" in said(*files, "--features", str(few), *short)


def test_a_store_of_another_kind_than_the_runs_is_refused(folder, tmp_path):
    store = stored(folder, tmp_path / "store")
    common = {**FEATURED, "data": str(folder), "model": "image-only", "features": str(store)}
    runs.train("answer", run=tmp_path / "run", **common)
    store.rename(tmp_path / "away")
    stored(folder, store, regions=True, dim=4)
    with pytest.raises(ArgumentError, match=r"--features: expected maps of 2 × 3 cells of 5 .* got regions of 4"):
        runs.load(tmp_path / "run", device="cpu")


@pytest.mark.slow
def test_gradients_point_in_scenes_without_attention(tmp_path, monkeypatch):
    monkeypatch.setattr(task, "_BY_GRADIENT", 3)
    common = {**FEATURED, "data": "scenes", "widths": "4,6", "stem_stride": 4}
    seen = []
    original = task.pointing
    monkeypatch.setattr(task, "pointing", lambda *given: seen.append(original(*given)) or seen[-1])
    found = runs.train("answer", run=tmp_path / "run", model="show-and-answer", **common)
    assert {"accuracy", "pointing", "weight_inside"} <= found.results["metrics"].keys()
    assert 1 <= max(map(len, seen)) <= 3


WRITES = {**FEATURED, "widths": "4,6", "stem_stride": 4, "generate": True}


@pytest.fixture(scope="module")
def writing(folder, tmp_path_factory):
    """A run of two steps that writes its answers, not to be changed."""
    place = tmp_path_factory.mktemp("writing") / "run"
    return runs.train("answer", data=str(folder), model="ask-attend-and-answer", run=place, **WRITES)


@pytest.mark.slow
def test_answers_are_written_with_the_words_of_training(writing, folder, tmp_path, capsys):
    task = runs.load(writing.folder, device="cpu").task
    assert task.output.target.units == ("0", "1", "no", "number", "yes") and task.output.longest == 2
    assert task.output.knows("number 0") and not task.output.knows("a wall")
    assert main(["eval", str(writing.folder), "--device", "cpu"]) == 0
    told = capsys.readouterr()
    assert "test: 1 of 3 questions have no answer among those that the run's 5 words make; they count as" in told.err
    results = json.loads((writing.folder / "results-test.json").read_text())
    assert 0 <= results["metrics"]["accuracy"] <= 2 / 3 + 1e-9 and "majority" in results["baselines"]


def test_written_answer_counts_if_it_is_whole_of_a_true_one(writing, monkeypatch):
    found = runs.load(writing.folder, device="cpu")
    for texts, accuracy in ((["no", "number 1", "x"], 2 / 3), (["no", "number", "a"], 1 / 3)):
        monkeypatch.setattr(WrittenAnswers, "texts", lambda *given, texts=texts, looked=None: texts)
        assert found.evaluate("test").metrics["accuracy"] == pytest.approx(accuracy)


def test_written_answers_have_probabilities(writing, folder, tmp_path):
    found = runs.load(writing.folder, device="cpu")
    line = f"{folder}/2.png\twhich is it?"
    [one], [five], [many] = (found.predict([line], nbest=count) for count in (1, 5, 100))
    assert one.lines() == five.lines()[:1] and len(many.lines()) == 100 and many.lines()[-1] == ""
    shares = [float(each.rpartition("\t")[2]) for each in filter(None, many.lines())]
    assert shares == sorted(shares, reverse=True) and sum(shares) <= 1 + 1e-3
    [described] = found.align(line)
    assert described["weights"].keys() == {"hop 1", "hop 2"} and len(described["answers"]) == 1
    for by in ("attention", "gradient"):
        paths = {path.suffix: path for path in found.draw(line, tmp_path / by, json=True, by=by)}
        told = json.loads(paths[".json"].read_text())
        assert len(told["answers"]) == 5 and told["answers"][0]["answer"] == one.lines()[0].partition("\t")[0]


def test_writing_models_ensemble_without_choosing_ones(writing, run, folder, tmp_path):
    for model in ("image-only", "show-and-answer"):
        runs.train("answer", data=str(folder), model=model, run=tmp_path / model, **WRITES)
    joined = runs.load(tmp_path / "image-only", device="cpu", ensemble=[tmp_path / "show-and-answer"])
    [answer] = joined.predict([f"{folder}/2.png\twhich is it?"], nbest=3)
    assert len(answer.lines()) == 3 and joined.evaluate("test").metrics.keys() == {"accuracy"}
    for first, second in ((writing.folder, run), (run, writing.folder)):
        with pytest.raises(ArgumentError, match="expected the answers of RUN, got"):
            runs.load(first, device="cpu", ensemble=[second])


def test_interrupted_training_goes_on_unchanged(folder, tmp_path):
    common = {"data": str(folder), "model": "image-only", "checkpoint_steps": 1}
    runs.train("answer", run=tmp_path / "run", **common, **{**WRITES, "max_steps": 1})
    again = runs.train("answer", run=tmp_path / "run", **common, **WRITES).model.state_dict()
    whole = runs.train("answer", run=tmp_path / "whole", **common, **WRITES).model.state_dict()
    assert all(torch.equal(value, whole[name]) for name, value in again.items())


@pytest.mark.slow
def test_written_scenes_are_pointed_at_by_gradients(tmp_path):
    found = runs.train("answer", data="scenes", model="show-and-answer", run=tmp_path / "run", **WRITES)
    assert {"accuracy", "pointing", "weight_inside"} <= found.results["metrics"].keys()


@pytest.mark.slow
def test_each_word_of_a_question_is_drawn_with_what_it_read(folder, tmp_path, monkeypatch):
    run, line = tmp_path / "run", f"{folder / '0.png'}\tis it is it?"
    words = ["--data", str(folder), "--model", "attention-lstm", "--run", str(run), *LITTLE]
    assert main(["train", "answer", *words]) == 0
    trained, rows = runs.load(run, device="cpu"), ["1 is", "2 it", "3 is", "4 it", "5 ?", "6 all words"]

    def drawn(place):
        return next(json.loads(p.read_text()) for p in trained.draw(line, place, json=True) if p.suffix == ".json")

    told = drawn(tmp_path / "all")
    assert told["rows"] == rows
    values = torch.tensor(told["values"])
    torch.testing.assert_close(values[:-1].mean(0), values[-1], rtol=0, atol=1e-4)
    [described] = trained.align(line)
    assert list(described["weights"]) == rows
    monkeypatch.setattr("saccade.tasks.answer.answer.MOST_PANELS", 4)
    told = drawn(tmp_path / "few")
    assert told["rows"] == [*rows[:3], rows[-1]] and "the first 3 and the last of 6 reads" in told["title"]
