"""`GatedLSTM`: torch's LSTM with its output gate as attention weights."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from saccade.auxiliary import AuxOutput, AuxRequest, top
from saccade.errors import ArgumentError, ShapeError
from saccade.nn._checks import padded, sizes
from saccade.nn._parameters import new_zeros

__all__ = ["GatedLSTM", "LSTMState"]

_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "identity": lambda cell: cell}


class LSTMState(NamedTuple):
    """State of an LSTM after a step.

    Args:
        hidden: h, `(batch, hidden_dim)`, the output.
        cell: c, `(batch, hidden_dim)`.
    """

    hidden: Tensor
    cell: Tensor


class GatedLSTM(nn.Module):
    r"""Long short-term memory that returns its output gate as attention weights.

    .. math::
        i, f, o &= \sigma(W_{ifo} x_t + U_{ifo} h_{t-1} + b_{ifo}), \qquad g = \tanh(W_g x_t + U_g h_{t-1} + b_g) \\
        c_t &= f \odot c_{t-1} + i \odot g, \qquad h_t = o \odot a(c_t)

    with a = tanh. The output is the state, with a weight between 0 and 1 on each entry. The weights follow from the
    input and the last output. They are attention over the entries of a state, multiplied and not summed. `aux` requests
    the weights, and `look.record` records them like those of any attention: a row for each step, a column for each
    entry. The LSTM is torch's, `lstm`, and as fast. Gates are computed on request, for all steps at once. Another a
    than tanh takes the parameters of `lstm` and runs step by step, which is slower.

    Args:
        input_dim: features of x.
        hidden_dim: features of h and of c.
        bias: whether to learn b.
        activation: a, "tanh", "identity" (Vinyals et al. 2015, equation 8), or a function of c with its shape.
        device, dtype: of the parameters.

    Raises:
        ArgumentError: sizes below 1, an unknown activation.

    Source:
        Hochreiter, Schmidhuber 1997, "Long short-term memory", with the forget gate of Gers, Schmidhuber, Cummins 2000.
        Vinyals, Toshev, Bengio, Erhan 2015, "Show and Tell", equations 4 to 8, for the identity.

    >>> from saccade import AuxRequest
    >>> lstm = GatedLSTM(input_dim=4, hidden_dim=6)
    >>> outputs, state = lstm(torch.randn(2, 5, 4))
    >>> (again, _), aux = lstm(torch.randn(2, 1, 4), state, aux=AuxRequest(weights=True))       # a step more
    >>> outputs.shape, again.shape, aux.weights.shape
    (torch.Size([2, 5, 6]), torch.Size([2, 1, 6]), torch.Size([2, 1, 6]))
    """

    def __init__(
        self,
        input_dim: int,
        hidden_dim: int,
        *,
        bias: bool = True,
        activation: Literal["tanh", "identity"] | Callable[[Tensor], Tensor] = "tanh",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        sizes(input_dim=input_dim, hidden_dim=hidden_dim)
        if not callable(activation) and activation not in _ACTIVATIONS:
            expected = "'tanh', 'identity' or a function"
            raise ArgumentError(f"activation: expected {expected}, got {activation!r}")
        self.input_dim, self.hidden_dim, self.activation = input_dim, hidden_dim, activation
        self.lstm = nn.LSTM(input_dim, hidden_dim, bias=bias, batch_first=True, device=device, dtype=dtype)

    def start(self, batch_size: int) -> LSTMState:
        """The state before the first step, zeros.

        Args:
            batch_size: the number of sequences.

        Raises:
            ArgumentError: a number below 1.
        """
        sizes(batch_size=batch_size)
        return self._start(batch_size)

    def _start(self, batch_size: int) -> LSTMState:
        nothing = new_zeros(self, batch_size, self.hidden_dim)
        return LSTMState(nothing, nothing)

    def forward(
        self,
        inputs: Tensor,
        state: LSTMState | None = None,
        *,
        lengths: Tensor | None = None,
        aux: AuxRequest | None = None,
    ) -> Any:
        """Run one or many steps of sequences.

        Args:
            inputs: `(batch, length, input_dim)`.
            state: the state before; None is the start.
            lengths: the number of steps of each sequence, integer `(batch,)`; None is all. Its state stays at its end.
            aux: request for statistics of the gates: `weights` `(batch, length, hidden_dim)`, zeros behind the end,
                their `top`, and the sum over steps `received`.

        Returns:
            The pair of outputs h `(batch, length, hidden_dim)`, zeros behind the end, and the last state. With aux, a
            pair of that pair and an `AuxOutput`.

        Raises:
            ShapeError: inputs or a state of other sizes.
            ArgumentError: inputs of another dtype, or a statistic that needs weights with sum one.
        """
        inputs, there = padded(inputs, lengths, self.input_dim, self.lstm)
        for name in () if aux is None else aux.names():
            if name not in ("weights", "top", "received"):
                got = f"{name}. The weights are gates, which do not sum to 1."
                raise ArgumentError(f"aux: expected weights, top or received, got {got}")
        state = self._start(len(inputs)) if state is None else LSTMState(*state)
        for name, part in zip(LSTMState._fields, state, strict=True):
            if part.shape != (len(inputs), self.hidden_dim):
                raise ShapeError(f"state.{name}: expected {(len(inputs), self.hidden_dim)}, got {tuple(part.shape)}")
        outputs, last = self._run(inputs, state, lengths)
        if aux is None:
            return outputs, last
        return (outputs, last), self._statistics(inputs, outputs, state, there, aux)

    def _run(self, inputs: Tensor, state: LSTMState, lengths: Tensor | None) -> tuple[Tensor, LSTMState]:
        if not inputs.shape[0] or not inputs.shape[1]:
            return inputs.new_zeros(*inputs.shape[:2], self.hidden_dim), state
        if self.activation != "tanh":
            return self._run_steps(inputs, state, lengths)
        before = state.hidden[None], state.cell[None]
        if lengths is None:
            outputs, (hidden, cell) = self.lstm(inputs, before)
            return outputs, LSTMState(hidden[0], cell[0])
        some = lengths > 0  # torch cannot pack an empty sequence: give it one step, and drop that
        packed = pack_padded_sequence(inputs, lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False)
        outputs, (hidden, cell) = self.lstm(packed, before)
        outputs, _ = pad_packed_sequence(outputs, batch_first=True, total_length=inputs.shape[1])
        some = some[:, None]
        last = LSTMState(torch.where(some, hidden[0], state.hidden), torch.where(some, cell[0], state.cell))
        return outputs.masked_fill(~some[..., None], 0.0), last

    def _run_steps(self, inputs: Tensor, state: LSTMState, lengths: Tensor | None) -> tuple[Tensor, LSTMState]:
        """All steps with another activation than torch's LSTM has."""
        activation = self.activation if callable(self.activation) else _ACTIVATIONS[self.activation]
        of_input, of_hidden, *biases = self._weights("activation", "'tanh'")
        steps = torch.arange(inputs.shape[1], device=inputs.device)[:, None, None]
        there = steps >= 0 if lengths is None else steps < lengths[:, None].to(inputs.device)
        outputs, (hidden, cell) = [], state
        for projected, active in zip(F.linear(inputs, of_input, *biases[:1]).unbind(1), there, strict=True):
            gates = projected + F.linear(hidden, of_hidden, *biases[1:])
            write, keep, new, read = gates.chunk(4, -1)
            next_cell = keep.sigmoid() * cell + write.sigmoid() * new.tanh()
            visible = activation(next_cell)
            if visible.shape != cell.shape:
                raise ShapeError(f"activation: expected a result {tuple(cell.shape)}, got {tuple(visible.shape)}")
            output = read.sigmoid() * visible
            hidden, cell = torch.where(active, output, hidden), torch.where(active, next_cell, cell)
            outputs.append(output.masked_fill(~active, 0.0))
        return torch.stack(outputs, 1), LSTMState(hidden, cell)

    def _statistics(
        self, inputs: Tensor, outputs: Tensor, state: LSTMState, there: Tensor | None, aux: AuxRequest
    ) -> AuxOutput:
        """Statistics of gates, computed from inputs and the outputs one step before."""
        weights = self._weights("aux", "None")
        before = torch.cat((state.hidden[:, None], outputs[:, :-1]), 1)[:, : inputs.shape[1]]
        of_input, of_hidden, *biases = (part[3 * self.hidden_dim :] for part in weights)
        gates = torch.sigmoid(F.linear(inputs, of_input, *biases[:1]) + F.linear(before, of_hidden, *biases[1:]))
        if there is not None:
            gates = gates.masked_fill(~there[..., None], 0.0)
        return AuxOutput(
            weights=gates if aux.weights else None,
            top=top(*gates.topk(min(aux.top, self.hidden_dim), -1)) if aux.top else None,
            received=gates.sum(-2) if aux.received else None,
        )

    def _weights(self, name: str, default: str) -> list[Tensor]:
        """Parameters of torch's LSTM, for the argument `name`."""
        lstm: Any = self.lstm  # or a user's module
        if not isinstance(lstm, nn.LSTM):
            expected = f"{default} unless lstm is a torch.nn.LSTM, whose weights give the gates"
            raise ArgumentError(f"{name}: expected {expected}, got a {type(lstm).__name__}. Leave {name} out.")
        return list(lstm.all_weights[0])
