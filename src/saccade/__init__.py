"""Saccade: all of attention in one library.

Any score, any normalizer, soft or hard, fused, and you can look inside.

>>> import torch, saccade
>>> x = torch.randn(2, 5, 8)
>>> saccade.attend(x, x, x, mask=saccade.masks.Causal()).shape
torch.Size([2, 5, 8])
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from saccade import _working_directory  # noqa: F401 checked before torch is imported

if TYPE_CHECKING:
    from saccade import biases, errors, masks, nn, normalizers, reads, scores
    from saccade._integrations.sdpa import replace_sdpa
    from saccade._plainly import plainly
    from saccade.attention import attend, explain
    from saccade.auxiliary import AuxOutput, AuxRequest
    from saccade.memory import merge, remember

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "attend",
    "biases",
    "errors",
    "explain",
    "masks",
    "merge",
    "nn",
    "normalizers",
    "plainly",
    "reads",
    "remember",
    "replace_sdpa",
    "scores",
]

__version__ = "0.1.0"

_MODULES = ("attention", "auxiliary", "memory")  # public too, beside those in __all__
_HOMES = {
    "AuxOutput": "auxiliary",
    "AuxRequest": "auxiliary",
    "attend": "attention",
    "explain": "attention",
    "merge": "memory",
    "plainly": "_plainly",
    "remember": "memory",
    "replace_sdpa": "_integrations.sdpa",
}


def __getattr__(name: str) -> Any:
    """Import a public name at its first use (PEP 562): `saccade list` needs no torch."""
    if name not in __all__ and name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_HOMES.get(name, name)}")
    value = globals()[name] = getattr(module, name) if name in _HOMES else module
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
