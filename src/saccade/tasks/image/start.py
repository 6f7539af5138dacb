"""Pretrained weights of a run, read once and kept in its folder.

A training in minutes applies them once to each image.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Self

import torch
from safetensors.torch import load, save
from torch import Tensor

from saccade._system.environment import choose_device
from saccade._system.files import read, write
from saccade._system.notes import say
from saccade.data.dataset import SPLITS
from saccade.errors import ArgumentError
from saccade.models.encoders import build_encoder, open_encoder, without_head
from saccade.models.pretrained import Features, Options, Pretrained
from saccade.tasks.image.dataset import Dataset, pixels
from saccade.tasks.saved import reading
from saccade.train.options import select
from saccade.train.progress import waiting

__all__ = ["PretrainedStart"]

_FILE = "encoder.safetensors"
_SHARE = 0.75  # of the minutes: features of more images are computed in the steps that need them
_TIMED = 4  # images


@dataclass(frozen=True)
class PretrainedStart:
    """The initial weights of `saccade.models.pretrained.Pretrained`.

    Args:
        weights: of the encoder, by name.
        features: of images, shared by all models of a job.
    """

    weights: dict[str, Tensor]
    features: Features

    @classmethod
    def open(cls, options: Any) -> Self | None:
        """Read the weights that the options name. The result is None for other models.

        Raises:
            ArgumentError: if there is no such network or file, or the weights are of another network.
        """
        if not isinstance(options, Options):
            return None
        if (shift := getattr(options, "shift", 0)) != 0:
            expected = "expected 0, since the features of an image are computed once"
            raise ArgumentError(f"--shift: {expected}, got {shift}; leave it out")
        if options.weights is None and options.encoder is None:
            say("--encoder: got none, so the network has random weights; --encoder and --weights name pretrained ones")
            return cls(build_encoder(None, options.layer).built.module.state_dict(), Features())
        if options.weights is None:
            raise ArgumentError(
                "--weights: expected the file of the encoder's weights, got none; nothing is downloaded"
            )
        if options.encoder is None:
            raise ArgumentError("--encoder: expected the network of --weights, such as torchvision:resnet18, got none")
        encoder = open_encoder(options.encoder, Path(options.weights), options.layer)
        return cls(without_head(encoder.built.module).state_dict(), Features())

    def save(self, folder: Path) -> None:
        """Write encoder.safetensors."""
        write(folder / _FILE, save({name: tensor.contiguous() for name, tensor in self.weights.items()}))

    @classmethod
    def restore(cls, folder: Path, options: Any) -> Self | None:
        """Read the file of `save`.

        A training without a checkpoint begins again with it.

        Raises:
            ArgumentError: if the file is missing or damaged.
        """
        if not isinstance(options, Options):
            return None
        with reading(folder / _FILE, "the weights of the encoder", lambda path: load(read(path))) as weights:
            return cls(weights, Features())

    def apply(self, model: Any) -> None:
        """Load the weights into a model, and share the features."""
        model.start_from(self.weights, self.features)

    def prepare(self, data: Dataset, options: Any) -> None:
        """Compute the features of all images if the minutes of the run suffice.

        Then all steps take as long, and the plan of the minutes is right.
        """
        sizes = {split: data.size(split) for split in SPLITS}
        if options.max_minutes is None or options.max_steps is not None or None in sizes.values():
            return
        model = Pretrained(data.shape[0], 1, select(options, Options))
        self.apply(model)
        device = choose_device(options.device)
        model.to(device).eval()
        images = _images(data, mirrored=options.flip)
        with torch.inference_mode():
            model(next(images).to(device))  # much is slow the first time
            began = time.perf_counter()
            for image in islice(images, _TIMED):
                model(image.to(device))
            count = sum(filter(None, sizes.values())) + options.flip * (sizes["train"] or 0)
            seconds = (time.perf_counter() - began) / _TIMED * count
            if seconds <= _SHARE * 60 * options.max_minutes:
                with waiting(f"features of {count:,} images", seconds):
                    for image in images:
                        model(image.to(device))


def _images(data: Dataset, *, mirrored: bool) -> Iterator[Tensor]:
    """Images of all splits, and mirror images of the training."""
    for split in SPLITS:
        for index in range(data.size(split) or 0):
            image = data.example(split, index).image[None]
            yield pixels(image)
            if mirrored and split == "train":
                yield pixels(image.flip(3))
