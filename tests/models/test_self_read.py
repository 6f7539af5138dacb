"""Self-attention that takes one word: its gradients, its draws, and the options around it."""

import itertools

import pytest
import torch
from torch.nn import functional as F

from models.translators import BATCH, TARGET
from models.variants import CLASSIFIERS, SEQ2SEQ, SMALL, TEXTS, WANTED
from saccade import AuxRequest, look, reads
from saccade.errors import ArgumentError
from saccade.models import self_attention, self_read, transformer
from saccade.models.layers import Layer
from saccade.models.padded import Padded
from saccade.models.self_attention import SelfAttention
from saccade.models.transformer import Transformer
from tiers import every, rest_slow

LABELS = torch.tensor([2, 0, 1])
SIZES = {"hidden_dim": 4, "heads": 1, "feedforward_dim": 4, "dropout": 0.0}
ESTIMATORS = {
    "learned": {},
    "leave-one-out": {"baseline": "leave-one-out", "samples": 2},
    "moving-average": {"baseline": "moving-average"},
}


def classifier_of(**changes):
    torch.manual_seed(0)
    options = self_attention.Options(**{**SIZES, "embedding_dim": 3, "word_dropout": 0.0, **changes})
    return SelfAttention(9, 3, options).double().train()


def translator_of(**changes):
    torch.manual_seed(0)
    return Transformer(9, 7, transformer.Options(**{**SIZES, **changes})).double().train()


def classified(model, rows):
    """The cost of a text of two words, and of another whose second word is padding."""
    source = Padded(torch.tensor([[6, 7], [4, 0]])[:rows], torch.tensor([2, 1])[:rows])
    return model.cost(source, torch.tensor([2, 1])[:rows], 0.1)


def translated(model, rows):
    """The cost of a sentence of two words, and of another whose second word is padding."""
    source = Padded(torch.tensor([[4, 5], [6, 0]])[:rows], torch.tensor([2, 1])[:rows])
    target, labels = torch.tensor([[1, 4], [1, 5]])[:rows], torch.tensor([[4, 5], [5, 0]])[:rows]
    return model(source, target, labels, 0.1)


KINDS = {"classifier": (classifier_of, classified), "translator": (translator_of, translated)}


def draw_all(monkeypatch, layers, heads, rows, length=2):
    """Yield each way to draw from two words, once the next forward draws it."""
    for path in itertools.product((0.0, 0.999999), repeat=layers * heads * rows * length):
        uniforms = iter(torch.tensor(path, dtype=torch.double).view(layers, rows, heads, length))
        monkeypatch.setattr(
            reads.Sample, "drawn", lambda read, *_, u=uniforms: reads.Sample(read.estimator, uniform=next(u))
        )
        yield path


@pytest.mark.parametrize(
    ("kind", "layers", "heads", "estimator", "rows"),
    rest_slow(
        [
            ("classifier", 2, 1, "moving-average", 1),
            ("translator", 1, 1, "leave-one-out", 1),
            ("classifier", 1, 2, "learned", 1),
            ("translator", 2, 1, "learned", 1),
            ("classifier", 1, 1, "leave-one-out", 1),
            ("classifier", 2, 1, "learned", 2),
            ("translator", 1, 1, "moving-average", 2),
        ],
        fast=2,
    ),
)
def test_the_mean_gradient_of_all_draws_is_that_of_the_expected_cost(kind, layers, heads, estimator, rows, monkeypatch):
    make, cost = KINDS[kind]
    model = make(self_read="sample", layers=layers, heads=heads, **ESTIMATORS[estimator])
    learning = [p for name, p in model.named_parameters() if not name.startswith("reinforce.")]
    kept, original = [], model.reinforce.cost_of_rows

    def cost_of_rows(mean, losses, counts, samples, inside):
        kept[:] = mean, torch.cat(samples.log_prob, 1)
        if model.reinforce.baseline is None and estimator == "moving-average":
            model.reinforce.average.fill_(3.0)
        return original(mean, losses, counts, samples, inside)

    monkeypatch.setattr(model.reinforce, "cost_of_rows", cost_of_rows)
    estimated, expected, total = [torch.zeros_like(p) for p in learning], 0.0, 0.0
    for _ in draw_all(monkeypatch, layers, heads, rows * model.options.samples):
        value = cost(model, rows)
        mean, log_prob = kept
        probability = log_prob.sum().exp()
        torch.testing.assert_close(value, mean)
        if not probability.detach():  # a draw of padding
            continue
        grads = torch.autograd.grad(value, learning, retain_graph=True)
        estimated = [e + probability.detach() * g for e, g in zip(estimated, grads, strict=True)]
        expected, total = expected + probability * mean, total + float(probability.detach())
    assert total > 0.9
    for one, other in zip(estimated, torch.autograd.grad(expected / total, learning), strict=True):
        torch.testing.assert_close(one / total, other)


