"""Sampling of outputs from the probabilities of a model."""

from collections.abc import Sequence

import torch
from torch import Tensor

from saccade.kernels.topk import dense
from saccade.tasks.generate.model import Autoregressive, Begun, Hypotheses, S, begun

__all__ = ["draw", "sample"]

_ROWS = 512  # rows of probabilities in memory: float64, several times


def sample(
    model: Autoregressive[S],
    state: S,
    limits: Tensor,
    uniforms: Tensor,
    *,
    begin: int,
    end: int,
    temperature: float = 1.0,
    top_p: float = 1.0,
    min_length: int = 0,
    prefix: Sequence[int] = (),
) -> Hypotheses:
    """Draw outputs token by token, independently of each other.

    Each token is drawn by `draw` and a given random number, so an output depends on its own numbers alone. Every output
    ends at its limit. An example is dropped from the batch when all its outputs have ended.

    Args:
        model: called once for each position.
        state: of the batch, before the first token.
        limits: `(batch,)`, the most tokens that each output may have, its end not counted.
        uniforms: `(batch, n, length)` from 0 to below 1, float64, for the tokens of n outputs. There is one more than
            the largest limit.
        begin: the token before the first.
        end: the token that ends an output.
        temperature: see `draw`.
        top_p: see `draw`.
        min_length: the fewest tokens of an output, if its limit allows so many.
        prefix: tokens that every output begins with, even beyond its limit.

    Returns:
        n outputs of each example. Their scores are log-probabilities under the model, prefix and end included, at a
        temperature of 1 and with all tokens allowed.
    """
    start = begun(model, state, limits, begin, prefix)
    state, draws = start.state, _Draws(start, end, uniforms)
    if draws.count > 1:
        state = state.select(draws.examples[:, None].expand(-1, draws.count), None)
    for length in range(int(start.limits.max()) + 1):
        logits, state = model.step(draws.last.flatten(), state)
        log_probs = dense(logits).float().log_softmax(-1)
        draws.take(log_probs, length, temperature, top_p, barred=start.written + length < min_length)
        left = len(draws.examples) - int(draws.done.sum())  # the one place where the host waits for the device
        if not left:
            break
        if left < len(draws.examples):
            state = state.select(*draws.keep(left))
    outputs = Hypotheses(draws.tokens, draws.lengths, draws.scores)
    return outputs.after(prefix) if prefix else outputs


def draw(log_probs: Tensor, uniforms: Tensor, temperature: float = 1.0, top_p: float = 1.0) -> Tensor:
    r"""Draw tokens from the nucleus of a distribution with a temperature.

    .. math::
        p_v \propto \exp(g_v / T) \qquad p'_v \propto p_v\,[v \in V], \quad
        V \text{ the fewest most probable tokens with } \textstyle\sum_{v \in V} p_v \ge P

    A token is drawn if the sum of the probabilities up to it, in the order of the tokens, is the first to exceed its
    random number. Rounding of probabilities moves these sums by no more than the rounding itself.

    Args:
        log_probs: g, logits or log-probabilities `(..., vocabulary)`, -inf for tokens that may not be drawn.
        uniforms: `(...)`, float64, from 0 to below 1.
        temperature: T, above 0. Near 0 the most probable token alone is left.
        top_p: P, above 0 and at most 1. At 1 all tokens are in the nucleus.

    Returns:
        int64 `(...)`.

    Example:
        >>> log_probs = torch.tensor([0.5, 0.2, 0.3]).log().expand(3, -1)
        >>> draw(log_probs, torch.tensor([0.45, 0.65, 0.75])).tolist()
        [0, 1, 2]
        >>> draw(log_probs, torch.tensor([0.45, 0.65, 0.75]), top_p=0.7).tolist()
        [0, 2, 2]

    Source:
        Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration", Eq. 2 and 3 (section 3.1); the temperature
        as in its section 3.3.
    """
    shares = ((log_probs - log_probs.amax(-1, keepdim=True)).double() / temperature).softmax(-1)
    if top_p < 1:
        ranked, order = shares.sort(descending=True, stable=True)
        inside = ranked.cumsum(-1) - ranked < top_p
        shares = shares * torch.zeros_like(inside).scatter(-1, order, inside)
    reached = shares.cumsum(-1)
    whole = reached[..., -1:]
    return ((reached <= uniforms[..., None] * whole) & (reached < whole)).sum(-1)


class _Draws:
    """Unfinished outputs `(examples, n)`, and the tokens of all outputs."""

    def __init__(self, begun: Begun[S], end: int, uniforms: Tensor) -> None:
        batch, self.count = uniforms.shape[:2]
        self.end, self.uniforms, self.limits = end, uniforms, begun.limits
        self.tokens = begun.limits.new_full((batch, self.count, int(begun.limits.max())), end)
        self.lengths = begun.limits[:, None].repeat(1, self.count)
        self.scores = begun.scores[:, None].repeat(1, self.count)
        self.examples = torch.arange(batch, device=begun.limits.device)  # rows of the batch with unfinished outputs
        self.last = begun.last[:, None].expand(-1, self.count)
        self.ended = torch.zeros_like(self.last, dtype=torch.bool)

    @property
    def done(self) -> Tensor:
        return self.ended.all(1)

    def take(self, log_probs: Tensor, length: int, temperature: float, top_p: float, *, barred: bool) -> None:
        """Draw a token for each output."""
        allowed = log_probs
        if barred:
            allowed = log_probs.index_fill(-1, torch.tensor(self.end, device=log_probs.device), float("-inf"))
        uniforms = self.uniforms[self.examples, :, length].flatten()
        pieces = zip(allowed.split(_ROWS), uniforms.split(_ROWS), strict=True)
        drawn = torch.cat([draw(*piece, temperature, top_p) for piece in pieces]).view(self.last.shape)
        final = (self.limits[self.examples] <= length)[:, None]
        self.last = torch.where(final | self.ended, self.end, drawn)
        added = log_probs.gather(-1, self.last.view(-1, 1)).view(self.last.shape).masked_fill(self.ended, 0.0)
        self.scores[self.examples] += added
        ends = (self.last == self.end) & ~self.ended
        self.lengths[self.examples] = torch.where(ends, length, self.lengths[self.examples])
        self.ended = self.ended | ends
        if length < self.tokens.shape[-1]:
            self.tokens[self.examples, :, length] = self.last

    def keep(self, left: int) -> tuple[Tensor, Tensor]:
        """Drop finished examples, and return the arguments of `State.select`."""
        going = self.done.byte().argsort(stable=True)[:left]
        self.examples, self.last, self.ended = self.examples[going], self.last[going], self.ended[going]
        return going[:, None] * self.count + torch.arange(self.count, device=going.device), going
