"""Equations of "Introduction to Attention Mechanism in Deep Learning" (2020) against plain formulas in float64."""

import math

import pytest
import torch
from torch.nn import functional as F

from notes.equation import agree, assert_rounded, drawn, inputs_of
from saccade import attend, masks, nn, reads, scores
from saccade.biases import GaussianWindow

DECODER, SOURCE = (3, 4), (6, 4)
ALIKE = (DECODER, SOURCE)


def aligned(states, source, weight, v):
    """The network of the note reads a decoder's state and a source state in one vector."""
    rows = [torch.stack([v @ torch.tanh(weight @ torch.cat([s, h])) for h in source]) for s in states]
    return torch.softmax(torch.stack(rows), -1) @ source


CASES = {
    "additive": (
        lambda s, h, w, v: attend(s @ w[:, :4].T, h @ w[:, 4:].T, h, score=scores.Additive(v)),
        aligned,
        (DECODER, SOURCE, (5, 8), (5,)),
    ),
    "cosine": (
        lambda s, h: attend(s, h, h, score=scores.Cosine()),
        lambda s, h: torch.softmax(F.cosine_similarity(s[:, None], h[None], dim=-1), -1) @ h,
        ALIKE,
    ),
    "location": (
        lambda s, h, w: attend(s, h, h, score=scores.Location(w)),
        lambda s, h, w: torch.softmax(s @ w.T, -1) @ h,
        (DECODER, SOURCE, (6, 4)),
    ),
    "general": (
        lambda s, h, w: attend(s, h, h, score=scores.General(w)),
        lambda s, h, w: torch.softmax(s @ w @ h.T, -1) @ h,
        (DECODER, SOURCE, (4, 4)),
    ),
    "dot": (
        lambda s, h: attend(s, h, h, score=scores.Dot()),
        lambda s, h: torch.softmax(s @ h.T, -1) @ h,
        ALIKE,
    ),
    "scaled-dot": (
        lambda s, h: attend(s, h, h),
        lambda s, h: torch.softmax(s @ h.T / math.sqrt(h.shape[-1]), -1) @ h,
        ALIKE,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_equations(name):
    ours, plain, shapes = CASES[name]
    agree(ours, plain, *inputs_of(shapes))


def test_a_window_around_a_predicted_place():
    """Luong et al. 2015, equation 10: the weights of the softmax are not normalized again after the Gaussian."""
    places, width, positions = torch.tensor([2.3, 4.1, 0.5], dtype=torch.float64), 2, torch.arange(6.0).double()
    offsets = positions[None] - places[:, None]

    def plain(s, h):
        inside = (s @ h.T).masked_fill(offsets.abs() > width, -math.inf)
        return (torch.softmax(inside, -1) * (-(offsets**2) / (2 * (width / 2) ** 2)).exp()) @ h

    def ours(s, h):
        window = {"mask": masks.Around(places, width), "gate": GaussianWindow(places, width / 2)}
        return attend(s, h, h, score=scores.Dot(), **window)

    agree(ours, plain, *inputs_of(ALIKE))


def test_an_lstm_that_attends_to_its_past_states():
    """Cheng, Dong, Lapata 2016, equations 4 to 9."""
    cell, inputs = nn.PastAttention(3, 4).double(), drawn(5, 1, 3)
    state, hiddens, cells = cell.start(1), [], []
    attended, attended_cell = torch.zeros(2, 1, 4, dtype=torch.float64)
    for x in inputs:
        if hiddens:
            past, past_cells = torch.cat(hiddens), torch.cat(cells)
            sums = cell.state_key(past) + cell.input_query(x) + cell.attended_query(attended)
            weights = torch.softmax(sums.tanh() @ cell.attention.score.get().v, 0)
            attended, attended_cell = (weights @ past)[None], (weights @ past_cells)[None]
        hidden, last_cell = cell.lstm(x, (attended, attended_cell))
        hiddens.append(hidden)
        cells.append(last_cell)
        state = cell(x, state)
        assert_rounded(state.hidden, hidden)
        assert_rounded(state.cell, last_cell)


@pytest.mark.parametrize("score", ["additive", "dot", "scaled_dot", "general", "cosine", "gaussian"])
def test_past_states_are_compared_by_any_score(score):
    cell = nn.PastAttention(3, 4, score=score).double()
    outputs, state = cell.run(drawn(2, 5, 3))
    assert outputs.isfinite().all() and torch.equal(outputs[:, -1], state.hidden)


def test_soft_attention_is_a_function_and_hard_attention_a_draw_of_one_value():
    query, key = drawn(1, 4).requires_grad_(), drawn(50, 4)
    first, second = (attend(query, key, key) for _ in range(2))
    assert torch.equal(first, second) and first.requires_grad
    torch.manual_seed(0)
    draws = torch.cat([attend(query, key, key, read=reads.Sample()) for _ in range(20)])
    assert not draws.requires_grad and len(draws.unique(dim=0)) > 1
    assert (draws[:, None] == key[None]).all(-1).any(-1).all()
