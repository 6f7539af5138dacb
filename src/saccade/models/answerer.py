"""Base class and options of models that answer questions about images."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade import AuxOutput, AuxRequest, masks
from saccade.models import image_encoder
from saccade.models.hard import chosen
from saccade.models.image_encoder import Cells, Visual
from saccade.models.padded import Padded
from saccade.models.questions import Asking
from saccade.models.reinforce import Reinforce, Samples
from saccade.nn import Attention
from saccade.reads import Soft

__all__ = [
    "RECIPES",
    "Answerer",
    "Looked",
    "Options",
    "Reads",
    "Seeing",
    "attended",
    "classifier",
    "mask_of",
]

# Chosen on `scenes` alone. docs/results.md has the scores.
_SCHEDULE = {
    "batch_size": 128,
    "learning_rate": 2e-3,
    "schedule": "cosine",
    "warmup_steps": 200,
    "schedule_steps": 6500,
    "max_steps": 6500,
    "checkpoint_steps": 1500,
    "validation_steps": 1500,
    "validation_examples": 500,
    "threads": 1,
}
RECIPES: dict[str, dict[str, Any]] = {
    # A cell per 12 × 12 pixels, about the size of an object. With smaller cells a step takes longer.
    "scenes": {**_SCHEDULE, "widths": "48,64", "blocks": 2, "stem_stride": 6},
    "files": {**_SCHEDULE, "widths": "32,64", "stem_stride": 4, "dropout": 0.1},
}
"""Recipes of all models, by data set."""


@dataclass(frozen=True, kw_only=True)
class Seeing(image_encoder.Options):
    """Sizes of the image encoder, and dropout.

    >>> Seeing(dropout=0.5).cell_dim
    128
    """

    dropout: float = 0.0
    """Dropout of cells, words and the input of the classifier."""


@dataclass(frozen=True, kw_only=True)
class Options(Asking, Seeing):
    """The sizes of a model with a question and an image encoder.

    >>> Options(widths="8,16").hidden_dim
    128
    """

    def __post_init__(self) -> None:
        """Reject invalid options."""
        Asking.__post_init__(self)
        Seeing.__post_init__(self)


@dataclass
class Reads:
    """Statistics of all attention reads of one forward pass, in order.

    Args:
        request: the `AuxRequest` of each read.
        query: queries, `(batch, draws, hidden_dim)` per read.
        weights: attention weights, `(batch, draws, cells)` per read, if requested.
        log_prob: log-probabilities of the sampled cells, `(batch, draws)` per read, if requested.
        entropy: entropies of the weights, `(batch, draws)` per read, if requested.
        words: shares of the words in the first read's weights, `(batch, length)`, if the model computes them.
        shape: rows and columns of the cells, if they form a map.
        soft: booleans `(batch,)`, True for examples with soft attention instead of samples. None: no example.

    Example:
        >>> reads = Reads(AuxRequest(weights=True))
        >>> _, aux = Attention(4, score="dot")(torch.ones(2, 1, 4), torch.ones(2, 6, 4), aux=reads.request)
        >>> reads.add(torch.ones(2, 1, 4), aux)
        >>> reads.weights[0].shape
        torch.Size([2, 1, 6])
    """

    request: AuxRequest
    query: list[Tensor] = field(default_factory=list)
    weights: list[Tensor] = field(default_factory=list)
    log_prob: list[Tensor] = field(default_factory=list)
    entropy: list[Tensor] = field(default_factory=list)
    words: Tensor | None = None
    shape: tuple[int, int] | None = None
    soft: Tensor | None = None

    def add(self, query: Tensor, aux: AuxOutput, glimpses: int | None = None) -> None:
        """Keep the statistics of one read, or of several glimpses.

        Statistics of glimpses by one query have the shape `(batch, glimpses, draws, ...)`.
        """
        self.query += [query] * (glimpses or 1)
        for kept, statistic in (
            (self.weights, aux.weights),
            (self.log_prob, aux.log_prob),
            (self.entropy, aux.entropy),
        ):
            if statistic is not None:
                kept += [statistic] if glimpses is None else statistic.unbind(1)

    def samples(self) -> Samples:
        """Return the samples, one row per draw of an example and one column per read."""
        parts = (self.query, self.log_prob, self.entropy)
        query, log_prob, entropy = ([read.flatten(0, 1)[:, None] for read in part] for part in parts)
        soft = None if self.soft is None else self.soft.repeat_interleave(self.query[0].shape[1])
        return Samples(bool(entropy), query, log_prob, entropy, soft)


class Looked(NamedTuple):
    """A model's answers, and its attention weights.

    >>> Looked(torch.zeros(2, 5), None, None, None).logits.shape
    torch.Size([2, 5])
    """

    logits: Tensor
    """`(batch, classes)`."""
    weights: Tensor | None
    """Attention weights of each read, `(batch, reads, cells)`, or None.

    Hard attention has weight 1 at one cell. A model that attends at every word has one row per word, 0 at padding, and
    the mean of these rows last."""
    shape: tuple[int, int] | None
    """Rows and columns of the cells, if they form a map."""
    words: Tensor | None
    """Shares of the words in the first read's weights, `(batch, length)`, or None."""


