"""An LSTM over its own past is what the paper's equations say, and torch's where it has nothing to choose from."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils import _pytree as pytree

from near import assert_near, with_parameters
from saccade import nn, normalizers, scores
from saccade.errors import ArgumentError, ShapeError
from saccade.look import record
from saccade.nn.past_attention import PastState

DIMS = 3, 5


def made(dtype=torch.float64, **more):
    torch.manual_seed(0)
    cell = nn.PastAttention(*DIMS, **{"attention_dim": 7} | more, dtype=dtype)
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.mul_(2)  # so that weights are not all alike
    return cell


def drawn(batch=2, length=6, dtype=torch.float64):
    return torch.randn(batch, length, DIMS[0], dtype=dtype, generator=torch.Generator().manual_seed(1))


def stepped(cell, inputs, state=None):
    state = cell.start(len(inputs)) if state is None else state
    outputs = []
    for x in inputs.unbind(1):
        state = cell(x, state)
        outputs.append(state.hidden)
    return torch.stack(outputs, 1), state


def dot(weights, vector):
    return [sum(w * x for w, x in zip(row, vector, strict=True)) for row in weights]


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def softmax(numbers):
    powers = [math.exp(x) for x in numbers]
    return [power / sum(powers) for power in powers]


def summed(weights, states):
    return [sum(w * state[d] for w, state in zip(weights, states, strict=True)) for d in range(DIMS[1])]


def by_the_paper(cell, xs, window):
    """Equations 4 to 9, number by number, of one sequence: the outputs, and the weights of each step."""
    found = {name: parameter.tolist() for name, parameter in cell.named_parameters()}
    hiddens, cells, weights = [], [], []
    attended = [0.0] * DIMS[1]
    for x in xs:
        first = 0 if window is None else max(0, len(hiddens) - window)
        from_x, from_attended = dot(found["input_query.weight"], x), dot(found["attended_query.weight"], attended)
        query = [a + b + c for a, b, c in zip(from_x, found["input_query.bias"], from_attended, strict=True)]
        keys = [dot(found["state_key.weight"], h) for h in hiddens[first:]]
        tangents = [[math.tanh(k + q) for k, q in zip(key, query, strict=True)] for key in keys]
        weights.append(softmax(dot(tangents, found["attention.score.v"])))
        attended, kept = (summed(weights[-1], states[first:]) for states in (hiddens, cells))
        sums = zip(
            dot(found["lstm.weight_ih"], x),
            dot(found["lstm.weight_hh"], attended),
            found["lstm.bias_ih"],
            found["lstm.bias_hh"],
            strict=True,
        )
        gates = [sum(parts) for parts in sums]
        i, f, g, o = (gates[n * DIMS[1] : (n + 1) * DIMS[1]] for n in range(4))
        cells.append([sigmoid(f[d]) * kept[d] + sigmoid(i[d]) * math.tanh(g[d]) for d in range(DIMS[1])])
        hiddens.append([sigmoid(o[d]) * math.tanh(cells[-1][d]) for d in range(DIMS[1])])
    return torch.tensor(hiddens, dtype=torch.float64), weights


@pytest.mark.parametrize("window", [None, 1, 2, 3, 9])
def test_it_is_what_the_paper_says(window):
    cell, inputs = made(window=window), drawn(batch=1)
    expected, weights = by_the_paper(cell, inputs[0].tolist(), window)
    with record(cell) as records:
        found = stepped(cell, inputs)[0][0]
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)
    assert [name for name, _ in records] == ["attention"] * inputs.shape[1]
    for (_, aux), each in zip(records, weights, strict=True):
        seen = aux.weights[0, 0]
        shown = seen[len(seen) - len(each) :] if each else seen[:0]
        torch.testing.assert_close(shown, torch.tensor(each, dtype=seen.dtype).reshape(-1), rtol=1e-10, atol=1e-12)
        assert seen[: len(seen) - len(each)].eq(0).all()


@pytest.mark.parametrize("window", [0, 1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_with_nothing_to_choose_it_is_the_lstm_of_torch(window, dtype):
    cell, inputs = made(dtype, window=window), drawn(dtype=dtype)
    theirs = torch.nn.LSTM(*DIMS, batch_first=True, dtype=dtype)
    theirs.load_state_dict({f"{name}_l0": part for name, part in cell.lstm.state_dict().items()})

    def formula(inputs, *parameters):
        output, (hidden, last) = with_parameters(theirs, parameters)(inputs)
        return output, hidden[0], last[0]

    outputs, state = cell.run(inputs)
    assert_near((outputs, state.hidden, state.cell), formula, inputs, *theirs.parameters())


@pytest.mark.parametrize(
    "score", ["additive", "dot", "scaled_dot", "cosine", "gaussian", "general", scores.ScaledDot()]
)
@pytest.mark.parametrize("window", [None, 4])
def test_a_sequence_is_its_steps(score, window):
    cell, inputs = made(score=score, window=window), drawn()
    outputs, state = cell.run(inputs)
    expected, last = stepped(cell, inputs)
    torch.testing.assert_close(outputs, expected)
    torch.testing.assert_close(state, last)
    halves, between = cell.run(inputs[:, :2])
    rest, joined = cell.run(inputs[:, 2:], between)
    torch.testing.assert_close(torch.cat((halves, rest), 1), expected)
    torch.testing.assert_close(joined, last)


@pytest.mark.parametrize("window", [0, None, 1, 3])
@given(lengths=st.lists(st.integers(0, 5), min_size=1, max_size=4), seed=st.integers(0, 99))
def test_behind_the_end_nothing_changes(window, lengths, seed):
    cell = made(window=window)
    inputs = torch.randn(len(lengths), 5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    outputs, state = cell.run(inputs, lengths=torch.tensor(lengths))
    noise = torch.arange(5)[None, :, None] >= torch.tensor(lengths)[:, None, None]
    again, _ = cell.run(torch.where(noise, 9.0, inputs), lengths=torch.tensor(lengths))
    assert torch.equal(outputs, again)
    onward = drawn(len(lengths), 4)
    continued, _ = cell.run(onward, state)
    for n, length in enumerate(lengths):
        alone, last = cell.run(inputs[n : n + 1, :length])
        torch.testing.assert_close(outputs[n, :length], alone[0])
        assert outputs[n, length:].eq(0).all()
        torch.testing.assert_close(state.hidden[n], last.hidden[0])
        torch.testing.assert_close(continued[n], cell.run(onward[n : n + 1], last)[0][0])  # padding is no past


@pytest.mark.parametrize("window", [0, None, 1, 3])
def test_what_stands_in_padding_is_nothing(window):
    cell, inputs, lengths = made(window=window), drawn(3, 4), torch.tensor([4, 2, 0])
    there = torch.arange(4) < lengths[:, None]
    holes = inputs.masked_fill(~there[..., None], math.nan).requires_grad_()
    outputs, state = cell.run(holes, lengths=lengths)
    assert torch.equal(outputs, cell.run(inputs, lengths=lengths)[0])
    (outputs.sum() + state.cell.sum()).backward()
    assert not holes.grad[~there].any()
    given = {name: part.grad for name, part in cell.named_parameters() if part.grad is not None}
    assert all(grad.isfinite().all() for grad in given.values())
    cell.zero_grad()
    state = cell.start(3)
    for x, active in zip(holes.unbind(1), there.unbind(1), strict=True):
        state = cell(x, state, active=active)
    state.cell.sum().backward()
    assert all(part.grad is None or part.grad.isfinite().all() for part in cell.parameters())


def test_behind_a_sequence_of_no_numbers_there_are_zeros():
    cell, inputs = made(), drawn(2, 4)
    inputs[0, 1] = math.nan
    outputs, _ = cell.run(inputs, lengths=torch.tensor([2, 4]))
    assert outputs[0, 1].isnan().all() and not outputs[0, 2:].any()


def test_a_window_keeps_the_state_of_one_size():
    cell, inputs = made(window=3), drawn(length=9)
    state, shapes = cell.start(2), []
    for x in inputs.unbind(1):
        shapes.append([leaf.shape for leaf in pytree.tree_leaves(state)])
        state = cell(x, state)
    assert all(each == shapes[0] for each in shapes)
    longer = torch.cat((drawn(length=4) * 3, inputs), 1)
    assert not torch.allclose(cell.run(longer)[0][:, -1], cell.run(inputs)[0][:, -1])  # what left it, states had read


@pytest.mark.parametrize(
    ("window", "score"),
    [(2, "additive"), *(pytest.param(*case, marks=pytest.mark.slow) for case in [(0, "dot"), (None, "dot")])],
)
def test_the_gradients_of_float64(window, score):
    cell, inputs = made(window=window, score=score), drawn(2, 3).requires_grad_()
    lengths, names = torch.tensor([3, 2]), [name for name, _ in cell.named_parameters()]

    def outcome(inputs, *parameters):
        found = torch.func.functional_call(Run(cell), dict(zip(names, parameters, strict=True)), (inputs, lengths))
        return found[0], found[1].cell

    assert torch.autograd.gradcheck(outcome, (inputs, *cell.parameters()), fast_mode=True)
    assert torch.autograd.gradgradcheck(outcome, (inputs, *cell.parameters()), fast_mode=True)


class Run(torch.nn.Module):
    """`run` as a forward, with the cell's own names of parameters."""

    def __init__(self, cell):
        super().__init__()
        self.__dict__["cell"] = cell
        for name, child in cell.named_children():
            self.add_module(name, child)

    def forward(self, inputs, lengths):
        return self.cell.run(inputs, lengths=lengths)


