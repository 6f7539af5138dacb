import json
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from saccade.data import Examples, Rows
from saccade.models.padded import Padded
from saccade.tasks.labels.labelled import LabelledText
from saccade.tasks.labels.ranks import Batch
from saccade.tasks.labels.word_labels import LabelledWords, WordLabels, span_f1
from saccade.tasks.text.codec import Text
from tiers import every

LABELS = ("NAME", "O", "PLACE")
PREDICTOR = WordLabels(SimpleNamespace(labels=LABELS))
EXAMPLES = [LabelledText("Ann met Bo", "NAME O NAME"), LabelledText("in Rome", "O PLACE")]


class Model(nn.Module):
    """The label of a word is its id."""

    def forward(self, source):
        return nn.functional.one_hot(torch.cat([row[:n] for row, n in zip(*source, strict=True)]), 3).float()


def test_predictions_are_of_the_words_of_each_text():
    source = Padded(torch.tensor([[0, 1, 2], [2, 0, 0]]), torch.tensor([3, 1]))
    assert PREDICTOR.predictions(Model(), Batch(source, torch.zeros(4))) == [[0, 1, 2], [2]]


def test_words_beyond_the_length_do_not_count():
    evaluation = PREDICTOR.measure(None, [[0, 0], [1, 2]], EXAMPLES, None)
    assert evaluation.metrics["accuracy"] == 3 / 4 and (evaluation.examples, evaluation.count) == (2, 4)
    assert evaluation.confusion == {"NAME": {"NAME": 1}, "O": {"NAME": 1, "O": 1}, "PLACE": {"PLACE": 1}}
    assert evaluation.metrics["span_f1"] == 2 * 1 / (2 + 2)  # Ann met, for Ann; Rome


def test_baselines_are_the_most_frequent_labels():
    data = Examples(Rows({"train": [*EXAMPLES, LabelledText("to Bo", "O O")], "test": EXAMPLES}, ""), lambda row: row)
    baselines = PREDICTOR.baselines(data, "test")
    assert baselines["majority"].about == "always O" and baselines["majority"].metrics["accuracy"] == 2 / 5
    assert baselines["word"].metrics["accuracy"] == 1  # Bo is NAME once and O once: the first by the alphabet


@every(
    ("predicted", "targets", "score"),
    [
        ("O O", "O O", 1.0),
        ("B-A I-A", "B-A I-A", 1.0),
        ("B-A B-A", "B-A I-A", 0.0),
        ("I-A I-A", "B-A I-A", 1.0),  # a span that begins with I, as in IOB1
        ("B-A I-B", "B-A O", 2 / 3),
        ("A A O B", "A O O B", 1 / 2),
        ("O O", "A O", 0.0),
    ],
)
def test_spans_are_right_with_their_words_and_label(predicted, targets, score):
    assert span_f1([predicted.split()], [targets.split()]) == pytest.approx(score)


def test_an_answer_is_a_line_of_labels_and_a_picture(tmp_path):
    text = Text([4, 5], text="in Rome", tokens=("in", "Rome"))
    answer = PREDICTOR.reply(text, [1, 2], torch.eye(2))
    assert answer.lines() == ["O PLACE"]
    assert answer.to_json() == {
        "text": "in Rome",
        "tokens": ["in", "Rome"],
        "labels": ["O", "PLACE"],
        "weights": [[1.0, 0.0], [0.0, 1.0]],
    }
    paths = list(answer.draw(tmp_path, json=True))
    [numbers] = [json.loads(path.read_text()) for path in paths if path.suffix == ".json"]
    assert "Rome/PLACE" in json.dumps(numbers)
    blank = PREDICTOR.reply(Text([]), None, None)
    assert isinstance(blank, LabelledWords) and blank.lines() == [""] and not list(blank.draw(tmp_path))
