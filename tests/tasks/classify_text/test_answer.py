"""Classes of texts, their attention as JSON, and pictures of their words."""

import json

import pytest
import torch

from saccade import look
from saccade.errors import ArgumentError
from saccade.models.bag import Bag
from saccade.models.bag import Options as BagOptions
from saccade.models.hierarchical import Hierarchical
from saccade.models.hierarchical import Options as HierarchicalOptions
from saccade.models.rnn_attention import Options, RNNAttention
from saccade.models.self_attention import Options as SelfAttentionOptions
from saccade.models.self_attention import SelfAttention
from saccade.models.word_prior import Coefficients
from saccade.tasks.classify_text import answer as module
from saccade.tasks.classify_text.answer import LookRequest, answers, read_texts, subject
from saccade.tasks.labels import Ensemble
from saccade.tasks.labels.ranking import probabilities
from saccade.tasks.text.codec import Text, pad
from tiers import every

LABELS = ("negative", "positive")
TEXTS = [
    Text([4, 5, 6, 7], text="the film was good", tokens=["the", "film", "was", "good"]),
    Text([], text=" "),
    Text([8], text="bad", tokens=["bad"]),
    Text([3], text="x" * 3000, tokens=["x" * 3000]),
]
SIZES = {"embedding_dim": 6, "hidden_dim": 8, "heads": 2, "layers": 2, "feedforward_dim": 8}


def classify(model, texts=TEXTS, count=1, form="lines", **look):
    return answers(model, texts, LABELS, count, form, LookRequest(**look))


@pytest.fixture(params=["attends", "adds"])
def model(request):
    if request.param == "adds":
        return Bag(11, 2, BagOptions(embedding_dim=6)).eval()
    return RNNAttention(11, 2, Options(hidden_dim=8, embedding_dim=6)).eval()


@pytest.fixture(autouse=True)
def inference():
    with torch.inference_mode():
        yield


def test_with_expert_choice_each_text_is_read_alone():
    model = SelfAttention(11, 2, SelfAttentionOptions(**SIZES, experts=3, routing="experts")).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_()
    texts = [Text([4, 5, 6, 7]), Text([8, 9, 10, 4]), Text([5])]
    alone = [read_texts(model, [text])[0].probabilities for text in texts]
    assert all(map(torch.equal, alone, (reading.probabilities for reading in read_texts(model, texts))))
    together = probabilities(model(pad(texts[:2]))[0])
    assert not torch.allclose(together, alone[0])  # words of a batch compete


def test_probabilities_do_not_depend_on_the_batch(model, monkeypatch):
    texts = [text for text in TEXTS if text.ids]
    whole = read_texts(model, texts, attended=True)
    monkeypatch.setattr(module, "_TOKENS", 3)
    for one, other in zip(whole, read_texts(model, texts, attended=True), strict=True):
        torch.testing.assert_close(one.probabilities, other.probabilities)
        assert one.probabilities.dtype == torch.float64 and float(one.probabilities.sum()) == pytest.approx(1)
        assert (one.weights is None) == (other.weights is None) == isinstance(model, Bag)
        if one.weights is not None:
            torch.testing.assert_close(one.weights, other.weights)
    assert read_texts(model, []) == []


def test_blank_texts_have_blank_answers_in_their_place(model):
    found = classify(model, TEXTS, 2, "json")
    assert [answer.lines() == ["", ""] for answer in found] == [False, True, False, False]
    blank = found[1].to_json()
    assert blank == {"text": " ", "tokens": [], "answers": [], "probabilities": {}, "weights": None}


