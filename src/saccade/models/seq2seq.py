"""Base class of sequence-to-sequence models."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from torch import Tensor, nn

from saccade import AuxOutput
from saccade.kernels.topk import Logits
from saccade.models.words import OutputLayer, logits_or_loss

__all__ = ["Seq2Seq", "State"]


class State(Protocol):
    """State of a decoder between tokens. Rows of one example are adjacent."""

    def select(self, rows: Tensor, examples: Tensor | None) -> Self:
        """Return the state of some rows.

        Tensors that all outputs of an example share, for example the keys of its source, may be stored once.

        Args:
            rows: indices of rows of this state, `(examples, beam)`. Each line has rows of one example, also repeated.
            examples: the example of each line, `(examples,)`. None: all examples, in order.
        """


X = TypeVar("X")
S = TypeVar("S", bound=State)


class Seq2Seq(nn.Module, ABC, Generic[X, S]):
    r"""Base of models that encode a source and predict a target token by token.

    .. math:: p(y_t \mid y_{<t}, x) = \operatorname{softmax}(E f_t + b)

    A subclass encodes the source x as a state, advances the state by one token, and computes the features \(f_t\) of
    all tokens at once. E and b are its `output`. Training, search and pictures depend on this interface alone. A source
    has a type X of the subclass, for example `Padded` tokens or frames, or a tensor of images.

    Example:
        >>> import torch
        >>> from saccade.models.padded import Padded
        >>> from saccade.models.transformer import Options, Transformer
        >>> model = Transformer(11, 7, Options(hidden_dim=8, heads=2, layers=1, feedforward_dim=16)).eval()
        >>> source, target = Padded(torch.tensor([[4, 5, 6]]), torch.tensor([3])), torch.tensor([[1, 4]])
        >>> logits, state = model.step(target[:, 0], model.encode(source))
        >>> torch.allclose(logits.dense(), model(source, target)[:, 0], atol=1e-5)
        True
    """

    Options: ClassVar[Any]
    """The dataclass of the options. Docstrings of its fields are the help texts."""

    recipes: ClassVar[dict[str, dict[str, Any]]]
    """Recipes by the data set's name. "files" is the recipe of your own data."""

    source_embedding: nn.Embedding
    """Embedding of source tokens. Pictures show gradients with respect to its output."""

    @property
    @abstractmethod
    def output(self) -> OutputLayer:
        """E `(target_size, dim)` and b `(target_size,)`, or a module that applies them."""

    @abstractmethod
    def encode(self, source: X) -> S:
        """Encode the sources of a batch.

        Args:
            source: for example `Padded` token ids or frames. Padding may hold anything.

        Returns:
            The state before the first target token, with one row per example.
        """

    @abstractmethod
    def step(self, token: Tensor, state: S) -> tuple[Logits | Tensor, S]:
        """Return the logits of the next token, and the next state.

        Args:
            token: ids of the last target tokens, `(rows,)`.
            state: before these tokens.

        Returns:
            Logits `(rows, target_size)`, and the state after these tokens.
        """

    @abstractmethod
    def decode(self, target: Tensor, state: S) -> Tensor:
        """Return the features of every next token `(rows, length, dim)` (teacher forcing).

        Args:
            target: true token ids `(rows, length)`, from the begin token on.
            state: before the first token, with equally many rows.
        """

    def features(self, source: X, target: Tensor) -> Tensor:
        """Return `decode` of a source's state, `(batch, length, dim)`."""
        return self.decode(target, self.encode(source))

    def forward(self, source: X, target: Tensor, labels: Tensor | None = None, label_smoothing: float = 0.0) -> Tensor:
        """Return the logits of every next token (teacher forcing), or the loss of labels.

        Args:
            source: as for `encode`.
            target: token ids `(batch, target_length)`, from the begin token on.
            labels: the true next tokens `(batch, target_length)`, 0 for padding.
            label_smoothing: share of the label's probability that is spread over all tokens.

        Returns:
            Logits `(batch, target_length, target_size)`; with `labels` their mean cross-entropy, a scalar.
        """
        return logits_or_loss(self.features(source, target), self.output, labels, label_smoothing)

    def alignment(self, records: Sequence[tuple[str, AuxOutput]]) -> Tensor | None:
        """Return the weights of source positions for each target position.

        They are `(batch, target_length, source_length)`, or None without attention. Source positions after the last
        one in the reach of the attention may be missing.

        Args:
            records: from `saccade.look.record`, of a `forward` in evaluation mode.
        """
        return None
