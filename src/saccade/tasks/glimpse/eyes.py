"""Random numbers of paths over images, and an ensemble of models with paths."""

import hashlib
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from saccade.models.ram import Path
from saccade.models.strings import symbol_logits
from saccade.train.randomness import generator

__all__ = ["Eyes", "most_glimpses", "numbers_of"]


def numbers_of(images: Sequence[Tensor], seed: int, rollouts: int, glimpses: int) -> Tensor:
    """Return random numbers of paths, `(images, rollouts, glimpses, 2)`.

    They depend on the image and the seed alone.

    Example:
        >>> image = torch.rand(1, 8, 8)
        >>> one, two = numbers_of([image, image], 1, 5, 6)
        >>> one.shape, torch.equal(one, two)
        (torch.Size([5, 6, 2]), True)
    """
    contents = (image.cpu().contiguous().numpy().tobytes() for image in images)
    digests = (hashlib.blake2b(content, digest_size=8).hexdigest() for content in contents)
    generators = (generator(seed, "eye", digest) for digest in digests)
    return torch.stack([torch.rand(rollouts, glimpses, 2, generator=source) for source in generators])


def most_glimpses(model: Any) -> int:
    """Return the number of glimpses of a model, or the largest of an ensemble."""
    members = getattr(model, "members", [model])
    return max(getattr(member, "steps", 1) for member in members)


class Eyes(nn.Module):
    r"""The mean of the probabilities of models, each with a separate path.

    .. math:: p(c \mid x) = \tfrac{1}{n} \textstyle\sum_k p_k(c \mid x)

    If models have different numbers of glimpses for a symbol, the glimpses are aligned at the end. The path is that of
    the first model with one.

    Example:
        >>> from saccade.models.ram import Options, Ram
        >>> small = Options(patch=4, hidden_dim=8, glimpse_dim=4, glimpses=3)
        >>> Eyes([Ram(1, 10, small), Ram(1, 10, small)]).look(torch.rand(2, 1, 9, 9)).logits.shape
        torch.Size([2, 1, 3, 10])
    """

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        self.longest: int = getattr(members[0], "longest", 1)
        moving: Sequence[Any] = [member for member in members if hasattr(member, "glimpse")]
        if moving:
            self.glimpse, self.policy = moving[0].glimpse, moving[0].policy

    def forward(self, images: Tensor) -> Tensor:
        """Return log-probabilities after the likeliest paths.

        Their shape is `(batch, classes)`, or `(batch, longest, classes)` for strings.
        """
        log_shares = symbol_logits(self.look(images, draw=False).logits, self.longest)[:, 0]
        return log_shares[:, 0] if self.longest == 1 else log_shares

    def look(self, images: Tensor, rollouts: int = 1, **options: Any) -> Path:
        """Return the first path with the mean probabilities, see `Ram.look`."""
        members: Sequence[Any] = list(self.members)
        paths: list[Path] = [member.look(images, rollouts, **options) for member in members]
        every = [path.logits.double().softmax(-1).unflatten(2, (self.longest, -1)) for path in paths]
        steps = max(shares.shape[3] for shares in every)
        mean = torch.stack([_lengthened(shares, steps) for shares in every]).mean(0)
        first = next((path for path in paths if path.location.shape[2]), paths[0])
        first_steps = max(1, first.location.shape[2] // self.longest)
        return first._replace(logits=mean.log()[:, :, :, steps - first_steps :].flatten(2, 3))


def _lengthened(shares: Tensor, steps: int) -> Tensor:
    """Pad probabilities `(..., steps, classes)` at the start with the first ones."""
    before = shares[..., :1, :].expand(*shares.shape[:-2], steps - shares.shape[-2], -1)
    return torch.cat([before, shares], -2)