def test_json_has_tokens_probabilities_and_attention(model):
    [answer, *_] = classify(model, form="json")
    content = answer.to_json()
    assert content["tokens"] == TEXTS[0].tokens and len(content["answers"]) == 1
    assert sum(content["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    assert content["answers"][0]["probability"] == max(content["probabilities"].values()) >= 0.5
    assert (content["weights"] is None) == isinstance(model, Bag)
    if content["weights"] is not None:
        assert [len(row) for row in content["weights"]] == [4]
        assert sum(content["weights"][0]) == pytest.approx(1, abs=1e-4)
    best, other = (line.split("\t") for line in classify(model, TEXTS[:1], 2)[0].lines())
    assert {best[0], other[0]} == set(LABELS) and float(best[1]) + float(other[1]) == pytest.approx(1, abs=2e-4)


def test_attention_or_shares_are_drawn(model, tmp_path):
    assert all(answer.picture is None for form in ("lines", "json") for answer in classify(model, form=form))
    assert all(answer.weights is None for answer in classify(model))
    [answer] = classify(model, TEXTS[:1], form="pictures")
    if isinstance(model, Bag):
        best = answer.ranking.best
        shares, logits = answer.picture.values[0], model(pad(TEXTS[:1]))[0]
        bias = model.output.bias
        torch.testing.assert_close(shares.sum(), (logits - bias)[best] - (logits - bias)[1 - best])
    drawn = list(answer.draw(tmp_path))
    assert [path.suffix for path in drawn] == [".png", ".svg", ".html"]
    title = drawn[1].read_text()
    assert ("no attention: each word's share of the logit" in title) == isinstance(model, Bag)
    assert ("attention of the learned query" in title) == (not isinstance(model, Bag))


def jacobian(model, text, label=None):
    [reading] = read_texts(model, [text], attended=True)
    return subject(model, text, ("a", "b"), reading, label).scores("jacobian", signed=label is not None).values[0]


def test_without_attention_or_shares_the_jacobian_is_drawn(tmp_path, monkeypatch):
    with torch.inference_mode(mode=False):
        model = Bag(11, 2, BagOptions(embedding_dim=6)).eval()
    monkeypatch.setattr(Bag, "shares", lambda self, tokens, label: None)  # the default of a classifier
    [answer] = classify(model, TEXTS[:1], form="pictures")
    norms = jacobian(model, TEXTS[0])
    torch.testing.assert_close(answer.picture.values[0], norms / norms.sum(), check_dtype=False)
    assert list(answer.draw(tmp_path))


def test_a_word_speaks_for_its_class_or_against_it():
    with torch.inference_mode(mode=False):
        model = Bag(11, 2, BagOptions(embedding_dim=6)).eval()
    for label in (0, 1):
        signed, logits = jacobian(model, TEXTS[0], label), model(pad(TEXTS[:1]))[0]
        torch.testing.assert_close(signed.sum(), (logits - model.output.bias)[label], check_dtype=False)
        assert torch.equal(signed.abs() > 0, jacobian(model, TEXTS[0]) > 0)
    [answer] = classify(model, TEXTS[:1], form="pictures", by="jacobian", signed=True)
    torch.testing.assert_close(answer.picture.values[0], jacobian(model, TEXTS[0], answer.ranking.best))
    assert answer.picture.scale == "derivative"


@pytest.mark.parametrize("attends", [True, False])
def test_a_fitted_start_is_named_and_has_the_words_of_its_regression(attends):
    with torch.inference_mode(mode=False):
        model = RNNAttention(11, 2, Options(hidden_dim=8, embedding_dim=6))
        weight = torch.stack([torch.linspace(-1, 1, 11), torch.zeros(11)], -1)
        model.start_from(Coefficients(torch.ones(11), weight, torch.zeros(2), torch.ones(())))
        model.eval()
    if not attends:
        model.pooled = lambda records, source: None
    assert model.is_start
    with pytest.raises(ArgumentError, match=r"got scores of zeros, for example a run that is its fitted start"):
        classify(model, TEXTS[:1], form="pictures", by="jacobian")
    [answer] = classify(model, TEXTS[:1], form="pictures")
    if attends:
        assert answer.picture.about.endswith("which moves no class: the run is its fitted start")
    else:
        logits = model(pad(TEXTS[:1]))[0]
        torch.testing.assert_close(answer.picture.values.sum(), logits.max() - logits.min())
    model.output.weight.data.fill_(1.0)
    assert not model.is_start


def test_a_layer_of_self_attention_is_drawn(tmp_path):
    model = SelfAttention(11, 2, SelfAttentionOptions(**SIZES, queries=2)).eval()
    with look.record(model) as records:
        model(pad(TEXTS[:1]))
    layers = {name: aux.weights for name, aux in records if name.startswith("layers.")}
    for layer, head in ((1, 2), (2, None)):
        LookRequest(layer=layer, head=head).check(model)
        [answer] = classify(model, TEXTS[:1], form="pictures", layer=layer, head=head)
        heads = next(weights for name, weights in layers.items() if name.startswith(f"layers.{layer - 1}."))[0]
        torch.testing.assert_close(answer.picture.values, heads.mean(0) if head is None else heads[head - 1])
        png, svg, numbers = answer.draw(tmp_path, json=True)
        assert png.stem == "the-film-was-good-" + ("layer-1-head-2" if head else "layer-2-mean-of-heads")
        assert f": {answer.picture.layer}, a row for each word" in svg.read_text()
        assert json.loads(numbers.read_text())["columns"] == TEXTS[0].tokens
    [answer] = classify(model, TEXTS[:1], form="pictures")
    assert "query 2: the " in next(path for path in answer.draw(tmp_path) if path.suffix == ".svg").read_text()


def test_hard_self_attention_shows_the_word_that_each_word_took(tmp_path):
    torch.manual_seed(0)
    model = SelfAttention(11, 2, SelfAttentionOptions(**SIZES, self_read="argmax")).eval()
    [answer] = classify(model, TEXTS[:1], form="pictures")
    files = {path.name: path for path in answer.draw(tmp_path, json=True)}
    layers = [f"the-film-was-good-layer-{number}-mean-of-heads" for number in (1, 2)]
    assert {name.partition(".")[0] for name in files} == {"the-film-was-good", *layers}
    heads = []
    for head in (1, 2):
        [answer] = classify(model, TEXTS[:1], form="pictures", layer=1, head=head)
        *_, numbers = answer.draw(tmp_path, json=True)
        heads.append(torch.tensor(json.loads(numbers.read_text())["values"]))
        assert torch.equal(heads[-1], torch.nn.functional.one_hot(heads[-1].argmax(-1), 4).float())
    mean = json.loads(files[f"{layers[0]}.json"].read_text())["values"]
    assert mean == torch.stack(heads).mean(0).tolist()
    assert not classify(model, TEXTS[:1], form="json")[0].taken


@every(
    ("options", "message"),
    [
        ({"layer": 3}, "--layer: expected at most 1, the --layers of the run, got 3"),
        ({"layer": 1, "head": 5}, "--head: expected at most 4, the --heads of the run, got 5"),
        ({"layer": 0}, "--layer: expected a number from 1 on, got 0"),
        ({"layer": 1, "head": 0}, "--head: expected a number from 1 on, got 0"),
        ({"head": 1}, "--head: expected only with --layer, got 1 without it"),
    ],
)
def test_a_missing_layer_or_head_is_rejected(options, message):
    model = SelfAttention(11, 2, SelfAttentionOptions(embedding_dim=4, hidden_dim=8, feedforward_dim=8)).eval()
    with pytest.raises(ArgumentError, match=message):
        LookRequest(**options).check(model)


def test_a_layer_of_a_model_without_layers_is_rejected(model):
    for other in (model, Ensemble([model, model])):
        with pytest.raises(ArgumentError, match="--layer: expected one model with layers of self-attention"):
            LookRequest(layer=1).check(other)


@pytest.mark.slow
def test_attention_to_words_and_to_sentences_is_shown(tmp_path):
    """Four words, cut into sentences of three and one."""
    torch.manual_seed(0)
    model = Hierarchical(11, 2, HierarchicalOptions(hidden_dim=8, embedding_dim=6, sentence_words=3)).eval()
    first, blank, *_ = classify(model, form="json")
    content = first.to_json()
    words, sentences = content["levels"]["words"], content["levels"]["sentences"]
    assert sum(words[:3]) == pytest.approx(1, abs=1e-5) and words[3] == 1
    assert sentences[0] == sentences[1] == sentences[2] and sentences[2] + sentences[3] == pytest.approx(1)
    products = [word * sentence for word, sentence in zip(words, sentences, strict=True)]
    assert content["weights"][0] == pytest.approx(products, abs=1e-5)
    assert "levels" not in blank.to_json()
    [drawn, *_] = classify(model, form="pictures")
    page = next(path for path in drawn.draw(tmp_path) if path.suffix == ".html").read_text()
    assert "words in their sentence" in page and "sentences" in page
