"""Inputs of models about images: pixels, or features of a store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from saccade.errors import ArgumentError
from saccade.models.image_encoder import FeatureEncoder, ImageEncoder, Visual
from saccade.tasks.image.augment import flipped_and_shifted
from saccade.tasks.image.dataset import Scaled, pixels, statistics
from saccade.tasks.image.features.store import Features, FeatureStore
from saccade.tasks.saved import whole_number
from saccade.train.task import Suited, recipe

__all__ = ["Sight", "suited", "visual"]

_OF_IMAGES = ("widths", "blocks", "stem", "stem_stride", "shift", "flip")  # options of encoders and of random changes


@dataclass(frozen=True)
class Sight:
    """Sizes of the images or features of a run.

    Args:
        shape: channels, height and width of images, or None of features.
        mean, std: of each channel of training images in [0, 1].
        dim: length of a feature.
        grid: rows and columns of features that are maps, or None of regions.

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
        """Learn sizes from a store of features, or from the images of a corpus."""
        if store is not None:
            return cls(dim=store.dim, grid=store.shape)

        def image(number: int) -> Tensor:
            return corpus.example("train", corpus.about("train", number)[0]).image  # type: ignore[no-any-return]

        return cls(corpus.shape, *statistics(image, corpus.images("train")))

    def encoder(self, options: Any) -> nn.Module:
        """Return a new encoder by `saccade.models.image_encoder.Options`."""
        if self.shape is not None:
            return ImageEncoder(self.shape[0], options, self.mean, self.std)
        assert self.dim is not None
        return FeatureEncoder(self.dim, options.cell_dim, options.dropout, self.grid)

    def check(self, store: FeatureStore) -> None:
        """Reject a store of other features by an `ArgumentError`."""
        if (store.dim, store.shape) != (self.dim, self.grid):
            expected, got = (
                f"{'regions' if grid is None else f'maps of {grid[0]} × {grid[1]} cells'} of {dim} numbers"
                for dim, grid in ((self.dim, self.grid), (store.dim, store.shape))
            )
            raise ArgumentError(f"--features: expected {expected}, as the run has them, got {got} in {store.folder}")

    def open_store(self, folder: Path, options: Any) -> FeatureStore | None:
        """Return the store of features of a run, or None if it reads images."""
        try:
            store: FeatureStore | None = options.open_features()
            if store is not None:
                self.check(store)
        except ArgumentError as error:
            raise ArgumentError(f"{folder}: {error}") from error
        return store

    def opening(self) -> dict[str, Any]:
        """Return options to open other data: images of about the size of the run."""
        return {} if self.shape is None else {"size": max(self.size)}

    def adapted(self, data: Any) -> Any:
        """Return other data, with images scaled to the size of the run."""
        return data if self.shape in (None, data.shape) else Scaled(data, self.shape)

    def blank(self) -> Tensor | Features:
        """Return an image or features of zeros.

        >>> Sight(dim=5, grid=(2, 3)).blank().values.shape
        torch.Size([6, 5])
        """
        if self.shape is not None:
            return torch.zeros(self.shape, dtype=torch.uint8)
        assert self.dim is not None
        cells = 1 if self.grid is None else self.grid[0] * self.grid[1]
        return Features(torch.zeros(cells, self.dim), torch.zeros(cells, 4))

    def to_json(self) -> dict[str, Any]:
        """Return the content for `restore`."""
        if self.shape is None:
            return {"dim": self.dim, "grid": None if self.grid is None else list(self.grid)}
        return {"shape": list(self.shape), "mean": list(self.mean), "std": list(self.std)}

    @classmethod
    def restore(cls, content: Mapping[str, Any]) -> "Sight":
        """Read the content, or raise `KeyError`, `TypeError` or `ValueError` if damaged."""
        name, count = ("grid", 2) if "dim" in content else ("shape", 3)
        sizes = content[name]
        regions = name == "grid" and sizes is None  # features without a grid
        if not regions and (not isinstance(sizes, list) or len(sizes) != count):
            raise ValueError(f"expected {name} of {count} numbers, got {sizes!r:.60}")
        whole = [whole_number({"size": number}, "size") for number in sizes or ()]
        if "dim" in content:
            return cls(dim=whole_number(content, "dim"), grid=None if regions else (whole[0], whole[1]))
        mean, std = (tuple(map(float, content[name])) for name in ("mean", "std"))
        return cls((whole[0], whole[1], whole[2]), mean, std)


def visual(
    inputs: Sequence[Tensor | Features], seed: int = 0, step: int = 0, *, mirrored: bool = False, shifted: int = 0
) -> Visual:
    """Batch images of one size, uint8, or features, as the input of a model.

    Args:
        inputs: the images, or their features.
        seed, step, mirrored, shifted: random changes of images: see `saccade.tasks.image.augment.flipped_and_shifted`.
            Features stay as they are.

    Example:
        >>> visual([torch.full((1, 2, 2), 255, dtype=torch.uint8)]).values.max()
        tensor(1.)
        >>> visual([Features(torch.ones(n, 5), torch.ones(n, 4)) for n in (3, 2)]).lengths
        tensor([3, 2])
    """
    features = [item for item in inputs if isinstance(item, Features)]
    if not features:
        images = torch.stack([item for item in inputs if isinstance(item, Tensor)])
        return Visual(pixels(flipped_and_shifted(images, seed, step, mirrored=mirrored, shifted=shifted)))
    values, boxes = (pad_sequence([item[part] for item in features], batch_first=True) for part in (0, 1))
    return Visual(values, boxes, torch.tensor([len(item.values) for item in features]))


def suited(task: Any, model: str, explicit: Mapping[str, Any], objects: Any) -> Suited:
    """Return the recipe for data of the user.

    With features, it has no options of images.

    Raises:
        ArgumentError: for an option of the user without effect on features, except --shift 0 and --no-flip.
    """
    usual = recipe(task, model, explicit["data"])
    if explicit.get("features") is None:
        return Suited(usual, data=objects)
    still = ("shift", "flip")
    for name in _OF_IMAGES:
        if explicit.get(name) or (name in explicit and name not in still):
            expected = f"expected none with --features, which are taken as they are, got {explicit[name]}; leave it out"
            raise ArgumentError(f"--{name.replace('_', '-')}: {expected}")
    usual = {name: value for name, value in usual.items() if name not in _OF_IMAGES}
    names = {field.name for field in fields(task.Options)}
    return Suited({**usual, **{name: 0 if name == "shift" else False for name in still if name in names}}, data=objects)