class Answerer(nn.Module, ABC):
    r"""Interface of models that answer questions about images.

    .. math:: p(a \mid x, q) = \operatorname{softmax}_a\big(f(\operatorname{encoder}(x), q)\big)

    Training, prediction and pictures use this interface alone. A model with hard attention (`--read reinforce`) learns
    where to look by the gradient of the expected loss over its samples:

    .. math::
        \nabla \mathbb{E}[\ell] = \mathbb{E}\Big[\nabla \ell
            + (\ell - b) \textstyle\sum_h \nabla \log p(s_h)\Big]

    with the negative log-likelihood of the answer \(\ell\), the sampled cells \(s_h\) and a baseline b.

    Example:
        >>> from saccade.models.question_only import QuestionOnly
        >>> model = QuestionOnly(None, 9, 5)
        >>> model(Visual(torch.rand(2, 3, 16, 16)), Padded(torch.tensor([[4, 5], [6, 0]]), torch.tensor([2, 1]))).shape
        torch.Size([2, 5])

    Source:
        Williams 1992; Xu et al. 2015, "Show, Attend and Tell", Eq. 11 (https://arxiv.org/abs/1502.03044), for cells.
    """

    Options: ClassVar[Any]
    """Dataclass of the options. The docstrings of its fields are the help texts."""

    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES
    """Recipes by data set, with "files" for your own data."""

    reinforce: Reinforce | None
    """REINFORCE, or None if attention learns by backpropagation."""

    hard: bool = False
    """Whether attention is hard: one cell per read."""

    soft_share: float = 0.0
    """Probability that REINFORCE trains an example with soft attention."""

    attends: ClassVar[bool] = False
    """Whether the model attends to image cells."""

    reading: ClassVar[str] = "glimpse"
    """Name of one read, for captions of pictures."""

    def __init__(self) -> None:
        super().__init__()
        self.reinforce = None

    @abstractmethod
    def answers(self, visual: Visual, question: Padded, draws: int, reads: Reads | None) -> Tensor:
        """Return the logits of answers, `(batch, draws, classes)`.

        Args:
            visual: images or features of a batch.
            question: word ids `(batch, length)`. Values in padding are ignored.
            draws: samples per example.
            reads: collects the statistics of the reads, if given.
        """

    def forward(self, visual: Visual, question: Padded) -> Tensor:
        """Return the logits of answers, `(batch, classes)`.

        Args:
            visual: images or features of a batch.
            question: word ids `(batch, length)`. Values in padding are ignored.
        """
        return self.answers(visual, question, 1, None)[:, 0]

    def cost(self, visual: Visual, question: Padded, target: Tensor, label_smoothing: float = 0.0) -> Tensor:
        """Return the training loss, the mean cross-entropy of the batch.

        Args:
            visual, question: as for `forward`.
            target: probabilities of the answers, `(batch, classes)`. Each row sums to 1.
            label_smoothing: share of the target probability that is spread evenly over all answers.
        """

        def losses(logits: Tensor) -> Tensor:
            rows = target[:, None].expand(*logits.shape).flatten(0, 1)
            inputs = logits.flatten(0, 1).to(target.dtype)
            entropies = F.cross_entropy(inputs, rows, reduction="none", label_smoothing=label_smoothing)
            return entropies.view(logits.shape[:2])

        return self.expected_cost(visual, question, losses)

    def expected_cost(self, visual: Visual, question: Padded, losses: Callable[[Tensor], Tensor]) -> Tensor:
        """Return the mean loss. With REINFORCE its gradient includes that of the samples.

        Args:
            visual, question: as for `forward`.
            losses: function from logits `(batch, draws, classes)` to losses `(batch, draws)`.
        """
        learner = self.reinforce if self.training else None
        draws = 1 if learner is None else learner.options.samples
        bonus = learner is not None and learner.options.entropy_bonus > 0
        reads = None if learner is None else Reads(AuxRequest(log_prob=True, entropy=bonus))
        if reads is not None and (share := self.soft_share):
            reads.soft = torch.rand(len(question.lengths), device=question.lengths.device) < share
        answer_costs = losses(self.answers(visual, question, draws, reads)).flatten()
        if learner is None or reads is None:
            return answer_costs.mean()
        samples = reads.samples()
        costs = answer_costs.detach()[:, None].expand(-1, len(samples.log_prob))
        surrogate, error = learner.charged(costs, samples, torch.ones_like(costs))
        reward_terms = surrogate.sum(1).mean() + (0 if error is None else error.sum(1).mean())
        # The value is the mean cost alone, the gradient that of both terms.
        return answer_costs.mean() + (reward_terms - reward_terms.detach())

    def look(self, visual: Visual, question: Padded) -> Looked:
        """Return the logits with the attention weights behind them.

        Args:
            visual, question: as for `forward`.
        """
        reads = Reads(AuxRequest(weights=True))
        logits = self.answers(visual, question, 1, reads)[:, 0]
        if not reads.weights:
            return Looked(logits, None, None, None)
        weights = torch.cat(reads.weights, 1).detach()
        if self.hard:
            weights = chosen(weights)
        return Looked(logits, weights, reads.shape, reads.words)


