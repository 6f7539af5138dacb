"""The task `answer` at the command line and in Python: lines, errors, pictures, metrics."""

import json

import pytest
import torch

from image_files import plain
from saccade import runs
from saccade.cli import main
from saccade.errors import ArgumentError
from saccade.tasks.answer import ANSWER, codec, task
from saccade.tasks.answer.answer import VisualAnswer
from saccade.tasks.answer.data import Posed, scenes
from saccade.tasks.answer.options import LookRequest, Options
from saccade.tasks.answer.outputs import WrittenAnswers
from saccade.tasks.answer.task import measured
from saccade.tasks.image.features.store import FeatureStore, write_store
from saccade.tasks.image.pointing import Pointing
from saccade.train.task import Unreadable
from tiers import every, rest_slow

LITTLE = {"max_steps": 2, "device": "cpu", "batch_size": 4, "validation_examples": 8, "hidden_dim": 6}
FEATURED = {**LITTLE, "cell_dim": 6}  # images need more
SMALL = {**FEATURED, "widths": "4,6", "stem_stride": 4}
WRITES = {**SMALL, "generate": True}
WORDS = ["--widths", "4,6", "--cell-dim", "6", "--hidden-dim", "6", "--device", "cpu", "--max-steps", "2"]


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(scenes, "HELD_OUT", 12)
    monkeypatch.setattr(codec, "_ENDLESS", 150)
    monkeypatch.setattr("saccade.tasks.image.dataset._SAMPLED", 5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Photos with questions, of which one of the test split has an answer that training lacks."""
    photos = tmp_path_factory.mktemp("photos")
    for number in range(6):
        (photos / f"{number}.png").write_bytes(plain((40 * number, 0, 0), (24, 16)))
    for split, numbers in (("train", (0, 1, 2, 3)), ("validation", (4,)), ("test", (5,))):
        rows = [f"{n}.png\tis it dark?\t{'yes' if n < 2 else 'no'}" for n in numbers]
        rows += [f"{n}.png\twhich is it?\tnumber {n % 2}" for n in numbers]
        rows += ["5.png\twhat is it?\ta wall"] if split == "test" else []
        (photos / f"{split}.tsv").write_text("\n".join(rows))
    return photos


@pytest.fixture(scope="module")
def run(folder, tmp_path_factory):
    """A run of two steps, not to be changed."""
    place = tmp_path_factory.mktemp("runs") / "run"
    return runs.train("answer", data=str(folder), model="ask-attend-and-answer", run=place, **SMALL).folder


@pytest.fixture(scope="module")
def writing(folder, tmp_path_factory):
    """A run of two steps that writes its answers, not to be changed."""
    place = tmp_path_factory.mktemp("writing") / "run"
    return runs.train("answer", data=str(folder), model="ask-attend-and-answer", run=place, **WRITES)


def stored(folder, place, *, regions=False, names=range(6), dim=5):
    """Write a store of features of photos, of 2 × 3 cells each or of some regions."""
    values = [torch.full((2 + n % 3 if regions else 6, dim), n / 6) for n in names]
    boxes = [torch.tensor([[0.0, 0.0, 0.5, 0.5]]).expand(len(one), 4) for one in values] if regions else None
    write_store(place, [f"{n}.png" for n in names], values, boxes, grid=None if regions else (2, 3))
    return place


def drawn(trained, line, place, **request):
    """Return the numbers of a picture."""
    paths = {path.suffix: path for path in trained.draw(line, place, json=True, **request)}
    assert set(paths) == {".png", ".svg", ".json"}
    return json.loads(paths[".json"].read_text())


def test_a_batch_has_every_image_once(run):
    job = runs.load(run, device="cpu").task
    visual, question, target = job.batch(3)
    assert len(visual.values) < len(question.lengths) == len(target) == len(visual.about)
    assert len(visual.values) <= 4 and visual.about.max() == len(visual.values) - 1


def test_questions_with_unknown_answers_count_as_wrong(run, capsys):
    assert main(["eval", str(run), "--device", "cpu"]) == 0
    out, err = capsys.readouterr()
    assert "test: 1 of 3 questions have no answer among the 4 most frequent (--answers); they count as wrong" in err
    assert "accuracy on test" in out and "question (the most frequent answer to the question" in out
    assert "pointing" not in out  # files have no known things
    results = json.loads((run / "results-test.json").read_text())
    right, groups = results["metrics"]["accuracy"], results["groups"]["accuracy"]
    assert right <= 2 / 3 + 1e-9 and set(groups) <= {"is", "which", "other"}
    counts = results["confusion"]
    assert {label: sum(row.values()) for label, row in counts.items()} == {"no": 1, "number 1": 1, "a wall": 1}
    assert sum(row.get(label, 0) for label, row in counts.items()) == pytest.approx(3 * right)
    assert (run / "confusion-test.png").read_bytes().startswith(b"\x89PNG")


def test_errors_are_the_questions_with_the_largest_losses(run, capsys):
    assert main(["eval", str(run), "--device", "cpu", "--errors", "9"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines() if line.count("\t") > 2]
    trained = runs.load(run, device="cpu")
    job, losses = trained.task, dict[str, float]()
    for index in (0, 1):  # the answer of the third question is unknown
        batch = job.codec.collate(job.samples("test", [index]))
        with torch.inference_mode():
            log_probs = trained.model(batch.visual, batch.question).log_softmax(-1)
        losses[f"test-{index} {job.example('test', index).text}"] = -float(log_probs[batch.target == 1])
    expected = sorted(losses, key=losses.__getitem__, reverse=True)
    assert [row[1] for row in rows] == expected and {row[2] for row in rows} == {"no", "number 1"}
    assert [float(row[0]) for row in rows] == pytest.approx([losses[text] for text in expected], abs=1e-3)


@pytest.mark.parametrize(
    ("line", "message"),
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
def test_an_unreadable_line_is_one_error(run, folder, capsys, line, message):
    assert main(["predict", str(run), line.format(folder), "--device", "cpu"]) == 2
    out, err = capsys.readouterr()
    assert message in err and len(err.strip().splitlines()) == 1 and not out.strip()


def test_lines_are_answered_in_order_from_the_current_folder(run, folder, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    (tmp_path / "asked.txt").write_text(f"0.png\tis it dark?\ngone.png\tis it?\n1.png\t{'is it dark ' * 30}\n")
    assert main(["predict", str(run), "--input", str(tmp_path / "asked.txt"), "--device", "cpu", "--nbest", "2"]) == 2
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert len(lines) == 6 and lines[2:4] == ["", ""] and all("\t" in line for line in lines[:2] + lines[4:])
    assert "gone.png" in err and "line 3: longer than 40 words (--max-length)" in err


@pytest.mark.slow
def test_look_is_a_picture_with_its_numbers(run, folder, tmp_path):
    trained, line = runs.load(run, device="cpu"), f"{folder}/2.png\twhich is it?"
    content = drawn(trained, line, tmp_path / "pictures")
    assert content["rows"] == ["hop 1", "hop 2"] and content["tokens"] == ["which", "is", "it", "?"]
    assert sum(content["words"]) == pytest.approx(1, abs=1e-4) and len(content["answers"]) == 4
    assert sum(map(sum, content["values"][0])) == pytest.approx(1, abs=1e-4)
    content = drawn(trained, line, tmp_path / "pictures", by="gradient")
    assert content["rows"] == ["gradient"] and max(content["words"]) == 1.0 and len(content["values"][0]) == 16
    content = drawn(trained, line, tmp_path / "pictures", by="jacobian")
    [words] = content["values"]
    assert content["rows"] == ["words"] and len(words) == 4 and max(words) == 1.0 and min(words) > 0
    content = drawn(trained, line, tmp_path / "pictures", by="jacobian", signed=True)
    assert max(map(abs, content["values"][0])) == 1.0 and content["values"][0] != words
    [described] = trained.align(line)
    assert described["weights"].keys() == {"hop 1", "hop 2"} and described["question"] == "which is it?"


@pytest.mark.parametrize("regions", rest_slow([False, True]))
def test_the_part_of_a_hard_read_is_framed(folder, tmp_path, regions):
    more = {"features": str(stored(folder, tmp_path / "store", regions=True))} if regions else {}
    options = {**(FEATURED if regions else SMALL), "data": str(folder), "read": "reinforce", **more}
    trained = runs.train("answer", model="show-ask-attend-and-answer", run=tmp_path / "run", **options)
    content = drawn(trained, f"{folder}/2.png\twhich is it?", tmp_path / "drawn")
    assert len(content["boxes"]) == len(content["rows"]) == 2 and all(len(box) == 4 for box in content["boxes"])
    for (left, top, right, bottom), values in zip(content["boxes"], content["values"], strict=True):
        weights = torch.tensor(values)
        assert sorted(set(weights.flatten().tolist())) in ([0, 1], [1])
        rows, columns = weights.shape
        y, x = divmod(int(weights.argmax()), columns)
        assert left <= (x + 0.5) / columns <= right and top <= (y + 0.5) / rows <= bottom


@pytest.mark.parametrize("model", ["question-only", "image-only"])
def test_gradients_are_drawn_without_attention(model, tmp_path, folder):
    options = SMALL if model == "image-only" else LITTLE
    trained = runs.train("answer", data=str(folder), model=model, run=tmp_path / "run", **options)
    line = f"{folder}/2.png\twhich is it?"
    rows = drawn(trained, line, tmp_path / "out")["rows"]
    assert rows == (["gradient"] if model == "image-only" else ["words"])
    with pytest.raises(ArgumentError, match="--by: expected gradient, .* for this run, got attention"):
        trained.draw(line, tmp_path / "out", by="attention")
    if model == "image-only":
        with pytest.raises(ArgumentError, match="--by: expected gradient, .* for this run, got jacobian"):
            trained.draw(line, tmp_path / "out", by="jacobian")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "options"),
    [("show-ask-attend-and-answer", SMALL), ("show-and-answer", SMALL), ("show-and-answer", WRITES)],
    ids=["attention", "gradient", "written"],
)
def test_models_point_at_the_things_of_scenes(model, options, tmp_path, monkeypatch):
    monkeypatch.setattr(task, "_BY_GRADIENT", 3)
    counts, pointing = list[int](), task.pointing

    def counted(*arguments):
        points = pointing(*arguments)
        counts.append(len(points))
        return points

    monkeypatch.setattr(task, "pointing", counted)
    results = runs.train("answer", data="scenes", model=model, run=tmp_path / "run", **options).results
    assert {"accuracy", "pointing", "pointing_mean", "weight_inside"} <= results["metrics"].keys()
    assert set(results["groups"]["accuracy"]) <= {"existence", "colour", "counting", "relation"}
    assert max(counts) >= 1 and (model != "show-and-answer" or max(counts) <= 3)


def test_pointing_is_of_the_last_read_and_of_the_mean():
    weights = torch.tensor([[[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.6], [0.0, 0.4]]])
    pointing = Pointing.of("colour", weights, [(8, 0, 16, 8)], (16, 16))
    assert pointing.hits == [False, True] and pointing.shares == pytest.approx([0.0, 0.6])
    posed = [Posed("what?", ("red",), "colour"), Posed("how many?", ("2",), "")]
    metrics, groups = measured(["red", "3"], posed, [pointing])
    assert metrics == {"accuracy": 0.5, "pointing": 1.0, "pointing_mean": 0.5, "weight_inside": pytest.approx(0.6)}
    assert groups == {"accuracy": {"colour": 1.0}, "pointing": {"colour": 1.0}}
    ten = Posed("is it?", ("yes",) * 2 + ("no",) * 8, "is")
    assert measured(["yes"], [ten], [])[0]["accuracy"] == pytest.approx(0.6)


@every(
    ("more", "message"),
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
def test_options_without_effect_are_rejected(more, message):
    with pytest.raises(ArgumentError) as caught:
        Options(**more)
    assert message in str(caught.value)
    with pytest.raises(ArgumentError, match="--by: expected attention, .* or integrated-gradients, got saliency"):
        LookRequest(by="saliency")


def test_an_unreadable_input_has_a_blank_answer():
    blank = VisualAnswer(Unreadable("a\tb"), None, 2)
    assert blank.lines() == ["", ""] and blank.to_json() == {"line": "a\tb", "answers": [], "probabilities": {}}


@pytest.mark.parametrize(
    ("model", "regions"),
    rest_slow([("ask-attend-and-answer", True), ("ask-attend-and-answer", False), ("show-and-answer", True)]),
)
def test_features_take_the_place_of_images(folder, tmp_path, model, regions, capsys):
    store, place = stored(folder, tmp_path / "store", regions=regions), tmp_path / "run"
    runs.train("answer", run=place, data=str(folder), model=model, features=str(store), **FEATURED)
    trained = runs.load(place, device="cpu")
    job, line = trained.task, f"{folder}/2.png\tis it dark?"
    assert (job.settings.shift, job.settings.dropout) == (0, 0.1)  # the recipe without options of images
    assert trained.evaluate("test").metrics.keys() == {"accuracy"}
    [answer] = trained.predict(["2.png\tis it dark?"])  # there is no such file in the current folder
    assert answer.lines() == trained.predict([line])[0].lines()
    example = job.example("test", 0)
    assert example.file is None and example.text == "5.png\tis it dark?"
    assert job.read(line, 1).shown.image.shape == (3, 224, 224)
    content, attends = drawn(trained, line, tmp_path / "out"), model == "ask-attend-and-answer"
    assert content["rows"] == (["hop 1", "hop 2"] if attends else ["gradient"])
    assert torch.tensor(content["values"]).shape[1:] == ((64, 64) if regions else (2, 3))
    if attends:
        weights = torch.tensor(trained.align("2.png\tis it dark?")[0]["weights"]["hop 1"])
        assert weights.shape == ((4,) if regions else (2, 3)) and float(weights.sum()) == pytest.approx(1, abs=1e-4)
    capsys.readouterr()
    assert main(["predict", str(place), "gone.png\tis it?", "--device", "cpu"]) == 2
    err = capsys.readouterr().err.strip()
    assert "expected features of gone.png, found none" in err and len(err.splitlines()) == 1


def test_features_are_read_once_for_all_questions_of_an_image(folder, tmp_path, monkeypatch):
    options = {**FEATURED, "data": str(folder), "features": str(stored(folder, tmp_path / "store"))}
    job = runs.train("answer", run=tmp_path / "run", model="show-and-answer", **options).task
    again, read, get = ANSWER.restore(job.settings, tmp_path / "run"), [], FeatureStore.get
    monkeypatch.setattr(FeatureStore, "get", lambda self, name: read.append(name) or get(self, name))
    assert again.sampler.batch(0) and not read  # features are read when a batch is made
    for step in range(4):
        batch = again.batch(step)
        assert len(read) == len(set(read)) == len(batch.visual.values) < len(batch.question.lengths) == 4
        read.clear()


@pytest.mark.parametrize("model", rest_slow(list(ANSWER.models)))
def test_a_batch_may_be_one_question(folder, tmp_path, model):
    options = {**(LITTLE if model == "question-only" else SMALL), "batch_size": 1, "max_steps": 3}
    trained = runs.train("answer", data=str(folder), model=model, run=tmp_path / "run", **options)
    assert all(bool(weight.isfinite().all()) for weight in trained.model.state_dict().values())
    assert [len(trained.task.batch(step).question.lengths) for step in range(20)] == [1] * 20


@pytest.mark.parametrize("data", ["scenes", "files", "features"])
def test_a_model_of_questions_has_no_images_to_shift(folder, tmp_path, data):
    values = {"model": "question-only", "data": "scenes" if data == "scenes" else str(folder), **LITTLE}
    if data == "features":
        features = str(stored(folder, tmp_path / "store"))
        assert runs.train("answer", run=tmp_path / "run", features=features, **values).results["steps"] == 2
        return
    with pytest.raises(ArgumentError, match="--shift: expected none with --model question-only, .* got 3; leave it"):
        runs.train("answer", run=tmp_path / "run", shift=3, **values)
    assert not (tmp_path / "run").exists()
    assert runs.options(ANSWER, values.pop("data"), values.pop("model"), values).shift == 0


def test_features_that_do_not_fit_are_one_error(folder, tmp_path, capsys):
    def error(*words):
        assert main(["train", "answer", "--run", str(tmp_path / "new"), *words]) == 2
        [line] = capsys.readouterr().err.strip().splitlines()
        return line

    files, short = ["--data", str(folder)], WORDS[2:]
    few = stored(folder, tmp_path / "few", names=(0, 1, 2, 4, 5))
    featured = [*files, "--features", str(few)]
    assert "expected a store of features (index.json), found none" in error(*files, "--features", str(folder), *short)
    assert "expected features of it in the store, found none: 3.png" in error(*featured, *short)
    assert "--features: expected none for scenes" in error("--data", "scenes", "--features", str(few), *short)
    assert "--size: expected none with --features, got 32" in error(*featured, "--size", "32")
    assert "--least: expected only with --data scenes, got 5" in error(*files, "--least", "5", *WORDS)
    for option, value in (("--widths", "8,16"), ("--stem", "double"), ("--shift", "3")):
        expected = f"{option}: expected none with --features, which are taken as they are, got {value}"
        assert expected in error(*featured, option, value)
    index = tmp_path / "few/index.json"
    index.write_text(index.read_text().replace('"format": 1', '"format": 9'))
    assert "expected a whole store of features" in error(*featured, *short)


def test_a_store_of_other_features_than_the_run_is_rejected(folder, tmp_path):
    store = stored(folder, tmp_path / "store")
    runs.train("answer", run=tmp_path / "run", data=str(folder), model="image-only", features=str(store), **FEATURED)
    store.rename(tmp_path / "away")
    stored(folder, store, regions=True, dim=4)
    with pytest.raises(ArgumentError, match=r"--features: expected maps of 2 × 3 cells of 5 .* got regions of 4"):
        runs.load(tmp_path / "run", device="cpu")


def test_a_written_answer_counts_as_a_whole(writing, monkeypatch, capsys):
    trained = runs.load(writing.folder, device="cpu")
    output = trained.task.codec.output
    assert output.target.units == ("0", "1", "no", "number", "yes") and output.longest == 2
    for answers, accuracy in ((["no", "number 1", "x"], 2 / 3), (["no", "number", "a"], 1 / 3)):
        monkeypatch.setattr(WrittenAnswers, "best", lambda *source, answers=answers, logits=None: answers)
        assert trained.evaluate("test").metrics["accuracy"] == pytest.approx(accuracy)
    among = "among those of the 5 most frequent words (--vocabulary-size)"
    assert capsys.readouterr().err == f"test: 1 of 3 questions have no answer {among}; they count as wrong\n"


def test_written_answers_have_probabilities(writing, folder, tmp_path):
    trained, line = runs.load(writing.folder, device="cpu"), f"{folder}/2.png\twhich is it?"
    [one], [five], [many] = (trained.predict([line], nbest=count) for count in (1, 5, 100))
    assert one.lines() == five.lines()[:1] and len(many.lines()) == 100 and many.lines()[-1] == ""
    shares = [float(row.rpartition("\t")[2]) for row in filter(None, many.lines())]
    assert shares == sorted(shares, reverse=True) and sum(shares) <= 1 + 1e-3
    [described] = trained.align(line)
    assert described["weights"].keys() == {"hop 1", "hop 2"} and len(described["answers"]) == 1
    for by in ("attention", "gradient"):
        answers = drawn(trained, line, tmp_path / by, by=by)["answers"]
        assert len(answers) == 5 and answers[0]["answer"] == one.lines()[0].partition("\t")[0]


def test_an_ensemble_writes_or_chooses(writing, run, folder, tmp_path):
    for model in ("image-only", "show-and-answer"):
        runs.train("answer", data=str(folder), model=model, run=tmp_path / model, **WRITES)
    joined = runs.load(tmp_path / "image-only", device="cpu", ensemble=[tmp_path / "show-and-answer"])
    [answer] = joined.predict([f"{folder}/2.png\twhich is it?"], nbest=3)
    assert len(answer.lines()) == 3 and joined.evaluate("test").metrics.keys() == {"accuracy"}
    for first, second in ((writing.folder, run), (run, writing.folder)):
        with pytest.raises(ArgumentError, match="expected the answers of RUN, got"):
            runs.load(first, device="cpu", ensemble=[second])


def test_a_resumed_training_of_written_answers_is_the_whole(folder, tmp_path):
    options = {**WRITES, "data": str(folder), "model": "image-only", "checkpoint_steps": 1}
    runs.train("answer", run=tmp_path / "run", **{**options, "max_steps": 1})
    again = runs.train("answer", run=tmp_path / "run", **options).model.state_dict()
    whole = runs.train("answer", run=tmp_path / "whole", **options).model.state_dict()
    assert all(torch.equal(value, whole[name]) for name, value in again.items())


@pytest.mark.slow
def test_each_word_of_a_question_is_drawn_with_its_read(folder, tmp_path, monkeypatch):
    line, rows = f"{folder / '0.png'}\tis it is it?", ["1 is", "2 it", "3 is", "4 it", "5 ?", "6 all words"]
    trained = runs.train("answer", data=str(folder), model="attention-lstm", run=tmp_path / "run", **SMALL)
    content = drawn(trained, line, tmp_path / "all")
    assert content["rows"] == rows
    values = torch.tensor(content["values"])
    torch.testing.assert_close(values[:-1].mean(0), values[-1], rtol=0, atol=1e-4)
    assert list(trained.align(line)[0]["weights"]) == rows
    monkeypatch.setattr("saccade.tasks.answer.answer.MOST_PANELS", 4)
    content = drawn(trained, line, tmp_path / "few")
    assert content["rows"] == [*rows[:3], rows[-1]] and "the first 3 and the last of 6 reads" in content["title"]
