"""`GatedLSTM`: torch's LSTM, whose output gate is shown as what it is, weights over the entries of its state."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from saccade.auxiliary import AuxOutput, AuxRequest, top
from saccade.checks import whole
from saccade.errors import ArgumentError, ShapeError
from saccade.nn.attention import features
from saccade.nn.lengths import check_lengths, steps
from saccade.nn.parameters import new_zeros

__all__ = ["GatedLSTM", "LSTMState"]


class LSTMState(NamedTuple):
    """What an LSTM knows after a step.

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
        c_t &= f \odot c_{t-1} + i \odot g, \qquad h_t = o \odot \tanh(c_t)

    The output is the state, each of its entries times a weight between 0 and 1 that follows from what is read and from
    what was put out: attention over the entries of a state, multiplied and not summed. With `aux` these weights are
    returned beside the output, and `look.record` records them as it does those of any attention: a row for
    each step, a column for each entry. The LSTM itself is torch's, `lstm`, and as fast; gates are computed when they
    are asked for, of all steps at once.

    Args:
        input_dim: features of x.
        hidden_dim: features of h and of c.
        bias: whether there is b.
        device, dtype: of the parameters.

    Raises:
        ArgumentError: sizes below 1.

    Source:
        Hochreiter, Schmidhuber 1997, "Long short-term memory"; with the forget gate of Gers, Schmidhuber, Cummins 2000.

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
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        whole("input_dim", input_dim, least=1)
        whole("hidden_dim", hidden_dim, least=1)
        self.input_dim, self.hidden_dim = input_dim, hidden_dim
        self.lstm = nn.LSTM(input_dim, hidden_dim, bias=bias, batch_first=True, device=device, dtype=dtype)

    def start(self, batch_size: int) -> LSTMState:
        """The state before the first step, zeros.

        Args:
            batch_size: how many sequences.

        Raises:
            ArgumentError: a number below 1.
        """
        whole("batch_size", batch_size, least=1)
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
        """Steps of sequences, one or many.

        Args:
            inputs: `(batch, length, input_dim)`.
            state: to go on from; None begins.
            lengths: how many steps each sequence has, integer `(batch,)`; None: all. Behind its end its state stays.
            aux: what of the gates is asked for: `weights` `(batch, length, hidden_dim)`, zeros behind the end, their
                `top`, and what each entry `received` in all steps.

        Returns:
            The pair of outputs h `(batch, length, hidden_dim)`, zeros behind the end, and the last state; with aux a
            pair of that and an `AuxOutput`.

        Raises:
            ShapeError: inputs or a state of other sizes.
            ArgumentError: inputs of another dtype; a statistic that gates, which do not sum to one, have not.
        """
        features("inputs", inputs, self.input_dim, self.lstm)
        if inputs.ndim != 3:
            raise ShapeError(f"inputs: expected (batch, length, {self.input_dim}), got {tuple(inputs.shape)}")
        if lengths is not None:
            check_lengths(lengths, inputs)
            # Whatever stands in padding: gates are computed of it, and times 0 a number that is none is none.
            inputs = inputs.masked_fill(~steps(lengths, inputs)[..., None], 0.0)
        _check_request(aux)
        state = self._checked(state, len(inputs))
        outputs, last = self._run(inputs, state, lengths)
        return (outputs, last) if aux is None else ((outputs, last), self._told(inputs, outputs, state, lengths, aux))

    def _run(self, inputs: Tensor, state: LSTMState, lengths: Tensor | None) -> tuple[Tensor, LSTMState]:
        if not inputs.shape[0] or not inputs.shape[1]:
            return inputs.new_zeros(*inputs.shape[:2], self.hidden_dim), state
        before = state.hidden[None], state.cell[None]
        if lengths is None:
            outputs, (hidden, cell) = self.lstm(inputs, before)
            return outputs, LSTMState(hidden[0], cell[0])
        some = lengths > 0  # torch packs no sequence of no steps: it takes one, which is forgotten
        packed = pack_padded_sequence(inputs, lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False)
        outputs, (hidden, cell) = self.lstm(packed, before)
        outputs, _ = pad_packed_sequence(outputs, batch_first=True, total_length=inputs.shape[1])
        some = some[:, None]
        last = LSTMState(torch.where(some, hidden[0], state.hidden), torch.where(some, cell[0], state.cell))
        return outputs.masked_fill(~some[..., None], 0.0), last

    def _told(
        self, inputs: Tensor, outputs: Tensor, state: LSTMState, lengths: Tensor | None, aux: AuxRequest
    ) -> AuxOutput:
        """The gates of all steps: each follows from an input and from the output of the step before."""
        lstm: Any = self.lstm  # or what stands in its place
        if not isinstance(lstm, nn.LSTM):
            expected = "None where lstm is not torch.nn.LSTM, whose weights give the gates"
            raise ArgumentError(f"aux: expected {expected}, got a {type(lstm).__name__}; leave aux out")
        before = torch.cat((state.hidden[:, None], outputs[:, :-1]), 1)[:, : inputs.shape[1]]
        of_input, of_hidden, *biases = (part[3 * self.hidden_dim :] for part in self.lstm.all_weights[0])
        gates = torch.sigmoid(F.linear(inputs, of_input, *biases[:1]) + F.linear(before, of_hidden, *biases[1:]))
        if lengths is not None:
            gates = gates.masked_fill(~steps(lengths, inputs)[..., None], 0.0)
        return AuxOutput(
            weights=gates if aux.weights else None,
            top=top(*gates.topk(min(aux.top, self.hidden_dim), -1)) if aux.top else None,
            received=gates.sum(-2) if aux.received else None,
        )

    def _checked(self, state: LSTMState | None, batch: int) -> LSTMState:
        if state is None:
            return self._start(batch)
        for name, part in zip(LSTMState._fields, state, strict=True):
            if part.shape != (batch, self.hidden_dim):
                raise ShapeError(f"state.{name}: expected {(batch, self.hidden_dim)}, got {tuple(part.shape)}")
        return LSTMState(*state)


def _check_request(aux: AuxRequest | None) -> None:
    for name in () if aux is None else aux.names():
        if name not in ("weights", "top", "received"):
            raise ArgumentError(
                f"aux: expected weights, top or received, got {name}; gates are weights that do not sum to 1"
            )
