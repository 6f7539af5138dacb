"""Experts in place of feed-forward networks, as options of several models.

Shazeer et al. 2017, "Outrageously Large Neural Networks", https://arxiv.org/abs/1701.06538. Lepikhin et al. 2020,
"GShard", https://arxiv.org/abs/2006.16668, for every other layer of a Transformer.
"""

from dataclasses import dataclass, fields

from saccade._definitions.checks import in_ranges
from saccade.errors import ArgumentError
from saccade.nn import MixtureOfExperts
from saccade.nn.experts import Routing

__all__ = ["Options", "has_experts", "mixture"]

_LARGEST = 1 << 16
_RANGES = (("experts", 0, _LARGEST), ("top_k", 1, _LARGEST), ("experts_every", 1, _LARGEST))


@dataclass(frozen=True, kw_only=True)
class Options:
    """Experts in place of feed-forward networks.

    >>> Options(experts=16).top_k
    2
    """

    experts: int = 0
    """Experts that replace the feed-forward network of some layers. 0: none."""

    top_k: int = 2
    """Experts per token. With --expert-groups, also groups per token."""

    experts_every: int = 2
    """Distance between layers with experts, from the last layer on. 1: all layers."""

    expert_groups: int | None = None
    """Groups of experts. A first gate chooses groups, a second one experts in each."""

    capacity_factor: float | None = None
    """Largest load of an expert in training, as a multiple of its even share.

    Further tokens at the end of the batch are dropped. Default: unlimited."""

    importance_weight: float | None = None
    """Weight of the loss that balances the sums of gate values. Default: 0.1."""

    load_weight: float | None = None
    """Weight of the loss that balances the numbers of tokens. Default: 0.1."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        in_ranges(self, _RANGES)
        if not self.experts:
            for option in fields(Options):
                if option.name != "experts" and (got := getattr(self, option.name)) != option.default:
                    flag = f"--{option.name.replace('_', '-')}"
                    raise ArgumentError(f"{flag}: expected only with --experts, got {got} without them")
            return
        if self.top_k > self.experts:
            raise ArgumentError(f"--top-k: expected at most --experts = {self.experts}, got {self.top_k}")
        for name in ("importance_weight", "load_weight"):
            if (weight := getattr(self, name)) is not None and not 0 <= weight < float("inf"):
                raise ArgumentError(f"--{name.replace('_', '-')}: expected a number from 0 on, got {weight}")
        if self.capacity_factor is not None and not 0 < self.capacity_factor < float("inf"):
            raise ArgumentError(f"--capacity-factor: expected a number above 0, got {self.capacity_factor}")
        _check_groups(self.experts, self.top_k, self.expert_groups)


def _check_groups(experts: int, top_k: int, groups: int | None) -> None:
    if groups is None:
        return
    if groups < 1 or experts % groups:
        raise ArgumentError(f"--expert-groups: expected a divisor of --experts = {experts}, got {groups}")
    if top_k > (fewest := min(groups, experts // groups)):
        of = f"{groups} groups of {experts // groups}"
        raise ArgumentError(f"--top-k: expected at most {fewest}, as it is taken of groups and in each, of {of}")


def has_experts(options: Options, layer: int, layers: int) -> bool:
    """Return whether a layer has experts, counted from 0.

    These are the last layer and every `experts_every`-th layer before it.

    >>> [has_experts(Options(experts=4), layer, 5) for layer in range(5)]
    [True, False, True, False, True]
    """
    return options.experts > 0 and (layers - 1 - layer) % options.experts_every == 0


def mixture(
    dim: int, feedforward_dim: int, dropout: float, options: Options, routing: Routing = "tokens"
) -> MixtureOfExperts:
    """Return the experts of a layer.

    Dropped tokens do not depend on later tokens, because a decoder must be causal.

    Args:
        dim: features of a position.
        feedforward_dim: hidden features of an expert.
        dropout: dropout of the hidden features.
        options: number of experts, and their routing.
        routing: "tokens" if tokens choose experts, "experts" if experts choose tokens.

    >>> mixture(8, 16, 0.1, Options(experts=4)).num_experts
    4
    """
    return MixtureOfExperts(
        dim,
        options.experts,
        options.top_k,
        hidden_dim=feedforward_dim,
        groups=options.expert_groups,
        routing=routing,
        importance_weight=options.importance_weight,
        load_weight=options.load_weight,
        capacity_factor=options.capacity_factor,
        drop="order",
        dropout_p=dropout,
    )
