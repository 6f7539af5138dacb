"""What is measured of a translator with experts: how evenly they are loaded, what they know, and its perplexity."""

import math
import statistics
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from saccade import look
from saccade._definitions.numerics import divide
from saccade.auxiliary import AuxRequest
from saccade.nn import MixtureOfExperts
from saccade.nn.experts import Balance
from saccade.nn.gating import squared_variation
from saccade.tasks.batches import in_batches
from saccade.tasks.text.special import PADDING
from saccade.tasks.translate import Translate
from saccade.tasks.translate.batches import Encoded, encode, pad
from saccade.tasks.translate.data.corpus import Pair
from saccade.train.balance import balances
from saccade.train.randomness import seeded

__all__ = ["BATCHES", "SHUFFLES", "balanced", "information", "perplexity", "specialization"]

BATCHES = 10  # of training, over which balance is averaged
SHUFFLES = 10  # of experts among tokens
_TOKENS = 4000  # read at once


def balanced(task: Translate, model: nn.Module, seed: int) -> dict[str, Any]:
    """Return how evenly training's tokens are given to experts, the mean over batches and mixtures.

    Args:
        task: of the model.
        model: a trained one; it is asked as in training, with noise and dropout.
        seed: of what is drawn.

    Returns:
        The coefficients of variation of "importance" and of "load", as the paper estimates both, and "most", the
        largest load over the mean; nothing of a model without experts.
    """
    device = next(model.parameters()).device
    model.train()
    try:
        with seeded(seed, "balance"), torch.no_grad(), balances(model) as found:
            for step in range(BATCHES):
                task.loss(model, task.batch(step).to(device))
    finally:
        model.eval()
    if not found:
        return {}
    rows = [_unevenness(one.balance) for one in found]
    return {name: round(statistics.fmean(row[name] for row in rows), 6) for name in rows[0]}


def _unevenness(balance: Balance) -> dict[str, float]:
    load = balance.load
    return {
        "importance": float(squared_variation(balance.importance).sqrt()),
        "load": float(squared_variation(load).sqrt()),
        "most": float(divide(load.max(), load.mean())),
    }


def perplexity(task: Translate, model: nn.Module, pairs: Sequence[Pair]) -> float:
    r"""Return \(\exp(-\frac{1}{N} \sum \log p)\) over the N tokens of all targets, ends included, given the true ones.

    Args:
        task: of the model.
        model: in evaluation mode.
        pairs: sources with their references.
    """
    device = next(model.parameters()).device
    examples = encode(pairs, task.vocabulary.source, task.vocabulary.target)

    def read(places: Sequence[int]) -> list[tuple[float, int]]:
        batch = pad([examples[place] for place in places]).to(device)
        before, wanted = batch.target[:, :-1], batch.target[:, 1:]
        count = int((wanted != PADDING).sum())
        mean = float(model(batch.source, before, wanted))
        return [(mean * count, count), *[(0.0, 0)] * (len(places) - 1)]

    with torch.inference_mode():
        found = in_batches([example.size for example in examples], _TOKENS, read)
    return math.exp(sum(total for total, _ in found) / sum(count for _, count in found))


def specialization(task: Translate, model: nn.Module, pairs: Sequence[Pair], groups: Sequence[str]) -> dict[str, float]:
    r"""Return how much of which expert a source token is given to is known from something else.

    .. math:: I(E; Z) / H(E)

    of the expert E of the largest weight in the encoder's last mixture, and Z the token or the group of its text.

    Args:
        task: of the model.
        model: in evaluation mode.
        pairs: whose sources are read.
        groups: of each pair.

    Returns:
        "token" and "group", shares from 0 to 1, and each "by chance": what experts that are shuffled among the tokens
        share with it (few tokens share much with a Z of many values). Nothing of an encoder without experts.
    """
    mixtures = [name for name, one in model.named_modules() if isinstance(one, MixtureOfExperts)]
    name = next((name for name in reversed(mixtures) if name.startswith("encoder")), None)
    if name is None:
        return {}
    experts, tokens = _experts(task, model, pairs, name)
    lengths = torch.tensor([len(each) for each in experts])
    numbers = torch.tensor([{group: place for place, group in enumerate(dict.fromkeys(groups))}[one] for one in groups])
    expert = torch.cat(experts)
    known = {"token": torch.cat(tokens), "group": numbers.repeat_interleave(lengths)}
    found = {what: information(expert, other) for what, other in known.items()}
    chance = {f"{what} by chance": _by_chance(expert, other) for what, other in known.items()}
    return {what: round(share, 6) for what, share in (found | chance).items()}


def _by_chance(one: Tensor, other: Tensor) -> float:
    """The mean information of shuffled pairs, always the same."""
    drawn = torch.Generator().manual_seed(0)
    shuffled = (one[torch.randperm(len(one), generator=drawn)] for _ in range(SHUFFLES))
    return statistics.fmean(information(each, other) for each in shuffled)


def _experts(task: Translate, model: nn.Module, pairs: Sequence[Pair], name: str) -> tuple[list[Tensor], list[Tensor]]:
    """The expert of each source token, and its id, text by text."""
    device, words = next(model.parameters()).device, task.vocabulary
    sources = [Encoded(one.source, []) for one in encode(pairs, words.source, words.target)]

    def read(places: Sequence[int]) -> list[tuple[Tensor, Tensor]]:
        source = pad([sources[place] for place in places]).source.to(device)
        with look.record(model, AuxRequest(top=1)) as records:
            model.encode(source)  # type: ignore[operator]
        found = next(aux.top for at, aux in records if at == name)
        assert found is not None
        rows = zip(found[1][..., 0].cpu(), source.values.cpu(), source.lengths.tolist(), strict=True)
        return [(own[:length], ids[:length]) for own, ids, length in rows]

    with torch.inference_mode():
        found = in_batches([1 + len(source.source) for source in sources], _TOKENS, read)
    return [own for own, _ in found], [ids for _, ids in found]


def information(one: Tensor, other: Tensor) -> float:
    """Return which share of the entropy of `one` is known from `other`: I(one; other) / H(one), 0 where H is 0.

    Args:
        one, other: whole numbers from 0 on, `(n,)`.

    Example:
        >>> one = torch.tensor([0, 0, 1, 1])
        >>> information(one, torch.tensor([3, 3, 0, 0])), information(one, torch.tensor([0, 1, 0, 1]))
        (1.0, 0.0)
    """
    counts = torch.zeros(int(one.max()) + 1, int(other.max()) + 1, dtype=torch.float64)
    counts.index_put_((one, other), torch.ones(one.shape, dtype=torch.float64), accumulate=True)
    entropies = [_entropy(each / counts.sum()) for each in (counts.sum(1), counts.sum(0), counts.flatten())]
    shared = entropies[0] + entropies[1] - entropies[2]
    return max(0.0, shared / entropies[0]) if entropies[0] > 0 else 0.0


def _entropy(shares: Tensor) -> float:
    return float(torch.special.entr(shares).sum())
