"""The job `glimpse` through the command line: data of every kind, answers, errors, pictures."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from image_files import mnist_of
from saccade import runs
from saccade.cli import main
from saccade.errors import ArgumentError, SaccadeError
from saccade.tasks.glimpse import GLIMPSE
from saccade.tasks.glimpse import data as eyes
from saccade.tasks.glimpse.answer import EyeAnswer, Seen, seen_share
from saccade.tasks.glimpse.data import open_data
from saccade.tasks.image.dataset import ImageRows
from saccade.tasks.image.digits import open_digits
from saccade.tasks.image.images import Pixels
from saccade.tasks.labels.ranking import Ranking
from saccade.train.task import options_class
from tiers import rest_slow

SMALL = ["--hidden-dim", "8", "--glimpse-dim", "4", "--samples", "2", "--glimpses", "3"]
LITTLE = [*SMALL, "--device", "cpu", "--max-steps", "2"]


def options(model="ram", **more):
    return options_class(GLIMPSE, model)(model=model, **more)


def run(folder, *words):
    return main(["train", "glimpse", *map(str, words), *LITTLE, "--schedule-steps", "201", "--run", str(folder)])


@pytest.fixture
def mnist(tmp_path):
    """Files as MNIST has them, of bright squares of two sizes."""
    return mnist_of(tmp_path / "mnist", 40, 6, pack=True)


def test_digits_may_be_mnist_s_and_lie_on_a_canvas_of_any_size(mnist):
    assert open_data(options(data="digits", digits=str(mnist))).shape == (1, 11, 13)
    cluttered = open_data(
        options(data="cluttered", digits=str(mnist), canvas=24, distractors=3, distractor_size=2, data_seed=4)
    )
    assert cluttered.shape == (1, 24, 24) and cluttered.size("test") == 6 and cluttered.pieces == 3
    assert open_data(options(data="translated", digits=str(mnist), canvas=13)).pieces == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--data", "digits", "--canvas", "80"], "--canvas: expected none with --data digits, got 80"),
        (["--data", "translated", "--distractors", "2"], "--distractors: expected none with --data translated, got 2"),
        (["--data", "digits", "--size", "32"], "--size: expected none with --data digits, got 32"),
        (["--data", "cluttered", "--longest", "2"], "--longest: expected none with --data cluttered, got 2"),
        (["--data", "row", "--distractors", "2"], "--distractors: expected none with --data row, got 2"),
        (["--data", "cluttered", "--digits", "no/such"], "--digits: expected a folder with MNIST's files"),
        (["--data", "cluttered", "--canvas", "20"], "--canvas: expected from 28"),
        (["--data", "cluttred"], "did you mean"),
        (["--rollouts", "0"], "--rollouts: expected a number from 1"),
        (["--scales", "2", "--patch", "5"], "--patch: expected an even number where --scales is 2, got 5"),
    ],
)
def test_what_means_nothing_is_one_line(tmp_path, capsys, words, said):
    assert run(tmp_path / "run", *words) == 2
    told = capsys.readouterr().err.strip().splitlines()
    assert said in told[-1] and not (tmp_path / "run").exists()


def test_a_run_answers_images_of_other_sizes(tmp_path, capsys):
    assert run(tmp_path / "run", "--data", "digits", "--scales", "2") == 0
    told = capsys.readouterr().out
    assert "error on test" in told and "error of 10 on test" in told and "error likeliest on test" in told
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (90, 70, 3), np.uint8)).save(tmp_path / "large.png")
    Image.new("L", (3, 2)).save(tmp_path / "tiny.png")
    (tmp_path / "none.png").write_bytes(b"no image")
    files = [str(tmp_path / name) for name in ("large.png", "tiny.png")]
    found = runs.load(tmp_path / "run", device="cpu")
    one, two = (found.predict(files, rollouts=count) for count in (1, 5))
    assert [answer.lines() for answer in found.predict(files)] == [answer.lines() for answer in one]
    assert [answer.lines() for answer in found.predict(files[1:])] == [one[1].lines()]  # whatever lies beside it
    assert one[0].to_json()["path"] == two[0].to_json()["path"]  # the first of several is the one
    assert one[0].ranking.probabilities.tolist() != two[0].ranking.probabilities.tolist()
    assert 0 < one[0].to_json()["seen"] <= 3 * 64 / (90 * 70) and len(one[0].to_json()["path"]) == 3
    assert one[1].to_json()["seen"] == 1.0  # patches are larger than that image
    likeliest = found.predict(files, likeliest=True)
    assert likeliest[0].to_json()["path"] != one[0].to_json()["path"]
    (tmp_path / "list.txt").write_text("\n".join([*files, str(tmp_path / "none.png")]))
    assert main(["predict", str(tmp_path / "run"), "--input", str(tmp_path / "list.txt"), "--device", "cpu"]) == 2
    told = capsys.readouterr()
    assert len(told.out.splitlines()) == 3 and "none.png: expected an image" in told.err


def test_look_draws_path_with_its_numbers_and_an_animation(tmp_path):
    assert run(tmp_path / "run", "--data", "digits", "--scales", "2") == 0
    Image.new("L", (40, 30), 90).save(tmp_path / "grey.png")
    found = runs.load(tmp_path / "run", device="cpu")
    files = {path.name: path for path in found.draw(str(tmp_path / "grey.png"), tmp_path / "out", json=True)}
    assert set(files) == {"grey-path.png", "grey-path.svg", "grey-path.gif", "grey-path.json"}
    with Image.open(files["grey-path.gif"]) as animation:
        assert animation.n_frames == 3
    told = json.loads(files["grey-path.json"].read_text())
    assert told["sides"] == [8, 16] and len(told["location"]) == 3 and len(told["values"]) == 3


def test_more_glimpses_than_a_picture_has_room_for_are_one_line(tmp_path):
    image = Pixels("a.png", torch.zeros(1, 8, 8, dtype=torch.uint8))
    seen = Seen(torch.zeros(101, 2), torch.full((101, 2), 0.5), 0.1)
    answer = EyeAnswer(image, Ranking(("cat", "dog"), torch.tensor([0.5, 0.5])), 1, seen, (4,))
    assert repr(answer) == r"EyeAnswer('cat\t0.5000')"
    with pytest.raises(ArgumentError, match="--glimpses: expected at most 100 to be drawn, got 101"):
        list(answer.draw(tmp_path))


def test_images_of_one_s_own_are_taken_as_folders_of_class(tmp_path):
    for label, level in (("dark", 10), ("light", 240)):
        folder = tmp_path / "data" / label
        folder.mkdir(parents=True)
        for number in range(8):
            Image.new("RGB", (16 + number, 12), (level, number, number)).save(folder / f"{number}.png")
    assert run(tmp_path / "run", "--data", tmp_path / "data", "--patch", "4") == 0
    found = runs.load(tmp_path / "run", device="cpu")
    assert set(found.task.codec.labels) == {"dark", "light"}
    Image.new("RGB", (300, 200)).save(tmp_path / "large.png")
    assert found.task.read(str(tmp_path / "large.png"), 1).image.shape == found.task.codec.shape  # as in training


ROW = ("--data", "row", "--canvas", "60", "--longest", "2", "--model")


@pytest.fixture
def few(monkeypatch):
    """The built-in digits, of which few are held out."""
    rows = open_digits().rows
    held = {split: rows.splits[split][:9] for split in ("validation", "test")}
    digits = ImageRows(replace(rows, splits={**rows.splits, **held}))
    monkeypatch.setattr(eyes, "open_digits", lambda: digits)


@pytest.mark.parametrize("model", rest_slow(["dram", "ram-grid", "tiles"]))
def test_strings_are_answered_and_measured_as_one(few, tmp_path, capsys, model):
    assert run(tmp_path / "run", *ROW, model) == 0
    said = capsys.readouterr().out
    assert "accuracy on test" in said and "symbol error rate on test" in said and "macro" not in said
    shown = ["--split", "test", "--count", "9", "--output", str(tmp_path / "asked")]
    assert main(["data", "glimpse", *ROW[:-1], *shown]) == 0
    files = (tmp_path / "asked/inputs.txt").read_text().splitlines()
    wanted = (tmp_path / "asked/answers.txt").read_text().splitlines()
    assert {len(label) for label in wanted} == {1, 2}
    found = runs.load(tmp_path / "run", device="cpu")
    answers = [answer.to_json() for answer in found.predict(files, nbest=3)]
    first = [answer["answers"][0]["label"] for answer in answers]
    measured = found.evaluate("test")
    assert measured.metrics["accuracy"] == sum(map(str.__eq__, first, wanted)) / 9 == 1 - measured.metrics["error"]
    assert set(measured.groups["accuracy"]) == {"1 symbol", "2 symbols"} and not measured.confusion
    assert [answer.to_json()["answers"] for answer in found.predict(files[3:4], nbest=3)] == [answers[3]["answers"]]
    for answer in answers:
        ends = len(answer["said"]) * 3  # as many glimpses for each symbol, and none behind the end
        assert len(answer["path"]) == ends and [each["glimpse"] for each in answer["said"]] == [*range(3, ends + 1, 3)]
        shares = [each["probability"] for each in answer["answers"]]
        assert shares == sorted(shares, reverse=True) and len(answer["symbols"]) == 2
        assert "".join(each["symbol"] for each in answer["said"]).removesuffix("end") == answer["answers"][0]["label"]
    several, likeliest = found.predict(files[:1], rollouts=4)[0], found.predict(files[:1], likeliest=True)[0]
    assert several.to_json()["path"][:3] == answers[0]["path"][:3] != likeliest.to_json()["path"][:3]
    with pytest.raises(SaccadeError, match="--nbest: expected at most 110"):
        found.predict(files[:1], nbest=111)
    if model == "ram-grid":  # with a picture of cells beside it
        drawn = {path.stem.split("-")[-1]: path for path in found.draw(files[0], tmp_path / "out", json=True)}
        told = json.loads(drawn["policy"].with_suffix(".json").read_text())
        assert {"path", "policy"} == drawn.keys() and len(told["values"]) == len(answers[0]["path"]) - 1


@pytest.mark.slow
def test_several_eyes_read_strings_together(few, tmp_path):
    for name, words in (("one", ROW[:-1]), ("two", ROW[:-1]), ("other", ("--data", "digits"))):
        glimpses = ["--glimpses", "2"] if name == "two" else []
        own = ["--model", "ram" if name == "two" else "dram"]
        assert run(tmp_path / name, *[word for word in words if word != "--model"], *own, *glimpses) == 0
    image = tmp_path / "a.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (60, 60), np.uint8)).save(image)
    one, two = (runs.load(tmp_path / name, device="cpu") for name in ("one", "two"))
    both = runs.load(tmp_path / "one", device="cpu", ensemble=[tmp_path / "two"])
    shares = [each.predict([str(image)])[0].ranking.shares for each in (one, two, both)]
    torch.testing.assert_close(shares[2], (shares[0] + shares[1]) / 2)
    assert both.evaluate("test").examples == 9
    with pytest.raises(SaccadeError, match="expected the length of labels of RUN, got 1"):
        runs.load(tmp_path / "one", device="cpu", ensemble=[tmp_path / "other"])


def test_one_digit_is_a_class_and_strings_need_a_reader(few, tmp_path, capsys):
    assert open_data(options(data="row", longest=1)).example("train", 0).label in "0123456789"
    whole = ["train", "glimpse", *ROW, "whole", "--max-steps", "1", "--device", "cpu", "--run"]
    assert main([*whole, str(tmp_path / "whole"), "--longest", "1"]) == 0
    assert "macro f1 on test" in capsys.readouterr().out.lower()
    assert main([*whole, str(tmp_path / "none")]) == 2
    [told] = capsys.readouterr().err.strip().splitlines()
    assert "--model: expected one that reads strings, as the labels of row are (ram, ram-grid, " in told
    assert not (tmp_path / "none").exists()


def test_the_share_that_is_seen_counts_a_pixel_once_and_none_outside():
    assert seen_share(torch.tensor([[0.0, 0.0], [0.0, 0.0]]), [4], (8, 8)) == 0.25
    assert seen_share(torch.tensor([[-1.0, -1.0]]), [4], (8, 8)) == 4 / 64
    assert seen_share(torch.tensor([[0.0, 0.0]]), [100], (8, 8)) == 1.0


@pytest.mark.parametrize(("model", "more", "least", "most"), [
    ("soft-tiles", {}, 1.0, 1.0),
    ("tiles", {"read": "topk", "k": 15}, 0.91, 1.0),
    ("tiles", {}, 0.0, 0.17),
])  # fmt: skip
def test_tiles_have_seen_all_that_they_read(model, more, least, most):
    kind = options_class(GLIMPSE, model)
    task = GLIMPSE.prepare(kind(model=model, data="digits", glimpses=2, patch=8, hidden_dim=8, glimpse_dim=4, **more))
    [answer] = task.answer(task.build().eval(), [task.example("test", 0).input], None, "json")
    assert least <= answer.to_json()["seen"] <= most  # of 16 tiles


def test_training_ends_with_the_deviation_of_answers():
    task = GLIMPSE.prepare(options(data="digits", max_steps=100, schedule="cosine", schedule_steps=100, warmup_steps=1))
    shares = [float(task.batch(step).progress) for step in (0, 50, 100, 200)]
    assert shares == [0.0, 0.5, 1.0, 1.0]
    for steps in (10, 100):  # a budget, which may grow
        plain = GLIMPSE.prepare(options(data="digits", max_steps=steps, schedule="constant"))
        assert [float(plain.batch(step).progress) for step in (0, 5, 50)] == [1.0] * 3
    several = options(data="digits", schedule="cosine", schedule_steps=100, warmup_steps=1, processes=2)
    task = GLIMPSE.prepare(several)  # batches of one step are one for each process
    found = [float(task.batch(number).progress) for number in (0, 1, 100, 101, 199, 200)]
    assert found == pytest.approx([0, 0, 0.5, 0.5, 0.99, 1])


@pytest.mark.slow
def test_an_evaluation_says_how_much_the_policy_leaves_open(tmp_path):
    assert run(tmp_path / "ram", "--data", "digits") == 0
    assert run(tmp_path / "tiles", "--data", "digits", "--model", "tiles") == 0
    seeing = [word for word in LITTLE if word != "--samples"]
    seeing.remove("2")  # of rollouts, which random places have none to learn from
    anywhere = ["train", "glimpse", "--data", "digits", "--model", "random", *seeing, "--run", str(tmp_path / "soft")]
    assert main(anywhere) == 0
    told = [json.loads((tmp_path / name / "results.json").read_text())["metrics"] for name in ("ram", "tiles", "soft")]
    normal = math.log(2 * math.pi * math.e * 0.05**2)
    assert told[0]["deviation"] == pytest.approx(0.05) and told[0]["entropy"] == pytest.approx(normal, rel=1e-5)
    assert 0 < told[1]["entropy"] <= math.log(16) and "deviation" not in told[1]  # 4 x 4 tiles
    assert told[2]["entropy"] == pytest.approx(math.log(4))
