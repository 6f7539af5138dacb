"""What is drawn of a text: what learned queries took of each word, or what words attend to within a layer."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from saccade import look
from saccade.errors import ArgumentError
from saccade.look import sequential_jacobian
from saccade.look._jacobian import returning
from saccade.models.padded import Padded
from saccade.tasks import looking
from saccade.tasks.ensembles import check_drawn
from saccade.tasks.text.special import UNKNOWN

__all__ = ["LookRequest", "jacobian", "within_layer"]


@dataclass(frozen=True, kw_only=True)
class LookRequest(looking.LookRequest):
    """What is drawn of a text.

    >>> LookRequest(layer=2, head=1).told
    'layer 2, head 1'
    """

    layer: int | None = None
    """Draw this layer of self-attention, counted from 1, instead of the attention pooling."""

    head: int | None = None
    """With --layer: draw this head, counted from 1. Default: the mean of all."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        super().__post_init__()
        if self.by == "jacobian" and self.layer is not None:
            raise ArgumentError(f"--by: expected attention with --layer {self.layer}, got jacobian")
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
        """Refuse attention, a layer or a head that there is not.

        Args:
            model: a classifier, in evaluation mode.

        Raises:
            ArgumentError: naming the option.
        """
        layers = _layers(model, [UNKNOWN])
        if self.layer is None:
            attends = bool(layers) or _pools(model)
            self.check_attends(attends)
            check_drawn(model, self.by, attends=attends)
            return
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


def jacobian(model: Any, ids: list[int]) -> Tensor:
    r"""Return how much the logits of all classes move with the vector of each word, `(words,)` float64 on the CPU.

    .. math:: J_s = \lVert \partial y / \partial E x_s \rVert_F

    Runs of words (`--ngrams`) have vectors of their own, which are left as they are.

    Args:
        model: a classifier, in evaluation mode.
        ids: of the words.
    """
    with torch.inference_mode(mode=False), torch.no_grad():  # whoever answers is within that mode
        source = _batch(model, ids)
        vectors = model.words.embedding(source.values)[0]

    def logits(moved: Tensor) -> Tensor:
        copies = Padded(*(part.expand(len(moved), *part.shape[1:]) for part in source))
        with returning(model.words.embedding, moved):
            found: Tensor = model(copies)
        return found[:, None]

    return sequential_jacobian(logits, vectors)[0].cpu()


def _batch(model: Any, ids: list[int]) -> Padded:
    device = next(model.parameters()).device
    return Padded(torch.tensor([ids], device=device), torch.tensor([len(ids)], device=device))


def _pools(model: Any) -> bool:
    """Whether a model attends as it makes one vector of a text."""
    source = _batch(model, [UNKNOWN])
    with look.record(model, detach=True, required=False) as records:
        model(source)
    return model.pooled(records, source) is not None


def _layers(model: Any, ids: list[int]) -> list[Tensor]:
    """The weights of each layer, `(1, heads, words, words)`."""
    with look.record(model, detach=True, required=False) as records:
        model(_batch(model, ids))
    found: list[Tensor] = model.layers_attended(records)
    return found
