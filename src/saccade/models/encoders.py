"""Encoders of images from torchvision and timm, with weights from a local file.

Nothing is downloaded.
"""

import difflib
import hashlib
import struct
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from pickle import UnpicklingError  # only the error of torch.load: nothing is unpickled
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from saccade._threads import hooked
from saccade.errors import ArgumentError, SaccadeError

__all__ = ["BUILDERS", "Built", "Encoder", "build_encoder", "open_encoder", "without_head"]

_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, which torchvision's weights expect
_INSIDE = ("state_dict", "model_state_dict", "model")  # where checkpoints of training programs have the weights
_HEADS = ("fc", "head", "heads", "classifier")  # classifiers behind the features, perhaps of other classes
_LAYERS = ("layer4", "features", "blocks", "stages")  # usual names of the modules of the last features
_DAMAGED = (
    OSError, RuntimeError, ValueError, KeyError, EOFError, TypeError, AttributeError, IndexError, UnpicklingError,
    AssertionError, OverflowError, struct.error,
)  # fmt: skip


class Built(NamedTuple):
    """A network as a library builds it, with random weights.

    >>> Built(nn.Identity()).mean
    (0.485, 0.456, 0.406)
    """

    module: nn.Module
    mean: tuple[float, ...] = _MEAN
    """Mean of each channel of the images that the weights expect, in [0, 1]."""
    deviation: tuple[float, ...] = _DEVIATION


class _Reached(Exception):  # no error: it ends the forward pass behind the layer
    pass


@dataclass(frozen=True, eq=False)
class Encoder:
    """A network up to a layer.

    Args:
        built: the network.
        layer: the name of the module whose output is taken.
        name: of the network, for the index of a store.
        weights: the SHA-256 of the file of its weights.

    Example:
        >>> encoder = Encoder(Built(nn.Sequential(nn.Conv2d(3, 5, 4, stride=4))), "0", "tiny", "")
        >>> maps, shape = encoder.maps(torch.zeros(2, 3, 8, 8, dtype=torch.uint8))
        >>> maps.shape, shape
        (torch.Size([2, 4, 5]), (2, 2))
    """

    built: Built
    layer: str
    name: str
    weights: str

    def maps(self, images: Tensor) -> tuple[Tensor, tuple[int, int]]:
        """Return the maps of images without gradients: see `cells`.

        Args:
            images: `(batch, 3, height, width)`, uint8.
        """
        with torch.inference_mode():
            return self.cells(images.float() / 255, "--size")

    def cells(self, images: Tensor, size: str) -> tuple[Tensor, tuple[int, int]]:
        """Return the maps of images, and their rows and columns.

        The network computes them in evaluation mode, and stays in it.

        Args:
            images: `(batch, 3, height, width)` in [0, 1].
            size: option of the size, for errors.

        Returns:
            `(batch, rows · columns, dim)`, float32, row by row, and `(rows, columns)`.

        Raises:
            ArgumentError: if the layer's output is no map, or the network takes no images of this size.
        """
        mean, deviation = (torch.tensor(part, device=images.device)[:, None, None] for part in self.built[1:])
        outputs: list[Any] = []

        def take(_module: nn.Module, _inputs: Any, output: Any) -> None:
            outputs.append(output)
            if not torch.compiler.is_compiling():  # an export follows the calls of modules to their ends
                raise _Reached

        layer = self.built.module.get_submodule(self.layer)
        try:
            with hooked([layer], take):
                self.built.module.eval()((images - mean) / deviation)
        except _Reached:
            pass
        except (RuntimeError, ValueError, AssertionError) as error:
            got = f"{images.shape[2]} × {images.shape[3]} ({_line(error, 150)})"
            raise ArgumentError(f"{size}: expected one that {self.name} takes, got {got}") from error
        if not outputs or not isinstance(outputs[0], Tensor):
            raise ArgumentError(f"--layer: expected a module of {self.name} that gives a map, got {self.layer}")
        return _map(outputs[0], self.built.module, f"{self.name} {self.layer}")


