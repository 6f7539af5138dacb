"""An LSTM is torch's, and its gates are those that its output was multiplied by."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from near import assert_near, with_parameters
from saccade import AuxRequest, nn
from saccade.errors import ArgumentError, ShapeError
from saccade.look import record
from saccade.nn.gated_lstm import LSTMState
from tiers import every

GATES = AuxRequest(weights=True)


def made(dtype=torch.float64, **more):
    torch.manual_seed(0)
    return nn.GatedLSTM(3, 5, dtype=dtype, **more)


def drawn(batch=2, length=6, dtype=torch.float64):
    return torch.randn(batch, length, 3, dtype=dtype, generator=torch.Generator().manual_seed(1))


def dot(left, right):
    return sum(a * b for a, b in zip(left, right, strict=True))


def by_definition(lstm, xs, activation=math.tanh):
    """Outputs and output gates of one sequence, number by number."""
    (input_weight, hidden_weight, *biases), size = [part.tolist() for part in lstm.lstm.all_weights[0]], 5
    hidden, cell, outputs, gates = [0.0] * size, [0.0] * size, [], []
    for x in xs:
        pairs = zip(input_weight, hidden_weight, strict=True)
        sums = [dot(u, x) + dot(w, hidden) for u, w in pairs]
        sums = [total + sum(bias[n] for bias in biases) for n, total in enumerate(sums)]
        let_in, kept, new, out = (sums[n * size : (n + 1) * size] for n in range(4))
        share = [[1 / (1 + math.exp(-one)) for one in part] for part in (let_in, kept, out)]
        cell = [share[1][d] * cell[d] + share[0][d] * math.tanh(new[d]) for d in range(size)]
        hidden = [share[2][d] * activation(cell[d]) for d in range(size)]
        outputs.append(hidden)
        gates.append(share[2])
    return torch.tensor(outputs, dtype=torch.float64), torch.tensor(gates, dtype=torch.float64)


@pytest.mark.parametrize("bias", [True, False])
def test_gates_are_those_of_the_definition(bias):
    lstm, inputs = made(bias=bias), drawn(batch=1)
    (outputs, state), aux = lstm(inputs, aux=GATES)
    expected, gates = by_definition(lstm, inputs[0].tolist())
    torch.testing.assert_close(outputs[0], expected)
    torch.testing.assert_close(aux.weights[0], gates)
    torch.testing.assert_close(aux.weights[:, -1] * state.cell.tanh(), state.hidden)


@pytest.mark.parametrize(("activation", "number"), [("identity", float), (torch.relu, lambda c: max(c, 0.0))])
def test_a_state_passes_another_activation(activation, number):
    lstm, inputs = made(activation=activation), drawn(batch=1)
    (outputs, state), aux = lstm(inputs, aux=GATES)
    expected, gates = by_definition(lstm, inputs[0].tolist(), number)
    torch.testing.assert_close(outputs[0], expected)
    torch.testing.assert_close(aux.weights[0], gates)
    assert lstm(inputs[:, :0])[0].shape == (1, 0, 5) and torch.equal(state.hidden, outputs[:, -1])


def test_steps_with_the_activation_of_torch_are_torchs():
    steps, whole, inputs, lengths = made(activation=torch.tanh), made(), drawn(3), torch.tensor([6, 2, 0])
    inputs[1, 2:] = math.nan
    torch.testing.assert_close(steps(inputs, lengths=lengths), whole(inputs, lengths=lengths))
    known = inputs.nan_to_num()
    gradients = [torch.autograd.grad(lstm(known)[0].square().sum(), lstm.parameters()) for lstm in (steps, whole)]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_is_the_lstm_of_torch(dtype):
    lstm, theirs, inputs = made(dtype), torch.nn.LSTM(3, 5, batch_first=True, dtype=dtype), drawn(dtype=dtype)
    lstm.lstm.load_state_dict(theirs.state_dict())
    (outputs, state), expected = lstm(inputs), theirs(inputs)
    assert torch.equal(outputs, expected[0])
    assert torch.equal(state.hidden, expected[1][0][0]) and torch.equal(state.cell, expected[1][1][0])


def test_gates_of_float32_are_near():
    lstm, inputs = made(torch.float32), drawn(dtype=torch.float32)

    def formula(inputs, *parameters):
        (_, _), aux = with_parameters(lstm, parameters)(inputs, aux=GATES)
        return aux.weights

    assert_near(formula(inputs, *lstm.parameters()), formula, inputs, *lstm.parameters())


def test_a_sequence_is_its_steps():
    lstm, inputs = made(), drawn()
    (outputs, last), aux = lstm(inputs, aux=GATES)
    state, seen = lstm.start(2), []
    for x in inputs.split(1, 1):
        (output, state), gates = lstm(x, state, aux=GATES)
        seen.append((output, gates.weights))
    torch.testing.assert_close(torch.cat([part for part, _ in seen], 1), outputs)
    torch.testing.assert_close(torch.cat([part for _, part in seen], 1), aux.weights)
    torch.testing.assert_close(state, last)


@given(lengths=st.lists(st.integers(0, 4), max_size=4), more=st.integers(0, 2))
def test_behind_the_end_nothing_changes(lengths, more):
    lstm, inputs = made(), drawn(len(lengths), 4 + more)
    before = LSTMState(*torch.randn(2, len(lengths), 5, dtype=torch.float64))
    (outputs, state), aux = lstm(inputs, before, lengths=torch.tensor(lengths, dtype=torch.int64), aux=GATES)
    for n, length in enumerate(lengths):
        one = LSTMState(*(part[n : n + 1] for part in before))
        (alone, last), gates = lstm(inputs[n : n + 1, :length], one, aux=GATES)
        torch.testing.assert_close(outputs[n, :length], alone[0])
        torch.testing.assert_close(aux.weights[n, :length], gates.weights[0])
        torch.testing.assert_close((state.hidden[n], state.cell[n]), (last.hidden[0], last.cell[0]))
        assert outputs[n, length:].eq(0).all() and aux.weights[n, length:].eq(0).all()


def test_what_stands_in_padding_is_nothing():
    lstm, inputs, lengths = made(), drawn(3, 4), torch.tensor([4, 2, 0])
    there = torch.arange(4) < lengths[:, None]
    holes = inputs.masked_fill(~there[..., None], math.nan).requires_grad_()
    (wanted, _), gates = lstm(inputs, lengths=lengths, aux=GATES)
    ((outputs, state), aux) = lstm(holes, lengths=lengths, aux=GATES)
    assert torch.equal(outputs, wanted) and torch.equal(aux.weights, gates.weights)
    (outputs.sum() + state.cell.sum() + aux.weights.sum()).backward()
    assert all(part.grad.isfinite().all() for part in (*lstm.parameters(), holes))
    assert not holes.grad[~there].any()


def test_behind_a_sequence_of_no_numbers_there_are_zeros():
    lstm, inputs = made(), drawn(2, 4)
    inputs[0, 1] = math.nan
    before = LSTMState(*torch.full((2, 2, 5), math.nan, dtype=torch.float64))
    (outputs, _), aux = lstm(inputs, lengths=torch.tensor([2, 0]), aux=GATES)
    assert outputs[0, 1].isnan().all() and not outputs[0, 2:].any() and not aux.weights[0, 2:].any()
    (outputs, _), aux = lstm(inputs, before, lengths=torch.tensor([2, 0]), aux=GATES)
    assert not outputs[1].any() and not aux.weights[1].any()


def test_gates_are_recorded_beside_attention():
    torch.manual_seed(0)
    model = torch.nn.ModuleDict({"lstm": nn.GatedLSTM(3, 5), "read": nn.Attention(5)})
    inputs = drawn(dtype=torch.float32)
    with record(model, AuxRequest(weights=True, received=True, top=2)) as records:
        outputs, _ = model["lstm"](inputs)
        model["read"](outputs)
    (name, gates), (other, weights) = records
    assert (name, other) == ("lstm", "read")
    assert gates.weights.shape == (2, 6, 5) and weights.weights.shape == (2, 6, 6)
    torch.testing.assert_close(gates.received, gates.weights.sum(1))
    torch.testing.assert_close(gates.top[0], gates.weights.sort(-1, descending=True)[0][..., :2])
    assert torch.equal(gates.weights.gather(-1, gates.top[1]), gates.top[0])


def test_gradients_of_outputs_and_gates():
    lstm, inputs = made(), drawn(2, 3).requires_grad_()
    names = [name for name, _ in lstm.named_parameters()]

    def outcome(inputs, *parameters):
        options = {"lengths": torch.tensor([3, 2]), "aux": GATES}
        parts = dict(zip(names, parameters, strict=True))
        (outputs, state), aux = torch.func.functional_call(lstm, parts, (inputs,), options)
        return outputs, state.cell, aux.weights

    assert torch.autograd.gradcheck(outcome, (inputs, *lstm.parameters()), fast_mode=True)
    assert torch.autograd.gradgradcheck(outcome, (inputs, *lstm.parameters()), fast_mode=True)


@every(
    ("call", "error", "match"),
    [
        (lambda lstm: nn.GatedLSTM(0, 5), ArgumentError, "input_dim"),
        (lambda lstm: nn.GatedLSTM(3, 0), ArgumentError, "hidden_dim"),
        (lambda lstm: made(activation="relu"), ArgumentError, "activation: expected 'tanh', 'identity' or a function"),
        (lambda lstm: made(activation=torch.sum)(drawn()), ShapeError, r"activation: expected a result \(2, 5\)"),
        (lambda lstm: lstm.start(0), ArgumentError, "batch_size"),
        (lambda lstm: lstm(torch.zeros(2, 3).double()), ShapeError, r"inputs: expected \(batch, length, 3\)"),
        (lambda lstm: lstm(drawn(dtype=torch.float32)), ArgumentError, "inputs: expected dtype torch.float64"),
        (lambda lstm: lstm(drawn(), lstm.start(3)), ShapeError, r"state.hidden: expected \(2, 5\), got \(3, 5\)"),
        (lambda lstm: lstm(drawn(), lengths=torch.tensor([7, 1])), ArgumentError, "lengths: expected from 0 to 6"),
        (lambda lstm: lstm(drawn(), aux=AuxRequest(entropy=True)), ArgumentError, "aux: .*got entropy"),
        (lambda lstm: lstm(drawn(), aux=AuxRequest(lse=True)), ArgumentError, "aux: expected weights, top or received"),
    ],
)
def test_what_does_not_fit_is_refused(call, error, match):
    with pytest.raises(error, match=match):
        call(made())
