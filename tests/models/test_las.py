"""Listen, attend and spell, held to the papers' equations and to what every translator is held to."""

from dataclasses import replace
from itertools import product

import pytest
import torch
from torch.nn import functional as F

from saccade import look
from saccade.errors import ArgumentError
from saccade.models.las import Las, Options
from saccade.models.padded import Padded

LENGTHS = torch.tensor([17, 9, 2])
FRAMES = torch.randn(3, 17, 5, generator=torch.Generator().manual_seed(1), dtype=torch.double)
BATCH = Padded(FRAMES, LENGTHS)
TARGET = torch.tensor([[1, 4, 5, 6], [1, 6, 4, 0], [1, 7, 0, 0]])
WANTED = torch.tensor([[4, 5, 6, 2], [6, 4, 2, 0], [7, 2, 0, 0]])
OPTIONS = Options(hidden_dim=8, embedding_dim=6, layers=2, pyramid=1, location_filters=3, location_width=5, dropout=0.5)
VARIANTS = {
    "location": OPTIONS,
    "content": replace(OPTIONS, attention="content"),
    "dot": replace(OPTIONS, attention="dot"),
    "two layers": replace(OPTIONS, speller_layers=2),
    "as in the paper": replace(OPTIONS, attention="dot", speller_layers=2, layers=3),
}


@pytest.fixture(params=VARIANTS)
def model(request):
    torch.manual_seed(0)
    return Las(5, 9, VARIANTS[request.param]).double().eval()


