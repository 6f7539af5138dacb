"""A network with pretrained weights, and a linear classifier of its features.

Donahue et al. 2014, "DeCAF: A Deep Convolutional Activation Feature for Generic Visual Recognition",
https://arxiv.org/abs/1310.1531.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade._definitions.checks import in_ranges
from saccade._definitions.numerics import without_autocast
from saccade.errors import ShapeError
from saccade.models.checks import below_one
from saccade.models.encoders import build_encoder, without_head
from saccade.models.standardized import standardized

__all__ = ["RECIPES", "Features", "Options", "Pretrained"]

#: Chosen by cross-validation on the training images of crops of photographs and of CIFAR-10: see the page of the task.
RECIPES: dict[str, dict[str, Any]] = {
    "shapes": {
        "resolution": 32,
        "max_steps": 200,
        "schedule": "cosine",
        "warmup_steps": 20,
        "schedule_steps": 200,
        "threads": 1,
    },
    "files": {
        "flip": False,
        "shift": 0,
        "dropout": 0.5,
        "label_smoothing": 0.0,
        "learning_rate": 1e-3,
        "schedule": "cosine",
        "warmup_steps": 200,
        "schedule_steps": 4000,
        "max_steps": 4000,
        "weight_decay": 0.05,
        "checkpoint_steps": 1000,
        "validation_steps": 1000,
        "threads": 1,
    },
}


@dataclass(frozen=True, kw_only=True)
class Options:
    """The pretrained network of a classifier of images.

    >>> Options(encoder="torchvision:resnet18", weights="resnet18.safetensors").resolution
    224
    """

    encoder: str | None = None
    """Network with pretrained weights, such as torchvision:resnet18 or timm:resnet50.

    Default: two convolutions with random weights."""

    weights: str | None = field(default=None, metadata={"path": True})
    """Weights of --encoder: a .safetensors file, or a .pth of tensors alone.

    The run keeps a copy."""

    layer: str | None = None
    """Last module of the encoder, before pooling.

    Default: the usual last one, layer4 of a ResNet."""

    resolution: int = 224
    """Pixels of height and width of the images of the encoder.

    It is the largest default of --size."""

    dropout: float = 0.0
    """Dropout of the features."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        in_ranges(self, (("resolution", 16, 1024),))
        below_one(self, "dropout")


class Features:
    """A bounded store of features by network and image.

    A copy is the same store: networks of equal weights have equal features.

    Args:
        limit: largest count of numbers.

    Example:
        >>> features = Features(limit=5)
        >>> features.put((1, 2), torch.zeros(3)), features.put((1, 3), torch.ones(3))
        (None, None)
        >>> features.get((1, 2)) is None, features.get((1, 3))
        (True, tensor([1., 1., 1.]))
    """

    def __init__(self, limit: int = 1 << 26) -> None:
        self.limit, self._kept = limit, OrderedDict[tuple[int, int], Tensor]()

    def get(self, key: tuple[int, int]) -> Tensor | None:
        """Return the features of a key, or None."""
        return self._kept.get(key)

    def put(self, key: tuple[int, int], features: Tensor) -> None:
        """Keep features. The oldest ones go if there are too many."""
        self._kept[key] = features
        if len(self._kept) * len(features) > self.limit:
            self._kept.popitem(last=False)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


