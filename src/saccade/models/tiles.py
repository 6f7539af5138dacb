"""An eye that reads one tile of an image at a time: hard attention over a partition, which encodes what it reads alone.

Xu et al. 2015, "Show, Attend and Tell", section 4, have such a memory of an image, whose cells are all encoded.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade import AuxOutput, AuxRequest, reads
from saccade._definitions.checks import in_ranges
from saccade.errors import ArgumentError
from saccade.memory import Memory
from saccade.models import ram
from saccade.models.ram import Path
from saccade.nn import Attention

__all__ = ["Options", "SoftTiles", "Tiles", "Tiling"]


@dataclass(frozen=True, kw_only=True)
class Tiling(ram.Sizes):
    """The sizes of an eye that reads tiles of `patch` pixels, and of what it knows of them before.

    >>> Tiling(patch=12).thumbnail
    3
    """

    thumbnail: int = 3
    """Rows and columns of the thumbnail by which a tile is chosen. 0: by its location alone."""

    key_dim: int = 64
    """Features of a tile's key."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        super().__post_init__()
        in_ranges(self, (("thumbnail", 0, 64), ("key_dim", 1, 1 << 16)))
        if self.thumbnail > self.patch:
            raise ArgumentError(f"--thumbnail: expected at most --patch {self.patch}, got {self.thumbnail}")


