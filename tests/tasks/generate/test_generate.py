import json
from dataclasses import dataclass

import pytest
import torch

from saccade.models.padded import Padded
from saccade.models.rnnsearch import Options, RNNSearch
from saccade.tasks.generate import search
from saccade.tasks.generate.generate import Output, Sampling, Search, Written, best_texts, generate, outputs_of
from saccade.tasks.text.tokenizer import Characters

SOURCE = Padded(torch.tensor([[4, 5, 2], [6, 2, 0]]), torch.tensor([3, 2]))
NAMES, LIMITS = [(1, "a"), (2, "b")], torch.tensor([6, 4])


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return RNNSearch(9, 9, Options(hidden_dim=8, embedding_dim=4)).eval()


def written(model, how, names=NAMES):
    with torch.inference_mode():
        return generate(model, model.encode(SOURCE), LIMITS, how, names)


def test_it_searches_as_it_is_asked(model):
    with torch.inference_mode():
        state = model.encode(SOURCE)
        plain = search(model, state, LIMITS, begin=1, end=2, beam_size=3, length_penalty=0.2, count=2)
    ours = written(model, Search(beam_size=3, length_penalty=0.2, count=2))
    assert ours.lists() == plain.lists() and torch.equal(ours.scores, plain.scores)
    every = written(model, Search(beam_size=3, length_penalty=0.2, count=1, rank_all=True))
    assert [len(outputs) for outputs in every.lists()] == [3, 3]
    assert [outputs[:2] for outputs in every.lists()] == plain.lists()


def test_more_are_pursued_where_more_are_wanted(model):
    assert Search(beam_size=2, count=5).width == 5 == Search(beam_size=5, count=2).width
    assert [len(outputs) for outputs in written(model, Search(beam_size=1, count=3)).lists()] == [3, 3]


def test_draws_follow_from_the_seed_and_the_name_alone(model):
    how = Search(count=3, sampling=Sampling(1.0, 1.0, 7))
    first = written(model, how).lists()
    assert written(model, how).lists() == first and how.width == 3
    assert written(model, Search(count=3, sampling=Sampling(1.0, 1.0, 8))).lists() != first
    assert written(model, how, [(2, "a"), (2, "b")]).lists()[1] == first[1]
    few = written(model, Search(count=1, sampling=Sampling(1.0, 1.0, 7))).lists()
    assert few == [outputs[:1] for outputs in first]


@pytest.mark.parametrize("sampling", [None, Sampling(2.0, 1.0, 1)])
def test_a_prefix_and_a_least_length_are_kept(model, sampling):
    found = written(model, Search(beam_size=2, min_length=3, prefix=[5], sampling=sampling))
    assert all(ids[0] == 5 and len(ids) >= 3 for [ids] in found.lists())


def test_outputs_are_texts_in_one_line_and_json(model):
    letters = Characters("abc\n ")
    found = written(model, Search(beam_size=3, count=3))
    rows = outputs_of(found, letters)
    assert [[output.ids for output in outputs] for outputs in rows] == found.lists()
    assert all(len(output.text.splitlines()) <= 1 for outputs in rows for output in outputs)
    told = Output("a b", [4, 5], -0.1234567, torch.tensor([[1 / 3, 2 / 3]]), ("a", "b")).to_json()
    assert told == {"text": "a b", "score": -0.123457, "tokens": ["a", "b"], "weights": [[0.333333, 0.666667]]}
    assert json.loads(json.dumps(told)) == told and Output("", [], 0.0).to_json()["weights"] is None


def test_the_best_text_of_each_example_is_its_first():
    outputs = [Output(text, [], 0.0) for text in "abc"]
    assert best_texts([outputs, [], outputs[1:]]) == ["a", "", "b"]


@dataclass(frozen=True, repr=False)
class Spoken(Written):
    """Texts of nothing."""

    outputs: list[Output]
    count: int


@pytest.mark.parametrize(
    ("texts", "count", "lines"),
    [([], 2, ["", ""]), (["a"], 1, ["a"]), (["a", "b", "c"], 2, ["a", "b"]), (["a"], 3, ["a", "", ""])],
)
def test_an_answer_has_as_many_lines_as_requested(texts, count, lines):
    assert Spoken([Output(text, [4], 0.0) for text in texts], count).lines() == lines