def classifier(features: int, hidden_dim: int, classes: int, dropout: float) -> nn.Sequential:
    r"""Return a classifier with one hidden layer, the head of a model.

    .. math:: f(x) = W_2 \operatorname{relu}(W_1 x + b_1) + b_2

    Args:
        features: input features.
        hidden_dim: hidden units.
        classes: number of answers.
        dropout: probability of dropping a feature before each layer, in training.

    Source:
        Kazemi, Elqursh 2017, section 3 (https://arxiv.org/abs/1704.03162).

    Example:
        >>> classifier(4, 8, 3, 0.0)(torch.ones(2, 4)).shape
        torch.Size([2, 3])
    """
    first, second = nn.Linear(features, hidden_dim), nn.Linear(hidden_dim, classes)
    return nn.Sequential(nn.Dropout(dropout), first, nn.ReLU(), nn.Dropout(dropout), second)


def attended(
    attention: Attention, query: Tensor, key: Tensor, value: Tensor, mask: masks.Lengths | None, reads: Reads | None
) -> tuple[Tensor, AuxOutput]:
    """Attend, and return the output with the statistics that `reads` requests.

    Args:
        attention: the attention module of the model.
        query, key, value, mask: its arguments. The first dimension is the batch.
        reads: the request, and the examples with soft attention.
    """
    if reads is None:
        return attention(query, key, value, mask=mask), AuxOutput()
    output, aux = attention(query, key, value, mask=mask, aux=reads.request)
    if reads.soft is not None:
        expected = attention(query, key, value, mask=mask, read=Soft())
        output = torch.where(reads.soft.view(-1, *[1] * (output.ndim - 1)), expected, output)
    return output, aux


def mask_of(cells: Cells) -> masks.Lengths | None:
    """Return the mask of the cells, or None if no image has padding."""
    return None if cells.lengths is None else masks.Lengths(cells.lengths)
