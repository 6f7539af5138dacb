"""Tokens of each expert: recorded, as JSON, and as pictures."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

from saccade import look
from saccade.look._figure import rounded
from saccade.nn import MixtureOfExperts

__all__ = ["Taken", "draw_taken", "taken", "taken_json"]


class Taken(NamedTuple):
    """Weights of a mixture of experts for the tokens of a text.

    Args:
        name: name of the layer with the mixture.
        weights: weights of the outputs of experts, `(tokens, experts)`, 0 if the expert does not take the token.
    """

    name: str
    weights: Tensor


def taken(model: Any, run: Callable[[], Any]) -> list[Taken]:
    """Return the weights of experts for the only text of a call.

    The list is empty if the model has no experts.


    Args:
        model: a model in evaluation mode.
        run: function that calls the model, or a part of it.

    Example:
        >>> import torch
        >>> mixture = MixtureOfExperts(4, 3, 1).eval()
        >>> [(name, weights.shape) for name, weights in taken(mixture, lambda: mixture(torch.randn(1, 5, 4)))]
        [('', torch.Size([5, 3]))]
    """
    names = {name for name, module in model.named_modules() if isinstance(module, MixtureOfExperts)}
    if not names:
        return []
    with look.record(model, detach=True) as records:
        run()
    weights = [(name, aux.weights) for name, aux in records if name in names]
    return [Taken(name.rpartition(".")[0], rows[0].cpu()) for name, rows in weights if rows is not None]


def draw_taken(
    mixtures: Sequence[Taken], tokens: Sequence[str], path: Path, title: str, *, json: bool = False
) -> Iterator[Path]:
    """Draw a picture of each mixture, tokens by experts, and yield the files.

    Args:
        mixtures: result of `taken`. Weights after the last token are left out.
        tokens: tokens as text.
        path: path without a suffix. The name of the layer is appended.
        title: title of the text.
        json: whether to write the numbers too.
    """
    for name, weights in mixtures:
        experts = [f"#{number}" for number in range(1, 1 + weights.shape[1])]
        file = path.with_name(f"{path.name}-{name.replace('.', '-')}-experts")
        yield from look.alignment(
            weights[: len(tokens)],
            experts,
            tokens,
            file,
            title=f"{title}, experts of {name}",
            verb="goes to",
            axes=("expert →", "token ↓"),
            json=json,
        )


def taken_json(mixtures: Sequence[Taken], tokens: Sequence[str]) -> dict[str, Any]:
    """Return the weights of experts as JSON, by mixture, a row for each token.

    >>> import torch
    >>> taken_json([Taken("layers.0", torch.tensor([[0.25, 0.75], [0.0, 0.0]]))], ["a"])
    {'layers.0': [[0.25, 0.75]]}
    """
    return {name: rounded(weights[: len(tokens)].tolist()) for name, weights in mixtures}