def build_encoder(encoder: str | None, layer: str | None = None) -> Encoder:
    """Return a network with random weights.

    Args:
        encoder: its library and its name there: torchvision:resnet50, timm:resnet50. None: two convolutions.
        layer: the module whose output is taken, such as layer3 or features.28; None: the usual last one.

    Raises:
        ArgumentError: if there is no such network or layer.
        SaccadeError: if the library is not installed.
    """
    library, colon, name = (encoder or "none").partition(":")
    if encoder is not None and (not colon or library not in BUILDERS or not name):
        expected = " or ".join(f"{builder}:NAME" for builder in BUILDERS)
        raise ArgumentError(f"--encoder: expected {expected}, got {encoder or 'an empty name'}")
    built = _convolutions() if encoder is None else BUILDERS[library](name)
    modules = dict(built.module.named_modules())
    chosen = layer or next((usual for usual in _LAYERS if usual in modules), None)
    if chosen is None or chosen not in modules:
        near = difflib.get_close_matches(layer or "", list(modules), 1)
        there = ", ".join([name for name, _ in built.module.named_children()][:5])
        hint = f"did you mean {near[0]}?" if near else f"there is {there}"
        raise ArgumentError(f"--layer: expected a module of {encoder}, got {layer or 'none'}; {hint}")
    return Encoder(built, chosen, f"{library}:{name}", "")


def _convolutions() -> Built:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)  # all runs have the same random weights
        layers = nn.Conv2d(3, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 128, 4, 2), nn.ReLU()
    return Built(nn.Sequential(OrderedDict(features=nn.Sequential(*layers))))


def without_head(network: nn.Module) -> nn.Module:
    """Replace the classifier of a network by the identity, and return the network.

    >>> network = nn.Sequential()
    >>> network.fc = nn.Linear(3, 2)
    >>> without_head(network)
    Sequential(
      (fc): Identity()
    )
    """
    for name in _HEADS:
        if isinstance(getattr(network, name, None), nn.Module):
            setattr(network, name, nn.Identity())
    return network


def open_encoder(encoder: str | None, weights: Path, layer: str | None = None) -> Encoder:
    """Return a network with weights from a file.

    Args:
        encoder, layer: see `build_encoder`.
        weights: .safetensors, or a file that torch.load reads with weights_only=True: other pickles run programs.

    Raises:
        ArgumentError: if there is no such network, layer or file, or the weights are of another network.
        SaccadeError: if the library is not installed.
    """
    built = build_encoder(encoder, layer)
    state, digest = _read(weights)
    _load(built.built.module, state, weights, built.name)
    return replace(built, weights=digest)


def _torchvision(name: str) -> Built:
    models = _imported("torchvision", "torchvision.models")
    _check_name("torchvision", name, models.list_models())
    return Built(models.get_model(name, weights=None))


def _timm(name: str) -> Built:
    timm = _imported("timm", "timm")
    _check_name("timm", name, timm.list_models())
    module = timm.create_model(name, pretrained=False)
    expects = getattr(module, "pretrained_cfg", {})
    return Built(module, tuple(expects.get("mean", _MEAN)), tuple(expects.get("std", _DEVIATION)))


BUILDERS: dict[str, Callable[[str], Built]] = {"torchvision": _torchvision, "timm": _timm}
"""Functions from a name to a network with random weights, by library."""