def by_definition(model, frames, target):
    """The logits of one utterance, a position of the text at a time, as the equations have them."""
    heard, lengths = model.listener(Padded(frames[None], torch.tensor([len(frames)])))
    heard, attention = heard[0, : lengths[0]], model.attention
    context, weights, found = heard.new_zeros(heard.shape[1]), heard.new_zeros(len(heard)), []
    layers = [(model.input_proj, model.hidden_proj), *((one.input_proj, one.hidden_proj) for one in model.upper)]
    states = [(context, context) for _ in layers]
    for token in target:
        hidden = torch.cat([model.embedding(token), context])
        for depth, (input_proj, hidden_proj) in enumerate(layers):
            past, cell = states[depth]
            first, forget, candidate, last = (input_proj(hidden) + hidden_proj(past)).chunk(4)
            cell = torch.sigmoid(forget) * cell + torch.sigmoid(first) * torch.tanh(candidate)
            hidden = torch.sigmoid(last) * torch.tanh(cell)
            states[depth] = hidden, cell
        keys = attention.key_projection(heard)
        if model.location is not None:
            filters = model.location.filters.weight[:, 0]
            padded = F.pad(weights, (filters.shape[1] // 2,) * 2)
            seen = torch.stack([filters @ padded[place : place + filters.shape[1]] for place in range(len(heard))])
            keys = keys + model.location.projection(seen)
        if model.networks is None:
            v = attention.score.get().v
            weights = (torch.tanh(attention.query_projection(hidden) + keys) @ v).softmax(0)
        else:
            phi = attention.query_projection(model.networks.query(hidden))
            psi = attention.key_projection(model.networks.key(heard))
            weights = (psi @ phi).softmax(0)
        context = weights @ heard
        features = torch.tanh(model.readout(torch.cat([hidden, context])))
        found.append(model.embedding.weight @ features + model.bias)
    return torch.stack(found)


def test_it_is_what_the_equations_say(model):
    logits = model(BATCH, TARGET)
    for row, length in enumerate(LENGTHS.tolist()):
        torch.testing.assert_close(logits[row], by_definition(model, FRAMES[row, :length], TARGET[row]))


@pytest.mark.slow
def test_gradients_are_right(model):
    frames = FRAMES[1:, :6].clone().requires_grad_()
    lengths = torch.tensor([6, 2])
    assert torch.autograd.gradcheck(
        lambda x: model(Padded(x, lengths), TARGET[1:], WANTED[1:]), (frames,), fast_mode=True
    )


def ways(log_probs, tokens):
    """The probability of a text by CTC: the sum over all paths of frames that are it, repeats and blanks taken out."""
    total = 0.0
    for path in product(range(log_probs.shape[1]), repeat=len(log_probs)):
        said = [token for place, token in enumerate(path) if token and (not place or token != path[place - 1])]
        if said == tokens:
            total += float(torch.stack([log_probs[place, token] for place, token in enumerate(path)]).sum().exp())
    return total


def test_loud_steps_alone_are_attended_to():
    """A step of two frames is loud if its mean is at least that of the recording; padding is never loud."""
    frames = torch.zeros(3, 7, 5, dtype=torch.double)
    frames[0, 2:4], frames[0, 6], frames[1, 0] = 3.0, 2.0, 1.0
    frames[1, 4:], frames[2, 3:] = torch.nan, 9.0
    model = Las(5, 9, replace(OPTIONS, attend_to="loud")).double().eval()
    _, state = model.step(torch.ones(3, dtype=torch.long), model.encode(Padded(frames, torch.tensor([7, 4, 3]))))
    expected = [[False, True, False, True], [True, False, False, False], [True, True, False, False]]
    assert (state.weights[:, 0] > 0).tolist() == expected
    torch.testing.assert_close(state.weights.sum(-1), torch.ones(3, 1).double())


def test_a_token_is_where_the_alignments_of_the_text_have_it():
    torch.manual_seed(0)
    model = Las(5, 6, OPTIONS).double().eval()
    with torch.inference_mode():  # as `saccade look` does
        state = model.encode(Padded(FRAMES[:1, :9], LENGTHS[1:2]))
        found = model.ctc_alignment(state, torch.tensor([4, 5]))
        log_probs = model.ctc(state.memory.value[0, 0]).log_softmax(-1)
    expected = torch.zeros_like(found)
    for path in product(range(6), repeat=len(log_probs)):
        said = [token for place, token in enumerate(path) if token and (not place or token != path[place - 1])]
        if said == [4, 5]:
            probability = sum(log_probs[place, token] for place, token in enumerate(path)).exp()
            for place, token in enumerate(path):
                if token:
                    expected[token - 4, place] += probability
    torch.testing.assert_close(found, expected / ways(log_probs, [4, 5]))


def test_what_was_heard_is_summed_over_all_alignments():
    torch.manual_seed(0)
    model = Las(5, 6, OPTIONS).double().eval()
    frames, lengths = FRAMES[:2, :8], torch.tensor([8, 5])  # 4 and 3 steps
    state = model.encode(Padded(frames, lengths))
    texts = [[[4, 5], [4, 4], [5]], [[4, 5, 4], [4, 4], [5, 5, 5]]]
    tokens = torch.tensor([[text + [0] * (3 - len(text)) for text in own] for own in texts])
    sizes = torch.tensor([[len(text) for text in own] for own in texts])
    found = model.ctc_log_probs(state, tokens, sizes).detach()
    log_probs = model.ctc(state.memory.value[:, 0]).log_softmax(-1).detach()
    assert [state.lengths[row].item() for row in range(2)] == [4, 3]
    for row, own in enumerate(texts):
        for place, text in enumerate(own):
            expected = ways(log_probs[row, : state.lengths[row]], text)
            if expected:
                assert float(found[row, place].exp()) == pytest.approx(expected, rel=1e-9)
            else:  # five steps are the least for three of the same
                assert float(found[row, place]) == -1e6


def test_the_loss_has_its_shares():
    torch.manual_seed(0)
    model = Las(5, 9, replace(OPTIONS, ctc_weight=0.4)).double().eval()
    logits = model(BATCH, TARGET)
    spelled = F.cross_entropy(logits.flatten(0, 1), WANTED.flatten(), ignore_index=0)
    sizes = torch.tensor([3, 2, 1])
    log_probs = model.ctc_log_probs(model.encode(BATCH), WANTED[:, None], sizes[:, None])[:, 0]
    expected = 0.6 * spelled + 0.4 * -(log_probs / sizes).mean()
    torch.testing.assert_close(model(BATCH, TARGET, WANTED), expected)
    without = Las(5, 9, replace(OPTIONS, ctc_weight=0.0)).double().eval()
    logits = without(BATCH, TARGET).flatten(0, 1)
    expected = F.cross_entropy(logits, WANTED.flatten(), ignore_index=0)
    torch.testing.assert_close(without(BATCH, TARGET, WANTED), expected)


def test_a_text_too_long_for_ctc_is_left_to_the_speller():
    torch.manual_seed(0)
    model = Las(5, 9, OPTIONS).double().eval()
    wanted = torch.tensor([[4, 5, 6, 2], [6, 4, 2, 0], [7, 7, 2, 0]])  # two in one step: no
    target = torch.tensor([[1, 4, 5, 6], [1, 6, 4, 0], [1, 7, 7, 0]])
    loss = model(BATCH, target, wanted)
    assert 0 < loss.item() < 100
    loss.backward()
    assert all(bool(p.grad.isfinite().all()) for p in model.parameters())


def test_the_alignment_is_what_each_step_looked_at(model):
    with look.record(model) as records:
        model(BATCH, TARGET)
    weights = model.alignment(records)
    assert weights.shape == (3, 4, 9)
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, 4).double())
    assert bool((weights[1, :, 5:] == 0).all()) and bool((weights[2, :, 1:] == 0).all())


