"""Networks of torchvision and timm as encoders of images, with weights from a local file: nothing is downloaded."""

import difflib
import hashlib
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError  # what torch.load raises; nothing is unpickled by it
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from saccade._threads import hooked
from saccade.data.dataset import inventory
from saccade.errors import ArgumentError, SaccadeError

__all__ = ["BUILDERS", "Built", "Encoder", "open_encoder"]

_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, which torchvision's weights expect
_INSIDE = ("state_dict", "model_state_dict", "model")  # where checkpoints of training programs have the weights
_HEADS = ("fc", "head", "heads", "classifier")  # what is behind the features, and may be of other classes
_LAYERS = ("layer4", "features", "blocks", "stages")  # usual names of what ends in the last features
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
    """Of each channel of the images that its weights expect, in [0, 1]."""
    deviation: tuple[float, ...] = _DEVIATION


class _Reached(Exception):  # no error: the layer has been reached
    """What lies behind a layer need not be computed."""


@dataclass(frozen=True, eq=False)
class Encoder:
    """What makes maps of features of images.

    Args:
        built: the network.
        layer: the name of the module in it whose output is taken.
        name: what it is called, for the index of a store.
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
        """Return the maps of images `(batch, 3, height, width)`, uint8, and their rows and columns.

        Returns:
            `(batch, rows · columns, dim)`, float32, a row after the other.

        Raises:
            ArgumentError: if the layer's output is no map, or the network takes no images of this size.
        """
        mean, deviation = (torch.tensor(part)[:, None, None] for part in self.built[1:])
        found: list[Any] = []

        def take(_module: nn.Module, _given: Any, output: Any) -> None:
            found.append(output)
            raise _Reached

        layer = self.built.module.get_submodule(self.layer)
        try:
            with torch.inference_mode(), hooked([layer], take):
                self.built.module.eval()((images.float() / 255 - mean) / deviation)
        except _Reached:
            pass
        except (RuntimeError, ValueError, AssertionError) as error:
            got = " ".join(str(error).split())[:150]
            size = f"{images.shape[2]} × {images.shape[3]}"
            raise ArgumentError(f"--size: expected one that {self.name} takes, got {size} ({got})") from error
        if not found or not isinstance(found[0], Tensor):
            raise ArgumentError(f"--layer: expected a module of {self.name} that gives a map, got {self.layer}")
        return _map(found[0], self.built.module, f"{self.name} {self.layer}")


def open_encoder(encoder: str, weights: Path, layer: str | None = None) -> Encoder:
    """Return a network with weights from a file.

    Args:
        encoder: its library and its name there: torchvision:resnet50, timm:resnet50.
        weights: .safetensors; or what torch.load reads with weights_only=True, as anything else that is pickled could
            run a program as it is read.
        layer: the module whose output is taken, such as layer3 or features.28; None: the usual last one.

    Raises:
        ArgumentError: if there is no such network, layer or file, or the weights are of another network.
        SaccadeError: if the library is not installed.
    """
    library, colon, name = encoder.partition(":")
    if not colon or library not in BUILDERS or not name:
        expected = " or ".join(f"{known}:NAME" for known in BUILDERS)
        raise ArgumentError(f"--encoder: expected {expected}, got {encoder}")
    state, digest = _read(weights)
    built = BUILDERS[library](name)
    _load(built.module, state, weights, encoder)
    modules = dict(built.module.named_modules())
    chosen = layer or next((usual for usual in _LAYERS if usual in modules), None)
    if chosen is None or chosen not in modules:
        children = inventory(name for name, _ in built.module.named_children())
        near = difflib.get_close_matches(layer or "", list(modules), 1)
        hint = f"did you mean {near[0]}?" if near else f"there is {children}"
        raise ArgumentError(f"--layer: expected a module of {encoder}, got {layer or 'none'}; {hint}")
    return Encoder(built, chosen, encoder, digest)


def _torchvision(name: str) -> Built:
    models = _imported("torchvision", lambda: __import__("torchvision.models").models)
    return Built(_made("torchvision", name, models.list_models(), lambda: models.get_model(name, weights=None)))


def _timm(name: str) -> Built:
    timm = _imported("timm", lambda: __import__("timm"))
    module = _made("timm", name, timm.list_models(), lambda: timm.create_model(name, pretrained=False))
    expects = getattr(module, "pretrained_cfg", {})
    return Built(module, tuple(expects.get("mean", _MEAN)), tuple(expects.get("std", _DEVIATION)))


#: What builds a network with random weights by its name, for each library.
BUILDERS: dict[str, Callable[[str], Built]] = {"torchvision": _torchvision, "timm": _timm}


def _imported(library: str, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except ImportError as error:
        raise SaccadeError(f"--encoder {library}:... needs {library}: pip install {library} ({error})") from error
    except (RuntimeError, OSError) as error:  # a build for another torch
        got = " ".join(str(error).split())[:100]
        raise SaccadeError(f"{library} is there and does not fit this torch {torch.__version__}: {got}") from error


def _made(library: str, name: str, known: list[str], make: Callable[[], nn.Module]) -> nn.Module:
    if name not in known and name.partition(".")[0] not in known:  # timm's names may say behind a dot what they learned
        near = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean {library}:{near[0]}?" if near else ""
        raise ArgumentError(f"--encoder: expected a model of {library}, got {name}{hint}")
    return make()


def _read(path: Path) -> tuple[Mapping[str, Tensor], str]:
    """The weights of a file by their names, and its SHA-256."""
    if not path.is_file():
        raise ArgumentError(f"--weights: expected a file of weights, found none at {path}")
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        found = _tensors(path)
    except SaccadeError:
        raise
    except UnpicklingError as error:
        got = "got what torch.load(weights_only=True) does not read; other objects could run a program as they are read"
        raise ArgumentError(f"--weights: {path}: expected tensors alone, {got}: save them as safetensors") from error
    except _DAMAGED as error:
        got = " ".join(str(error).split())[:100]
        wanted = "expected tensors in a .pth or .safetensors file, got another"
        raise ArgumentError(f"--weights: {wanted}: {path} ({got or type(error).__name__})") from error
    return found, digest


def _tensors(path: Path) -> dict[str, Tensor]:
    if path.suffix == ".safetensors":
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            return dict(load_file(path))
        except SafetensorError as error:
            raise ValueError(str(error)) from error
    found = torch.load(path, map_location="cpu", weights_only=True)
    found = next((found[name] for name in _INSIDE if isinstance(found, Mapping) and name in found), found)
    if not isinstance(found, Mapping) or not all(isinstance(part, Tensor) for part in found.values()):
        raise ValueError(f"no tensors by name, but {type(found).__name__}")
    return {name.removeprefix("module."): part for name, part in found.items()}


def _load(module: nn.Module, state: Mapping[str, Tensor], path: Path, encoder: str) -> None:
    """Put weights into a network; those of its classifier may be missing, or of other classes."""
    own = module.state_dict()
    fitting = {name: part for name, part in state.items() if name in own and own[name].shape == part.shape}
    counted = ("num_batches_tracked",)  # which old files lack, and only training reads
    wrong = [name for name in own if name not in fitting and not _is_head(name) and not name.endswith(counted)]
    if wrong:
        got = f"{wrong[0]} is {'of another shape' if wrong[0] in state else 'missing'}"
        count = f"{len(wrong)} of {len(own)} are"
        raise ArgumentError(f"{path}: expected weights of {encoder}, got others: {got} ({count})")
    if unknown := [name for name in state if name not in own and not _is_head(name)]:
        got = f"{unknown[0]} is none of it ({len(unknown)} of {len(state)} are not)"
        raise ArgumentError(f"{path}: expected weights of {encoder}, got others: {got}")
    module.load_state_dict(fitting, strict=False)


def _is_head(name: str) -> bool:
    return name.partition(".")[0] in _HEADS


def _map(output: Tensor, module: nn.Module, what: str) -> tuple[Tensor, tuple[int, int]]:
    """A layer's output as cells: channels before or behind rows and columns, or tokens behind a class's."""
    if output.ndim == 4:
        if output.shape[2] != output.shape[3] and output.shape[1] == output.shape[2]:
            output = output.permute(0, 3, 1, 2)  # images are squares, so what is one are rows and columns
        rows, columns = output.shape[2:]
        return output.flatten(2).transpose(1, 2).float().contiguous(), (rows, columns)
    if output.ndim == 3:
        tokens = output.shape[1]
        before = getattr(module, "num_prefix_tokens", 0 if _side(tokens) else 1)
        if side := _side(tokens - before):
            return output[:, before:].float().contiguous(), (side, side)
    got = f"an output of shape {tuple(output.shape)} of {what}"
    raise ArgumentError(f"--layer: expected a map (batch, channels, rows, columns) or tokens of one, got {got}")


def _side(tokens: int) -> int | None:
    """The side of a square of so many tokens, None if there is none."""
    side = round(max(0, tokens) ** 0.5)
    return side if side and side * side == tokens else None
