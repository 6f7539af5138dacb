import pytest
import torch

from saccade.models.bag import Bag
from saccade.models.bag import Options as BagOptions
from saccade.models.rnn_attention import Options, RNNAttention
from saccade.tasks.classify_text import classification
from saccade.tasks.classify_text.batches import Encoded
from saccade.tasks.classify_text.classification import Text, classify, read_texts

LABELS = ("negative", "positive")
TEXTS = [
    Text("the film was good", ["the", "film", "was", "good"], [4, 5, 6, 7]),
    Text(" ", [], []),
    Text("bad", ["bad"], [8]),
    Text("x" * 3000, ["x" * 3000], [3]),
]


@pytest.fixture(params=["attends", "adds"])
def model(request):
    if request.param == "adds":
        return Bag(11, 2, BagOptions(embedding_dim=6)).eval()
    return RNNAttention(11, 2, Options(hidden_dim=8, embedding_dim=6)).eval()


@pytest.fixture(autouse=True)
def inference():
    with torch.inference_mode():
        yield


def test_probabilities_are_those_of_each_text_alone_whatever_the_batches(model, monkeypatch):
    texts = [Encoded(text.ids, 0) for text in TEXTS if text.ids]
    whole = read_texts(model, texts, attended=True)
    monkeypatch.setattr(classification, "_TOKENS", 3)
    for one, other in zip(whole, read_texts(model, texts, attended=True), strict=True):
        torch.testing.assert_close(one[0], other[0])
        assert one[0].dtype == torch.float64 and float(one[0].sum()) == pytest.approx(1)
        assert (one[1] is None) == (other[1] is None) == isinstance(model, Bag)
        if one[1] is not None:
            torch.testing.assert_close(one[1], other[1])
    assert read_texts(model, []) == []


def test_blank_texts_are_answered_in_place_with_blanks(model):
    answers = classify(model, TEXTS, LABELS, 2, "json")
    assert [answer.lines() == ["", ""] for answer in answers] == [False, True, False, False]
    blank = answers[1].to_json()
    assert blank == {"text": " ", "tokens": [], "answers": [], "probabilities": {}, "weights": None}


def test_what_is_said_of_a_text(model):
    [answer, *_] = classify(model, TEXTS, LABELS, 1, "json")
    told = answer.to_json()
    assert told["tokens"] == TEXTS[0].tokens and len(told["answers"]) == 1
    assert sum(told["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    assert told["answers"][0]["probability"] == max(told["probabilities"].values()) >= 0.5
    assert (told["weights"] is None) == isinstance(model, Bag)
    if told["weights"] is not None:
        assert [len(row) for row in told["weights"]] == [4] and sum(told["weights"][0]) == pytest.approx(1, abs=1e-4)
    best, other = (line.split("\t") for line in classify(model, TEXTS[:1], LABELS, 2)[0].lines())
    assert {best[0], other[0]} == set(LABELS) and float(best[1]) + float(other[1]) == pytest.approx(1, abs=2e-4)


def test_what_words_add_is_told_where_nothing_attends_and_is_not_asked_for_otherwise(model):
    for form in ("lines", "json"):
        assert all(answer.shares is None for answer in classify(model, TEXTS, LABELS, 1, form))
    assert all(answer.weights is None for answer in classify(model, TEXTS, LABELS))
    answer = classify(model, TEXTS[:1], LABELS, 1, "pictures")[0]
    assert (answer.shares is None) == (answer.weights is not None) == (not isinstance(model, Bag))
    assert answer.shares is None or answer.shares.shape == (4,)


def test_pictures_of_the_words(model, tmp_path):
    drawn = [path for answer in classify(model, TEXTS, LABELS, 1, "pictures") for path in answer.draw(tmp_path)]
    assert [path.suffix for path in drawn] == [".png", ".svg", ".html"] * 3
    said = drawn[1].read_text()
    assert ("no attention; what each word adds to the logit" in said) == isinstance(model, Bag)
    assert ("attention of the learned query" in said) == (not isinstance(model, Bag))