def test_scheduled_sampling_follows_the_model_in_training_alone():
    torch.manual_seed(0)
    options = replace(OPTIONS, dropout=0.0, time_masks=0, frequency_masks=0, scheduled_sampling=1 - 1e-9)
    model = Las(5, 9, options).double().eval()
    told = model(BATCH, TARGET)
    own = [TARGET[:, 0]]
    state = model.encode(BATCH)
    for _ in range(3):
        logits, state = model.step(own[-1], state)
        own.append(logits.dense().argmax(-1))
    free = model(BATCH, torch.stack(own, 1))
    model.train()
    torch.testing.assert_close(model(BATCH, TARGET), free)
    assert not torch.allclose(told, free)
    model.eval()
    assert torch.equal(model(BATCH, TARGET), told)


def test_what_means_nothing_is_refused_by_name():
    wrong = {
        "hidden_dim": (7, "--hidden-dim: expected an even number"),
        "location_width": (4, "--location-width: expected an odd number"),
        "speller_layers": (0, "--speller-layers: expected a number from 1"),
        "pyramid": (9, "--pyramid: expected at most 3, the --layers"),
        "ctc_weight": (1.0, "--ctc-weight: expected 0 <= ctc weight < 1"),
        "scheduled_sampling": (-0.1, "--scheduled-sampling: expected 0 <= scheduled sampling < 1"),
        "dropout": (1.0, "--dropout: expected 0 <= dropout < 1"),
        "time_masks": (-1, "--time-masks: expected a number from 0"),
    }
    for name, (value, message) in wrong.items():
        with pytest.raises(ArgumentError, match=message):
            Options(**{name: value})


def test_nothing_is_a_text_and_the_blank_is_none():
    torch.manual_seed(0)
    model = Las(5, 6, OPTIONS).double().eval()
    state = model.encode(Padded(FRAMES[:2, :8], torch.tensor([8, 5])))
    blanks = model.ctc(state.memory.value[:, 0]).log_softmax(-1)[..., 0].detach()
    expected = torch.stack([blanks[0, :4].sum(), blanks[1, :3].sum()])
    for width in (0, 2):
        tokens = torch.zeros(2, 1, width, dtype=torch.long)
        found = model.ctc_log_probs(state, tokens, torch.zeros(2, 1, dtype=torch.long)).detach()
        torch.testing.assert_close(found[:, 0], expected)
    tokens = torch.tensor([[[4, 0, 5]], [[0, 4, 4]]])
    assert (model.ctc_log_probs(state, tokens, torch.tensor([[3], [1]])) == -1e6).all()


def test_half_precision_is_heard_and_written():
    torch.manual_seed(0)
    model = Las(5, 9, OPTIONS).eval()
    exact = model(Padded(FRAMES.float(), LENGTHS), TARGET)
    found = model.to(torch.bfloat16)(Padded(FRAMES.bfloat16(), LENGTHS), TARGET)
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.float(), exact, rtol=0.1, atol=0.1)


def test_without_location_it_looks_wherever_the_last_step_did():
    torch.manual_seed(0)
    content, location = (Las(5, 9, VARIANTS[name]).double().eval() for name in ("content", "location"))
    for model, same in ((content, True), (location, False)):
        state = model.encode(BATCH)
        moved = replace(state, weights=torch.rand_like(state.weights))
        first, second = (model.step(TARGET[:, 0], one)[0].dense() for one in (state, moved))
        assert torch.equal(first, second) == same


def test_a_share_of_ctc_of_nothing_has_no_second_output():
    assert Las(5, 9, replace(OPTIONS, ctc_weight=0.0)).ctc is None
    assert Las(5, 9, OPTIONS).ctc.out_features == 9


def test_a_heard_step_is_as_long_as_the_pyramid_says():
    for pyramid in (0, 1, 2):
        model = Las(5, 9, replace(OPTIONS, pyramid=pyramid)).double().eval()
        assert model.options.step_frames == 2**pyramid
        state = model.encode(BATCH)
        assert state.lengths.tolist() == [-(-length // 2**pyramid) for length in LENGTHS.tolist()]


def test_frames_are_hidden_in_training_alone():
    torch.manual_seed(0)
    options = replace(OPTIONS, dropout=0.0, time_masks=3, time_width=40)
    model = Las(5, 9, options).double().eval()
    expected = model(BATCH, TARGET)
    assert torch.equal(model(BATCH, TARGET), expected)
    assert not torch.equal(model.train()(BATCH, TARGET), expected)


def test_ctc_learns_from_what_was_heard_alone():
    """The share of CTC reaches listener and its own output, and nothing of the speller."""
    torch.manual_seed(0)
    model = Las(5, 9, OPTIONS).double().eval()
    found = model.ctc_log_probs(model.encode(BATCH), WANTED[:, None, :1], torch.ones(3, 1, dtype=torch.long))
    found.sum().backward()
    learned = {name.split(".")[0] for name, p in model.named_parameters() if p.grad is not None}
    assert learned == {"listener", "ctc"}
