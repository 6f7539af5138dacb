"""Options of pictures of a sequence: attention, or gradients."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from saccade.errors import ArgumentError
from saccade.look import sequential_jacobian
from saccade.look._jacobian import returning
from saccade.models.padded import Padded

__all__ = ["JACOBIAN", "MOVED", "By", "LookRequest", "Pictures", "jacobian"]

By = Literal["attention", "jacobian"]
JACOBIAN = "Sequential Jacobian, shares of each row"
MOVED = "is moved most by"  # in descriptions of pictures of gradients, as "attends to" of attention


@dataclass(frozen=True, kw_only=True)
class LookRequest:
    """Options of pictures of a sequence.

    >>> LookRequest(by="jacobian").by
    'jacobian'
    """

    by: By | None = None
    """Attention weights (attention), or norms of the Jacobian (jacobian).

    Default: attention, or the gradients of a model without it."""

    def __post_init__(self) -> None:
        if self.by is not None and self.by not in get_args(By):
            raise ArgumentError(f"--by: expected {' or '.join(get_args(By))}, got {self.by}")

    def check_attends(self, attends: bool) -> None:
        """Reject attention of a model without it.

        Raises:
            ArgumentError: naming the option.
        """
        if self.by == "attention" and not attends:
            raise ArgumentError("--by: expected jacobian of a model that does not attend, got attention")


def jacobian(
    embedding: nn.Module, source: Padded, run: Callable[[Padded], Tensor], weight: Tensor | None = None
) -> Tensor:
    r"""Return the Jacobian norm of each output by each embedding of a source.

    .. math:: J_{ts} = \lVert \partial y_t / \partial E x_s \rVert_F, \qquad y_t = W f_t

    Args:
        embedding: E, which `run` calls on the source before any other input.
        source: of one row.
        run: from copies of the source to f, `(copies, T, features)`. It may not keep tensors of inference mode.
        weight: W, or None for the identity.

    Returns:
        `(T, S)`, in float64 on the CPU.

    Source:
        Graves 2012, "Supervised Sequence Labelling with Recurrent Neural Networks", chapter 3.

    Example:
        >>> embedding = nn.Embedding.from_pretrained(torch.eye(3))
        >>> source = Padded(torch.tensor([[0, 2]]), torch.tensor([2]))
        >>> jacobian(embedding, source, lambda copies: 3 * embedding(copies.values).cumsum(1))
        tensor([[5.1962, 0.0000],
                [5.1962, 5.1962]], dtype=torch.float64)
    """
    with torch.inference_mode(mode=False), torch.no_grad():  # answers are computed in inference mode
        source = Padded(*(part.clone() for part in source))
        vectors = embedding(source.values)[0]

    def moved(vectors: Tensor) -> Tensor:
        with returning(embedding, vectors):
            return run(Padded(*(part.expand(len(vectors), *part.shape[1:]) for part in source)))

    return sequential_jacobian(moved, vectors, weight).cpu()


class Pictures(list[Path]):
    """The paths of pictures; a notebook shows the pictures themselves."""

    def _repr_html_(self) -> str:
        pictures = (path for path in self if path.suffix == ".png" and path.is_file())
        encoded = (base64.b64encode(path.read_bytes()).decode() for path in pictures)
        return "".join(f'<img style="max-width: 100%" src="data:image/png;base64,{content}">' for content in encoded)
