"""Which expert took which token, for every job whose models may have experts: recorded, told and drawn."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

from saccade import look
from saccade.look._figure import rounded
from saccade.nn import MixtureOfExperts

__all__ = ["Taken", "draw_taken", "taken", "taken_json"]


class Taken(NamedTuple):
    """What a mixture of experts made of the tokens of one text.

    Args:
        name: of the layer in the model that has the mixture.
        weights: of each expert's output, `(tokens, experts)`; 0 where it did not take the token.
    """

    name: str
    weights: Tensor


def taken(model: Any, run: Callable[[], Any]) -> list[Taken]:
    """Return which experts took the tokens of the only text that a call reads; nothing of a model without experts.

    Args:
        model: in evaluation mode.
        run: calls the model, or a part of it.

    Example:
        >>> import torch
        >>> mixture = MixtureOfExperts(4, 3, 1).eval()
        >>> [(one.name, one.weights.shape) for one in taken(mixture, lambda: mixture(torch.randn(1, 5, 4)))]
        [('', torch.Size([5, 3]))]
    """
    names = {name for name, module in model.named_modules() if isinstance(module, MixtureOfExperts)}
    if not names:
        return []
    with look.record(model, detach=True) as records:
        run()
    found = [(name, aux.weights) for name, aux in records if name in names]
    return [Taken(name.rpartition(".")[0], rows[0].cpu()) for name, rows in found if rows is not None]


def draw_taken(
    found: Sequence[Taken], tokens: Sequence[str], path: Path, title: str, *, json: bool = False
) -> Iterator[Path]:
    """Draw a picture of each mixture: a row for each token, a column for each expert; yields the files.

    Args:
        found: of `taken`; what lies behind the tokens is left out.
        tokens: as they are written.
        path: without a suffix; the layer's name follows.
        title: what the tokens are of.
        json: whether the numbers are written beside each.
    """
    for name, weights in found:
        experts = [f"#{number}" for number in range(1, 1 + weights.shape[1])]
        own = path.with_name(f"{path.name}-{name.replace('.', '-')}-experts")
        told = f"{title}, experts of {name}"
        yield from look.alignment(
            weights[: len(tokens)],
            experts,
            tokens,
            own,
            title=told,
            verb="goes to",
            axes=("expert →", "token ↓"),
            json=json,
        )


def taken_json(found: Sequence[Taken], tokens: Sequence[str]) -> dict[str, Any]:
    """Return the weights of experts for JSON, by mixture, a row for each token; nothing without experts.

    >>> import torch
    >>> taken_json([Taken("layers.0", torch.tensor([[0.25, 0.75], [0.0, 0.0]]))], ["a"])
    {'layers.0': [[0.25, 0.75]]}
    """
    return {name: rounded(weights[: len(tokens)].tolist()) for name, weights in found}
