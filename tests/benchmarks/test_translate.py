"""Our side of the comparison trains and decodes as the commands do, and writes what the other side reads."""

import argparse
import importlib
from pathlib import Path

import pytest
import torch

from saccade import runs

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def benchmark_module(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("translate")


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    for split, count in (("train", 40), ("val", 3), ("test", 5)):
        for side in ("de", "en"):
            lines = "".join(f"{side} {' '.join([side] * (number % 4))} {number}\n" for number in range(count))
            (folder / f"{split}.{side}").write_text(lines)
    return folder


def settings(module, corpus, model):
    sizes = {"embedding_dim": 8} if model == "rnnsearch" else {"heads": 2, "layers": 1, "feedforward_dim": 8}
    named = {**vars(module.parser_of("", model).parse_args([])), "data": corpus, "vocabulary_size": 300}
    return argparse.Namespace(**{**named, "hidden_dim": 8, "batch_tokens": 100, **sizes})


@pytest.mark.parametrize("model", ["rnnsearch", "transformer"])
def test_steps_and_answers_are_the_programs_own(benchmark_module, corpus, tmp_path, model):
    torch.manual_seed(1)
    arguments = settings(benchmark_module, corpus, model)
    task = benchmark_module.open_task(arguments)
    ours = benchmark_module.Ours(task, sentences=2)
    found = ours.train(2)
    assert len(found["batches"]) == 2 and found["loss"] > 0 and ours.step == 2
    batch = task.batch(0)
    assert found["batches"][0][0] == batch.source.lengths.tolist()
    decoded = ours.decode(beam_size=2, sentences=5)
    sources = [task.read(task.data.example("test", index).source, index + 1) for index in range(5)]
    request = task.requests["predict"](beam_size=2)
    with torch.inference_mode():
        answers = task.answer(ours.model, sources, request)
    assert decoded["texts"] == [answer.lines()[0] for answer in answers]
    assert decoded["lengths"] == [1 + len(answer.outputs[0].ids) for answer in answers]
    assert ours.parameters()["parameters"] > 0 and ours.count(3, 4)["flops"] > 0


def test_the_other_side_is_given_our_tokens(benchmark_module, corpus, tmp_path):
    arguments = settings(benchmark_module, corpus, "rnnsearch")
    task = benchmark_module.open_task(arguments)
    benchmark_module.write_data(task, tmp_path, arguments)
    lines = (tmp_path / "test.source").read_text().splitlines()
    wanted = [example.text for example in runs.examples("translate", "test", 9, data=corpus, source="de", target="en")]
    assert [task.vocabulary.source.decode(list(map(int, line.split()))) for line in lines] == wanted
    known = set((tmp_path / "vocabulary.source").read_text().split())
    assert {word for line in lines for word in line.split()} <= known
    assert len((tmp_path / "train.target").read_text().splitlines()) == 40
