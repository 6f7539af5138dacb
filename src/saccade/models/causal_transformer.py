"""A causal Transformer: attention to earlier positions (Vaswani et al. 2017).

"Attention Is All You Need", https://arxiv.org/abs/1706.03762.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from torch import Tensor, nn

from saccade import AuxOutput, masks
from saccade._definitions.checks import in_ranges
from saccade.errors import ArgumentError
from saccade.models import layers
from saccade.models.layers import Layer, Positions, add_positions, apply_layers
from saccade.models.memorizer import Memorizer, Sizes
from saccade.models.padded import Padded

__all__ = ["CausalTransformer", "Options"]


@dataclass(frozen=True, kw_only=True)
class Options(layers.Options):
    """The sizes of a causal Transformer.

    >>> Options(layers=1).positions
    'rotary'
    """

    embedding_dim: int = 64
    """Features of a symbol. Vectors need no embedding."""

    hidden_dim: int = 64
    """Features of each position, a multiple of the heads."""

    layers: int = 2
    """Layers of self-attention."""

    feedforward_dim: int = 256
    """Hidden features of the feed-forward networks."""

    dropout: float = 0.0
    """Dropout of embeddings and of the output of each sublayer."""

    positions: Positions = "rotary"
    """Position encoding: sinusoidal, rotary, alibi or none.

    Sinusoidal adds it to the inputs, rotary rotates queries and keys, alibi adds distances to the scores."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        layers.Options.__post_init__(self)
        if self.experts:
            raise ArgumentError(f"--experts: expected none of a transformer that memorizes, got {self.experts}")
        in_ranges(self, (("embedding_dim", 1, 1 << 20),))


_DEFAULT = Options()


class CausalTransformer(Memorizer):
    r"""A decoder without a source: each step attends to itself and earlier steps.

    .. math:: f = \operatorname{Decoder}(P x)

    for projected inputs P x. `positions` encodes their order.

    Args:
        sizes: sizes of input and output.
        options: the sizes of the layers.

    Example:
        >>> import torch
        >>> model = CausalTransformer(Sizes(9, 8), Options(hidden_dim=8, heads=2, feedforward_dim=16))
        >>> model(Padded(torch.randn(2, 7, 9), torch.tensor([7, 4]))).shape
        torch.Size([2, 7, 8])

    Source:
        Vaswani et al. 2017, section 3.1, the decoder without a source.
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
        self.options = options
        self.projection = nn.Linear(self.input_dim, options.hidden_dim)
        self.layers = nn.ModuleList(Layer(options, attends=False) for _ in range(options.layers))
        self.norm = nn.LayerNorm(options.hidden_dim) if options.norm == "pre" else nn.Identity()

    def features(self, steps: Padded) -> Tensor:
        x = add_positions(self.projection(steps.values), 0, self.options)
        states: Tensor = self.norm(apply_layers(self.layers, x, masks.Causal(), self.options))
        return states

    def attended(self, records: Sequence[tuple[str, AuxOutput]]) -> Mapping[str, Tensor]:
        layers = [aux.weights for _, aux in records if aux.weights is not None]
        return {f"layer {n}": weights[0].mean(0).mT.cpu() for n, weights in enumerate(layers, 1)}
