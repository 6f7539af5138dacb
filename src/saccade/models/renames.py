"""Names that parameters had in older files: what was saved under them loads as before."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from torch import nn

__all__ = ["renamed"]


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
    module.register_load_state_dict_pre_hook(partial(_on_load, dict(names)))


def _on_load(names: Mapping[str, str], module: nn.Module, state: dict[str, Any], prefix: str, *_: object) -> None:
    for old, new in names.items():
        begin = f"{prefix}{old}"
        for key in [key for key in state if key == begin or key.startswith(f"{begin}.")]:
            following = f"{prefix}{new}{key.removeprefix(begin)}"
            if following not in state:  # else it is no older state, and loading says what is wrong with it
                state[following] = state.pop(key)
