"""Modules over `attend`, and modules beside it: memories, experts, an LSTM.

`Retina` and `Glimpse` attend to a part of an image. `KernelRegression` is an estimator for scikit-learn, not a module.
It is imported at its first use, and absent without scikit-learn.
`replace` puts Saccade's attention into a model of torch.
"""

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from saccade.errors import pip_install
from saccade.nn.attention import Attention
from saccade.nn.experts import MixtureOfExperts
from saccade.nn.external_memory import ExternalMemory
from saccade.nn.gated_lstm import GatedLSTM
from saccade.nn.multihead import MultiheadAttention
from saccade.nn.past_attention import PastAttention
from saccade.nn.pool import AttentionPool
from saccade.nn.replacement import Replaced, replace
from saccade.nn.retina import Glimpse, Retina
from saccade.nn.sets import SetAttention, SetPool

if TYPE_CHECKING:
    from saccade.nn.regression import KernelRegression

__all__ = [
    "Attention",
    "AttentionPool",
    "ExternalMemory",
    "GatedLSTM",
    "Glimpse",
    "KernelRegression",
    "MixtureOfExperts",
    "MultiheadAttention",
    "PastAttention",
    "Replaced",
    "Retina",
    "SetAttention",
    "SetPool",
    "replace",
]
if not TYPE_CHECKING and (sys.modules["sklearn"] if "sklearn" in sys.modules else find_spec("sklearn")) is None:
    __all__.remove("KernelRegression")  # so that `import *` works without it


def __getattr__(name: str) -> Any:
    if name == "KernelRegression":
        try:
            from saccade.nn.regression import KernelRegression  # here: scikit-learn takes a second to import
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "sklearn":
                raise
            missing = f"scikit-learn, which is not installed: {pip_install('train')}"
            raise ModuleNotFoundError(f"{name} needs {missing}", name="sklearn") from error
        return KernelRegression
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
