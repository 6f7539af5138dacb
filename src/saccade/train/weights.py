"""A model's weights as plain tensors by name: each once, and back; and their mean over several checkpoints."""

from collections.abc import Iterable, Mapping

from torch import Tensor, nn

__all__ = ["by_columns", "load_into", "mean", "tensors"]


def tensors(model: nn.Module) -> dict[str, Tensor]:
    """Return a model's parameters and buffers on the CPU; what is tied stands once, under its first name.

    >>> encoder, decoder = nn.Linear(2, 2), nn.Linear(2, 2)
    >>> decoder.weight = encoder.weight
    >>> sorted(tensors(nn.Sequential(encoder, decoder)))
    ['0.bias', '0.weight', '1.bias']
    """
    first = _first_names(model)
    state = model.state_dict(keep_vars=True)
    # Whatever their layout in memory (channels last, say), files hold them row by row.
    return {name: tensor.detach().cpu().contiguous() for name, tensor in state.items() if first[name] == name}


def load_into(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Put back what `tensors` returned into a model that ties what was tied then.

    Raises:
        RuntimeError: if they are of another model.
    """
    first = _first_names(model)
    tied = {name: weights[first[name]] for name in first if name not in weights and first[name] in weights}
    model.load_state_dict({**weights, **tied})


def by_columns(model: nn.Module) -> None:
    """Lay the matrices of a model's linear maps out by columns: the same numbers in another order.

    PyTorch's product of a few rows with such a matrix takes four fifths of the time on a CPU (4 to 48 rows), and with
    more as long as before: decoding multiplies so, training does not. Who writes such a matrix to a file that wants
    rows, as safetensors does, calls `contiguous` on it first.

    >>> linear = nn.Linear(2, 3)
    >>> by_columns(linear)
    >>> tuple(linear.weight.shape), linear.weight.stride()
    ((3, 2), (1, 3))
    """
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.weight.data = module.weight.data.T.contiguous().T


def mean(several: Iterable[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Return the mean of each tensor, summed in float64; integers (counters, tables) are those of the last.

    Source:
        Vaswani et al. 2017, "Attention Is All You Need", section 6.1, averages the last checkpoints so.

    Example:
        >>> import torch
        >>> mean([{"w": torch.tensor([1.0]), "n": torch.tensor(3)}, {"w": torch.tensor([2.0]), "n": torch.tensor(5)}])
        {'w': tensor([1.5000]), 'n': tensor(5)}
    """
    total: dict[str, Tensor] = {}
    last: Mapping[str, Tensor] = {}
    count = 0
    for count, last in enumerate(several, 1):  # noqa: B007 (both are used below)
        for name, tensor in last.items():
            if tensor.is_floating_point():
                total[name] = tensor.double() + total.get(name, 0.0)
    return {name: (total[name] / count).to(t.dtype) if name in total else t for name, t in last.items()}


def _first_names(model: nn.Module) -> dict[str, str]:
    """The first name of each tensor of a model's state, by each of its names."""
    first: dict[int, str] = {}
    return {name: first.setdefault(id(held), name) for name, held in model.state_dict(keep_vars=True).items()}
