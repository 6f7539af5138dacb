import json

import pytest
import torch

from saccade import look
from saccade.errors import ArgumentError
from saccade.models.bag import Bag
from saccade.models.bag import Options as BagOptions
from saccade.models.hierarchical import Hierarchical
from saccade.models.hierarchical import Options as HierarchicalOptions
from saccade.models.padded import Padded
from saccade.models.rnn_attention import Options, RNNAttention
from saccade.models.self_attention import Options as SelfAttentionOptions
from saccade.models.self_attention import SelfAttention
from saccade.tasks.classify_text import classification
from saccade.tasks.classify_text.batches import Encoded, pad
from saccade.tasks.classify_text.classification import Text, classify, read_texts
from saccade.tasks.classify_text.looking import LookRequest
from saccade.tasks.labels import Ensemble
from saccade.tasks.labels.ranking import probabilities
from tiers import every

LABELS = ("negative", "positive")
TEXTS = [
    Text("the film was good", ["the", "film", "was", "good"], [4, 5, 6, 7]),
    Text(" ", [], []),
    Text("bad", ["bad"], [8]),
    Text("x" * 3000, ["x" * 3000], [3]),
]


@pytest.fixture
def hierarchical():
    torch.manual_seed(0)
    return Hierarchical(11, 2, HierarchicalOptions(hidden_dim=8, embedding_dim=6, sentence_words=3)).eval()


@pytest.fixture(params=["attends", "adds"])
def model(request):
    if request.param == "adds":
        return Bag(11, 2, BagOptions(embedding_dim=6)).eval()
    return RNNAttention(11, 2, Options(hidden_dim=8, embedding_dim=6)).eval()


@pytest.fixture(autouse=True)
def inference():
    with torch.inference_mode():
        yield


def test_with_expert_choice_an_answer_is_of_its_text_alone():
    options = SelfAttentionOptions(hidden_dim=8, heads=2, layers=2, feedforward_dim=8, experts=3, routing="experts")
    model = SelfAttention(11, 2, options).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_()
    texts = [Encoded([4, 5, 6, 7], 0), Encoded([8, 9, 10, 4], 0), Encoded([5], 0)]
    alone = [read_texts(model, [text])[0].probable for text in texts]
    assert all(map(torch.equal, alone, (found.probable for found in read_texts(model, texts))))
    together = probabilities(model(pad(texts[:2]).source)[0])
    assert not torch.allclose(together, alone[0])  # in one batch they compete


def test_probabilities_do_not_depend_on_the_batch(model, monkeypatch):
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


def test_words_add_to_classes_without_attention_if_asked(model):
    for form in ("lines", "json"):
        assert all(answer.shares is None for answer in classify(model, TEXTS, LABELS, 1, form))
    assert all(answer.weights is None for answer in classify(model, TEXTS, LABELS))
    answer = classify(model, TEXTS[:1], LABELS, 1, "pictures")[0]
    assert (answer.shares is None) == (answer.weights is not None) == (not isinstance(model, Bag))
    assert answer.shares is None or answer.shares.shape == (4,)


def test_what_words_attend_to_in_a_layer_is_drawn_by_option(tmp_path):
    sizes = {"embedding_dim": 6, "hidden_dim": 8, "heads": 2, "layers": 2, "feedforward_dim": 8, "queries": 2}
    model = SelfAttention(11, 2, SelfAttentionOptions(**sizes)).eval()
    with look.record(model) as records:
        model(Padded(torch.tensor([TEXTS[0].ids]), torch.tensor([4])))
    layers = {name: aux.weights for name, aux in records if name.startswith("layers.")}
    for layer, head in ((1, 2), (2, None)):
        request = LookRequest(layer=layer, head=head)
        request.check(model)
        [answer] = classify(model, TEXTS[:1], LABELS, 1, "pictures", request)
        heads = next(weights for name, weights in layers.items() if name.startswith(f"layers.{layer - 1}."))[0]
        torch.testing.assert_close(answer.within, heads.mean(0) if head is None else heads[head - 1])
        png, svg, numbers = answer.draw(tmp_path, json=True)
        assert png.stem == "the-film-was-good-" + ("layer-1-head-2" if head else "layer-2-mean-of-heads")
        assert f": {request.told}, a row for each word" in svg.read_text()
        assert json.loads(numbers.read_text())["columns"] == TEXTS[0].tokens
    assert classify(model, TEXTS[:1], LABELS, 1, "pictures")[0].within is None
    [answer] = classify(model, TEXTS[:1], LABELS, 1, "pictures")
    assert "query 2: the " in next(path for path in answer.draw(tmp_path) if path.suffix == ".svg").read_text()


@every(
    ("asked", "message"),
    [
        ({"layer": 3}, "--layer: expected at most 1, the --layers of the run, got 3"),
        ({"layer": 1, "head": 5}, "--head: expected at most 4, the --heads of the run, got 5"),
        ({"layer": 0}, "--layer: expected a number from 1 on, got 0"),
        ({"layer": 1, "head": 0}, "--head: expected a number from 1 on, got 0"),
        ({"head": 1}, "--head: expected only with --layer, got 1 without it"),
    ],
)
def test_a_layer_or_a_head_that_there_is_not_is_refused(asked, message):
    model = SelfAttention(11, 2, SelfAttentionOptions(embedding_dim=4, hidden_dim=8, feedforward_dim=8)).eval()
    with pytest.raises(ArgumentError, match=message):
        LookRequest(**asked).check(model)


def test_a_model_without_layers_has_none_to_look_into(model):
    with pytest.raises(ArgumentError, match="--layer: expected one model with layers of self-attention"):
        LookRequest(layer=1).check(model)
    with pytest.raises(ArgumentError, match="--layer: expected one model"):
        LookRequest(layer=1).check(Ensemble([model, model]))


def test_pictures_of_the_words(model, tmp_path):
    drawn = [path for answer in classify(model, TEXTS[:1], LABELS, 1, "pictures") for path in answer.draw(tmp_path)]
    assert [path.suffix for path in drawn] == [".png", ".svg", ".html"]
    said = drawn[1].read_text()
    assert ("no attention; what each word adds to the logit" in said) == isinstance(model, Bag)
    assert ("attention of the learned query" in said) == (not isinstance(model, Bag))


@pytest.mark.slow
def test_words_and_sentences_are_both_shown(hierarchical, tmp_path):
    """Of four words cut into three and one."""
    first, blank, *_ = classify(hierarchical, TEXTS, LABELS, 1, "json")
    told = first.to_json()
    words, of_sentence = told["levels"]["words"], told["levels"]["sentences"]
    assert sum(words[:3]) == pytest.approx(1, abs=1e-5) and words[3] == 1
    assert of_sentence[0] == of_sentence[1] == of_sentence[2] and of_sentence[2] + of_sentence[3] == pytest.approx(1)
    both = [one * other for one, other in zip(words, of_sentence, strict=True)]
    assert told["weights"][0] == pytest.approx(both, abs=1e-5)
    assert "levels" not in blank.to_json()
    [drawn, *_] = classify(hierarchical, TEXTS, LABELS, 1, "pictures")
    said = next(path for path in drawn.draw(tmp_path) if path.suffix == ".html").read_text()
    assert "words in their sentence" in said and "sentences" in said