def by_hand(model, source, hard):
    """Logits of a classifier with one head, whose weights `hard` changes."""
    x = model.projection(model.words(source.values))
    [layer] = model.layers
    y = layer.norms[0](x)
    query, key, value = F.linear(y, layer.attention.in_proj_weight, layer.attention.in_proj_bias).chunk(3, -1)
    weights = (query @ key.mT / key.shape[-1] ** 0.5).masked_fill(~source.within[:, None], -torch.inf).softmax(-1)
    x = x + layer.attention.out_proj(hard(weights, value))
    x = x + layer.outer(F.relu(layer.inner(layer.norms[1](x))))
    return model.classify(model.norm(x), source)


def one_hot(weights):
    return F.one_hot(weights.argmax(-1), weights.shape[-1]).double()


def straight_through(weights, value):
    """The output of one word, with the gradient of the mean of all."""
    soft = weights @ value
    return (one_hot(weights) @ value).detach() + soft - soft.detach()


@every(
    ("self_read", "training", "hard"),
    [
        ("argmax", True, straight_through),
        ("argmax", False, lambda weights, value: one_hot(weights) @ value),
        ("sample", False, lambda weights, value: one_hot(weights) @ value),
    ],
)
def test_the_likeliest_word_is_taken_and_straight_through_is_its_definition(self_read, training, hard):
    model = classifier_of(self_read=self_read, layers=1, positions="none").train(training)
    texts = Padded(TEXTS.values % 9, TEXTS.lengths)
    expected = F.cross_entropy(by_hand(model, texts, hard), LABELS)
    cost, learning = model.cost(texts, LABELS), [*model.words.parameters(), *model.layers.parameters()]
    torch.testing.assert_close(cost, expected)
    found, wanted = (torch.autograd.grad(loss, learning, allow_unused=True) for loss in (cost, expected))
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other)
    queries_and_keys = model.layers[0].attention.in_proj_weight.grad_fn is None and found[1][:8]
    assert bool((queries_and_keys != 0).any()) == training


def test_in_training_words_are_drawn_by_their_weights():
    layer = Layer(transformer.Options(**SIZES, self_read="sample"), attends=False).double()
    x = torch.randn(1, 3, 4, dtype=torch.double).expand(3000, 3, 4)
    _, aux = layer.attention(x, aux=AuxRequest(weights=True, index=True))
    shares = F.one_hot(aux.index[:, 0], 3).double().mean(0)
    assert (shares - aux.weights[0, 0]).abs().max() < 0.05
    assert torch.equal(aux.weights[0], aux.weights[-1])
    _, aux = layer.eval().attention(x[:1], aux=AuxRequest(weights=True, index=True))
    assert torch.equal(aux.index, aux.weights.argmax(-1))


@every("kind", [*KINDS])
def test_where_every_example_reads_the_mean_it_is_soft(kind):
    make, cost = KINDS[kind]
    soft = make(layers=2, heads=2)
    hard = make(layers=2, heads=2, self_read="sample", baseline="moving-average", soft_share=1.0, samples=2)
    hard.load_state_dict({**hard.state_dict(), **soft.state_dict()})
    costs = [cost(model, 2) for model in (soft, hard)]
    torch.testing.assert_close(*costs)
    [loss.backward() for loss in costs]
    for one, other in zip(soft.parameters(), hard.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad)
    assert hard.reinforce.average == 0


