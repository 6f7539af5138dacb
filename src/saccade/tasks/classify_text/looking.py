"""What is drawn of a text: what learned queries took of each word, or what words attend to within a layer."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from saccade import look
from saccade.errors import ArgumentError
from saccade.models.padded import Padded
from saccade.tasks.text.special import UNKNOWN

__all__ = ["LookRequest", "within_layer"]


@dataclass(frozen=True, kw_only=True)
class LookRequest:
    """What is drawn of a text.

    >>> LookRequest(layer=2, head=1).told
    'layer 2, head 1'
    """

    layer: int | None = None
    """Draw what each word attends to in this layer of self-attention, from 1 on, in the place of what the learned
    queries took of each word."""

    head: int | None = None
    """With --layer: this one of its heads, from 1 on; the mean of them if not given."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        for name, number in (("--layer", self.layer), ("--head", self.head)):
            if number is not None and number < 1:
                raise ArgumentError(f"{name}: expected a number from 1 on, got {number}")
        if self.head is not None and self.layer is None:
            raise ArgumentError(f"--head: expected only with --layer, got {self.head} without it")

    @property
    def told(self) -> str:
        """What is looked into, in words."""
        return f"layer {self.layer}, " + ("mean of heads" if self.head is None else f"head {self.head}")

    def check(self, model: Any) -> None:
        """Refuse a layer or a head that there is not.

        Args:
            model: a classifier, in evaluation mode.

        Raises:
            ArgumentError: naming the option.
        """
        if self.layer is None:
            return
        layers = _layers(model, [UNKNOWN])
        if not layers:
            way_out = "train one by --model self-attention, or leave it out"
            raise ArgumentError(f"--layer: expected one model with layers of self-attention, got another; {way_out}")
        if self.layer > len(layers):
            raise ArgumentError(f"--layer: expected at most {len(layers)}, the --layers of the run, got {self.layer}")
        if self.head is not None and self.head > (heads := layers[0].shape[1]):
            raise ArgumentError(f"--head: expected at most {heads}, the --heads of the run, got {self.head}")


def within_layer(model: Any, ids: list[int], request: LookRequest) -> Tensor | None:
    """Return what each word of a text attends to, `(words, words)`, a row for each that attends; None if not asked for.

    Args:
        model: a classifier that has the layer, in evaluation mode.
        ids: of the words.
        request: which layer and head.
    """
    if request.layer is None:
        return None
    heads = _layers(model, ids)[request.layer - 1][0].cpu()
    return heads.mean(0) if request.head is None else heads[request.head - 1]


def _layers(model: Any, ids: list[int]) -> list[Tensor]:
    """The weights of each layer, `(1, heads, words, words)`."""
    device = next(model.parameters()).device
    with look.record(model, detach=True) as records:
        model(Padded(torch.tensor([ids], device=device), torch.tensor([len(ids)], device=device)))
    found: list[Tensor] = model.layers_attended(records)
    return found
