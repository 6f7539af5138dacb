"""Weights of models: tensors by name, their files, and the mean of checkpoints.

Each file has a digest.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

_KEY = "saccade"  # the one key of a file's metadata: safetensors writes several in a varying order


def serialize(tensors: Mapping[str, Tensor], **about: Any) -> bytes:
    """Return tensors as a safetensors file with a digest of its content.

    Equal content gives equal bytes. `about` are JSON values for the header.

    >>> weights, about = deserialize(serialize({"bias": torch.ones(3)}, step=12))
    >>> weights["bias"], about
    (tensor([1., 1., 1.]), {'step': 12})
    """
    from safetensors.torch import save

    return save(dict(tensors), {_KEY: json.dumps({**about, "digest": _digest(tensors, about)})})


def deserialize(content: bytes) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors of a file of `serialize`, and the values of its header.

    Raises ValueError if it is damaged.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        tensors = load(content)
    except SafetensorError as error:
        raise ValueError(str(error)) from error
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])  # behind the number of its bytes
    about = json.loads(header.get("__metadata__", {}).get(_KEY, "{}"))
    if not isinstance(about, dict) or about.pop("digest", None) != _digest(tensors, about):
        raise ValueError("its digest is of other weights")
    return tensors, about


def _digest(tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> str:
    """Return a hash of names, types, shapes and bits of tensors, and of more values."""
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(json.dumps([name, str(tensor.dtype), list(tensor.shape)]).encode())
        digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def not_finite(weights: Mapping[str, Tensor]) -> str | None:
    """Return the name of the first tensor with a NaN or an infinity.

    The result is None if all are finite.
    """
    return next((name for name, tensor in weights.items() if not tensor.isfinite().all()), None)


def tensors(model: nn.Module) -> dict[str, Tensor]:
    """Return a model's parameters and buffers on the CPU.

    A tied one appears once, under its first name.
    """
    first = _first_names(model)
    state = model.state_dict(keep_vars=True)
    # Files hold them row by row, whatever their memory layout (for example channels last).
    return {name: tensor.detach().cpu().contiguous() for name, tensor in state.items() if first[name] == name}


def load_into(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Load `tensors` of a model into one with the same ties.

    Raises RuntimeError if they are another model's.
    """
    first = _first_names(model)
    for name, tensor in model.state_dict(keep_vars=True).items():
        if name in weights and weights[name].dtype != tensor.dtype:
            raise RuntimeError(f"{name}: expected {tensor.dtype}, got {weights[name].dtype}")
    tied = {name: weights[first[name]] for name in first if name not in weights and first[name] in weights}
    model.load_state_dict({**weights, **tied})


def by_columns(model: nn.Module) -> None:
    """Lay out the matrices of a model's linear maps by columns.

    On a CPU, products with 4 to 48 rows, as in decoding, take four fifths of the time. Saving needs `savable`.
    """
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.weight.data = module.weight.data.T.contiguous().T


def savable(model: nn.Module) -> None:
    """Copy tensors with shared memory or column order in a model's `state_dict`.

    The safetensors format needs this.
    """
    model.register_state_dict_post_hook(_apart)


def _apart(module: nn.Module, state: dict[str, Any], prefix: str, metadata: Any) -> None:
    taken = set[int]()
    for name, held in state.items():
        if not name.startswith(prefix) or not isinstance(held, Tensor) or isinstance(held, nn.Parameter):
            continue
        if not held.is_contiguous() or held.untyped_storage().data_ptr() in taken:
            state[name] = held = held.clone(memory_format=torch.contiguous_format)
        taken.add(held.untyped_storage().data_ptr())


def mean(several: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Return the mean of each tensor, summed in float64.

    Integers (counters, tables) are those of the last. Source: Vaswani et al. 2017, "Attention Is All You Need", section
    6.1, averages the last checkpoints so.

    >>> mean([{"w": torch.tensor([1.0]), "n": torch.tensor(3)}, {"w": torch.tensor([2.0]), "n": torch.tensor(5)}])
    {'w': tensor([1.5000]), 'n': tensor(5)}
    """
    means = dict(several[-1])
    for name, last in means.items():
        if last.is_floating_point():
            total = sum((weights[name].double() for weights in several), torch.zeros(()))
            means[name] = (total / len(several)).to(last.dtype)
    return means


def _first_names(model: nn.Module) -> dict[str, str]:
    """The first name of each tensor of a model's state, by all its names."""
    first: dict[int, str] = {}
    return {name: first.setdefault(id(held), name) for name, held in model.state_dict(keep_vars=True).items()}
