"""Older names of parameters, so that older files still load."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from torch import nn

__all__ = ["renamed"]


def renamed(module: nn.Module, names: Mapping[str, str]) -> None:
    """Let a module load states with older names of its parts. It saves new names.

    Args:
        module: with renamed parameters or modules.
        names: the new name of each older name.

    Example:
        >>> class Cell(nn.Module):
        ...     def __init__(self) -> None:
        ...         super().__init__()
        ...         self.hidden_proj = nn.Linear(2, 2)
        ...         renamed(self, {"before": "hidden_proj"})
        >>> cell = Cell()
        >>> state = {name.replace("hidden_proj", "before"): value for name, value in cell.state_dict().items()}
        >>> sorted(state), cell.load_state_dict(state)
        (['before.bias', 'before.weight'], <All keys matched successfully>)
    """
    module.register_load_state_dict_pre_hook(partial(_on_load, dict(names)))


def _on_load(names: Mapping[str, str], module: nn.Module, state: dict[str, Any], prefix: str, *_: object) -> None:
    for old, new in names.items():
        begin = f"{prefix}{old}"
        for key in [key for key in state if key == begin or key.startswith(f"{begin}.")]:
            following = f"{prefix}{new}{key.removeprefix(begin)}"
            if following not in state:  # otherwise it is no older state, and loading reports the error
                state[following] = state.pop(key)
