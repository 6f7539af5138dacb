"""What models that speak of images are given of them: pixels, or features out of a store; and what encodes that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from saccade.errors import ArgumentError
from saccade.models.image_encoder import FeatureEncoder, ImageEncoder, Visual
from saccade.tasks.image.augment import flipped_and_shifted
from saccade.tasks.image.dataset import pixels, statistics
from saccade.tasks.image.features.store import Features, FeatureStore
from saccade.tasks.saved import whole_number

__all__ = ["Sight", "suited_to_features", "visual"]

_OF_IMAGES = ("widths", "blocks", "stem", "stem_stride", "shift", "flip")  # options of what sees and moves images


@dataclass(frozen=True)
class Sight:
    """What a run knows of its images.

    Args:
        shape: channels, height and width of images; None where features are given.
        mean, std: of each channel, over training images in [0, 1].
        dim: numbers of a feature.
        grid: rows and columns of features that are maps; None of regions.

    Example:
        >>> Sight.restore(Sight((3, 32, 48), (0.5,) * 3, (0.2,) * 3).to_json()).shape
        (3, 32, 48)
    """

    shape: tuple[int, int, int] | None = None
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    dim: int | None = None
    grid: tuple[int, int] | None = None

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of images."""
        assert self.shape is not None
        return self.shape[1], self.shape[2]

    @classmethod
    def learn(cls, corpus: Any, store: FeatureStore | None = None) -> "Sight":
        """Learn what images are: features where there is a store of them, else pixels, with what their channels are.

        Args:
            corpus: a data set of texts about images, whose examples have an `image`.
            store: of features.
        """
        if store is not None:
            return cls(dim=store.dim, grid=store.shape)
        mean, std = statistics(_Images(corpus))
        return cls(corpus.shape, tuple(mean), tuple(std))

    def encoder(self, options: Any) -> nn.Module:
        """Make what sees them, of the sizes that `saccade.models.image_encoder.Options` has."""
        if self.shape is not None:
            return ImageEncoder(self.shape[0], options, self.mean, self.std)
        assert self.dim is not None
        return FeatureEncoder(self.dim, options.cell_dim, options.dropout, self.grid)

    def check(self, store: FeatureStore) -> None:
        """Refuse a store of other features than these.

        Raises:
            ArgumentError: naming the option.
        """
        if (store.dim, store.shape) != (self.dim, self.grid):
            expected, got = _described(self.dim, self.grid), _described(store.dim, store.shape)
            raise ArgumentError(f"--features: expected {expected}, as the run has them, got {got} in {store.folder}")

    def blank(self) -> Tensor | Features:
        """Return an image without anything on it, or features that are zeros.

        >>> Sight(dim=5, grid=(2, 3)).blank().values.shape
        torch.Size([6, 5])
        """
        if self.shape is not None:
            return torch.zeros(self.shape, dtype=torch.uint8)
        assert self.dim is not None
        cells = 1 if self.grid is None else self.grid[0] * self.grid[1]
        return Features(torch.zeros(cells, self.dim), torch.zeros(cells, 4))

    def to_json(self) -> dict[str, Any]:
        """Return what `restore` reads."""
        if self.shape is None:
            return {"dim": self.dim, "grid": None if self.grid is None else list(self.grid)}
        return {"shape": list(self.shape), "mean": list(self.mean), "std": list(self.std)}

    @classmethod
    def restore(cls, content: Mapping[str, Any]) -> "Sight":
        """Read it back.

        Raises:
            KeyError, TypeError, ValueError: if it is not whole.
        """
        if "dim" in content:
            grid = content["grid"]
            rows = None if grid is None else _whole(grid, 2)
            return cls(dim=whole_number(content, "dim"), grid=None if rows is None else (rows[0], rows[1]))
        channels, height, width = _whole(content["shape"], 3)
        mean, std = (tuple(map(float, content[name])) for name in ("mean", "std"))
        return cls((channels, height, width), mean, std)


@dataclass(frozen=True)
class _Images:
    """The images of a data set of texts about them, each once."""

    corpus: Any

    @property
    def shape(self) -> tuple[int, int, int]:
        found: tuple[int, int, int] = self.corpus.shape
        return found

    def size(self, split: str) -> int | None:
        found: int | None = self.corpus.images(split)
        return found

    def example(self, split: str, index: int) -> Any:
        return self.corpus.example(split, self.corpus.about(split, index)[0])


def visual(
    seen: Sequence[Tensor | Features], seed: int = 0, step: int = 0, *, mirrored: bool = False, shifted: int = 0
) -> Visual:
    """Return images of one size, uint8, or features, as models take them.

    Args:
        seen: the images, or features of them.
        seed, step, mirrored, shifted: how images are changed at random, if they are, as
            `saccade.tasks.image.augment.flipped_and_shifted` has it; features are taken as they are.

    Example:
        >>> visual([torch.full((1, 2, 2), 255, dtype=torch.uint8)]).values.max()
        tensor(1.)
        >>> visual([Features(torch.ones(n, 5), torch.ones(n, 4)) for n in (3, 2)]).lengths
        tensor([3, 2])
    """
    features = [one for one in seen if isinstance(one, Features)]
    if not features:
        images = torch.stack([one for one in seen if isinstance(one, Tensor)])
        return Visual(pixels(flipped_and_shifted(images, seed, step, mirrored=mirrored, shifted=shifted)))
    values, boxes = (pad_sequence([one[part] for one in features], batch_first=True) for part in (0, 1))
    return Visual(values, boxes, torch.tensor([len(one.values) for one in features]))


def suited_to_features(recipe: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a recipe without what means nothing to features, where these are given in the place of images.

    Args:
        recipe: the defaults, by their names.
        given: the options that somebody gave, by their names; what says that images stay as they are (--shift 0,
            --no-flip) is true of features too.

    Raises:
        ArgumentError: naming an option that is given and means nothing to features.

    Example:
        >>> suited_to_features({"widths": "32,64", "shift": 2, "dropout": 0.1}, {"features": "store"})
        {'dropout': 0.1}
    """
    if given.get("features") is None:
        return dict(recipe)
    for name in _OF_IMAGES:
        kept = name in ("shift", "flip") and not given.get(name)
        if name in given and not kept:
            what = f"expected none with --features, which are taken as they are, got {given[name]}; leave it out"
            raise ArgumentError(f"--{name.replace('_', '-')}: {what}")
    return {name: value for name, value in recipe.items() if name not in _OF_IMAGES}


def _described(dim: int | None, grid: tuple[int, int] | None) -> str:
    return f"{'regions' if grid is None else f'maps of {grid[0]} × {grid[1]} cells'} of {dim} numbers"


def _whole(numbers: Any, count: int) -> list[int]:
    if not isinstance(numbers, list) or len(numbers) != count:
        raise ValueError(f"expected {count} numbers, got {numbers!r:.60}")
    return [whole_number({"size": number}, "size") for number in numbers]