@pytest.mark.parametrize("window", [0, None, 3])
def test_float32_is_near(window):
    cell, inputs = made(torch.float32, window=window), drawn(dtype=torch.float32)

    def formula(inputs, *parameters):
        other = with_parameters(cell, parameters)
        outputs, state = other.run(inputs)
        grads = torch.autograd.grad(outputs.square().sum() + state.cell.sum(), list(other.parameters()))
        return outputs, *grads

    plain = with_parameters(cell, [parameter.double() for parameter in cell.parameters()])
    assert plain.lstm.weight_hh.dtype == torch.float64
    assert_near(formula(inputs, *cell.parameters()), formula, inputs, *cell.parameters())


def test_a_normalizer_weighs_states():
    cell, inputs = made(normalizer=normalizers.Sparsemax(), score="dot"), 5 * drawn()
    with record(cell) as records:
        cell.run(inputs)
    assert any((aux.weights == 0).any() and aux.weights.sum() > 0 for _, aux in records)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("window", [0, 4])
def test_a_step_can_be_compiled(window):
    cell, inputs = made(window=window), drawn()
    state, expected = cell.start(2), cell.run(inputs)[0]
    compiled = torch.compile(cell, fullgraph=True, backend="eager")
    for t, x in enumerate(inputs.unbind(1)):
        state = pytree.tree_map_only(torch.Tensor, torch.detach, compiled(x, state))
        torch.testing.assert_close(state.hidden, expected[:, t])


