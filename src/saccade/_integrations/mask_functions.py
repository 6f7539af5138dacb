"""Mask functions of transformers as masks of Saccade."""

import operator
from collections.abc import Callable, Mapping
from functools import reduce
from types import CodeType
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from saccade import masks

Everything = Literal["everything"]


class Span(NamedTuple):
    """Positions of a mask's queries and keys in their sequence.

    Args:
        q_len, k_len: Lq and Lk.
        q_start, k_start: position of the first query and of the first key.
    """

    q_len: int
    k_len: int
    q_start: int | Tensor
    k_start: int

    @property
    def align(self) -> int | Tensor:
        """Number of the key at the position of query 0."""
        return self.q_start - self.k_start

    def queries(self, device: torch.device) -> Tensor:
        """Positions of the queries, `(Lq,)`."""
        return torch.arange(self.q_len, device=device) + self.q_start

    def keys(self, device: torch.device) -> Tensor:
        """Positions of the keys, `(Lk,)`."""
        return torch.arange(self.k_len, device=device) + self.k_start


def translated(function: Callable[..., Any] | None, span: Span) -> masks.Mask | Everything | None:
    """The mask that a function of transformers computes, None for an unknown function."""
    if function is None:
        return masks.Causal(align=span.align)
    code: CodeType | None = getattr(function, "__code__", None)
    if code is None:
        return None
    name = code.co_qualname.partition(".")[0]
    if name == "causal_mask_function":
        return masks.Causal(align=span.align)
    if name == "bidirectional_mask_function":
        return "everything"
    try:
        values = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    except AttributeError:  # torch.compile hides the variables of a function that it traces
        return None
    inside = dict(zip(code.co_freevars, values, strict=True))
    if name in ("and_masks", "or_masks"):
        return _joined(inside["mask_functions"], span, union=name == "or_masks")
    if name == "remap_positions_for_packed_sequence":  # within a sequence, distances of positions and of places agree
        return translated(inside["mask_function"], span)
    return _TRANSLATIONS[name](inside, span) if name in _TRANSLATIONS else None


def _joined(functions: Any, span: Span, *, union: bool) -> masks.Mask | Everything | None:
    parts = [translated(function, span) for function in functions]
    if any(part is None for part in parts):
        return None
    restricted = [part for part in parts if isinstance(part, masks.Mask)]
    if not restricted or (union and len(restricted) < len(parts)):
        return "everything"
    return reduce(operator.or_ if union else operator.and_, restricted)


def _window(inside: Mapping[str, Any], span: Span) -> masks.Mask | None:
    width = inside["sliding_window"]
    return masks.Window(width - 1, None, align=span.align) if width > 0 else None


def _window_around(inside: Mapping[str, Any], span: Span) -> masks.Mask:
    return masks.Window(inside["sliding_window"], inside["sliding_window"], align=span.align)


def _packed(inside: Mapping[str, Any], span: Span) -> masks.Mask:
    return _documents(inside["packed_sequence_mask"], inside["packed_sequence_mask"])


def _chunks(inside: Mapping[str, Any], span: Span) -> masks.Mask:
    padding, size = inside["left_padding"][:, None], inside["chunk_size"]
    queries, keys = span.queries(padding.device), span.keys(padding.device)
    return _documents((queries - padding) // size, (keys - padding) // size)


def _blocks(inside: Mapping[str, Any], span: Span) -> masks.Mask:
    ids = inside["block_sequence_ids"]
    queries, keys = ids[:, span.queries(ids.device)], ids[:, span.keys(ids.device)]
    return _documents(queries, torch.where(keys < 0, -2, keys))  # -1 is in no block, so that it must differ


def _documents(queries: Tensor, keys: Tensor) -> masks.Mask:
    """Documents of numbers `(B, Lq)` and `(B, Lk)`, for all heads."""
    return masks.Documents(queries[:, None], keys[:, None])


_TRANSLATIONS: dict[str, Callable[[Mapping[str, Any], Span], masks.Mask | None]] = {
    "sliding_window_overlay": _window,
    "sliding_window_bidirectional_overlay": _window_around,
    "packed_sequence_mask_function": _packed,
    "chunked_overlay": _chunks,
    "blockwise_overlay": _blocks,
}


def has_window(mask: masks.Mask) -> bool:
    """Whether a window is part of a mask."""
    if isinstance(mask, masks.Both | masks.Either):
        return has_window(mask.first) or has_window(mask.second)
    return isinstance(mask, masks.Window)
