"""Attention weights of given outputs, and how much of the source they cover."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade import look
from saccade.tasks.batches import rectangle
from saccade.tasks.generate.generate import Output
from saccade.tasks.text.special import BEGIN
from saccade.tasks.text.tokenizer import Tokenizer

__all__ = ["END_MARK", "NOTHING", "attended", "coverage", "looks_told", "ranked_by_coverage", "weights_of"]

END_MARK = "⏎"
NOTHING = "·"  # a special token in the middle, as untrained models write them
_WHOLE = 0.999  # sum of weights that is one but for rounding
_LEAST = 1e-6  # the least attention that counts: weights of exactly 0 would make all outputs alike


def weights_of(model: Any, state: Any, target: Tensor) -> Tensor | None:
    """Return the attention weights of each next token after the true ones.

    Args:
        model: a `saccade.models.seq2seq.Seq2Seq`, in evaluation mode.
        state: before the first token.
        target: token ids `(rows, length)`, from the begin token on, a row for each row of the state.

    Returns:
        `(rows, length, source_length)` on the CPU, or None without attention.
    """
    with look.record(model, detach=True, required=False) as records:
        model.decode(target, state)
    weights: Tensor | None = model.alignment(records)
    return None if weights is None else weights.cpu()


def attended(
    model: Any,
    state: Any,
    outputs: Sequence[Sequence[Output]],
    target: Tokenizer,
    widths: Sequence[int | None],
    tokens: int,
) -> list[list[Output]]:
    """Return outputs with the attention weights and texts of their tokens.

    Weights are None if the model does not attend.


    Args:
        model: a `saccade.models.seq2seq.Seq2Seq`, in evaluation mode.
        state: of a batch of examples before the first token.
        outputs: of each example, without their ends. The end is the last token that each then has.
        target: tokenizer of the outputs.
        widths: positions of each example's source that weights are of, or None for all.
        tokens: of the outputs that are read together, padding included.
    """
    count = max(map(len, outputs), default=0)
    longest = max((1 + len(output.ids) for row in outputs for output in row), default=1)
    size = max(1, tokens // max(1, count * longest))
    results = list[list[Output]]()
    for first in range(0, len(outputs) if count else 0, size):
        rows = outputs[first : first + size]
        ids = [[BEGIN, *output.ids] for row in rows for output in [*row, *[Output("", [], 0.0)] * (count - len(row))]]
        texts = rectangle(ids).to(next(model.parameters()).device)
        examples = torch.arange(first, first + len(rows), device=texts.device).repeat_interleave(count)
        weights = weights_of(model, state.select(examples[:, None], examples), texts)
        for number, (row, width) in enumerate(zip(rows, widths[first : first + size], strict=True)):
            parts = [None] * len(row) if weights is None else weights[count * number : count * number + len(row)]
            results.append([_read(*pair, width, target) for pair in zip(row, parts, strict=True)])
    return results if count else [[] for _ in outputs]


def _read(output: Output, weights: Tensor | None, width: int | None, target: Tokenizer) -> Output:
    if weights is not None:
        missing = 0 if width is None else max(0, width - weights.shape[1])  # positions that a model never looks at
        weights = F.pad(weights, (0, missing))[: len(output.ids) + 1, :width]
    pieces = (*(target.piece(number) or NOTHING for number in output.ids), END_MARK)
    return replace(output, weights=weights, tokens=pieces)


def looks_told(output: Output) -> list[str]:
    """Return the tokens of an output, with the sums of their weights if below 1.

    Weights sum to one, unless a model has another memory beside the source (`saccade.models.adaptive_attention`).

    Args:
        output: of `attended`.

    Example:
        >>> from torch import tensor
        >>> looks_told(Output("a dog", [7, 8], 0.0, tensor([[0.25, 0.25], [0.5, 0.5]]), ("a", "dog")))
        ['a 50%', 'dog 100%']
    """
    sums = [1.0] * len(output.tokens) if output.weights is None else output.weights.sum(-1).tolist()
    away = any(total < _WHOLE for total in sums)
    return [f"{token} {total:.0%}" if away else token for token, total in zip(output.tokens, sums, strict=True)]


def coverage(weights: Tensor, *, ended: bool = True) -> float:
    r"""Return the coverage of a source by an output, 0 if it is read whole.

    .. math:: \sum_i \log \min\Big(\sum_j p_{ij},\ 1\Big)

    over the tokens i of the source without its end, or the cells of an image, and all tokens j of the output with its
    end. Sums below a millionth count as a millionth.

    Args:
        weights: p, `(target, source)`, ends included.
        ended: whether the source has an end.

    Example:
        >>> import torch
        >>> round(coverage(torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])), 4)  # log 1 + log 0.5
        -0.6931

    Source:
        Wu et al. 2016, "Google's Neural Machine Translation System", Eq. 14, without its β.
    """
    read = weights[:, :-1] if ended else weights
    return float(read.double().sum(0).clamp(_LEAST, 1.0).log().sum())


def ranked_by_coverage(outputs: Sequence[Output], beta: float, count: int, *, ended: bool = True) -> list[Output]:
    """Return the best outputs of an example by score + β · coverage.

    Args:
        outputs: of an example, with weights.
        beta: β.
        count: number of outputs to return.
        ended: whether the source has an end, which does not count.
    """
    rescored = [
        replace(output, score=output.score + beta * coverage(output.weights, ended=ended))
        for output in outputs
        if output.weights is not None
    ]
    return sorted(rescored, key=lambda output: -output.score)[:count]
