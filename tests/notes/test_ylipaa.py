"""Equations of Ylipää 2020, "Attention in Neural Networks", against plain formulas in float64."""

import pytest
import torch
from torch.nn import functional as F

from notes.equation import agree, agree_with_parameters, assert_rounded, drawn, inputs_of
from saccade import AuxRequest, attend, nn, normalizers, scores
from saccade.errors import ShapeError
from saccade.models.bag import Bag, Options
from saccade.models.padded import Padded

WORDS, FEATURES = 6, 5
SENTENCE = (WORDS, FEATURES)
WEIGHTS = AuxRequest(weights=True)


def summed(x):
    """A readout whose weights are all one."""
    query, keys = torch.zeros(1, 1, dtype=x.dtype), torch.zeros(len(x), 1, dtype=x.dtype)
    ones = torch.ones(1, len(x), dtype=x.dtype)
    return attend(query, keys, x, score=lambda q, k: ones, normalizer=normalizers.Identity())


def logistic(x, weight, bias, theta):
    """Fixed attention of the note: a network with one hidden layer scores each word."""
    return torch.softmax(torch.sigmoid(x @ weight.T + bias) @ theta, 0) @ x


def templates(sentence, template, values):
    """f(Q, K, V) of the note, whose queries are the words and whose keys are the templates."""
    outputs = []
    for k in template:
        weights = torch.softmax(torch.stack([q @ k for q in sentence]), 0)
        outputs.append(sum(weight * value for weight, value in zip(weights, values, strict=True)))
    return torch.stack(outputs)


