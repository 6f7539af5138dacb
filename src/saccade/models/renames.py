"""Names that parameters had in older files: what was saved under them loads as before."""

from collections.abc import Mapping, MutableMapping
from functools import partial
from typing import Any

from torch import Tensor, nn

__all__ = ["current", "renamed"]

_TABLES = "_renamed_from"  # the attribute of a module that holds its older names


def renamed(module: nn.Module, names: Mapping[str, str]) -> None:
    """Let a module load states in which some of its parts have older names; it saves under today's.

    Args:
        module: whose parts, parameters or modules, have new names.
        names: today's name of each older one.

    Example:
        >>> class Cell(nn.Module):
        ...     def __init__(self) -> None:
        ...         super().__init__()
        ...         self.hidden_proj = nn.Linear(2, 2)
        ...         renamed(self, {"before": "hidden_proj"})
        >>> cell = Cell()
        >>> state = {name.replace("hidden_proj", "before"): held for name, held in cell.state_dict().items()}
        >>> sorted(state), cell.load_state_dict(state)
        (['before.bias', 'before.weight'], <All keys matched successfully>)
    """
    setattr(module, _TABLES, dict(names))
    module.register_load_state_dict_pre_hook(partial(_on_load, dict(names)))


def current(module: nn.Module, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return a state with today's names of a module's parts, as loading it would read them.

    What goes through names without loading, as the mean of checkpoints does, of which some may be older, needs it.

    Args:
        module: that has such a state, whose parts may be `renamed`.
        weights: by older names or today's.

    Example:
        >>> linear = nn.Linear(2, 1)
        >>> renamed(linear, {"kernel": "weight"})
        >>> sorted(current(nn.Sequential(linear), {"0.kernel": linear.weight, "0.bias": linear.bias}))
        ['0.bias', '0.weight']
    """
    state = dict(weights)
    for name, part in module.named_modules():  # a module before its parts, as loading goes
        _rename(getattr(part, _TABLES, {}), state, f"{name}." if name else "")
    return state


def _on_load(names: Mapping[str, str], module: nn.Module, state: dict[str, Any], prefix: str, *_: object) -> None:
    _rename(names, state, prefix)


def _rename(names: Mapping[str, str], state: MutableMapping[str, Any], prefix: str) -> None:
    for old, new in names.items():
        begin = f"{prefix}{old}"
        for key in [key for key in state if key == begin or key.startswith(f"{begin}.")]:
            following = f"{prefix}{new}{key.removeprefix(begin)}"
            if following not in state:  # else it is no older state, and loading says what is wrong with it
                state[following] = state.pop(key)
