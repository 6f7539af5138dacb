"""What every sequence-to-sequence model is: a source is read once, a target is predicted token by token."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from torch import Tensor, nn

from saccade import AuxOutput
from saccade.kernels.topk import Logits
from saccade.models.words import OutputLayer, logits_or_loss

__all__ = ["Seq2Seq", "State"]


class State(Protocol):
    """What a decoder carries from one token to the next, for rows of outputs, those of an example side by side."""

    def select(self, rows: Tensor, examples: Tensor | None) -> Self:
        """Return the state of some rows.

        What is the same for all outputs of an example, as the keys of its source, need not be there for each of them.

        Args:
            rows: `(examples, beam)`, numbers of the rows as they are; those in one line are of one example. A row may
                come several times.
            examples: `(examples,)`, which examples the lines are of; None if they are all, in their order.
        """


X = TypeVar("X")
S = TypeVar("S", bound=State)


class Seq2Seq(nn.Module, ABC, Generic[X, S]):
    r"""The shape of a model that predicts token by token, which training, search and pictures rely on and nothing else.

    .. math:: p(y_t \mid y_{<t}, x) = \operatorname{softmax}(E f_t + b)

    A subclass says how the source becomes a state, how one more token changes it, and what the features \(f_t\) are
    when all tokens are known. E and b are its `output`. A source x is one value of any kind, X: `Padded` tokens or
    frames, a tensor of images; nothing but the subclass knows.

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
    """The dataclass of its sizes; its docstrings are the help."""

    recipes: ClassVar[dict[str, dict[str, Any]]]
    """What suits each data set, by its name; "files" for a corpus of one's own."""

    source_embedding: nn.Embedding
    """Of the source's tokens, in models whose source is tokens: pictures show the gradients by its output."""

    @property
    @abstractmethod
    def output(self) -> OutputLayer:
        """E `(target_size, dim)` and b `(target_size,)`, or the module that maps features by them."""

    @abstractmethod
    def encode(self, source: X) -> S:
        """Read the sources of a batch.

        Args:
            source: as the model takes it: `Padded` token ids or frames; padding may hold anything.

        Returns:
            The state before the first target token, one row an example; `select` reorders and repeats its rows.
        """

    @abstractmethod
    def step(self, token: Tensor, state: S) -> tuple[Logits | Tensor, S]:
        """Return the logits `(rows, target_size)` after one more target token `(rows,)`, and the next state."""

    @abstractmethod
    def decode(self, target: Tensor, state: S) -> Tensor:
        """Return what every next token is predicted from, given the true tokens before it: `(rows, length, dim)`.

        Args:
            target: token ids `(rows, length)`, from the begin token on, a row for each row of the state.
            state: before the first of them.
        """

    def features(self, source: X, target: Tensor) -> Tensor:
        """Return `decode` of a source's state, `(batch, length, dim)`; `source` is as for `encode`."""
        return self.decode(target, self.encode(source))

    def forward(self, source: X, target: Tensor, wanted: Tensor | None = None, label_smoothing: float = 0.0) -> Tensor:
        """Return the logits of every next token, given the true tokens before it (teacher forcing), or what they cost.

        Args:
            source: as for `encode`.
            target: token ids `(batch, target_length)`, from the begin token on.
            wanted: the true next tokens `(batch, target_length)`, 0 where there is none.
            label_smoothing: share of the wanted probability that is spread over all tokens.

        Returns:
            Logits `(batch, target_length, target_size)`; with `wanted` its mean cross-entropy, a number.
        """
        return logits_or_loss(self.features(source, target), self.output, wanted, label_smoothing)

    def alignment(self, records: Sequence[tuple[str, AuxOutput]]) -> Tensor | None:
        """Return what each target position looked at, `(batch, target_length, source_length)`, or None if it attends to
        nothing. What lies behind all that a model ever looks at may be missing.

        Args:
            records: of `saccade.look.record`, of a `forward` in evaluation mode.
        """
        return None
