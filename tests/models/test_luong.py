import math
from dataclasses import replace

import pytest
import torch

from models.translators import BATCH, LENGTHS, SOURCE, TARGET
from saccade import look
from saccade.errors import ArgumentError
from saccade.models.luong import Luong, Options
from saccade.models.padded import Padded
from tiers import every

OPTIONS = Options(hidden_dim=10, embedding_dim=6, layers=2)


def make(**changes):
    torch.manual_seed(0)
    if changes.get("attention", "global").startswith("local"):
        changes = {"window": 2, **changes}
    return Luong(13, 11, replace(OPTIONS, **changes)).double().eval()


def cell(layer, inputs, hidden, memory, fed=0.0):
    """One step of an LSTM layer, as its equations say."""
    gates = inputs @ layer.input_proj.weight.T + layer.input_proj.bias + layer.hidden_proj(hidden) + fed
    i, f, g, o = gates.chunk(4, -1)
    memory = torch.sigmoid(f) * memory + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(memory), memory


def encoded(model, words):
    """The states of one sentence's words, and what every layer ends with."""
    words, ends = words.flip(0) if model.options.reverse else words, []
    for layer in model.encoder:
        state = words.new_zeros(10), words.new_zeros(10)
        states = []
        for word in words:
            state = cell(layer, word, *state)
            states.append(state[0])
        words = torch.stack(states)
        ends.append(state)
    return words.flip(0) if model.options.reverse else words, ends


def weighed(model, state, read, position):
    """The weights of Eq. 7 to 10 for a source `(length, hidden)`, one position at a time."""
    options, length = model.options, len(read)
    score = {
        "dot": lambda h: state @ h,
        "scaled_dot": lambda h: state @ h / math.sqrt(10),
        "cosine": lambda h: 8 * torch.cosine_similarity(state, h, 0),
        "general": lambda h: state @ next(p for p in model.attention.parameters()) @ h,
    }
    if options.attention == "global":
        window = range(length)
    elif options.attention == "local-m":
        window = [s for s in range(length) if abs(s - position) <= options.window]
    else:
        w, v = model.center.inner.weight, model.center.outer.weight[0]
        position = length * torch.sigmoid(v @ torch.tanh(w @ state))
        window = [s for s in range(length) if abs(s - float(position.detach())) <= options.window]
    weights = state.new_zeros(length)
    if window:
        chosen = torch.stack([score[options.score](read[s]) for s in window]).softmax(0)
        weights = weights.index_put((torch.tensor(list(window)),), chosen)
    if options.attention == "local-p":
        spread = (options.window / 2) ** 2
        weights = weights * torch.exp(-((torch.arange(length) - position) ** 2) / (2 * spread))
    return weights


@every(
    ("attention", "score", "reverse", "input_feeding"),
    [
        ("global", "general", True, True),
        ("global", "dot", False, False),
        ("global", "cosine", True, False),
        ("local-m", "scaled_dot", False, True),
        ("local-p", "general", True, True),
        ("local-p", "general", False, False),
    ],
)
def test_it_is_its_equations(attention, score, reverse, input_feeding):
    """One sentence, one word and one source position at a time."""
    model = make(attention=attention, score=score, reverse=reverse, input_feeding=input_feeding)
    with look.record(model, required=False) as records:
        found = model(BATCH, TARGET)
    for row, length in enumerate(LENGTHS):
        read, states = encoded(model, model.source_embedding(SOURCE[row, :length]))
        fed = torch.zeros(6, dtype=torch.float64)
        for position, token in enumerate(TARGET[row]):
            inputs = model.target_embedding(token)
            for depth, layer in enumerate(model.decoder):
                feed = model.feed(fed) if input_feeding and not depth else 0.0
                states[depth] = cell(layer, inputs, *states[depth], feed)
                inputs = states[depth][0]
            weights = weighed(model, inputs, read, position)
            fed = torch.tanh(model.readout(torch.cat([weights @ read, inputs])))
            logits = model.target_embedding.weight @ fed + model.bias
            torch.testing.assert_close(found[row, position], logits, rtol=1e-9, atol=1e-10)
            seen = model.alignment(records)[row, position]
            torch.testing.assert_close(seen[:length], weights, rtol=1e-9, atol=1e-12)
            assert not seen[length:].any()


