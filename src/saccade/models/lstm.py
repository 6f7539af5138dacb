"""An LSTM without external memory, a baseline (Hochreiter, Schmidhuber 1997).

"Long Short-Term Memory", https://doi.org/10.1162/neco.1997.9.8.1735.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from torch import Tensor
from torch import nn as torch_nn

from saccade import AuxOutput, nn
from saccade._definitions.checks import in_ranges
from saccade.models.memorizer import Memorizer, Sizes, initialize_lstm
from saccade.models.padded import Padded

__all__ = ["LSTM", "Options"]


@dataclass(frozen=True, kw_only=True)
class Options:
    """The sizes of an LSTM.

    >>> Options(layers=3).hidden_dim
    256
    """

    hidden_dim: int = 256
    """Units of each layer."""

    layers: int = 1
    """Layers of the LSTM."""

    embedding_dim: int = 64
    """Features of a symbol. Vectors need no embedding."""

    forget_bias: float = 1.0
    """Initial bias of the forget gates. Above 0 a cell keeps its content at first."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        sizes = ("hidden_dim", "embedding_dim")
        in_ranges(self, [*((name, 1, 1 << 20) for name in sizes), ("layers", 1, 100), ("forget_bias", -100, 100)])


_DEFAULT = Options()


class LSTM(Memorizer):
    r"""Stacked LSTMs. The output gate selects a part of the cell at each step.

    Pictures show this gate in place of attention weights.

    Args:
        sizes: sizes of input and output.
        options: the sizes of the layers.

    Example:
        >>> import torch
        >>> model = LSTM(Sizes(9, 8), Options(hidden_dim=6))
        >>> model(Padded(torch.randn(2, 7, 9), torch.tensor([7, 3]))).shape
        torch.Size([2, 7, 8])

    Source:
        Hochreiter, Schmidhuber 1997, with the forget gate of Gers, Schmidhuber, Cummins 2000, as in torch.
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = {
        "copy": {},
        "repeat-copy": {},
        "recall": {},
        "sort": {},
        "n-grams": {},
        "files": {},
    }

    def __init__(self, sizes: Sizes, options: Options = _DEFAULT) -> None:
        super().__init__(sizes, options.embedding_dim, options.hidden_dim)
        widths = [self.input_dim, *[options.hidden_dim] * (options.layers - 1)]
        self.layers = torch_nn.ModuleList(nn.GatedLSTM(width, options.hidden_dim) for width in widths)
        for layer in self.layers:
            weights: Any = layer.lstm
            initialize_lstm(weights.weight_hh_l0, weights.bias_hh_l0, options.forget_bias)
            initialize_lstm(weights.weight_ih_l0, weights.bias_ih_l0, 0.0)

    def features(self, steps: Padded) -> Tensor:
        x = steps.values
        for layer in self.layers:
            x, _ = layer(x)
        return x

    def attended(self, records: Sequence[tuple[str, AuxOutput]]) -> Mapping[str, Tensor]:
        gates = [aux.weights[0].mT.cpu() for _, aux in records if aux.weights is not None]
        return {"output gate" if len(gates) == 1 else f"output gate {n}": gate for n, gate in enumerate(gates, 1)}
