"""A mixture of experts: time by the number of experts, of which each token is given to two."""

import torch
from torch import Tensor

from saccade.bench.row import Place, Prepare, Row, Run, Work
from saccade.bench.targets import at_most
from saccade.nn import MixtureOfExperts

__all__ = ["rows"]

_TOKENS, _DIM, _HIDDEN, _K = 1 << 15, 128, 1024, 2
_FEWEST = 4  # experts of the peer
_COUNTS = (16, 64, 256)
_TARGET = 1.3


def rows(place: Place) -> list[Row]:
    """Return the rows of mixtures, beside one of four experts that takes as many tokens.

    The weights of more experts are more bytes, read twice and written once as gradients, whatever the tokens are; and
    each expert's logit is one more product. There are so many tokens, so wide a layer in the middle, that the products
    of the chosen experts are what counts: 256 experts are given 256 tokens each.
    """
    found = [_row(count, noise=False) for count in _COUNTS]
    return [*found, _row(_COUNTS[-1], noise=True)]


def _row(count: int, *, noise: bool) -> Row:
    """A training step's forward and backward, all weights and the tokens learning."""

    def inputs(place: Place) -> tuple[Tensor, ...]:
        return (place.normal(_TOKENS, _DIM, grad=True), place.normal(_TOKENS, _DIM))

    return Row(
        subject="experts",
        family=f"mixture, {'noise and losses' if noise else 'no noise'} forward+backward",
        shape=f"{count} experts",
        size=count,
        peer=f"{_FEWEST} experts",
        inputs=inputs,
        ours=_step(count, noise=noise),
        theirs=_step(_FEWEST, noise=noise),
        work=Work(2.0 * 3 * 2 * _TOKENS * _K * _DIM * _HIDDEN, "FLOP", "multiply"),
        targets=(at_most(_TARGET),),
        same=False,  # other experts say something else
        quick=count == _COUNTS[0] and not noise,
    )


def _step(count: int, *, noise: bool) -> Prepare:
    """From tokens and what comes down to their outputs to a call of the gradients."""

    def prepare(tokens: Tensor, upstream: Tensor) -> Run:
        torch.manual_seed(0)
        mixture = MixtureOfExperts(_DIM, count, _K, hidden_dim=_HIDDEN, noise=noise).to(tokens.device)
        learning = [tokens, *mixture.parameters()]

        def run() -> tuple[Tensor, ...]:
            output, balance = mixture(tokens)
            ones = torch.ones_like(balance.loss)
            return torch.autograd.grad([output, balance.loss], learning, [upstream, ones])

        return run

    return prepare