@every(("kind", "estimator"), list(itertools.product(KINDS, ESTIMATORS)))
def test_draws_of_padding_have_no_effect(kind, estimator, monkeypatch):
    """With the same draws, more padding changes neither the cost nor a gradient. The entropy counts no padding."""
    make, _ = KINDS[kind]
    model = make(self_read="sample", layers=2, heads=2, entropy_bonus=0.1, **ESTIMATORS[estimator])
    uniforms = torch.rand(2 * model.options.samples, 2, 5, generator=torch.Generator().manual_seed(1)).double()
    monkeypatch.setattr(
        reads.Sample, "drawn", lambda read, shape, *_: reads.Sample("reinforce", uniform=uniforms[..., : shape[-1]])
    )
    found = []
    for width in (3, 5):
        source = Padded(torch.tensor([[4, 5, 6, 0, 0], [7, 8, 0, 0, 0]])[:, :width], torch.tensor([3, 2]))
        if kind == "classifier":
            cost = model.cost(source, torch.tensor([0, 2]))
        else:
            cost = model(source, torch.tensor([[1, 4], [1, 5]]), torch.tensor([[4, 5], [5, 0]]))
        model.zero_grad()
        cost.backward()
        found.append([cost.detach(), *(p.grad.clone() for p in model.parameters())])
        if model.reinforce.baseline is None:
            getattr(model.reinforce, "average", torch.zeros(())).zero_()
    torch.testing.assert_close(*found)
    assert all(bool((grad != 0).any()) for grad in found[0])


def test_several_samples_cost_what_their_rows_cost_alone():
    model = translator_of(self_read="sample", layers=2, heads=2, samples=3)
    rows = torch.arange(3).repeat_interleave(3)
    single = translator_of(self_read="sample", layers=2, heads=2)
    single.load_state_dict(model.state_dict())
    source = Padded(BATCH.values % 9, BATCH.lengths)
    torch.manual_seed(5)
    cost = model(source, TARGET % 7, WANTED % 7, 0.1)
    torch.manual_seed(5)
    repeated = Padded(source.values[rows], source.lengths[rows])
    torch.testing.assert_close(cost, single(repeated, TARGET[rows] % 7, WANTED[rows] % 7, 0.1))


@every("name", ["self-attention, sample", "self-attention, argmax"])
def test_layers_show_the_word_that_each_word_took(name):
    model = CLASSIFIERS[name].make()
    with look.record(model) as records:
        model(TEXTS)
    weights = [aux.weights for name, aux in records if name.endswith(".attention")]
    layers = model.layers_attended(records)
    assert model.hard and len(layers) == 2
    for taken, soft in zip(layers, weights, strict=True):
        assert torch.equal(taken, one_hot(soft)) and not torch.equal(taken, soft)


@every(
    ("said", "words"),
    [
        ({"self_read": "hard"}, "--self-read: expected soft or sample or argmax, got hard"),
        ({"samples": 2}, "--samples: expected only with --self-read sample, got 2 and --self-read soft"),
        ({"self_read": "argmax", "soft_share": 0.5}, "--soft-share: expected only with --self-read sample, got 0.5"),
        (
            {"self_read": "sample", "baseline": "mine"},
            "--baseline: expected learned or leave-one-out or moving-average",
        ),
        ({"self_read": "sample", "baseline": "leave-one-out"}, "--samples: expected a number from 2 to 1000 with"),
        ({"self_read": "sample", "reward_weight": 0.0}, "--reward-weight: expected a finite number above 0, got 0.0"),
        ({"self_read": "sample", "experts": 4}, "--experts: expected 0 with --self-read sample, got 4"),
    ],
)
def test_options_that_contradict_are_rejected_by_name(said, words):
    for kind in (self_attention.Options, transformer.Options):
        with pytest.raises(ArgumentError, match=words):
            kind(**said)


def test_decoders_and_other_jobs_read_softly():
    model = SEQ2SEQ["transformer, sample"].make()
    assert all(layer.attention.eval_read is None for layer in model.decoder)
    assert all(layer.attention.eval_read.get() == reads.Argmax() for layer in model.encoder)
    assert SEQ2SEQ["transformer"].make().reinforce is None
    assert self_read.attention_options(SMALL) == {}
