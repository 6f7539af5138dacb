"""Saccade as an attention implementation of transformers (`pip install saccade-attention[hf]`).

The import registers "saccade" as an attention and as a mask function. Each model of transformers that chooses its
attention by name then attends through `saccade.attend`:

>>> import torch, saccade.hf
>>> from transformers import AutoModel, LlamaConfig
>>> sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
>>> config = LlamaConfig(vocab_size=9, **sizes)
>>> model = AutoModel.from_config(config, attn_implementation="saccade").eval()
>>> model(torch.tensor([[1, 2, 3]])).last_hidden_state.shape
torch.Size([1, 3, 16])

Masks of positions stay objects of `saccade.masks`, so that no tensor (B, 1, Lq, Lk) exists. Rows with nothing allowed,
such as those of left padding, give zeros. `output_attentions=True` returns the weights.
"""

import inspect
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from saccade import masks, normalizers, scores
from saccade._definitions.structure import Grid
from saccade._integrations.call import STACK, AttentionCall, Kind, compute
from saccade._integrations.mask_functions import Span, has_window, translated
from saccade._integrations.sdpa import find_caller
from saccade.auxiliary import AuxRequest
from saccade.errors import ArgumentError, pip_install

try:
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, eager_mask, sdpa_mask
    from transformers.utils.output_capturing import _active_collector
except ImportError as error:
    raise ImportError(f"saccade.hf needs transformers 5.20 or newer: {pip_install('hf')}") from error

__all__ = ["LazyMask", "attention", "mask"]

_WEIGHTS = AuxRequest(weights=True)
_MODELS = ("transformers.models.", "transformers_modules.")  # where code of models is imported
_WITHOUT_EFFECT = {
    *("cache", "cache_position", "past_key_value", "past_key_values", "use_cache", "layer_idx"),
    *("max_length_k", "max_length_q", "seq_idx"),
    *("output_attentions", "output_hidden_states", "output_router_logits", "return_dict", "logits_to_keep"),
    *("input_ids", "inputs_embeds", "labels", "token_type_ids", "mm_token_type_ids", "num_items_in_batch"),
    *("position_ids", "position_embeddings", "interpolate_pos_encoding", "deterministic", "is_cross_attention"),
}
_WITH_EFFECT = {"block_indices", "block_table", "cu_seqlens", "head_mask"}  # not computed here


_ADDITIONS = {torch.add, Tensor.add, Tensor.add_, Tensor.__add__, Tensor.__radd__, Tensor.__iadd__}


class LazyMask:
    """A mask of `saccade.masks` that is a boolean tensor `(B, 1, Lq, Lk)` for code that computes with it.

    Added to scores it is a bias: 0 for allowed, the least number of their type for forbidden.

    Args:
        allowed: the mask, None if every key is allowed.
        size: (B, Lq, Lk).
        kind: "sliding" if the mask has a window, "self" otherwise.
        key_offset: position of key 0 in the sequence.

    >>> causal = LazyMask(masks.Causal(), (1, 2, 2), torch.device("cpu"))
    >>> tuple(causal.shape), causal[0, 0].tolist()
    ((1, 1, 2, 2), [[True, False], [True, True]])
    """

    dtype = torch.bool
    ndim = 4

    def __init__(
        self,
        allowed: masks.Mask | None,
        size: tuple[int, int, int],
        device: torch.device,
        kind: Kind = "self",
        key_offset: int = 0,
    ) -> None:
        self.allowed, self.device, self.kind, self.key_offset = allowed, device, kind, key_offset
        self.shape = torch.Size((size[0], 1, *size[1:]))

    def dense(self) -> Tensor:
        """The boolean tensor, `(B, 1, Lq, Lk)`."""
        _, _, q_len, k_len = self.shape
        if self.allowed is None:
            return torch.ones(self.shape, dtype=torch.bool, device=self.device)
        return self.allowed.dense(Grid(q_len, k_len, 0, q_len, self.device, rank=2)).expand(self.shape)

    def added(self, dtype: torch.dtype) -> Tensor:
        """The mask as a bias: 0 for allowed, the least number of the type for forbidden."""
        return torch.zeros(self.shape, dtype=dtype, device=self.device).masked_fill(~self, torch.finfo(dtype).min)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dense(), name)

    def __getitem__(self, index: Any) -> Tensor:
        return self.dense()[index]

    def __invert__(self) -> Tensor:
        return ~self.dense()

    def __and__(self, other: Tensor) -> Tensor:
        return self.dense() & other

    def __or__(self, other: Tensor) -> Tensor:
        return self.dense() | other

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        floats = [part.dtype for part in args if isinstance(part, Tensor) and part.is_floating_point()]

        def dense(mask: LazyMask) -> Tensor:
            return mask.added(floats[0]) if floats and func in _ADDITIONS else mask.dense()

        def plain(tree: Any) -> Any:
            return torch.utils._pytree.tree_map_only(cls, dense, tree)

        return func(*plain(args), **plain(kwargs or {}))


def mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: int | Tensor = 0,
    kv_offset: int = 0,
    mask_function: Callable[..., Any] | None = None,
    attention_mask: Tensor | LazyMask | None = None,
    allow_is_bidirectional_skip: bool = False,
    use_vmap: bool = False,
    device: torch.device | str = "cpu",
    **options: Any,
) -> Tensor | LazyMask | None:
    """Make the mask of a model of transformers, as its `AttentionMaskInterface` requires.

    Causal masks, windows, chunks, blocks, packed sequences and padding become objects of `saccade.masks`, other
    functions a boolean tensor. Models that add the mask to scores of their own, such as Bloom, get the float tensor of
    "eager".

    Args:
        batch_size, q_length, kv_length: B, Lq and Lk.
        q_offset, kv_offset: positions of the first query and the first key.
        mask_function: from numbers of a batch entry, head, query and key to whether it may attend; causal by default.
        attention_mask: `(B, n)`, False for padding.
        allow_is_bidirectional_skip: whether None may stand for a mask that allows everything.
        use_vmap: whether the function is one of the user's, for which a tensor is made.
        device: of the tensors.
        options: of `transformers.masking_utils.eager_mask`. Its dtype counts for models that add the mask themselves.

    Returns:
        `(B, 1, Lq, Lk)`, or None.

    Example:
        >>> mask(1, 2, 2).allowed
        Causal(align=0)
    """
    compiling, by_name = torch.compiler.is_compiling(), torch.compiler.is_compiling() or _attends_by_name()
    if isinstance(attention_mask, LazyMask):
        return attention_mask if by_name else attention_mask.added(options.get("dtype", torch.float32))
    device = torch.device(device)
    if isinstance(q_offset, Tensor) and not compiling:
        q_offset = int(q_offset)
    span = Span(q_length, kv_length, q_offset, kv_offset)
    allowed = None if use_vmap or not by_name else translated(mask_function, span)
    if allowed is None:
        dense: dict[str, Any] = {
            "batch_size": batch_size,
            "q_length": q_length,
            "kv_length": kv_length,
            "q_offset": q_offset,
            "kv_offset": kv_offset,
            "attention_mask": attention_mask,
            "allow_is_causal_skip": False,
            "use_vmap": use_vmap,
            "device": device,
            **({} if mask_function is None else {"mask_function": mask_function}),
        }
        return sdpa_mask(**dense) if by_name else eager_mask(**dense, dtype=options.get("dtype", torch.float32))
    kind: Kind = "sliding" if allowed != "everything" and has_window(allowed) else "self"
    if attention_mask is not None:
        missing = kv_length + kv_offset - attention_mask.shape[-1]
        present = nn.functional.pad(attention_mask.bool(), (0, max(0, missing)))[:, kv_offset : kv_offset + kv_length]
        if compiling or not present.all():
            padding = masks.as_mask(present[:, None, None])
            allowed = padding if allowed == "everything" else allowed & padding
    if allowed == "everything" and allow_is_bidirectional_skip:
        return None
    size = (batch_size, q_length, kv_length)
    return LazyMask(None if allowed == "everything" else allowed, size, device, kind, kv_offset)


def _attends_by_name() -> bool:
    """Whether the model that requests a mask chooses its attention by name.

    Others, such as Bloom, add the mask to scores of their own and need the one of their eager function.
    """
    frame = sys._getframe(2)
    while frame is not None and not frame.f_globals.get("__name__", "").startswith(_MODELS):
        frame = frame.f_back  # type: ignore[assignment]
    return frame is None or "ALL_ATTENTION_FUNCTIONS" in frame.f_globals


def attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | LazyMask | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    softcap: float | None = None,
    sliding_window: int | None = None,
    s_aux: Tensor | None = None,
    sinks: Tensor | None = None,
    position_bias: Tensor | None = None,
    indices: Tensor | None = None,
    cu_seq_lens_q: Tensor | None = None,
    cu_seq_lens_k: Tensor | None = None,
    **options: Any,
) -> tuple[Tensor, Tensor | None]:
    """Attend for a module of transformers, as its `AttentionInterface` requires.

    Args:
        module: the module.
        query: `(B, H, Lq, D)`.
        key, value: `(B, Hkv, Lk, D)` and `(B, Hkv, Lk, Dv)`.
        attention_mask: of `mask`; a boolean tensor, True for allowed, or a float one, which is added to the scores.
            The least numbers of its type forbid, and a row of them gives zeros.
        dropout: share of the weights that become 0.
        scaling: of the scores, 1/√D by default.
        is_causal: whether a call without a mask is causal; the module's attribute by default, False without one.
        softcap: c in c·tanh(s/c).
        sliding_window: of the module, which the mask has already.
        s_aux: logits of the heads' sinks, `(H,)`.
        sinks: logits of sinks for each query, `(B, H, Lq, 1)`.
        position_bias: added to the scores, `(B or 1, H, Lq, Lk)`.
        indices: numbers of the keys to which each query may attend, `(B, Lq, n)`.
        cu_seq_lens_q, cu_seq_lens_k: offsets of packed sequences, which do not see each other (`masks.Packed`).
        options: keywords of transformers that change nothing here, and keywords that the module only passes on and
            that its own eager function does not have.

    Returns:
        Output `(B, Lq, H, Dv)`, and the weights `(B, H, Lq, Lk)` if the model collects attentions, else None.

    Raises:
        ArgumentError: a keyword with a value that could change the result.
    """
    _check_options(options)
    q_len = query.shape[-2]
    causal = getattr(module, "is_causal", False) if is_causal is None else is_causal
    allowed: Any = None
    bias: Tensor | None = None
    if attention_mask is None and causal and q_len > 1:
        key, value = key[:, :, :q_len], value[:, :, :q_len]  # a static cache has room for later keys
        position_bias = None if position_bias is None else position_bias[..., :q_len]
        allowed = masks.Causal(align="start")
    elif attention_mask is not None:
        allowed, bias = _mask_and_bias(attention_mask, q_len, key.shape[-2])
    if position_bias is not None:
        bias = position_bias if bias is None else bias + position_bias
    if indices is not None:
        selected = torch.zeros((*indices.shape[:-1], key.shape[-2]), dtype=torch.bool, device=indices.device)
        allowed = _both(allowed, masks.as_mask(selected.scatter(-1, indices.long(), True)[:, None]))
    if cu_seq_lens_q is not None:
        allowed = _both(allowed, masks.Packed(cu_seq_lens_q, cu_seq_lens_k))
    sink = sinks if s_aux is None else s_aux[:, None, None]
    cross = bool(getattr(module, "is_cross_attention", False)) or (bool(STACK.recorders) and find_caller().cross)
    lazy = isinstance(attention_mask, LazyMask)
    sliding = sliding_window is not None or (lazy and attention_mask.kind == "sliding")  # type: ignore[union-attr]
    call = AttentionCall(
        module=module,
        query=query,
        key=key,
        value=value,
        score=scores.ScaledDot(scaling, softcap),
        mask=allowed,
        bias=bias,
        normalizer=normalizers.Softmax(sink=sink),
        dropout_p=dropout if module.training else 0.0,
        kind="cross" if cross else "sliding" if sliding else "self",
        key_offset=attention_mask.key_offset if isinstance(attention_mask, LazyMask) and not cross else 0,
    )
    if not _collected(options):
        return compute(call).transpose(1, 2).contiguous(), None
    output, statistics = compute(call, aux=_WEIGHTS)
    return output.transpose(1, 2).contiguous(), statistics.weights


def _mask_and_bias(
    attention_mask: Tensor | LazyMask, q_len: int, k_len: int
) -> tuple[masks.Mask | Tensor | None, Tensor | None]:
    """Split a mask of transformers into a boolean mask and a bias."""
    if isinstance(attention_mask, LazyMask):
        if attention_mask.shape[-2:] == (q_len, k_len):
            return attention_mask.allowed, None
        return attention_mask.dense()[:, :, -q_len:, :k_len], None
    if attention_mask.dtype == torch.bool:
        return attention_mask, None
    return attention_mask > torch.finfo(attention_mask.dtype).min / 2, attention_mask


def _both(allowed: masks.Mask | Tensor | None, other: masks.Mask) -> masks.Mask:
    return other if allowed is None else masks.as_mask(allowed) & other


def _check_options(options: dict[str, Any]) -> None:
    """Raise an error for a keyword that may change the result."""
    for name, option in options.items():
        if option is None or option is False or name in _WITHOUT_EFFECT:
            continue
        if name in _WITH_EFFECT or torch.compiler.is_compiling() or not _passed_on(name, option):
            raise ArgumentError(
                f"{name}: expected a keyword that saccade.hf knows, got a value for {name}. Leave it out, or load the "
                "model with attn_implementation='sdpa'"
            )


def _passed_on(name: str, option: Any) -> bool:
    """Whether a module received a keyword that its eager function does not have."""
    frame = sys._getframe(3)
    code, eager = frame.f_code, frame.f_globals.get("eager_attention_forward")
    if eager is None or not code.co_flags & inspect.CO_VARKEYWORDS or name in inspect.signature(eager).parameters:
        return False
    plain = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS)
    received = frame.f_locals.get(code.co_varnames[plain], {})
    return name in received and received[name] is option


def _collected(options: dict[str, Any]) -> bool:
    """Whether the model returns weights."""
    if options.get("output_attentions"):
        return True
    collector = None if torch.compiler.is_compiling() else _active_collector.get()
    return any("attentions" in name for name in collector or ())


AttentionInterface.register("saccade", attention)
AttentionMaskInterface.register("saccade", mask)