CASES = {
    "logistic-regression-of-a-sum": (
        lambda x, weight, bias: torch.sigmoid(F.linear(summed(x), weight, bias))[0],
        lambda x, weight, bias: torch.sigmoid(x.sum(0) @ weight[0] + bias),
        (SENTENCE, (1, FEATURES), (1,)),
    ),
    "logistic-network": (
        lambda x, weight, bias, theta: attend(
            bias[None], x @ weight.T, x, score=lambda q, k: torch.sigmoid(q[:, None] + k) @ theta
        )[0],
        logistic,
        (SENTENCE, (4, FEATURES), (4,), (4,)),
    ),
    "logistic-network-by-half-a-tanh": (
        lambda x, weight, bias, theta: attend(bias[None] / 2, x @ weight.T / 2, x, score=scores.Additive(theta / 2))[0],
        logistic,
        (SENTENCE, (4, FEATURES), (4,), (4,)),
    ),
    "names-exchanged": (
        lambda q, k, v: attend(query=k, key=q, value=v, score=scores.Dot()),
        templates,
        ((7, 4), (2, 4), (7, 3)),
    ),
    "as-many-templates-as-words": (
        lambda q, k, v: attend(query=k, key=q, value=v, score=scores.Dot()),
        templates,
        ((5, 4), (5, 4), (5, 3)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_equations(name):
    ours, plain, shapes = CASES[name]
    agree(ours, plain, *inputs_of(shapes))


def pooled(x, thetas):
    return torch.stack([torch.softmax(x @ theta, 0) @ x for theta in thetas])


POOLS = {
    "fixed-dot": (lambda: nn.AttentionPool(FEATURES, score="dot"), lambda x, queries: pooled(x, queries)),
    "two-queries": (lambda: nn.AttentionPool(FEATURES, num_queries=2), lambda x, queries: pooled(x, queries)),
    "without-softmax": (
        lambda: nn.AttentionPool(FEATURES, num_queries=2, normalizer=normalizers.Identity()),
        lambda x, queries: torch.stack([sum((word @ theta) * word for word in x) for theta in queries]),
    ),
    "fixed-additive": (
        lambda: nn.AttentionPool(FEATURES, hidden_dim=4, score="additive"),
        lambda x, queries, **more: (
            torch.softmax(
                torch.tanh(x @ more["attention.key_projection.weight"].T + queries) @ more["attention.score.v"], 0
            )[None]
            @ x
        ),
    ),
}


@pytest.mark.parametrize("name", POOLS)
def test_fixed_attention(name):
    make, plain = POOLS[name]
    agree_with_parameters(make().double(), plain, drawn(*SENTENCE))


def test_the_order_of_words_does_not_change_a_sum():
    x = drawn(*SENTENCE)
    assert_rounded(summed(x), summed(x.flip(0)))


def test_a_word_adds_the_same_to_the_logits_of_each_sentence():
    bag = Bag(30, 2, Options(embedding_dim=4)).double().eval()

    def logits(*words):
        return bag(Padded(torch.tensor([words]), torch.tensor([len(words)])))

    assert_rounded(logits(5, 6, 9, 7) - logits(5, 6, 7), logits(5, 8, 9) - logits(5, 8))


def test_a_fixed_weight_for_each_word_is_a_longer_vector():
    """Learned vectors hold the weights already: a sum of a_w x_w is a sum of other vectors of the same words."""
    words, weights = torch.tensor([[5, 6, 9, 6]]), drawn(30).exp()
    plain, weighted = (Bag(30, 2, Options(embedding_dim=4)).double().eval() for _ in range(2))
    weighted.load_state_dict(plain.state_dict())
    with torch.no_grad():
        weighted.words.embedding.weight.mul_(weights[:, None])
    vectors = plain.words.embedding(words[0])
    expected = plain.output((weights[words[0]][:, None] * vectors).sum(0))
    assert_rounded(weighted(Padded(words, torch.tensor([4])))[0], expected)


def test_another_word_leaves_the_ratio_of_two_fixed_weights():
    pool, words = nn.AttentionPool(FEATURES).double(), drawn(*SENTENCE)
    inserted = torch.cat([words[:3], drawn(1, FEATURES), words[3:]])
    before, after = (pool(x, aux=WEIGHTS)[1].weights[0] for x in (words, inserted))
    assert_rounded(after[4] / after[1], before[3] / before[1])


def test_names_of_the_note_without_an_exchange_are_an_error_or_another_sum():
    q, k, v = inputs_of(((7, 4), (2, 4), (7, 3)))
    with pytest.raises(ShapeError, match=r"value: expected length 2, that of key, got 7"):
        attend(q, k, v, score=scores.Dot())
    q, k, v = inputs_of(((5, 4), (5, 4), (5, 3)))
    assert (attend(q, k, v, score=scores.Dot()) - templates(q, k, v)).abs().max() > 0.1


def test_attention_masks_the_error():
    """A value gets the gradient of the output times its weight: nothing where all weight is on another one."""
    values, upstream = drawn(2, 3).requires_grad_(), drawn(1, 3)
    query, key = torch.ones(1, 1, dtype=torch.float64), torch.tensor([[9.0], [0.0]], dtype=torch.float64)
    options = {"score": scores.Dot(), "normalizer": normalizers.Sparsemax(), "aux": WEIGHTS}
    output, aux = attend(query, key, values, **options)
    [gradient] = torch.autograd.grad(output, values, upstream)
    assert_rounded(gradient, aux.weights.T @ upstream)
    assert aux.weights.tolist() == [[1.0, 0.0]] and not gradient[1].any()


def test_a_mixture_of_experts_computes_the_k_best():
    mixture = nn.MixtureOfExperts(4, num_experts=5, k=2).double().eval()
    x = drawn(1, WORDS, 4)
    with torch.no_grad():
        mixture.gate.copy_(drawn(*mixture.gate.shape))
        _, _, aux = mixture(x, aux=WEIGHTS)
        best = (x[0] @ mixture.gate.T).topk(2, -1)
        gate = torch.zeros(WORDS, 5, dtype=torch.float64).scatter(1, best.indices, best.values.softmax(-1))
    assert_rounded(aux.weights[0], gate)
    assert ((aux.weights > 0).sum(-1) == 2).all()


CELL = 3


def content(memory, key, strength):
    sharpness = 1 + F.softplus(strength)
    return torch.softmax(sharpness * F.cosine_similarity(memory, key[None], dim=-1), 0)


def allocated(usage):
    """Graves et al. 2016: free cells first, each weighed by the use of those before it."""
    weights, product = torch.zeros_like(usage), 1.0
    for cell in usage.argsort(stable=True):
        weights[cell] = (1 - usage[cell]) * product
        product = product * usage[cell]
    return weights


def test_one_step_of_a_memory_with_links():
    """Graves et al. 2016, Methods, for one head that reads and one that writes."""
    layer = nn.ExternalMemory(6, CELL, addressing="links").double()
    state = layer.start(1, 4)
    for step in range(3):
        before, controller = state, drawn(1, 6, seed=step)
        state = layer(controller, before)
    parameters = layer.heads(controller)[0].split((CELL, 1, 1, 3, CELL, 1, 1, 1, CELL, CELL))
    read_key, read_strength, free, modes, write_key, write_strength, allocate, gate, erase, add = parameters
    memory, read, written = before.memory[0], before.read_weights[0, 0], before.write_weights[0, 0]
    used = before.usage[0]
    usage = (used + written - used * written) * (1 - free.sigmoid() * read)
    similar = content(memory, write_key, write_strength)
    allocation = allocate.sigmoid()
    write = gate.sigmoid() * (allocation * allocated(usage) + (1 - allocation) * similar)
    memory = memory * (1 - write[:, None] * erase.sigmoid()) + write[:, None] * add.tanh()
    links = (1 - write[:, None] - write[None]) * before.links[0] + write[:, None] * before.precedence[0][None]
    links = links.masked_fill(torch.eye(4, dtype=torch.bool), 0.0)
    backward, by_content, forward = modes.softmax(0)
    found = backward * (links.T @ read) + by_content * content(memory, read_key, read_strength)
    found = found + forward * (links @ read)
    assert_rounded(state.memory[0], memory)
    assert_rounded(state.write_weights[0, 0], write)
    assert_rounded(state.read_weights[0, 0], found)
    assert_rounded(state.read[0, 0], found @ memory)