def _imported(library: str, module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise SaccadeError(f"--encoder {library}:... needs {library}: pip install {library} ({error})") from error
    except (RuntimeError, OSError) as error:  # a build for another torch
        got = f"{torch.__version__}: {_line(error)}"
        raise SaccadeError(f"{library} is there and does not fit this torch {got}") from error


def _check_name(library: str, name: str, names: list[str]) -> None:
    if name not in names and name.partition(".")[0] not in names:  # a name of timm may have its data behind a dot
        near = difflib.get_close_matches(name, names, 1)
        hint = f"; did you mean {library}:{near[0]}?" if near else ""
        raise ArgumentError(f"--encoder: expected a model of {library}, got {name}{hint}")


def _read(path: Path) -> tuple[Mapping[str, Tensor], str]:
    """The weights of a file by their names, and its SHA-256."""
    if not path.is_file():
        raise ArgumentError(f"--weights: expected a file of weights, found none at {path}")
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return _tensors(path), digest
    except UnpicklingError as error:
        got = "got what torch.load(weights_only=True) does not read; other objects could run a program as they are read"
        raise ArgumentError(f"--weights: {path}: expected tensors alone, {got}: save them as safetensors") from error
    except _DAMAGED as error:
        got = f"{path} ({_line(error)})"
        raise ArgumentError(
            f"--weights: expected tensors in a .pth or .safetensors file, got another: {got}"
        ) from error


def _tensors(path: Path) -> dict[str, Tensor]:
    if path.suffix == ".safetensors":
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            return dict(load_file(path))
        except SafetensorError as error:
            raise ValueError(str(error)) from error
    content = torch.load(path, map_location="cpu", weights_only=True)
    content = next((content[name] for name in _INSIDE if isinstance(content, Mapping) and name in content), content)
    if not isinstance(content, Mapping) or not all(isinstance(part, Tensor) for part in content.values()):
        raise ValueError(f"no tensors by name, but {type(content).__name__}")
    return {name.removeprefix("module."): part for name, part in content.items()}


def _load(module: nn.Module, state: Mapping[str, Tensor], path: Path, encoder: str) -> None:
    """Load weights into a network.

    Weights of its classifier may be missing, or have other shapes.
    """
    expected = module.state_dict()
    fitting = {name: part for name, part in state.items() if name in expected and expected[name].shape == part.shape}
    counted = ("num_batches_tracked",)  # only training reads it, and old files lack it
    wrong = [name for name in expected if name not in fitting and not _is_head(name) and not name.endswith(counted)]
    unknown = [name for name in state if name not in expected and not _is_head(name)]
    if wrong or unknown:
        got = f"{unknown[0]} is none of it ({len(unknown)} of {len(state)} are not)" if unknown else ""
        if wrong:
            fault = "of another shape" if wrong[0] in state else "missing"
            got = f"{wrong[0]} is {fault} ({len(wrong)} of {len(expected)} are)"
        raise ArgumentError(f"{path}: expected weights of {encoder}, got others: {got}")
    module.load_state_dict(fitting, strict=False)


def _is_head(name: str) -> bool:
    return name.partition(".")[0] in _HEADS


def _map(output: Tensor, module: nn.Module, what: str) -> tuple[Tensor, tuple[int, int]]:
    """Flatten a layer's output to cells.

    It has channels first, channels last, or tokens, perhaps behind a class token.
    """
    if output.ndim == 4:
        if output.shape[2] != output.shape[3] and output.shape[1] == output.shape[2]:
            output = output.permute(0, 3, 1, 2)  # images are squares, and so are rows and columns
        rows, columns = output.shape[2:]
        return output.flatten(2).transpose(1, 2).float().contiguous(), (rows, columns)
    if output.ndim == 3:
        before = getattr(module, "num_prefix_tokens", 0 if _side(output.shape[1]) else 1)
        if side := _side(output.shape[1] - before):
            return output[:, before:].float().contiguous(), (side, side)
    got = f"an output of shape {tuple(output.shape)} of {what}"
    raise ArgumentError(f"--layer: expected a map (batch, channels, rows, columns) or tokens of one, got {got}")


def _side(tokens: int) -> int:
    """Square root of a number of tokens, 0 if it is no integer."""
    side = round(max(0, tokens) ** 0.5)
    return side if side * side == tokens else 0


def _line(error: Exception, limit: int = 100) -> str:
    """The message of an error in one short line."""
    return " ".join(str(error).split())[:limit] or type(error).__name__
