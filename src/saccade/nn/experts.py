"""`MixtureOfExperts`: many networks and a gate to choose a few for each token.

    tokens ──gates (gating.py)──▶ pairs, sorted by expert (_routing.py) ──▶ grouped products ──▶ sums

The gate is attention with a hard read: tokens are queries, experts are keys, and the k largest weights are read.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade._call.validation import probability
from saccade._definitions.argument_hints import reject_extra_kwargs
from saccade._definitions.checks import number
from saccade._definitions.numerics import autocasting, tracing, transforming, wide, without_autocast
from saccade._definitions.structure import Extent, Grid, aligned
from saccade._dispatch.passes import autocast
from saccade.auxiliary import AuxRequest
from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError
from saccade.kernels.dropout import Dropout
from saccade.kernels.grouped import grouped_product
from saccade.masks import Mask
from saccade.nn import _routing, gating
from saccade.nn._checks import features, one_of, sizes
from saccade.nn._routing import Drop, Pairs, Routes

__all__ = ["Balance", "MixtureOfExperts", "Routing"]

_PARTS = 10**8  # of a capacity factor

Routing: TypeAlias = Literal["tokens", "experts"]


class Balance(NamedTuple):
    r"""Loads of experts, and the loss of an uneven load.

    Args:
        loss: \(w_i \mathrm{CV}(\mathrm{Importance})^2 + w_l \mathrm{CV}(\mathrm{Load})^2\), to be added to the loss of
            training.
        importance: the sum of each expert's weights, `(experts,)`, equation 6.
        load: the expected number of tokens of each expert, `(experts,)`, equation 10. Without noise it is the number.
        taken: the number of tokens of each expert, int64 `(experts,)`.
        dropped: the number of pairs of a token and an expert beyond the expert's capacity, int64 `()`.
        tokens: the number of tokens without padding, int64 `()`.
    """

    loss: Tensor
    importance: Tensor
    load: Tensor
    taken: Tensor
    dropped: Tensor
    tokens: Tensor


class MixtureOfExperts(nn.Module):
    r"""Mixture of experts, networks of two layers.

    A gate chooses k experts for each token. The cost grows with k, not with the number of experts.

    .. math::
        y = \sum_{i \in \mathrm{top}_k H(x)} G(x)_i \, E_i(x), \qquad E_i(x) = W^o_i \, \phi(W^h_i x)

    with a gate of noisy logits. Only training draws noise:

    .. math::
        G(x) = \mathrm{softmax}(\mathrm{KeepTopK}(H(x), k)), \qquad
        H(x)_i = (x W_g)_i + \varepsilon_i \, \mathrm{softplus}((x W_\mathrm{noise})_i)

    Without balance a gate gives all tokens to few experts, since these learn faster. Two losses act against that, on
    the weights of experts and on their expected numbers of tokens:

    .. math::
        L = w_i \, \mathrm{CV}\Big(\sum_x G(x)\Big)^2 + w_l \, \mathrm{CV}\Big(\sum_x P(x)\Big)^2, \qquad
        P(x)_i = \Phi\left(\frac{(x W_g)_i - \mathrm{kth\_excluding}(H(x), k, i)}
                                {\mathrm{softplus}((x W_\mathrm{noise})_i)}\right)

    Args:
        embed_dim: features of a token and of its output.
        num_experts: the number of experts.
        k: experts of a token. With groups, k groups and k experts in each of them. With routing "experts", the mean
            number.
        hidden_dim: of each expert's layer in the middle; None is 4 embed_dim.
        groups: None, or the number of groups in a hierarchy: a first gate chooses k groups, and the gate of each
            group k of its experts.
        routing: "tokens": each token takes its k experts. "experts": each expert takes the tokens of largest
            weight. All experts take equally many, so balance needs no loss. But a token may have no expert, and the
            choice depends on later tokens, so it does not suit a model that generates.
        noise: whether training draws noise. With noise, gates begin at zero, all experts alike. None is True, and False
            with routing "experts", which has none.
        importance_weight, load_weight: \(w_i\) and \(w_l\). None is 0.1, or 0 if the loss has no effect: on the load
            without noise, on both with routing "experts".
        capacity_factor: in training, an expert takes at most ⌈factor · pairs / num_experts⌉ tokens and drops the rest.
            The output of a dropped token comes from its other experts, or is 0. None drops nothing. With routing
            "experts" each takes exactly so many, and None is 1.
        eval_capacity_factor: capacity_factor outside training. None drops nothing, so that no prediction depends on
            its batch. With routing "experts" None is capacity_factor.
        drop: the tokens to drop: "weight", those of the smallest weights, or "order", the last ones of the batch.
        activation: φ.
        dropout_p: probability of dropping a feature of the layer in the middle, in training.
        device, dtype: of the parameters.

    Raises:
        ArgumentError: k above num_experts, groups that do not divide num_experts, losses without effect, or numbers
            out of range.

    Source:
        Shazeer et al. 2017, equations 1 to 14 (https://arxiv.org/abs/1701.06538). Routing "experts": Zhou et al. 2022,
        "Mixture-of-Experts with Expert Choice Routing", equations 1 to 3 (https://arxiv.org/abs/2202.09368). Capacity:
        Lepikhin et al. 2020, "GShard", section 2.2 (https://arxiv.org/abs/2006.16668). Dropping by weight: Riquelme et
        al. 2021, "Scaling Vision with Sparse Mixture of Experts", section 4 (https://arxiv.org/abs/2106.05974).

    >>> import torch
    >>> mixture = MixtureOfExperts(8, num_experts=16, k=2)
    >>> output, balance = mixture(torch.randn(3, 5, 8))
    >>> output.shape, balance.taken.sum().item(), balance.dropped.item()
    (torch.Size([3, 5, 8]), 30, 0)
    """

    @reject_extra_kwargs
    def __init__(
        self,
        embed_dim: int,
        num_experts: int,
        k: int = 2,
        *,
        hidden_dim: int | None = None,
        groups: int | None = None,
        routing: Routing = "tokens",
        noise: bool | None = None,
        importance_weight: float | None = None,
        load_weight: float | None = None,
        capacity_factor: float | None = None,
        eval_capacity_factor: float | None = None,
        drop: Drop = "weight",
        activation: Callable[[Tensor], Tensor] = F.relu,
        dropout_p: float = 0.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        sizes(embed_dim=embed_dim, num_experts=num_experts, k=k)
        sizes(none=True, hidden_dim=hidden_dim, groups=groups)
        _check_choice(num_experts, k, groups, routing)
        one_of("drop", drop, get_args(Drop))
        for name, factor in (("capacity_factor", capacity_factor), ("eval_capacity_factor", eval_capacity_factor)):
            number(name, factor, above=0, finite=True, none=True)
        if noise and routing == "experts":
            raise ArgumentError("noise: expected False or None with routing 'experts', which draws none, got True")
        noise = routing == "tokens" if noise is None else noise
        probability(dropout_p)
        self.embed_dim, self.num_experts, self.k, self.groups = embed_dim, num_experts, k, groups
        self.routing, self.noise, self.drop, self.activation = routing, noise, drop, activation
        self.importance_weight = _loss_weight("importance_weight", importance_weight, routing == "tokens")
        self.load_weight = _loss_weight("load_weight", load_weight, noise)
        self.capacity_factor, self.eval_capacity_factor = capacity_factor, eval_capacity_factor
        if routing == "experts":
            self.capacity_factor = 1.0 if capacity_factor is None else capacity_factor
            self.eval_capacity_factor = self.capacity_factor if eval_capacity_factor is None else eval_capacity_factor
        hidden, factory = 4 * embed_dim if hidden_dim is None else hidden_dim, {"device": device, "dtype": dtype}

        def parameter(*sizes: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(*sizes, **factory))  # type: ignore[arg-type]

        self.gate = parameter(num_experts, embed_dim)
        self.noise_gate = parameter(num_experts, embed_dim) if noise else None
        self.group_gate = parameter(groups, embed_dim) if groups else None
        self.group_noise_gate = parameter(groups, embed_dim) if groups and noise else None
        self.inner, self.outer = parameter(num_experts, embed_dim, hidden), parameter(num_experts, hidden, embed_dim)
        self.dropout = Dropout(dropout_p)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw experts as `torch.nn.Linear`, and gates if zeros would tie experts."""
        for weight in (self.inner, self.outer):
            bound = weight.shape[1] ** -0.5
            nn.init.uniform_(weight, -bound, bound)
        for gate in (self.gate, self.group_gate):
            if gate is not None:
                nn.init.normal_(gate, std=0.0 if self.noise else self.embed_dim**-0.5)
        for gate in (self.noise_gate, self.group_noise_gate):
            if gate is not None:
                nn.init.zeros_(gate)

    @reject_extra_kwargs
    def forward(self, query: Tensor, *, mask: Mask | Tensor | None = None, aux: AuxRequest | None = None) -> Any:
        """Give tokens to experts.

        Args:
            query: tokens, `(..., L, embed_dim)`.
            mask: False for padding, boolean `(..., L)` or `masks.Lengths`. Padding takes no expert, no capacity and no
                part in the losses, whatever it holds, and its output is 0.
            aux: request for statistics of the weights of experts, `(..., L, experts)`. `weights` sum the outputs of
                experts. `top` and `index` are the experts of largest weight. `received` is the load of each expert
                by weight. `entropy` and `lse` (without groups) are of the gate, before tokens are dropped.

        Returns:
            The output `(..., L, embed_dim)` and a `Balance`; with aux also an `AuxOutput`.

        Raises:
            ShapeError: sizes that do not fit.
            ArgumentError: a statistic that is undefined.
        """
        features("query", query, self.embed_dim, self.inner)
        if aux is not None:
            self._check(aux)
        tokens, there = query.reshape(-1, self.embed_dim), _there(mask, query)
        if there is not None:
            tokens = tokens.masked_fill(~there[:, None], 0.0)
        with without_autocast(query):  # half types would round away the order of experts
            routes = self._routes(wide(tokens), there)
        kept = routes.pairs
        if self.routing == "tokens" and self._factor is not None:
            capacity = self._capacity(kept.kept.sum() // self._pairs_a_token)
            kept = _routing.limit(kept, self.num_experts, capacity, self.drop)
        output = self._outputs(tokens, kept).view(query.shape)
        balance = self._balance(routes, kept, tokens, there)
        if aux is None:
            return output, balance
        return output, balance, _routing.described(aux, routes, kept, query.shape[:-1], self.num_experts)

    def _routes(self, tokens: Tensor, there: Tensor | None) -> Routes:
        if self.routing == "experts":
            return _routing.by_experts(tokens, wide(self.gate), self._capacity, there)
        noises = self.noise_gate, self.group_noise_gate
        noise, group_noise = [None if not self.training or gate is None else wide(gate) for gate in noises]
        if self.group_gate is None:
            return _routing.by_tokens(tokens, wide(self.gate), noise, self.k, there)
        return _routing.by_groups(tokens, (wide(self.group_gate), group_noise), (wide(self.gate), noise), self.k, there)

    @property
    def _factor(self) -> float | None:
        return self.capacity_factor if self.training else self.eval_capacity_factor

    def _capacity(self, count: Any) -> Any:
        """The capacity of an expert for `count` tokens, an int or a tensor as count is.

        It is computed in integers, since ⌈100 · 7 / 25⌉ depends on rounding in floats. The factor is lowered by
        10⁻⁸, since the float 1.1 is above 1.1. No token comes to an expert twice.
        """
        assert self._factor is not None
        parts, whole = max(1, round(self._factor * _PARTS) - 1) * self._pairs_a_token, _PARTS * self.num_experts
        return -(-count * min(parts, whole) // whole)

    @property
    def _pairs_a_token(self) -> int:
        return self.k if self.groups is None else self.k**2

    def _outputs(self, tokens: Tensor, pairs: Pairs) -> Tensor:
        """Equation 1, for all experts at once."""
        pairs, ends = _routing.sort(pairs, self.num_experts)
        rows, inner, outer = tokens.index_select(0, pairs.token), self.inner, self.outer
        if autocasting(rows):
            rows, inner, outer = autocast(rows, inner, outer)
        hidden = self.dropout(self.activation(grouped_product(rows, inner, ends)))
        outputs = wide(grouped_product(hidden, outer, ends)) * pairs.weight[:, None]
        sums = wide(tokens).new_zeros(tokens.shape)
        return sums.index_add(0, pairs.token, outputs.to(sums.dtype)).to(rows.dtype)

    def _balance(self, routes: Routes, kept: Pairs, tokens: Tensor, there: Tensor | None) -> Balance:
        loss = self.importance_weight * gating.squared_variation(routes.importance)
        loss = loss + self.load_weight * gating.squared_variation(routes.load)
        taken = torch.zeros(self.num_experts, dtype=torch.int64, device=tokens.device)
        taken = taken.index_add(0, kept.expert, kept.kept.long())
        count = torch.tensor(tokens.shape[0], device=tokens.device) if there is None else there.sum()
        return Balance(loss, routes.importance, routes.load, taken, routes.pairs.kept.sum() - taken.sum(), count)

    def _check(self, aux: AuxRequest) -> None:
        """Reject statistics without a definition for this gate."""
        if aux.log_prob:
            raise ArgumentError("log_prob: expected a Sample read, got a mixture, which draws no experts")
        if self.routing == "experts" and (aux.entropy or aux.lse):
            name = "entropy" if aux.entropy else "lse"
            raise ArgumentError(
                f"{name}: expected routing 'tokens', whose weights of a token sum to one, got 'experts'"
            )
        if self.groups is not None and aux.lse:
            raise ArgumentError("lse: expected a gate without groups, got groups with a sum each. Leave it out.")

    def extra_repr(self) -> str:
        """The sizes, for `print`."""
        groups = "" if self.groups is None else f", groups={self.groups}"
        return f"{self.embed_dim}, num_experts={self.num_experts}, k={self.k}{groups}, routing={self.routing!r}"


def _check_choice(num_experts: int, k: int, groups: int | None, routing: str) -> None:
    """Raise unless the numbers of experts, groups and choices fit."""
    one_of("routing", routing, get_args(Routing))
    if k > num_experts:
        raise ArgumentError(f"k: expected at most num_experts = {num_experts}, got {k}. Add experts or take fewer.")
    if groups is None:
        return
    if routing == "experts":
        raise ArgumentError("groups: expected None with routing 'experts', which has one gate. Use routing 'tokens'.")
    if num_experts % groups:
        raise ArgumentError(f"groups: expected a divisor of num_experts = {num_experts}, got {groups}")
    fewest = min(groups, num_experts // groups)
    if k > fewest:
        got = f"{groups} groups of {num_experts // groups} experts"
        raise ArgumentError(f"k: expected at most {fewest}, as it is taken of groups and in each, with {got}, got {k}")


def _loss_weight(name: str, value: float | None, teaches: bool) -> float:
    """The weight of a loss, rejected if the loss has no effect."""
    number(name, value, least=0, finite=True, none=True)
    if value and not teaches:
        balanced = name == "importance_weight"
        reason = "whose experts take equally many" if balanced else "as without noise it has no gradient"
        raise ArgumentError(f"{name}: expected 0 or None here, {reason}, got {value}")
    return (0.1 if teaches else 0.0) if value is None else float(value)


def _there(mask: Mask | Tensor | None, query: Tensor) -> Tensor | None:
    """Tokens without padding, boolean `(tokens,)`."""
    if mask is None:
        return None
    if isinstance(mask, Mask):
        if not mask.keys_alone:
            raise ArgumentError(f"mask: expected one of tokens alone, as masks.Lengths, got {type(mask).__name__}")
        (*batch, length, size), look = query.shape, not (tracing() or transforming())
        mask.check(Extent(tuple(batch), 1, length, size, size, query.dtype, query.device, look))
        dense = mask.dense(Grid(1, length, 0, 1, query.device))
        mask = aligned(dense, ("q", "k"), len(batch))[..., 0, :]
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        got = f"dtype {mask.dtype}" if isinstance(mask, Tensor) else type(mask).__name__
        raise ArgumentTypeError(f"mask: expected a boolean tensor (..., L) or masks.Lengths, got {got}")
    try:
        return mask.expand(query.shape[:-1]).reshape(-1)
    except RuntimeError:
        expected = f"a shape that broadcasts to (..., L) = {tuple(query.shape[:-1])}"
        raise ShapeError(f"mask: expected {expected}, got {tuple(mask.shape)}") from None
