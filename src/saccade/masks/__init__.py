"""Masks: the keys that each query may attend to. True always means *may attend*.

Masks compose with `&`, `|` and `~`, boolean tensors on either side included. No mask becomes a tensor before a backend
needs it, and then only for one block of queries.

`align` places query i at key position i + align: "start" (0), "end" (Lk − Lq), an int, or an integer tensor `(...)` of
batch dimensions. If Lq ≠ Lk, `align` is required: for example, a cached decoder has one query and many keys.
"""

from saccade.masks.base import Both, Dense, Either, Mask, Not, Prepared, as_mask, prepare
from saccade.masks.contents import Around, Documents, Intervals, Packed, Where
from saccade.masks.positions import Causal, Lengths, Positioned, Prefix, Window, shift

__all__ = [
    "Around",
    "Both",
    "Causal",
    "Dense",
    "Documents",
    "Either",
    "Intervals",
    "Lengths",
    "Mask",
    "Not",
    "Packed",
    "Positioned",
    "Prefix",
    "Prepared",
    "Where",
    "Window",
    "as_mask",
    "prepare",
    "shift",
]
