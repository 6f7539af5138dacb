"""`PastAttention`: an LSTM over its past states. State goes in and comes out."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade import normalizers, scores
from saccade._definitions.argument_hints import reject_extra_kwargs
from saccade._definitions.checks import whole
from saccade.errors import ArgumentError, ShapeError
from saccade.kernels.cells import lstm_cell, plain
from saccade.nn._checks import features, padded, sizes, state_sizes
from saccade.nn._parameters import new_zeros
from saccade.nn.attention import Attention

__all__ = ["PastAttention", "PastState", "Tape"]

Step = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


class Tape(NamedTuple):
    """The states of past steps, the last one last.

    Args:
        keys: the hidden tape, projected for scores, `(batch, n, attention_dim)`.
        states: hidden tape and memory tape side by side, h and c, `(batch, n, 2 hidden_dim)`.
        there: True for steps of the sequence, boolean `(batch, n)`; None is all.
    """

    keys: Tensor
    states: Tensor
    there: Tensor | None = None


class PastState(NamedTuple):
    """State of a `PastAttention` after a step.

    Args:
        hidden: h, `(batch, hidden_dim)`, the output.
        cell: c, `(batch, hidden_dim)`.
        attended: h̃, `(batch, hidden_dim)`.
        tape: the past; None without attention.
    """

    hidden: Tensor
    cell: Tensor
    attended: Tensor
    tape: Tape | None = None


class PastAttention(nn.Module):
    r"""LSTM over a sum of its past states, weighted by attention.

    .. math::
        a_i &= v^\top \tanh(W_h h_i + W_x x_t + W_{\tilde h} \tilde h_{t-1}), \qquad s = \mathrm{softmax}(a) \\
        (\tilde h_t, \tilde c_t) &= \sum_{i < t} s_i \, (h_i, c_i) \\
        i, f, o &= \sigma(W_{ifo} [\tilde h_t, x_t]), \qquad \hat c = \tanh(W_c [\tilde h_t, x_t]) \\
        c_t &= f \odot \tilde c_t + i \odot \hat c, \qquad h_t = o \odot \tanh(c_t)

    An LSTM continues from its last state. This one continues from a sum over all its states, weighted by the current
    input. Its LSTM is torch's, with biases, so that it loads weights from torch. Before the first step there is no
    state to attend to, and both sums are zeros.

    Args:
        input_dim: features of x.
        hidden_dim: features of h and of c.
        attention_dim: features that scores compare; None is hidden_dim.
        score: by name or object, as for `Attention`, except "location".
        normalizer: as for `Attention`.
        window: the number of last states to attend to; None is all. With a window, the time and memory of a step do not
            depend on the length of the sequence. With 1 there is no choice, and with 0 no attention: both are torch's
            LSTM.
        dropout_p: as for `Attention`, of the weights over states.
        device, dtype: of the parameters.

    Raises:
        ArgumentError: sizes below 1, a window below 0, an unknown score.

    Source:
        Cheng, Dong, Lapata 2016, "Long Short-Term Memory-Networks for Machine Reading", equations 4 to 9
        (https://arxiv.org/abs/1601.06733).

    >>> cell = PastAttention(input_dim=4, hidden_dim=6)
    >>> state = cell.start(batch_size=3)
    >>> for x in torch.randn(5, 3, 4):
    ...     state = cell(x, state)
    >>> state.hidden.shape, state.tape.states.shape
    (torch.Size([3, 6]), torch.Size([3, 5, 12]))
    """

    @reject_extra_kwargs
    def __init__(
        self,
        input_dim: int,
        hidden_dim: int,
        *,
        attention_dim: int | None = None,
        score: str | scores.Score | scores.ScoreFunction = "additive",
        normalizer: normalizers.Normalizer | normalizers.NormalizerFunction | None = None,
        window: int | None = None,
        dropout_p: float = 0.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        sizes(input_dim=input_dim, hidden_dim=hidden_dim)
        sizes(none=True, attention_dim=attention_dim)
        whole("window", window, least=0, none=True)
        if isinstance(score, str) and score == "location":
            raise ArgumentError(
                "score: expected a score that compares states, got 'location'. Past states have no fixed positions."
            )
        self.input_dim, self.hidden_dim, self.window = input_dim, hidden_dim, window
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        self.lstm = nn.LSTMCell(input_dim, hidden_dim, **factory)
        if window == 0:
            return
        width = hidden_dim if attention_dim is None else attention_dim
        self.input_query = nn.Linear(input_dim, width, **factory)  # W_x
        self.attended_query = nn.Linear(hidden_dim, width, bias=False, **factory)  # W_h̃
        self.attention = Attention(
            width,
            hidden_dim,
            2 * hidden_dim,
            hidden_dim=width,
            score=score,
            normalizer=normalizer,
            dropout_p=dropout_p,
            **factory,
        )
        # The two layers above project queries, and each key is projected once, at its step.
        self.state_key = self.attention.key_projection  # W_h
        self.attention.query_projection = self.attention.key_projection = nn.Identity()
        self.attention.key_dim = width

    def start(self, batch_size: int) -> PastState:
        """The state before the first step.

        Args:
            batch_size: the number of sequences.

        Raises:
            ArgumentError: a number below 1.

        >>> PastAttention(4, 6, window=3).start(2).tape.states.shape
        torch.Size([2, 3, 12])
        """
        sizes(batch_size=batch_size)
        return self._start(batch_size)

    def _start(self, batch_size: int) -> PastState:
        nothing = new_zeros(self, batch_size, self.hidden_dim)
        if self.window == 0:
            return PastState(nothing, nothing, nothing)
        room = self.window or 0
        states = nothing.new_zeros(batch_size, room, 2 * self.hidden_dim)
        keys = nothing.new_zeros(batch_size, room, self.attention.query_dim)
        there = nothing.new_zeros(batch_size, room, dtype=torch.bool) if room else None
        return PastState(nothing, nothing, nothing, Tape(keys, states, there))

    def forward(self, x: Tensor, state: PastState, *, active: Tensor | None = None) -> PastState:
        """Run one step.

        Args:
            x: `(batch, input_dim)`.
            state: from `start` or the last step. It does not change.
            active: True for sequences with this step, boolean `(batch,)`; None is all. The state of others stays.

        Returns:
            The next state, with the output in `hidden`.

        Raises:
            ShapeError: an input or a state of other sizes.
            ArgumentError: an input of another dtype, or `active` that is not boolean.
        """
        features("x", x, self.input_dim, self.lstm)
        if x.ndim != 2:
            raise ShapeError(f"x: expected (batch, {self.input_dim}), a step of each sequence, got {tuple(x.shape)}")
        self._check(x, state)
        if active is not None and (active.shape != x.shape[:1] or active.dtype != torch.bool):
            raise ShapeError(
                f"active: expected a boolean tensor {tuple(x.shape[:1])}, got {active.dtype} {tuple(active.shape)}"
            )
        if active is not None:  # padding may hold NaN, which would reach the gradients of weights
            x = x.masked_fill(~active[:, None], 0.0)
        query, gates, step = self._of_inputs(x)
        return self._next(query, gates, state, step, active)

    def run(
        self, inputs: Tensor, state: PastState | None = None, *, lengths: Tensor | None = None
    ) -> tuple[Tensor, PastState]:
        """Run all steps of sequences.

        Args:
            inputs: `(batch, length, input_dim)`.
            state: the state before; None is the start.
            lengths: the number of steps of each sequence, integer `(batch,)`; None is all. Its state stays at its end.

        Returns:
            The outputs h `(batch, length, hidden_dim)`, zeros behind the end, and the last state.

        Raises:
            As `forward`.

        >>> cell = PastAttention(4, 6)
        >>> outputs, state = cell.run(torch.randn(3, 5, 4), lengths=torch.tensor([5, 2, 0]))
        >>> outputs.shape, bool((outputs[1, 2:] == 0).all()), torch.equal(state.hidden[1], outputs[1, 1])
        (torch.Size([3, 5, 6]), True, True)
        """
        inputs, there = padded(inputs, lengths, self.input_dim, self.lstm)
        state = self._start(len(inputs)) if state is None else state
        self._check(inputs, state)
        active: Sequence[Tensor | None] = [None] * inputs.shape[1] if there is None else there.unbind(1)
        queries, gates, step = self._of_inputs(inputs)
        by_step = [None] * inputs.shape[1] if queries is None else queries.unbind(1)
        hidden = []
        for query, gate, now in zip(by_step, gates.unbind(1), active, strict=True):
            state = self._next(query, gate, state, step, now)
            hidden.append(state.hidden if now is None else state.hidden.masked_fill(~now[:, None], 0.0))
        outputs = torch.stack(hidden, 1) if hidden else inputs.new_zeros(len(inputs), 0, self.hidden_dim)
        return outputs, state

    def _of_inputs(self, inputs: Tensor) -> tuple[Tensor | None, Tensor, Step]:
        """Queries, gates or (for an LSTM not `plain`) inputs, and its step."""
        queries = None if self.window == 0 else self.input_query(inputs)
        if not plain(self.lstm, nn.LSTMCell):
            return queries, inputs, lambda inputs, hidden, cell: self.lstm(inputs, (hidden, cell))
        gates = F.linear(inputs, self.lstm.weight_ih, self.lstm.bias_ih)
        return queries, gates, lstm_cell(self.lstm.weight_hh, self.lstm.bias_hh)

    def _next(
        self, query: Tensor | None, gates: Tensor, state: PastState, step: Step, active: Tensor | None
    ) -> PastState:
        tape, attended, cell = state.tape, state.hidden, state.cell
        if tape is not None and query is not None:
            query = query + self.attended_query(state.attended)
            there = None if tape.there is None else tape.there[:, None]
            sums = self.attention(query[:, None], tape.keys, tape.states, mask=there)[:, 0]
            attended, cell = sums.chunk(2, -1)
        hidden, cell = step(gates, attended, cell)
        tape = None if tape is None else self._longer(hidden, cell, tape, active)
        if active is not None:
            hidden, cell, attended = _chosen(active, (hidden, cell, attended), state[:3])
        return PastState(hidden, cell, attended, tape)

    def _longer(self, hidden: Tensor, cell: Tensor, tape: Tape, active: Tensor | None) -> Tape:
        """The tape with this step, and without the step that leaves the window."""
        first = 0 if self.window is None else 1
        keys = torch.cat((tape.keys[:, first:], self.state_key(hidden)[:, None]), 1)
        states = torch.cat((tape.states[:, first:], torch.cat((hidden, cell), -1)[:, None]), 1)
        if tape.there is None and active is None:
            return Tape(keys, states)
        before = keys.new_ones(tape.keys.shape[:2], dtype=torch.bool) if tape.there is None else tape.there
        now = before.new_ones(len(before)) if active is None else active
        there = torch.cat((before[:, first:], now[:, None]), 1)
        # A window moves for active sequences alone. Without a window the tape grows for all, and `there` is False for
        # the new entry of inactive ones.
        if self.window is None or active is None:
            return Tape(keys, states, there)
        return Tape(*_chosen(active, (keys, states, there), (tape.keys, tape.states, before)))

    def _check(self, x: Tensor, state: PastState) -> None:
        size = (len(x), self.hidden_dim)
        state_sizes("state", state, "cell", hidden=size, cell=size, attended=size)
        steps = 0 if state.tape is None else state.tape.states.shape[1]
        if (state.tape is None) != (self.window == 0) or (self.window and steps != self.window):
            expected = f"one of {self.window or 'all'} steps" if self.window != 0 else "None with window 0"
            got = "None" if state.tape is None else f"one of {steps}"
            raise ShapeError(f"state.tape: expected {expected}, got {got}. Begin with start().")
        if state.tape is not None:
            rows = (len(x), steps)
            widths = (*rows, self.attention.query_dim), (*rows, 2 * self.hidden_dim)
            state_sizes("state.tape", state.tape, "cell", keys=widths[0], states=widths[1])


def _chosen(active: Tensor, new: Sequence[Tensor], old: Sequence[Tensor]) -> list[Tensor]:
    """New tensors for active sequences, and old ones for others."""
    return [torch.where(active.view(-1, *[1] * (a.ndim - 1)), a, b) for a, b in zip(new, old, strict=True)]
