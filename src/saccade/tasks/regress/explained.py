"""A row of numbers or a set with its prediction, for explanations."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from saccade.models.mean import Mean
from saccade.models.padded import Padded
from saccade.models.set_transformer import SetTransformer
from saccade.tasks.attention_graph import stacked
from saccade.tasks.explaining import Subject
from saccade.tasks.regress.codec import Columns, pad

__all__ = ["methods_of", "subject"]


def methods_of(model: Any, columns: Columns) -> list[str]:
    """Return the names of the methods of a model.

    A fitted start has no gradients, nor have categories and dates. The mean of the targets reads no input.
    """
    names = ["attention"] * getattr(model, "attends", False)
    if hasattr(model, "members"):
        return names
    smooth = model.start is None and columns.encoding is None and not isinstance(model, Mean)
    names += ["rollout", "flow"] * (columns.encoding is None and stacked(model))
    return [*names, *["gradient", "integrated-gradients"] * smooth]


def subject(
    model: Any, numbers: Sequence[float], columns: Columns, names: Sequence[str], weights: Tensor | None = None
) -> Subject:
    """Return a row or a set with its prediction.

    Integrated gradients begin at the means of the training data.

    Args:
        model: in evaluation mode.
        numbers: the row or the set.
        columns: codec of the run.
        names: of the numbers, or of the known points if there are weights of these.
        weights: attention weights, `(heads, points or elements)`, or None without attention.
    """
    points = pad([numbers]).to(next(model.parameters()).device)

    def features(copies: Tensor) -> Tensor:
        mean: Tensor = model(Padded(copies[..., 0], points.lengths.expand(len(copies)))).mean
        return mean[..., None]

    with torch.inference_mode(mode=False):
        inputs = points.values[0, :, None].clone()
    targets = tuple(columns.targets)
    readers = torch.full((len(targets), 1), len(inputs)) if isinstance(model, SetTransformer) else None
    return Subject(
        model=model,
        inputs=inputs,
        features=features,
        output=None,
        targets=torch.zeros(len(targets), dtype=torch.long),
        tokens=tuple(names),
        outputs=targets,
        score="logit",
        attended=None if weights is None else weights.mean(0).expand(len(targets), -1),
        readers=readers if stacked(model) else None,
        baseline=inputs.new_tensor(columns.mean).expand(len(inputs))[:, None],
    )
