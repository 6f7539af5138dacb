"""Texts and images are classified by the shared verbs, from training to pictures."""

import gzip
import io
import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from saccade.cli import main

TEXTS = ["the plot was not dull", "", "i did not find the ending funny"]
SMALL = {
    "rnn-attention": ["--embedding-dim", "8", "--hidden-dim", "8"],
    "sum": ["--embedding-dim", "8"],
}
CNN = ["--model", "cnn", "--widths", "4,8", "--batch-size", "16"]


@pytest.fixture
def asked(capsys):
    """Runs the program in this process; returns the exit code, the lines of its output and of its complaints."""

    def ask(*words):
        code = main(list(map(str, words)))
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out.splitlines(), err.splitlines()

    return ask


@pytest.fixture(scope="module", params=SMALL)
def texts(request, tmp_path_factory):
    """A run that classifies texts, with attention or without."""
    run, shared = tmp_path_factory.mktemp("texts") / request.param, ["--data", "reviews", "--max-steps", "3"]
    words = ["--run", str(run), "--model", request.param, *shared, "--validation-examples", "20"]
    assert main(["train", "classify-text", *words, *SMALL[request.param], "--device", "cpu"]) == 0
    return run


def test_a_text_has_its_label_and_how_probable_it_is(texts, asked, tmp_path):
    (tmp_path / "in.txt").write_text("".join(f"{text}\n" for text in TEXTS))
    code, lines, err = asked("predict", texts, "--input", tmp_path / "in.txt")
    assert code == 0 and err == [] and len(lines) == 3 and lines[1] == ""
    for line in (lines[0], lines[2]):
        label, probability = line.split("\t")
        assert label in ("negative", "positive") and 0.5 <= float(probability) <= 1
    (tmp_path / "in.gz").write_bytes(gzip.compress((tmp_path / "in.txt").read_bytes()))
    assert asked("predict", texts, "--input", tmp_path / "in.gz")[1] == lines
    assert asked("predict", texts, TEXTS[0])[1] == lines[:1]


def test_all_labels_have_probabilities_that_sum_to_one(texts, asked):
    code, lines, _ = asked("predict", texts, TEXTS[0], "--nbest", 2)
    assert code == 0 and [line.split("\t")[0] for line in lines] != ["negative", "negative"]
    assert sum(float(line.split("\t")[1]) for line in lines) == pytest.approx(1, abs=2e-4)
    code, _, err = asked("predict", texts, TEXTS[0], "--nbest", 3)
    assert code == 2 and err == ["error: --nbest: expected at most 2, as many labels as there are, got 3"]
    code, _, err = asked("predict", texts, TEXTS[0], "--sample")
    said = "expected only with a run of translate or transcribe or caption; leave it out"
    assert code == 2 and err == [f"error: --sample: {said}"]