@dataclass(frozen=True, kw_only=True)
class Options(Tiling, ram.Chooser):
    """The sizes, and how many tiles a glimpse reads.

    >>> Options(read="topk", k=2).k
    2
    """

    read: Literal["sample", "topk"] = "sample"
    """Read of a glimpse: one sampled tile (sample), or the expectation over the --k most probable tiles (topk)."""

    k: int = 4
    """Tiles of topk. It needs no --baseline, --samples or --entropy-bonus."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        super().__post_init__()
        in_ranges(self, (("k", 1, 1 << 16),))
        if self.read != "topk" and self.k != 4:
            raise ArgumentError(f"--k: expected only with --read topk, got {self.k} and --read {self.read}")
        if self.read == "topk" and self.entropy_bonus:
            raise ArgumentError(f"--entropy-bonus: expected only with --read sample, got {self.entropy_bonus}")


_DEFAULT, _SOFT = Options(), Tiling()


class Tiles(ram.Ram):
    r"""Hard attention over tiles: thumbnails of all tiles decide which tile is read next.

    .. math::
        \pi(j \mid h_t) = \operatorname{softmax}_j \Big(\frac{(W_q h_t + b) \cdot W_k k_j}{\sqrt{d}}\Big) \qquad
        j_t \sim \pi(\cdot \mid h_{t-1}) \qquad h_t = \operatorname{relu}(W_h h_{t-1} + W_g g(x_{j_t}, \ell_{j_t}) + b)

    where the key of tile j is a small network's of a thumbnail and the place of its middle. The value g, a `Glimpse`,
    is computed for tiles that are read and for no other: `attend` is given it as a function of the index. All draws
    learn by REINFORCE as those of `Ram` do, the first among them. Tiles have a size in pixels, so an image of another
    size has more of them or fewer, and the same weights.

    Args:
        channels: of the images: 3 for RGB, 1 for grey.
        classes: number of classes.
        options: the sizes.
        longest: symbols of the longest label, 1 where labels are no strings.

    Example:
        >>> model = Tiles(1, 10, Options(patch=4, hidden_dim=16, glimpse_dim=8, glimpses=3))
        >>> path = model.look(torch.rand(2, 1, 28, 30), rollouts=5)
        >>> path.location.shape, path.weights.shape
        (torch.Size([2, 5, 3, 2]), torch.Size([2, 5, 3, 7, 8]))

    Source:
        Xu et al. 2015, Eq. 8 to 12, for a draw among cells; Shazeer et al. 2017, Eq. 5, for the k largest.
    """

    policy: Any  # an `Attention`, in the place of a `Policy`
    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = ram.RECIPES

    def __init__(self, channels: int, classes: int, options: Any = _DEFAULT, longest: int = 1) -> None:
        super().__init__(channels, classes, options, longest)
        known = channels * options.thumbnail**2 + 2
        self.key = nn.Sequential(
            nn.Linear(known, options.key_dim), nn.ReLU(), nn.Linear(options.key_dim, options.key_dim)
        )

    def make_policy(self, options: Any) -> Any:
        """Return what chooses tiles."""
        hidden, key = options.hidden_dim, options.key_dim
        return Attention(hidden, key, hidden, hidden_dim=key, score="scaled_dot", read=self.make_read(options))

    def draws(self, options: Any) -> bool:
        """Return whether one tile is drawn."""
        return super().draws(options) and options.read == "sample"

    def make_read(self, options: Any) -> reads.Read:
        """Return how tiles are read in training."""
        return reads.Sample() if options.read == "sample" else reads.TopK(options.k)

    def look(
        self,
        images: Tensor,
        rollouts: int = 1,
        *,
        draw: bool = True,
        progress: float | Tensor = 1.0,
        numbers: Tensor | None = None,
    ) -> Path:
        """Let eyes go over images, as `Ram.look` does; the path has the weights of all tiles."""
        del progress  # nothing of the policy changes with it
        size, drawn = self.options.patch, draw and isinstance(self.policy.read.get(), reads.Sample)
        shape = len(images), rollouts if drawn else 1  # where nothing is drawn, all rollouts are alike
        rows, columns = (-(-side // size) for side in images.shape[2:])
        places = self._places(images, rows, columns)
        memory = self._memory(images, places, rows, columns)
        state = self._start(images, shape[1])
        hiddens, taken = [state[0]], list[AuxOutput]()
        for uniform in self._uniforms(images, shape, numbers) if drawn else [None] * self.steps:
            seen, aux = self._read(hiddens[-1].unflatten(0, shape), memory, uniform)
            state = self._next(seen.flatten(0, 1), state)
            hiddens.append(state[0])
            taken.append(aux)
        hidden = torch.stack(hiddens, 1).unflatten(0, shape)
        weights, entropy = _over_steps(taken, "weights"), _over_steps(taken, "entropy")
        every = (
            places[_over_steps(taken, "index") if drawn else weights.argmax(-1)],
            self.output(hidden[:, :, 1:]),
            _over_steps(taken, "log_prob") if drawn else torch.zeros_like(entropy).detach(),
            entropy,
            hidden[:, :, :-1].detach(),
            weights.detach().unflatten(-1, (rows, columns)),
        )
        return Path(*(part.expand(-1, rollouts, *part.shape[2:]) for part in every))

    def _uniforms(self, images: Tensor, shape: tuple[int, int], numbers: Tensor | None) -> Sequence[Tensor]:
        """What the draw of each glimpse is made of, `(batch, eyes)` each."""
        numbers = torch.rand(*shape, self.steps, 2, device=images.device) if numbers is None else numbers
        return numbers[:, :, : self.steps, 0].unbind(2)

    def _read(self, hidden: Tensor, memory: Memory, uniform: Tensor | None) -> tuple[Tensor, AuxOutput]:
        """What a glimpse reads by the states `(batch, eyes, hidden_dim)`; a draw is made of `uniform`, if given."""
        read = self.policy.read.get()
        if isinstance(read, reads.Sample):
            read = reads.Argmax() if uniform is None else reads.Sample(uniform=uniform.to(hidden))
        wanted = AuxRequest(weights=True, entropy=True, index=uniform is not None, log_prob=uniform is not None)
        query = hidden.detach() if read.chooses else hidden  # a draw changes no state but by what it reads
        found: tuple[Tensor, AuxOutput] = self.policy(query, memory=memory, read=read, aux=wanted)
        return found

    def _places(self, images: Tensor, rows: int, columns: int) -> Tensor:
        """x and y of the middles of tiles, `(tiles, 2)`, from −1 to 1 where they lie in the image."""
        height, width = images.shape[2:]
        x, y = (
            (2 * torch.arange(count, device=images.device, dtype=images.dtype) + 1) * self.options.patch / side - 1
            for count, side in ((columns, width), (rows, height))
        )
        return torch.stack([x.expand(rows, columns), y[:, None].expand(rows, columns)], -1).flatten(0, 1)

    def _memory(self, images: Tensor, places: Tensor, rows: int, columns: int) -> Memory:
        """Keys of all tiles, and values of those that are read."""
        count, size = len(images), self.options.patch
        known = [places.expand(count, -1, 2)]
        if self.options.thumbnail:
            height, width = images.shape[2:]
            padded = F.pad(images, (0, columns * size - width, 0, rows * size - height))
            means = F.adaptive_avg_pool2d(padded, (rows * self.options.thumbnail, columns * self.options.thumbnail))
            known.append(F.pixel_unshuffle(means, self.options.thumbnail).flatten(2).mT)
        keys = self.key(torch.cat(known, -1))

        def value(index: tuple[Tensor, Tensor]) -> Tensor:
            image, tile = index
            seen: Tensor = self.glimpse(images, places[tile][:, None], image)
            return seen[:, 0]

        # The expectation is over the same values at each glimpse, so they are encoded once.
        all_at_once = isinstance(self.policy.read.get(), reads.Soft)
        values = self.glimpse(images, places.expand(count, -1, 2)) if all_at_once else value
        memory: Memory = self.policy.remember(keys, values)
        return memory


def _over_steps(taken: list[AuxOutput], name: str) -> Tensor:
    """One part of what attention said at each glimpse, `(batch, eyes, glimpses, ...)`."""
    return torch.stack([getattr(aux, name) for aux in taken], 2)


class SoftTiles(Tiles):
    r"""Soft attention over tiles: all tiles are encoded, and their expectation is read.

    .. math:: h_t = \operatorname{relu}\Big(W_h h_{t-1} + W_g \sum_j \pi(j \mid h_{t-1})\, g(x_j, \ell_j) + b\Big)

    It learns by the gradient alone; its path shows the heaviest tile of each glimpse.

    Example:
        >>> model = SoftTiles(1, 10, Tiling(patch=4, hidden_dim=16, glimpse_dim=8, glimpses=3))
        >>> model(torch.rand(2, 1, 28, 28)).shape
        torch.Size([2, 10])

    Source:
        Xu et al. 2015, Eq. 13.
    """

    Options: TypeAlias = Tiling
    recipes: ClassVar[dict[str, dict[str, Any]]] = ram.UNREWARDED

    def __init__(self, channels: int, classes: int, options: Tiling = _SOFT, longest: int = 1) -> None:
        super().__init__(channels, classes, options, longest)

    def make_read(self, options: Any) -> reads.Read:
        """Return how tiles are read."""
        del options
        return reads.Soft()