def test_where_it_predicts_to_look_is_learned():
    model = make(attention="local-p")
    model(BATCH, TARGET)[..., 3].sum().backward()
    assert all(bool(p.grad.abs().sum() > 0) for p in model.center.parameters())


def test_a_window_that_has_moved_past_the_source_sees_nothing():
    model, long = make(attention="local-m", window=1), torch.randint(4, 11, (3, 9))
    with look.record(model, required=False) as records:
        assert bool(model(BATCH, long).isfinite().all())
    weights = model.alignment(records)
    assert not weights[1, 5:].any() and bool((weights[1, :4].sum(-1) > 0.99).all())


@pytest.mark.parametrize("local", [{}, {"attention": "local-p", "window": 1}])
def test_the_location_score_reads_no_further_than_its_weights(local):
    model = make(score="location", positions=4, **local)
    long = torch.randint(4, 12, (1, 40), generator=torch.Generator().manual_seed(0))
    with look.record(model, required=False) as records:
        logits = model(Padded(long, torch.tensor([40])), TARGET[:1])
    weights = model.alignment(records)
    assert weights.shape == (1, 4, 4) and bool((weights.sum(-1) > 0).all())
    state = model.encode(Padded(long, torch.tensor([40])))
    assert state.lengths.tolist() == [4] and state.memory.value.shape == (1, 4, 10)
    logits.sum().backward()
    assert model.center is None or all(bool(p.grad.abs().sum() > 0) for p in model.center.parameters())


def test_half_precision_tells_far_places_apart():
    model = make(attention="local-p").float()
    long = torch.randint(4, 12, (2, 300), generator=torch.Generator().manual_seed(0))
    lengths, seen = torch.tensor([300, 299]), []
    model.center.register_forward_hook(lambda module, inputs, output: seen.append((inputs[0], output)))
    with torch.autocast("cpu", torch.bfloat16):
        model(Padded(long, lengths), TARGET[:2])
    assert all(share.dtype == torch.float32 for _, share in seen)


def test_what_is_frozen_lets_gradients_through():
    models = [make(input_feeding=True).float(), make(input_feeding=True)]
    wanted = TARGET.roll(-1, 1)
    for model in models:
        for parameter in (*model.decoder.parameters(), *model.encoder.parameters()):
            parameter.requires_grad_(False)
        model(BATCH, TARGET, wanted).backward()
    for (name, one), other in zip(models[0].named_parameters(), models[1].parameters(), strict=True):
        if other.requires_grad:
            torch.testing.assert_close(one.grad.double(), other.grad, rtol=1e-3, atol=1e-6, msg=name)


def test_hooks_of_its_maps_are_called():
    model, calls = make().float(), []
    model.decoder[0].hidden_proj.register_forward_hook(lambda *call: calls.append(call))
    plain = make().float()
    torch.testing.assert_close(model(BATCH, TARGET), plain(BATCH, TARGET))
    assert len(calls) == TARGET.shape[1]


def test_without_attention_nothing_is_recorded():
    model = make(attention="none")
    with look.record(model, required=False) as records:
        model(BATCH, TARGET)
    assert model.alignment(records) is None and model.attention is None


@every(
    ("said", "named"),
    [
        ({"layers": 0}, "--layers"),
        ({"window": 0}, "--window"),
        ({"positions": 0}, "--positions"),
        ({"hidden_dim": 0}, "--hidden-dim"),
        ({"dropout": 1.0}, "--dropout"),
        ({"attention": "none", "read": "straight-through"}, "--read"),
        ({"attention": "none", "score": "dot"}, "--score"),
        ({"attention": "none", "normalizer": "entmax"}, "--normalizer"),
        ({"attention": "none", "window": 3}, "--window"),
        ({"window": 3}, "--window"),
        ({"positions": 3}, "--positions"),
        ({"attention": "local-p", "read": "reinforce", "entropy_bonus": 0.1}, "--entropy-bonus"),
    ],
)
def test_what_means_nothing_is_refused_by_name(said, named):
    with pytest.raises(ArgumentError, match=named):
        replace(OPTIONS, **said)
