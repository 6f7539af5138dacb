"""What every model that answers questions about images is: image and question come in, logits of answers go out."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade import AuxOutput, AuxRequest, masks
from saccade.models import image_encoder
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

# Chosen on `scenes` alone; docs/results.md has what it comes to.
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
    # A cell for each 12 × 12 pixels, as large as the things: of smaller cells a step takes longer.
    "scenes": {**_SCHEDULE, "widths": "48,64", "blocks": 2, "stem_stride": 6},
    "files": {**_SCHEDULE, "widths": "32,64", "stem_stride": 4, "dropout": 0.1},
}
"""What suits each data set, for all models."""


@dataclass(frozen=True, kw_only=True)
class Seeing(image_encoder.Options):
    """What sees images, and what is dropped in training.

    >>> Seeing(dropout=0.5).cell_dim
    128
    """

    dropout: float = 0.0
    """Dropout of cells, words and the input of the classifier."""


@dataclass(frozen=True, kw_only=True)
class Options(Asking, Seeing):
    """The sizes of a model that reads a question and sees an image.

    >>> Options(widths="8,16").hidden_dim
    128
    """

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        Asking.__post_init__(self)
        Seeing.__post_init__(self)


@dataclass
class Reads:
    """What the reads of one forward said of themselves, in their order.

    Args:
        request: what attention is asked for beside its output.
        query: by which each was read, `(batch, draws, hidden_dim)`.
        weights: of cells, `(batch, draws, cells)` each, if asked for.
        log_prob: of what was drawn, `(batch, draws)` each, if asked for.
        entropy: of the weights, `(batch, draws)` each, if asked for.
        words: how much of the first read's weights each word called for, `(batch, length)`, of models that know.
        shape: rows and columns of the cells, where they are of a map.
        soft: which examples read the mean in the place of what they drew, boolean `(batch,)`; None: none do.

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
        """Keep what one read said; or several glimpses by one query, as `(batch, glimpses, draws, ...)`."""
        self.query += [query] * (glimpses or 1)
        for kept, found in ((self.weights, aux.weights), (self.log_prob, aux.log_prob), (self.entropy, aux.entropy)):
            if found is not None:
                kept += [found] if glimpses is None else found.unbind(1)

    def samples(self) -> Samples:
        """Return what was drawn, a row for each draw of an example and a column for each read."""
        parts = (self.query, self.log_prob, self.entropy)
        query, log_prob, entropy = ([part.flatten(0, 1)[:, None] for part in each] for each in parts)
        soft = None if self.soft is None else self.soft.repeat_interleave(self.query[0].shape[1])
        return Samples(bool(entropy), query, log_prob, entropy, soft)


class Looked(NamedTuple):
    """What a model answered, and where it looked.

    >>> Looked(torch.zeros(2, 5), None, None, None).logits.shape
    torch.Size([2, 5])
    """

    logits: Tensor
    """`(batch, classes)`."""
    weights: Tensor | None
    """Of each read, `(batch, reads, cells)`, 1 at one cell and 0 elsewhere where one is read; None without attention.
    Of a model that reads at every word: a row for each, 0 at padding, and behind them their mean."""
    shape: tuple[int, int] | None
    """Rows and columns of the cells, where they are of a map."""
    words: Tensor | None
    """How much of the first read's weights each word called for, `(batch, length)`; None of models whose words share no
    read."""


