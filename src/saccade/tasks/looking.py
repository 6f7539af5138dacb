"""Options of pictures of a sequence: attention, or gradients."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn

from saccade.errors import ArgumentError
from saccade.look import sequential_jacobian, shares
from saccade.look._jacobian import returning
from saccade.models.padded import Padded

__all__ = [
    "MOVED",
    "By",
    "LookRequest",
    "Moved",
    "Pictures",
    "check_moves",
    "check_signed",
    "jacobian",
    "signed_jacobian",
]

By = Literal["attention", "jacobian"]
_JACOBIAN = "Sequential Jacobian, shares of each row"
_SIGNED = "Sequential Jacobian with signs, of each output's logit"
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

    signed: bool = False
    """With --by jacobian: derivatives of each output's logit, with their signs,
    by a factor on each input. Default: norms of the Jacobian of all logits."""

    def __post_init__(self) -> None:
        if self.by is not None and self.by not in get_args(By):
            raise ArgumentError(f"--by: expected {' or '.join(get_args(By))}, got {self.by}")
        check_signed(self.signed, self.by)

    def check_attends(self, attends: bool) -> None:
        """Reject attention of a model without it.

        Raises:
            ArgumentError: naming the option.
        """
        if self.by == "attention" and not attends:
            raise ArgumentError("--by: expected jacobian of a model that does not attend, got attention")


def check_signed(signed: bool, by: str | None) -> None:
    """Reject signs of another picture than the Jacobian.

    >>> check_signed(True, "jacobian")
    """
    if signed and by != "jacobian":
        got = "no --by" if by is None else f"--by {by}"
        raise ArgumentError(f"--signed: expected --by jacobian beside it, got {got}. Leave --signed out.")


def jacobian(
    embedding: nn.Module,
    source: Padded,
    run: Callable[[Padded], Tensor],
    weight: Tensor | None = None,
    signed: Tensor | None = None,
) -> Tensor:
    r"""Return the Jacobian norm of each output by each embedding of a source.

    .. math:: J_{ts} = \lVert \partial y_t / \partial E x_s \rVert_F, \qquad y_t = W f_t

    With `signed` it is `signed_jacobian` for the logits of these numbers. Then an entry is the derivative by the 1 in
    the one-hot vector of a token.

    Args:
        embedding: E, which `run` calls on the source before any other input.
        source: of one row.
        run: from copies of the source to f, `(copies, T, features)`. It may not keep tensors of inference mode.
        weight: W, or None for the identity.
        signed: number k of an output at each step, `(T,)`, or None for norms.

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

    if signed is None:
        return sequential_jacobian(moved, vectors, weight).cpu()
    return signed_jacobian(moved, vectors, weight, signed)


def signed_jacobian(
    model: Callable[[Tensor], Tensor], inputs: Tensor, weight: Tensor | None, outputs: Tensor, *, block: int = 64
) -> Tensor:
    r"""Return the derivative of one output of each step by a factor on each input.

    .. math::
        J_{ts} = \frac{\partial y_{t k_t}}{\partial \alpha_s}\Big|_{\alpha_s = 1}
        = \Big\langle \frac{\partial y_{t k_t}}{\partial x_s}, x_s \Big\rangle, \qquad y_t = W f_t

    where an input is α x. Above 0 the input speaks for the output, below 0 against it.

    Args:
        model: from copies of the inputs `(block, S, ...)` to f, `(block, T, features)`.
        inputs: x `(S, ...)`, of a floating type.
        weight: W `(outputs, features)`, or None for the identity.
        outputs: the number k of each step, `(T,)`.
        block: rows at a time, as of `saccade.look.sequential_jacobian`.

    Returns:
        `(T, S)`, in float64 on the CPU.

    Source:
        Graves 2012, "Supervised Sequence Labelling with Recurrent Neural Networks", chapter 3, for the derivatives.

    Example:
        >>> mix = torch.tensor([[2.0, 0.0], [3.0, -1.0]])
        >>> signed_jacobian(lambda x: mix @ x, torch.tensor([[1.0], [5.0]]), None, torch.tensor([0, 0]))
        tensor([[ 2.,  0.],
                [ 3., -5.]], dtype=torch.float64)
    """
    with torch.inference_mode(mode=False):  # callers are in inference mode
        chosen = outputs.clone()

    def logits(copies: Tensor) -> Tensor:
        features = model(copies)
        if weight is not None:
            return (features * weight.detach()[chosen]).sum(-1, keepdim=True)
        return features.gather(-1, chosen[None, :, None].expand(len(features), -1, 1))

    blocks = sequential_jacobian(logits, inputs, signed=True, block=block)[:, 0]
    return (blocks * inputs).flatten(2).sum(-1).cpu()


def check_moves(jacobian: Tensor) -> None:
    """Reject a Jacobian of zeros: its picture would be empty.

    >>> check_moves(torch.ones(2, 3))
    """
    if jacobian.numel() and not bool(jacobian.any()):
        why = "for example a run that is its fitted start (step 0). Leave --by out, or train it longer."
        raise ArgumentError(f"--by: expected a run whose network moves its outputs, got a Jacobian of zeros, {why}")


class Moved(NamedTuple):
    """Numbers of a picture of gradients, `(outputs, inputs)`."""

    values: Tensor
    title: str
    scale: str = "share"
    signed: bool = False

    @classmethod
    def by(cls, jacobian: Tensor, *, signed: bool = False) -> "Moved":
        """Return shares of the norms in each row, or signed derivatives as they are.

        Raises:
            ArgumentError: if no input moves any output.

        >>> Moved.by(torch.tensor([[1.0, 3.0]])).values
        tensor([[0.2500, 0.7500]])
        """
        check_moves(jacobian)
        return cls(jacobian, _SIGNED, "derivative", True) if signed else cls(shares(jacobian), _JACOBIAN)


class Pictures(list[Path]):
    """The paths of pictures; a notebook shows the pictures themselves."""

    def _repr_html_(self) -> str:
        pictures = (path for path in self if path.suffix == ".png" and path.is_file())
        encoded = (base64.b64encode(path.read_bytes()).decode() for path in pictures)
        return "".join(f'<img style="max-width: 100%" src="data:image/png;base64,{content}">' for content in encoded)
