"""Hard attention over the tiles of an image. Only tiles that are read are encoded.

Xu et al. 2015, "Show, Attend and Tell", section 4, also attend to the cells of an image, but encode all of them.
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
    """The sizes of an agent with tiles of `patch` pixels, and of the tiles' keys.

    >>> Tiling(patch=12).thumbnail
    3
    """

    thumbnail: int = 3
    """Rows and columns of the thumbnail in a tile's key. 0: its location alone."""

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
    """The sizes of the agent, and its read of tiles.

    >>> Options(read="topk", k=2).k
    2
    """

    read: Literal["sample", "topk"] = "sample"
    """Read of a glimpse: one sampled tile (sample), or the expectation over
    the --k most probable tiles (topk)."""

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
    r"""Hard attention over tiles: thumbnails of all tiles choose the next tile.

    .. math::
        \pi(j \mid h_t) = \operatorname{softmax}_j \Big(\frac{(W_q h_t + b) \cdot W_k k_j}{\sqrt{d}}\Big) \qquad
        j_t \sim \pi(\cdot \mid h_{t-1}) \qquad h_t = \operatorname{relu}(W_h h_{t-1} + W_g g(x_{j_t}, \ell_{j_t}) + b)

    with the key k of tile j from a small network over its thumbnail and the location of its centre. The value g, a
    `Glimpse`, is a lazy value of `attend`: only tiles that are read are encoded. REINFORCE trains the policy as in
    `Ram`, but here the first tile is a sample too. Tiles have a fixed size in pixels, so their number depends on the
    image, and the parameters do not.

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
        Xu et al. 2015, Eq. 8 to 12, for a sample among cells. Shazeer et al. 2017, Eq. 5, for the k largest.
    """

    policy: Any  # an `Attention` instead of a `Policy`
    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = ram.RECIPES

    def __init__(self, channels: int, classes: int, options: Any = _DEFAULT, longest: int = 1) -> None:
        super().__init__(channels, classes, options, longest)
        inputs = channels * options.thumbnail**2 + 2
        self.key = nn.Sequential(
            nn.Linear(inputs, options.key_dim), nn.ReLU(), nn.Linear(options.key_dim, options.key_dim)
        )

    def make_policy(self, options: Any) -> Any:
        """Return the policy, an attention over tiles."""
        hidden, key = options.hidden_dim, options.key_dim
        return Attention(hidden, key, hidden, hidden_dim=key, score="scaled_dot", read=self.make_read(options))

    def draws(self, options: Any) -> bool:
        """Return whether a glimpse samples one tile."""
        return super().draws(options) and options.read == "sample"

    def make_read(self, options: Any) -> reads.Read:
        """Return the read of tiles in training."""
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
        """Look at images as `Ram.look` does. The path has the weights of all tiles."""
        del progress  # the policy does not depend on it
        size, drawn = self.options.patch, draw and isinstance(self.policy.read.get(), reads.Sample)
        shape = len(images), rollouts if drawn else 1  # without samples all rollouts are equal
        rows, columns = (-(-side // size) for side in images.shape[2:])
        centres = self._centres(images, rows, columns)
        memory = self._memory(images, centres, rows, columns)
        state = self._start(images, shape[1])
        hiddens, records = [state[0]], list[AuxOutput]()
        for uniform in self._uniforms(images, shape, numbers) if drawn else [None] * self.steps:
            glimpse, aux = self._read(hiddens[-1].unflatten(0, shape), memory, uniform)
            state = self._next(glimpse.flatten(0, 1), state)
            hiddens.append(state[0])
            records.append(aux)
        hidden = torch.stack(hiddens, 1).unflatten(0, shape)
        weights, entropy = _over_steps(records, "weights"), _over_steps(records, "entropy")
        every = (
            centres[_over_steps(records, "index") if drawn else weights.argmax(-1)],
            self.output(hidden[:, :, 1:]),
            _over_steps(records, "log_prob") if drawn else torch.zeros_like(entropy).detach(),
            entropy,
            hidden[:, :, :-1].detach(),
            weights.detach().unflatten(-1, (rows, columns)),
        )
        return Path(*(part.expand(-1, rollouts, *part.shape[2:]) for part in every))

    def _uniforms(self, images: Tensor, shape: tuple[int, int], numbers: Tensor | None) -> Sequence[Tensor]:
        """Uniform random numbers of each glimpse, `(batch, rollouts)` each."""
        numbers = torch.rand(*shape, self.steps, 2, device=images.device) if numbers is None else numbers
        return numbers[:, :, : self.steps, 0].unbind(2)

    def _read(self, hidden: Tensor, memory: Memory, uniform: Tensor | None) -> tuple[Tensor, AuxOutput]:
        """Read a tile for each state `(batch, rollouts, hidden_dim)`.

        The tile is sampled by `uniform`. If that is None, a hard read takes the mode.
        """
        read = self.policy.read.get()
        if isinstance(read, reads.Sample):
            read = reads.Argmax() if uniform is None else reads.Sample(uniform=uniform.to(hidden))
        request = AuxRequest(weights=True, entropy=True, index=uniform is not None, log_prob=uniform is not None)
        query = hidden.detach() if read.chooses else hidden  # rewards do not train the state
        output: tuple[Tensor, AuxOutput] = self.policy(query, memory=memory, read=read, aux=request)
        return output

    def _centres(self, images: Tensor, rows: int, columns: int) -> Tensor:
        """x and y of the tiles' centres, `(tiles, 2)`, from −1 to 1 within the image."""
        height, width = images.shape[2:]
        x, y = (
            (2 * torch.arange(count, device=images.device, dtype=images.dtype) + 1) * self.options.patch / side - 1
            for count, side in ((columns, width), (rows, height))
        )
        return torch.stack([x.expand(rows, columns), y[:, None].expand(rows, columns)], -1).flatten(0, 1)

    def _memory(self, images: Tensor, centres: Tensor, rows: int, columns: int) -> Memory:
        """Keys of all tiles, and lazy values."""
        count, size = len(images), self.options.patch
        features = [centres.expand(count, -1, 2)]
        if self.options.thumbnail:
            height, width = images.shape[2:]
            padded = F.pad(images, (0, columns * size - width, 0, rows * size - height))
            means = F.adaptive_avg_pool2d(padded, (rows * self.options.thumbnail, columns * self.options.thumbnail))
            features.append(F.pixel_unshuffle(means, self.options.thumbnail).flatten(2).mT)
        keys = self.key(torch.cat(features, -1))

        def value(index: tuple[Tensor, Tensor]) -> Tensor:
            image, tile = index
            glimpse: Tensor = self.glimpse(images, centres[tile][:, None], image)
            return glimpse[:, 0]

        # A soft read needs the values of all tiles at each glimpse, so they are encoded once.
        all_at_once = isinstance(self.policy.read.get(), reads.Soft)
        values = self.glimpse(images, centres.expand(count, -1, 2)) if all_at_once else value
        memory: Memory = self.policy.remember(keys, values)
        return memory


def _over_steps(records: list[AuxOutput], name: str) -> Tensor:
    """Stack a statistic of attention as `(batch, rollouts, glimpses, ...)`."""
    return torch.stack([getattr(aux, name) for aux in records], 2)


class SoftTiles(Tiles):
    r"""Soft attention over tiles: all tiles are encoded, and a glimpse is their mean.

    .. math:: h_t = \operatorname{relu}\Big(W_h h_{t-1} + W_g \sum_j \pi(j \mid h_{t-1})\, g(x_j, \ell_j) + b\Big)

    It needs no REINFORCE. Its path shows the tile with the greatest weight at each glimpse.

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
        """Return the read of tiles."""
        del options
        return reads.Soft()