class Answerer(nn.Module, ABC):
    r"""The shape of a model that answers, which training, answers and pictures rely on and nothing else.

    .. math:: p(a \mid x, q) = \operatorname{softmax}_a\big(f(\operatorname{encoder}(x), q)\big)

    A model that reads one cell at a time (`--read reinforce`) learns where to read by the gradient of the expected cost
    over what it may draw:

    .. math::
        \nabla \mathbb{E}[\ell] = \mathbb{E}\Big[\nabla \ell
            + (\ell - b) \textstyle\sum_h \nabla \log p(s_h)\Big]

    where every draw \(s_h\) is charged with what the answer costs, the negative of its log-probability.

    Args:
        options: of the model; those that read by rewards have a `read`.

    Example:
        >>> from saccade.models.question_only import QuestionOnly
        >>> model = QuestionOnly(None, 9, 5)
        >>> model(Visual(torch.rand(2, 3, 16, 16)), Padded(torch.tensor([[4, 5], [6, 0]]), torch.tensor([2, 1]))).shape
        torch.Size([2, 5])

    Source:
        Williams 1992; Xu et al. 2015, "Show, Attend and Tell", Eq. 11 (https://arxiv.org/abs/1502.03044), for cells.
    """

    Options: ClassVar[Any]
    """The dataclass of its sizes; its docstrings are the help."""

    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES
    """What suits each data set, by its name; "files" for data of one's own."""

    reinforce: Reinforce | None
    """What teaches it where to look; None if the gradient does."""

    hard: bool = False
    """Whether it reads one cell at a time."""

    soft_share: float = 0.0
    """Probability that an example reads the mean of cells in training by rewards."""

    attends: ClassVar[bool] = False
    """Whether it looks at cells."""

    reading: ClassVar[str] = "glimpse"
    """What one of its reads is called."""

    def __init__(self) -> None:
        super().__init__()
        self.reinforce = None

    @abstractmethod
    def answers(self, visual: Visual, question: Padded, draws: int, reads: Reads | None) -> Tensor:
        """Return the logits of answers, `(batch, draws, classes)`.

        Args:
            visual: images or features of a batch.
            question: ids of words `(batch, length)`; what padding holds changes nothing.
            draws: how often each example is read.
            reads: where to keep what reads say, if anybody asks.
        """

    def forward(self, visual: Visual, question: Padded) -> Tensor:
        """Return the logits of answers, `(batch, classes)`.

        Args:
            visual: images or features of a batch.
            question: ids of words `(batch, length)`; what padding holds changes nothing.
        """
        return self.answers(visual, question, 1, None)[:, 0]

    def cost(self, visual: Visual, question: Padded, wanted: Tensor, label_smoothing: float = 0.0) -> Tensor:
        """Return what the answers cost in training, the mean of the batch.

        Args:
            visual, question: as for `forward`.
            wanted: how probable each answer should be, `(batch, classes)`, each row with the sum 1.
            label_smoothing: share of that which is spread evenly over all answers.
        """

        def losses(logits: Tensor) -> Tensor:
            rows = wanted[:, None].expand(*logits.shape).flatten(0, 1)
            given = logits.flatten(0, 1).to(wanted.dtype)
            each = F.cross_entropy(given, rows, reduction="none", label_smoothing=label_smoothing)
            return each.view(logits.shape[:2])

        return self.expected_cost(visual, question, losses)

    def expected_cost(self, visual: Visual, question: Padded, losses: Callable[[Tensor], Tensor]) -> Tensor:
        """Return the mean of what answers cost, and what teaches where to read in training.

        Args:
            visual, question: as for `forward`.
            losses: of what `answers` returns, `(batch, draws, classes)`: what each costs, `(batch, draws)`.
        """
        learner = self.reinforce if self.training else None
        draws = 1 if learner is None else learner.options.samples
        bonus = learner is not None and learner.options.entropy_bonus > 0
        reads = None if learner is None else Reads(AuxRequest(log_prob=True, entropy=bonus))
        if reads is not None and (share := self.soft_share):
            reads.soft = torch.rand(len(question.lengths), device=question.lengths.device) < share
        found = losses(self.answers(visual, question, draws, reads)).flatten()
        if learner is None or reads is None:
            return found.mean()
        samples = reads.samples()
        following = found.detach()[:, None].expand(-1, len(samples.log_prob))
        learned, error = learner.charged(following, samples, torch.ones_like(following))
        hidden = learned.sum(1).mean() + (0 if error is None else error.sum(1).mean())
        return found.mean() + (hidden - hidden.detach())

    def look(self, visual: Visual, question: Padded) -> Looked:
        """Return what is answered, and what of the image and the question it was read from.

        Args:
            visual, question: as for `forward`.
        """
        reads = Reads(AuxRequest(weights=True))
        logits = self.answers(visual, question, 1, reads)[:, 0]
        if not reads.weights:
            return Looked(logits, None, None, None)
        weights = torch.cat(reads.weights, 1).detach()
        if self.hard:
            chosen = torch.zeros_like(weights).scatter(-1, weights.argmax(-1, keepdim=True), 1.0)
            weights = chosen * (weights.sum(-1, keepdim=True) > 0)
        return Looked(logits, weights, reads.shape, reads.words)


def classifier(features: int, hidden_dim: int, classes: int, dropout: float) -> nn.Sequential:
    r"""Return two layers over what was read and asked: \(W_2 \operatorname{relu}(W_1 x + b_1) + b_2\).

    Args:
        features: of the input.
        hidden_dim: units between the layers.
        classes: answers.
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
    """Return what queries read, and what attention said of it if anybody asks.

    Args:
        attention: of the model.
        query, key, value, mask: as attention takes them; the first dimension is the batch.
        reads: what is asked for, and which examples read the mean.
    """
    if reads is None:
        return attention(query, key, value, mask=mask), AuxOutput()
    found, aux = attention(query, key, value, mask=mask, aux=reads.request)
    if reads.soft is not None:
        expected = attention(query, key, value, mask=mask, read=Soft())
        found = torch.where(reads.soft.view(-1, *[1] * (found.ndim - 1)), expected, found)
    return found, aux


def mask_of(cells: Cells) -> masks.Lengths | None:
    """Return which cells there are, None if all of them."""
    return None if cells.lengths is None else masks.Lengths(cells.lengths)