def test_states_are_trees_and_left_as_they_are():
    cell, inputs = made(), drawn()
    _, state = cell.run(inputs)
    assert isinstance(state, PastState)
    copies = pytree.tree_map_only(torch.Tensor, torch.clone, state)
    cell(inputs[:, 0], state)
    torch.testing.assert_close(state, copies)
    chosen = pytree.tree_map_only(torch.Tensor, lambda leaf: leaf[[1, 1, 0]], state)
    after = cell(inputs[[1, 1, 0], 0], chosen)
    torch.testing.assert_close(after.hidden, cell(inputs[:, 0], state).hidden[[1, 1, 0]])


def test_what_does_not_fit_is_refused():
    cell, inputs = made(window=3), drawn()
    with pytest.raises(ArgumentError, match="window: expected an int of at least 0 or None, got -1"):
        made(window=-1)
    with pytest.raises(ArgumentError, match="score: expected a score that compares states, got 'location'"):
        made(score="location")
    with pytest.raises(ArgumentError, match="batch_size: expected an int of at least 1"):
        cell.start(0)
    with pytest.raises(ShapeError, match=r"inputs: expected \(batch, length, 3\), got \(6, 3\)"):
        cell.run(inputs[0])
    with pytest.raises(ShapeError, match=r"x: expected \(batch, 3\), a step of each sequence, got \(2, 6, 3\)"):
        cell(inputs, cell.start(2))
    with pytest.raises(ShapeError, match=r"state.hidden: expected \(2, 5\) of this cell, got \(1, 5\)"):
        cell(inputs[:, 0], cell.start(1))
    with pytest.raises(ShapeError, match="state.tape: expected one of 3 steps, got one of 0"):
        cell(inputs[:, 0], made().start(2))
    with pytest.raises(ShapeError, match="state.tape: expected None with window 0, got one of 3"):
        made(window=0)(inputs[:, 0], cell.start(2))
    with pytest.raises(ShapeError, match="state.tape: expected one of all steps, got None"):
        made()(inputs[:, 0], made(window=0).start(2))
    with pytest.raises(ShapeError, match=r"active: expected a boolean tensor \(2,\), got torch.int64 \(2,\)"):
        cell(inputs[:, 0], cell.start(2), active=torch.tensor([1, 0]))
    with pytest.raises(ShapeError, match=r"lengths: expected an integer tensor \(2,\), got \(3,\)"):
        cell.run(inputs, lengths=torch.tensor([1, 2, 3]))
    with pytest.raises(ArgumentError, match="lengths: expected from 0 to 6, got some outside"):
        cell.run(inputs, lengths=torch.tensor([1, 7]))
