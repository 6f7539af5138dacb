"""Recurrent layers of agents: rectified units or an LSTM."""

from typing import Any

from torch import Tensor, nn

__all__ = ["advanced", "make_core", "nothing_seen"]


def make_core(options: Any) -> nn.LSTMCell | nn.RNNCell:
    """Return the recurrent layer: an LSTM, or rectified units."""
    hidden = options.hidden_dim  # h_t = Rect(Linear(h_{t-1}) + Linear(g_t)), Mnih et al. 2014, section 4
    return nn.LSTMCell(hidden, hidden) if options.core == "lstm" else nn.RNNCell(hidden, hidden, nonlinearity="relu")


def nothing_seen(core: nn.LSTMCell | nn.RNNCell, images: Tensor, rollouts: int) -> tuple[Tensor, ...]:
    """Return the initial state of a recurrent layer: zeros for each rollout."""
    zeros = images.new_zeros(len(images) * rollouts, core.hidden_size)
    return (zeros, zeros) if isinstance(core, nn.LSTMCell) else (zeros,)


def advanced(core: nn.LSTMCell | nn.RNNCell, glimpse: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Return the next state of a recurrent layer, its output first."""
    if isinstance(core, nn.LSTMCell):
        hidden, cell = core(glimpse, (state[0], state[1]))
        return hidden, cell
    return (core(glimpse, state[0]),)
