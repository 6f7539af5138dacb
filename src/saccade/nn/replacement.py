"""Replacement of `torch.nn.MultiheadAttention` in any model."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from saccade import normalizers, scores
from saccade._call.call import SCALED_DOT, SOFT, SOFTMAX
from saccade._call.validation import kinds
from saccade._definitions.argument_hints import reject_extra_kwargs
from saccade._integrations.call import compute
from saccade._integrations.multihead import multihead_call, multihead_result
from saccade.auxiliary import AuxRequest
from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError
from saccade.nn._checks import features
from saccade.nn._parameters import Parameters


class Replaced(NamedTuple):
    """Names of replaced modules, and of attention modules that stay.

    Args:
        names: of replaced modules, as in `model.named_modules()`. The model itself is "".
        left: the reason by the name of a module.

    >>> Replaced(("encoder.self_attn",), {}).names
    ('encoder.self_attn',)
    """

    names: tuple[str, ...]
    left: dict[str, str]


@reject_extra_kwargs
def replace(
    model: nn.Module,
    *,
    score: scores.Score | scores.ScoreFunction = SCALED_DOT,
    normalizer: normalizers.Normalizer | normalizers.NormalizerFunction = SOFTMAX,
    required: bool = True,
) -> Replaced:
    """Replace each `torch.nn.MultiheadAttention` of a model, in place.

        head_h = attend(W_h^Q query, W_h^K key, W_h^V value),  output = W^O [head_1; ...; head_H]

    Vaswani et al. 2017, section 3.2.2. The module stays the same object with another class, a subclass of torch's.
    So parameters, their names in a state, optimizers, hooks, dtype, device and mode stay. `forward` takes torch's
    arguments and returns `(output, weights)`. There are four differences:

    - A row in which everything is forbidden reads zeros, and has weights of 0. Torch gives NaN.
    - In training with dropout, the returned weights are those before dropout.
    - Torch's fused kernels for evaluation would bypass the module. So a `TransformerEncoderLayer` calls it, and a
      `TransformerEncoder` in `model` makes no nested tensors: its outputs at padding are computed, and not 0.
    - With add_bias_kv or add_zero_attn, queries may attend to the extra keys under is_causal as well.

    Args:
        model: any module. Subclasses of torch's class with code of their own are left.
        score: as for `attend`, one in all heads of all replaced modules. Tensors in it join the state.
        normalizer: as for `attend`, likewise.
        required: whether a model without a module to replace is an error.

    Returns:
        A `Replaced` with the names of the replaced modules, and a reason for each other attention module. These are
        modules with "attention" in the name of their class.

    Raises:
        ArgumentError: nothing to replace.

    >>> import torch
    >>> layer = torch.nn.TransformerEncoderLayer(8, 2, dropout=0.0, batch_first=True).eval()
    >>> x = torch.randn(2, 5, 8)
    >>> before = layer(x)
    >>> replace(layer).names
    ('self_attn',)
    >>> torch.allclose(layer(x), before, atol=1e-6)
    True
    """
    if not isinstance(model, nn.Module):
        raise ArgumentTypeError(f"model: expected a torch.nn.Module, got {type(model).__name__}")
    kinds(score, normalizer, SOFT, AuxRequest())
    modules = dict(model.named_modules())
    names = tuple(name for name, module in modules.items() if type(module) is nn.MultiheadAttention)
    left = {name: reason for name, module in modules.items() if (reason := _why_left(module)) is not None}
    if required and not names:
        raise ArgumentError(f"model: expected a torch.nn.MultiheadAttention in it, got {_nothing(model, left)}.")
    for name in names:
        attention = modules[name]
        attention.__class__ = TorchMultiheadAttention
        attention.score, attention.normalizer = Parameters(score), Parameters(normalizer)
        attention._qkv_same_embed_dim = False  # torch's fused layer refuses such a module, so it calls `forward`
    for module in modules.values():
        if isinstance(module, nn.TransformerEncoder) and _contains(module, TorchMultiheadAttention):
            module.use_nested_tensor = False
    return Replaced(names, left)


def _contains(module: nn.Module, kind: type[nn.Module]) -> bool:
    return any(isinstance(part, kind) for part in module.modules())


def _why_left(module: nn.Module) -> str | None:
    """Reason against replacing an attention module, None for others."""
    kind = type(module)
    if kind is nn.MultiheadAttention:
        return None
    if isinstance(module, TorchMultiheadAttention):
        return "it is replaced already"
    if isinstance(module, nn.MultiheadAttention):
        return f"{kind.__name__} is a subclass of torch.nn.MultiheadAttention, which may compute something else"
    inside = (part for part in module.modules() if part is not module)
    if not _has_attention(module) or any(_has_attention(part) for part in inside):
        return None
    if kind.__module__.startswith("saccade."):
        return "it is a module of Saccade"
    return f"{kind.__name__} is no torch.nn.MultiheadAttention"


def _has_attention(module: nn.Module) -> bool:
    return isinstance(module, nn.MultiheadAttention) or "attention" in type(module).__name__.lower()


def _nothing(model: nn.Module, left: dict[str, str]) -> str:
    """Reason for nothing to replace, with the way out."""
    if not left:
        return f"{type(model).__name__} without one. Pass required=False to go on"
    name, reason = next(iter(left.items()))
    return f"{len(left)} other modules, for example {name or 'the model'}: {reason}. Pass required=False to go on"


class TorchMultiheadAttention(nn.MultiheadAttention):
    """`torch.nn.MultiheadAttention`, computed by `attend`.

    `replace` makes such modules of torch's.
    """

    score: Parameters
    normalizer: Parameters

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from query to key and value, as the class of torch documents.

        Args:
            query: `(B, Lq, embed_dim)` with batch_first, else `(Lq, B, embed_dim)`; without a batch `(Lq, embed_dim)`.
            key, value: likewise, with kdim and vdim features.
            key_padding_mask: `(B, Lk)` or `(Lk,)`, boolean with True for padding, or float and added to the scores.
            need_weights: whether to return weights.
            attn_mask: `(Lq, Lk)` or `(B * H, Lq, Lk)`, boolean with True for forbidden, or float and added.
            average_attn_weights: whether to return the mean of all heads.
            is_causal: a hint that attn_mask is causal, which then need not be read.

        Returns:
            The output in the layout of query. The weights are `(B, Lq, Lk)` or `(B, H, Lq, Lk)`, without B if query
            has no batch, or None.

        Raises:
            ShapeError: shapes that do not fit.
            ArgumentError: is_causal without attn_mask, masks of integers, jagged tensors.
        """
        if is_causal and attn_mask is None:
            raise ArgumentError("is_causal: expected False without an attn_mask, got True. Pass the mask as well.")
        if query.is_nested and query.layout == torch.strided and query is key is value and not need_weights:
            return self._attend_nested(query), None
        sequences = {"query": query, "key": key, "value": value}
        self._check(sequences)
        arguments = {
            **sequences, **self._definition(), "key_padding_mask": key_padding_mask, "attn_mask": attn_mask,
            "is_causal": is_causal, "need_weights": need_weights, "average_attn_weights": average_attn_weights,
        }  # fmt: skip
        fields = {"module": self, "score": self.score.get(), "normalizer": self.normalizer.get()}
        call = multihead_call(arguments, batch_first=self.batch_first, **fields)
        result = compute(call, aux=AuxRequest(weights=True) if need_weights else None)
        return multihead_result(result, arguments, batch_first=self.batch_first)

    def _definition(self) -> dict[str, Any]:
        """Parameters and options, by their names in torch's function."""
        same = ("num_heads", "in_proj_weight", "in_proj_bias", "bias_k", "bias_v", "add_zero_attn", "training")
        separate = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
        return {
            **{name: getattr(self, name) for name in (*same, *separate)},
            "use_separate_proj_weight": self.in_proj_weight is None,
            "out_proj_weight": self.out_proj.weight,
            "out_proj_bias": self.out_proj.bias,
            "dropout_p": self.dropout,
        }

    def _attend_nested(self, sequences: Tensor) -> Tensor:
        """Attend within each sequence of a nested tensor.

        A `TransformerEncoder` makes such tensors of padded ones, unless `replace` got the encoder itself.
        """
        lengths = torch.tensor([len(sequence) for sequence in sequences.unbind()], device=sequences.device)
        padded = sequences.to_padded_tensor(0.0)
        padding = torch.arange(padded.shape[1], device=padded.device) >= lengths[:, None]
        output, _ = self.forward(padded, padded, padded, key_padding_mask=padding, need_weights=False)
        rows = [row[:length] for row, length in zip(output, lengths, strict=True)]
        return torch.nested.as_nested_tensor(rows)

    def _check(self, sequences: dict[str, Tensor]) -> None:
        """Raise unless the sequences fit the projections and have a batch all or none."""
        ndim = sequences["query"].ndim
        for (name, tensor), size in zip(sequences.items(), (self.embed_dim, self.kdim, self.vdim), strict=True):
            features(name, tensor, size, self.out_proj.weight)
            if tensor.ndim not in (2, 3) or tensor.ndim != ndim:
                expected = "(length, features), or a batch of them" if name == "query" else f"{ndim} dimensions"
                raise ShapeError(f"{name}: expected {expected}, got shape {tuple(tensor.shape)}")
