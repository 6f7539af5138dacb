import pytest
import torch

from saccade.tasks.translate import Translate
from saccade.tasks.translate.evaluation import headline
from saccade.train.run import Run
from saccade.train.trained import load_trained
from tiny import train


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of files whose lines are of 1 to 12 words."""
    folder = tmp_path_factory.mktemp("evaluation") / "corpus"
    folder.mkdir()
    for split, size in (("train", 60), ("val", 24), ("test", 12)):
        for side, word in (("de", "satz"), ("en", "Sentence")):
            lines = (" ".join([f"{word} {n}"] * (1 + n % 6)) + "\n" for n in range(size))
            (folder / f"{split}.{side}").write_text("".join(lines))
    return folder


@pytest.fixture(scope="module")
def trained(folder):
    run = folder.parent / "run"
    assert train(run, "--data", folder, "--source", "de", "--target", "en", "--max-steps", 4) == 0
    return load_trained(Translate, Run.open(run), torch.device("cpu"))


class Perfect(torch.nn.Module):
    """Writes the target whose number is in the source."""

    def __init__(self, task, split):
        super().__init__()
        self.anchor = torch.nn.Parameter(torch.zeros(1))
        pairs = [task.corpus.example(split, index) for index in range(task.corpus.size(split))]
        self.targets = {tuple(task.source.encode(pair.source)): [*task.target.encode(pair.target), 2] for pair in pairs}
        self.size = len(task.target)

    def encode(self, source, lengths):
        rows = zip(source.tolist(), lengths.tolist(), strict=True)
        return Place([self.targets[tuple(ids[: length - 1])] for ids, length in rows], 0)

    def step(self, token, state):
        logits = torch.full((len(token), self.size), -50.0)
        for row, target in enumerate(state.targets):
            logits[row, target[min(state.place, len(target) - 1)]] = 50.0
        return logits, Place(state.targets, state.place + 1)


class Place:
    def __init__(self, targets, place):
        self.targets, self.place = targets, place

    def select(self, rows, examples):
        return Place([self.targets[index] for index in rows.flatten().tolist()], self.place)


def test_files_are_measured_by_scores_with_signatures_and_by_length(trained):
    with torch.inference_mode():
        found = trained.task.evaluate(Perfect(trained.task, "test"), "test")
    assert list(found.metrics) == ["bleu", "bleu_lowercase", "chrf"] and trained.task.headline == "bleu"
    for metric in found.metrics.values():
        assert metric["score"] == pytest.approx(100) and "nrefs:1" in metric["signature"]
    assert "case:lc" in found.metrics["bleu_lowercase"]["signature"]
    assert list(found.groups["bleu"]) == ["1-10", "11-20"] and found.examples == 12
    assert found.groups["bleu"]["11-20"] == pytest.approx(100)  # of fewer than four words there is no BLEU


def test_an_untrained_model_scores_next_to_nothing_and_a_limit_is_kept(trained):
    with torch.inference_mode():
        found = trained.task.evaluate(trained.model, "validation", 5)
    assert found.examples == 5 and found.metrics["bleu"]["score"] < 50


def test_a_sample_is_one_line_of_the_validation_split(trained):
    model = Perfect(trained.task, "validation")
    with torch.inference_mode():
        lines = {step: trained.task.sample(model, step) for step in (1, 2, 3, 4, 5)}
        assert lines[1] == trained.task.sample(model, 1)
    assert len(set(lines.values())) > 1
    for line in lines.values():
        output, _, expected = line.partition(" → ")[2].partition(" (expected: ")
        assert line.startswith("satz") and output + ")" == expected and "\n" not in line


def test_headlines():
    assert headline("dates") == "exact_match" and headline("corpus.tsv") == "bleu"
