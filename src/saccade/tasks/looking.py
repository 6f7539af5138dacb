"""Options of pictures of a sequence: attention, or gradients."""

import base64
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn

from saccade.errors import ArgumentError
from saccade.look import sequential_jacobian, shares
from saccade.tasks.ensembles import check_drawn

__all__ = [
    "MOVED",
    "By",
    "LookRequest",
    "Moved",
    "Pictures",
    "check_moves",
    "check_signed",
    "signed_jacobian",
]

By = Literal["attention", "rollout", "flow", "gradient", "grad-cam", "jacobian", "integrated-gradients"]

NEEDS = {
    "attention": "A run whose model attends to its inputs has it.",
    "rollout": "It needs layers of self-attention, as a transformer has.",
    "flow": "It needs layers of self-attention, as a transformer has.",
    "gradient": "It needs soft attention to the inputs, or gradients by them.",
    "grad-cam": "It needs a convolution over the image, or one vector for each token.",
    "jacobian": "It needs a sequence of words, symbols or frames.",
    "integrated-gradients": "It needs a probability as a smooth function of words or pixels.",
}
"""Requirement of each method, the way out of its error."""
MOVED = "is moved most by"  # in descriptions of pictures of gradients, as "attends to" of attention


def check_by(by: str | None, methods: Iterable[str]) -> None:
    """Reject a method that means nothing for a run.

    Args:
        by: name of the method, or None for the default.
        methods: names of the methods of the run.

    Raises:
        ArgumentError: with the methods of the run and the requirement of this one.

    Example:
        >>> check_by("flow", ["attention", "jacobian"])
        Traceback (most recent call last):
        saccade.errors.ArgumentError: --by: expected attention or jacobian for this run, got flow. It needs layers of
        self-attention, as a transformer has.
    """
    if by is None:
        return
    if by not in get_args(By):
        raise ArgumentError(f"--by: expected {_either(get_args(By))}, got {by}")
    if by not in (methods := [method for method in get_args(By) if method in {*methods}]):
        expected = _either(methods) or "no method"
        raise ArgumentError(f"--by: expected {expected} for this run, got {by}. {NEEDS[by]}")


def _either(names: Sequence[str]) -> str:
    return " or ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


@dataclass(frozen=True, kw_only=True)
class LookRequest:
    """Options of pictures of a sequence.

    >>> LookRequest(by="jacobian").by
    'jacobian'
    """

    by: By | None = None
    """Method of the picture: attention, its rollout or flow through layers,
    gradients, Grad-CAM, the Jacobian, or integrated gradients.
    Default: attention, or gradients of a model without it."""

    signed: bool = False
    """With --by jacobian: derivatives of each output's logit, with their signs,
    by a factor on each input. Default: norms of the Jacobian of all logits."""

    def __post_init__(self) -> None:
        check_by(self.by, get_args(By))
        check_signed(self.signed, self.by)

    def check_method(self, model: nn.Module, methods: Iterable[str], *, attends: bool) -> None:
        """Reject a method that means nothing for a model, or for an ensemble.

        Raises:
            ArgumentError: naming the option.
        """
        check_drawn(model, self.by, methods, attends=attends)
        check_by(self.by, methods)


def check_signed(signed: bool, by: str | None) -> None:
    """Reject signs of another picture than the Jacobian.

    >>> check_signed(True, "jacobian")
    """
    if signed and by != "jacobian":
        got = "no --by" if by is None else f"--by {by}"
        raise ArgumentError(f"--signed: expected --by jacobian beside it, got {got}. Leave --signed out.")


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


def check_moves(scores: Tensor) -> None:
    """Reject scores of zeros: their picture would be empty.

    >>> check_moves(torch.ones(2, 3))
    """
    if scores.numel() and not bool(scores.any()):
        why = "for example a run that is its fitted start (step 0). Leave --by out, or train it longer."
        raise ArgumentError(f"--by: expected a run whose network moves its outputs, got scores of zeros, {why}")


class Moved(NamedTuple):
    """Numbers of a picture of scores, `(outputs, inputs)`."""

    values: Tensor
    title: str
    scale: str = "share"
    signed: bool = False

    @classmethod
    def by(cls, by: str, values: Tensor, method: str, *, signed: bool = False) -> "Moved":
        """Return the scores of a method as they are drawn.

        Rollout, flow and scores with signs stay as they are, others become shares of each row.

        Raises:
            ArgumentError: if no input moves any output.

        >>> Moved.by("jacobian", torch.tensor([[1.0, 3.0]]), "sequential Jacobian").values
        tensor([[0.2500, 0.7500]])
        """
        title = method[:1].upper() + method[1:]
        if by in ("rollout", "flow"):
            return cls(values, title, "weight" if by == "rollout" else "flow")
        if by != "grad-cam":  # it is 0 if no feature speaks for an output
            check_moves(values)
        if signed or by == "integrated-gradients":
            return cls(values, title, "derivative" if signed else "logit", True)
        return cls(shares(values), f"{title}, shares of each row")


class Pictures(list[Path]):
    """The paths of pictures; a notebook shows the pictures themselves."""

    def _repr_html_(self) -> str:
        pictures = (path for path in self if path.suffix == ".png" and path.is_file())
        encoded = (base64.b64encode(path.read_bytes()).decode() for path in pictures)
        return "".join(f'<img style="max-width: 100%" src="data:image/png;base64,{content}">' for content in encoded)