class Pretrained(nn.Module):
    r"""A frozen network without its classifier, mean pooling, and a linear classifier.

    .. math:: f = W \, \operatorname{norm}\Big(\frac{1}{hw} \sum_{i,j} \operatorname{encoder}(x)_{i,j}\Big) + b

    where norm subtracts the mean of each feature over the batches of training, and divides by the standard deviation.
    The network stays in evaluation mode, and gets no gradients. So an image has the same features at every step. They
    are computed once, image by image, and kept in memory.

    The network is built with random weights: `start_from` loads others.

    Args:
        channels: channels of the images: 3 for RGB, 1 for grey.
        classes: number of classes.
        options: the network.
        mean, std: unused. The network has its own.

    Raises:
        ArgumentError: if there is no such network or layer, or it takes no images of this resolution.
        SaccadeError: if the library of the network is not installed.

    Source:
        Donahue et al. 2014, section 3, with logistic regression or an SVM of the features. Kornblith et al. 2019, "Do
        Better ImageNet Models Transfer Better?", section 3 (https://arxiv.org/abs/1805.08974), for the last features.
        Saxe et al. 2011, "On Random Weights and Unsupervised Feature Learning", for convolutions with random weights,
        which are the default.

    Example:
        >>> from saccade.models.encoders import BUILDERS, Built
        >>> BUILDERS["own"] = lambda name: Built(nn.Sequential(nn.Conv2d(3, 5, 8, 8)))
        >>> model = Pretrained(1, 4, Options(encoder="own:tiny", layer="0", resolution=16)).eval()
        >>> model(torch.rand(2, 1, 28, 28)).shape, BUILDERS.pop("own") is None
        (torch.Size([2, 4]), False)
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES
    last_layer: ClassVar[str] = "map"
    """Name of the module of the last feature map, for `saccade.look.grad_cam`."""

    def __init__(
        self,
        channels: int,
        classes: int,
        options: Options = Options(),  # noqa: B008 (frozen)
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        del mean, std
        self.channels, self.resolution = channels, options.resolution
        self._built = build_encoder(options.encoder, options.layer)
        self.encoder = without_head(self._built.built.module).requires_grad_(requires_grad=False)
        self.map = nn.Identity()
        dim = self._pooled(torch.zeros(1, 3, self.resolution, self.resolution)).shape[1]
        self.norm = nn.BatchNorm1d(dim, momentum=None, affine=False)  # the mean of all steps: features do not change
        self.dropout = nn.Dropout(options.dropout)
        self.output = nn.Linear(dim, classes)
        self.features, self._versions, self._mark = Features(), list[int](), 0

    def start_from(self, weights: Mapping[str, Tensor], features: Features | None = None) -> None:
        """Load the weights of the network, and share a store of features."""
        self.encoder.load_state_dict(weights)
        self.features = features or self.features

    def train(self, mode: bool = True) -> Self:
        """Set the mode of the classifier. The encoder stays in evaluation mode."""
        super().train(mode)
        self.encoder.eval()
        return self

    def forward(self, images: Tensor) -> Tensor:
        """Return the logits of classes.

        Args:
            images: `(batch, channels, height, width)` in [0, 1].

        Returns:
            `(batch, classes)`.

        Raises:
            ShapeError: if images have other channels.
        """
        if images.ndim != 4 or images.shape[1] != self.channels:
            expected = f"(batch, {self.channels}, height, width)"
            raise ShapeError(f"images: expected shape {expected}, got {tuple(images.shape)}")
        is_new = images.requires_grad or torch.compiler.is_compiling()
        features = self._pooled(images) if is_new else self._remembered(images)
        logits: Tensor = self.output(self.dropout(standardized(self.norm, features)))
        return logits

    def _remembered(self, images: Tensor) -> Tensor:
        """Return features from the store, and compute new ones.

        New images are computed one by one, so their digits do not depend on the batch.
        """
        rows, mark = list[Tensor](), self._mark_of_weights()
        for image in images.detach():
            key = mark, hash(image.cpu().numpy().tobytes())  # of 64 bits, and faster than a digest
            row = self.features.get(key)
            if row is None:
                with torch.inference_mode(mode=False), torch.no_grad(), without_autocast(image):
                    row = self._pooled(image[None].clone())[0].cpu()
                self.features.put(key, row)
            rows.append(row)
        return torch.stack(rows).to(images.device)

    def _pooled(self, images: Tensor) -> Tensor:
        size = (self.resolution, self.resolution)
        if images.shape[2:] != size:
            smaller = min(images.shape[2:]) > self.resolution
            images = F.interpolate(images, size, mode="bilinear", antialias=smaller)
        cells, shape = self._built.cells(images.expand(-1, 3, -1, -1), "--resolution")
        pooled: Tensor = self.map(cells.mT.unflatten(2, shape)).mean((2, 3))
        return pooled

    def _mark_of_weights(self) -> int:
        """A hash of the encoder's weights, computed anew if they were changed."""
        state = list(self.encoder.state_dict(keep_vars=True).values())
        versions = [tensor._version for tensor in state]
        if versions != self._versions:
            self._versions = versions
            self._mark = hash(tuple(tensor.detach().cpu().numpy().tobytes() for tensor in state))
        return self._mark
