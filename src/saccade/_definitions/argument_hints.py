"""Errors for arguments of other libraries, with the name that they have here."""

import inspect
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, TypeVar

from saccade.errors import ArgumentTypeError

F = TypeVar("F", bound=Callable[..., Any])

OURS = {
    "attn_mask": "mask= is boolean, True may attend (torch.nn.MultiheadAttention's True forbids: mask=~attn_mask); a "
    "float one is bias=",
    "key_padding_mask": "mask=masks.Lengths(lengths), or mask=~key_padding_mask[:, None, :], in MultiheadAttention "
    "mask=~key_padding_mask[:, None, None, :]",
    "is_causal": "mask=masks.Causal()",
    "need_weights": "aux=AuxRequest(weights=True) returns them beside the output",
    "average_attn_weights": "aux=AuxRequest(weights=True) returns those of each head; take their mean",
    "batch_first": "batch is always first; leave it out, and transpose what has time first",
    "dropout": "dropout_p=",
    "scale": "score=scores.ScaledDot(scale=...)",
    "enable_gqa": "grouped queries are dimensions: query (B, Hkv, G, Lq, D), key (B, Hkv, 1, Lk, D); in "
    "MultiheadAttention num_kv_heads=",
    "top_k": "read=reads.TopK(k), in MixtureOfExperts k=",
}
"""Names here for the arguments of torch's attention."""


def hide_extra_kwargs(function: F) -> F:
    """Hide `**extra`, present for errors alone, from a function's signature."""
    signature = inspect.signature(function)
    visible = [part for part in signature.parameters.values() if part.kind is not part.VAR_KEYWORD]
    function.__signature__ = signature.replace(parameters=visible)  # type: ignore[attr-defined]
    return function


def reject_extra_kwargs(function: Callable[..., Any], extra: dict[str, Any]) -> None:
    """Raise for arguments without a parameter, with their name here or a near one."""
    for name in extra:
        owner = function.__qualname__.removesuffix(".__init__").removesuffix(".forward")
        if name in OURS:
            raise ArgumentTypeError(
                f"{name}: expected an argument of {owner}, got one of another library; here it is {OURS[name]}"
            )
        names = [parameter for parameter in inspect.signature(function).parameters if parameter != "self"]
        near = get_close_matches(name, names, 1)
        way_out = f"did you mean {near[0]}=?" if near else f"it takes {', '.join(names)}"
        raise ArgumentTypeError(f"{name}: expected an argument of {owner}, got an unknown name; {way_out}")