def test_what_was_attended_to_is_json_and_a_picture(texts, asked, tmp_path):
    [told] = map(json.loads, asked("predict", texts, TEXTS[0], "--json")[1])
    assert set(told) == {"text", "tokens", "answers", "probabilities", "weights"} and told["text"] == TEXTS[0]
    assert sum(told["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    attends = texts.name != "sum"
    assert (told["weights"] is not None) is attends
    if attends:
        assert all(
            sum(row) == pytest.approx(1, abs=1e-4) and len(row) == len(told["tokens"]) for row in told["weights"]
        )
    code, paths, _ = asked("look", texts, TEXTS[0], "--output", tmp_path / "pictures")
    assert code == 0 and sorted(paths) == sorted(map(str, (tmp_path / "pictures").iterdir())) and len(paths) >= 2


def test_measuring_says_accuracy_and_writes_it(texts, asked):
    code, lines, _ = asked("eval", texts, "--split", "validation")
    assert code == 0 and lines[0].startswith("accuracy on validation: 0.")
    results = json.loads((texts / "results-validation.json").read_text())
    assert f"{results['metrics']['accuracy']:.4f}" in lines[0] and results["task"] == "classify-text"


def test_runs_that_read_the_same_words_answer_together(texts, asked, tmp_path):
    shutil.copytree(texts, tmp_path / "twin")
    alone = asked("predict", texts, TEXTS[0])
    assert asked("predict", texts, TEXTS[0], "--ensemble", tmp_path / "twin") == alone


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """A run that classifies small images from folders, and the folders."""
    folder, draws = tmp_path_factory.mktemp("images"), np.random.default_rng(1)
    for label, level in (("dark", 40), ("light", 200)):
        (folder / "data" / label).mkdir(parents=True)
        for number in range(24):
            pixels = (level + draws.integers(-30, 30, (12, 12, 3))).astype(np.uint8)
            Image.fromarray(pixels).save(folder / "data" / label / f"{number:02}.png")
    words = ["--data", str(folder / "data"), "--run", str(folder / "run"), "--max-steps", "3", "--max-minutes", "1"]
    assert main(["train", "classify-image", *words, *CNN, "--device", "cpu"]) == 0
    return folder


def test_a_file_a_folder_a_list_and_standard_input_have_the_same_answers(images, asked, tmp_path, monkeypatch):
    run, paths = images / "run", sorted((images / "data/dark").iterdir())[:2]
    every = asked("predict", run, images / "data/dark")
    assert every[0] == 0 and len(every[1]) == 24 and {line.split("\t")[0] for line in every[1]} <= {"dark", "light"}
    assert asked("predict", run, paths[1])[1] == every[1][1:2]
    (tmp_path / "list.txt").write_text("".join(f"{path}\n" for path in paths))
    assert asked("predict", run, "--input", tmp_path / "list.txt")[1] == every[1][:2]
    for named in ([], ["--input", "-"]):
        pipe = io.TextIOWrapper(io.BufferedReader(io.BytesIO(paths[0].read_bytes())))
        monkeypatch.setattr(sys, "stdin", pipe)
        assert asked("predict", run, *named)[1] == every[1][:1]


def test_a_file_that_is_no_image_loses_none_of_the_others(images, asked, tmp_path):
    shutil.copytree(images / "data/light", tmp_path / "mixed")
    (tmp_path / "mixed/00.png").write_bytes(b"\x89PNG\r\n\x1a\n and no more")
    (tmp_path / "mixed/01.png").write_text("no image")
    code, lines, err = asked("predict", images / "run", tmp_path / "mixed", "--nbest", 2)
    assert code == 2 and len(lines) == 48 and lines[:4] == [""] * 4 and "" not in lines[4:]
    assert (
        len(err) == 3 and err[-1] == "error: 2 of 24 inputs could not be read, as said above; their answers are blank"
    )
    code, lines, err = asked("predict", images / "run", tmp_path / "mixed/01.png")
    assert code == 2 and lines == [] and len(err) == 1 and "01.png" in err[0]


def test_images_are_measured_and_described(images, asked):
    code, lines, _ = asked("eval", images / "run", "--split", "test")
    assert code == 0 and lines[0].startswith("accuracy on test: ")
    path = images / "data/dark/00.png"
    [told] = map(json.loads, asked("predict", images / "run", path, "--json")[1])
    assert told["file"] == str(path) and set(told["probabilities"]) == {"dark", "light"}


def test_what_is_asked_of_another_classifier_or_verb_is_refused(images, asked):
    path = images / "data/dark/00.png"
    for words, said in (
        (["predict", "--nbest", 3], "--nbest: expected at most 2, as many labels as there are, got 3"),
        (["look", "--label", "dim", "--by", "gradient"], "--label: expected one of dark, light, got dim"),
        (["look", "--label", "dark"], "--label: expected only with --by gradient, grad-cam or integrated-gradients"),
        (["look", "--by", "atention"], "--by: expected "),
        (["predict", "--by", "gradient"], "unknown option --by"),
        (["predict", "--prefix", "d"], "--prefix: expected only with a run of translate or transcribe or caption"),
    ):
        code, out, err = asked(words[0], images / "run", path, *words[1:])
        assert code == 2 and out == [] and len(err) == 1 and err[0].startswith(f"error: {said}")


def test_folders_of_classes_decode_and_lose_markup(asked, tmp_path):
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    for label in ("pos", "neg"):
        Path(folder, label).mkdir(parents=True)
        for number in range(20):
            Path(folder, label, f"{number}.txt").write_text(f"{label}<br />film {number}")
    words = ["--data", folder, "--model", "sum", *SMALL["sum"], "--max-steps", 2, "--device", "cpu", "--strip-markup"]
    code, _, err = asked("train", "classify-text", *words, "--run", tmp_path / "run")
    assert code == 0 and any("held out from training" in line for line in err)
    (tmp_path / "in.txt").write_text("pos<br />film\n\nneg")
    code, lines, _ = asked("predict", tmp_path / "run", "--input", tmp_path / "in.txt", "--names")
    assert code == 0 and [line.split("\t")[0] for line in lines] == ["pos<br />film", "", "neg"] and lines[1] == "\t"
    told = json.loads(asked("predict", tmp_path / "run", "pos<br />film", "--json")[1][0])
    assert told["tokens"] == ["pos", "film"]
    other = [*words[:-1], "--no-strip-markup"]  # other data
    assert asked("train", "classify-text", *other, "--run", tmp_path / "run")[0] == 2
    assert asked("train", "classify-text", *words[:-1], "--run", tmp_path / "run")[0] == 0  # as the run has it
