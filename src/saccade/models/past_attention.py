"""An LSTM with attention to its own past states (Cheng et al. 2016).

"Long Short-Term Memory-Networks for Machine Reading", https://arxiv.org/abs/1601.06733.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import torch
from torch import Tensor

from saccade import AuxOutput, nn
from saccade._definitions.checks import in_ranges
from saccade.errors import ArgumentError
from saccade.models.memorizer import Memorizer, Sizes, initialize_lstm
from saccade.models.padded import Padded

__all__ = ["Options", "PastAttention"]


@dataclass(frozen=True, kw_only=True)
class Options:
    """The sizes of a recurrent network that attends to its past.

    >>> Options(window=20).hidden_dim
    128
    """

    hidden_dim: int = 128
    """Units of the state."""

    embedding_dim: int = 64
    """Features of a symbol. Vectors need no embedding."""

    attention_dim: int = 64
    """Hidden features of the score."""

    score: Literal["additive", "scaled_dot", "dot", "general", "cosine"] = "additive"
    """Score of the input and a past state."""

    window: int | None = None
    """Number of past states to attend to. Default: all."""

    forget_bias: float = 1.0
    """Initial bias of the forget gates. Above 0 the cell forgets less at first."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        in_ranges(
            self,
            [
                *((name, 1, 1 << 20) for name in ("hidden_dim", "embedding_dim", "attention_dim")),
                ("forget_bias", -100, 100),
            ],
        )
        if self.window is not None and not 1 <= self.window <= 1 << 20:
            raise ArgumentError(f"--window: expected a number from 1 to {1 << 20}, got {self.window}")


_DEFAULT = Options()


class PastAttention(Memorizer):
    r"""LSTM that continues from a weighted sum over its past states.

    Args:
        sizes: of inputs and outputs.
        options: the sizes of its parts.

    Example:
        >>> model = PastAttention(Sizes(9, 8), Options(hidden_dim=6, attention_dim=4))
        >>> source = Padded(torch.randn(1, 7, 9), torch.tensor([7]))
        >>> model(source).shape
        torch.Size([1, 7, 8])

    Source:
        Cheng, Dong, Lapata 2016, equations 4 to 9. `saccade.nn.PastAttention` has the formulas.
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
        self.cell = nn.PastAttention(
            self.input_dim,
            options.hidden_dim,
            attention_dim=options.attention_dim,
            score=options.score,
            window=options.window,
        )
        initialize_lstm(self.cell.lstm.weight_hh, self.cell.lstm.bias_hh, options.forget_bias)
        initialize_lstm(self.cell.lstm.weight_ih, self.cell.lstm.bias_ih, 0.0)

    def features(self, steps: Padded) -> Tensor:
        return self.cell.run(steps.values)[0]

    def attended(self, records: Sequence[tuple[str, AuxOutput]]) -> Mapping[str, Tensor]:
        weights = torch.zeros(len(records), len(records))
        for step, (_, aux) in enumerate(records):
            assert aux.weights is not None
            column = aux.weights[0, 0].cpu()[-step:] if step else weights[:0, 0]  # empty slots of a window come first
            weights[step - len(column) : step, step] = column
        return {"past states": weights}
