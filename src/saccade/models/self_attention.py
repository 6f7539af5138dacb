"""A small Transformer encoder with attention pooling (Vaswani et al. 2017).

"Attention Is All You Need", https://arxiv.org/abs/1706.03762. Pooling is that of Lin et al. 2017, "A Structured
Self-attentive Sentence Embedding", https://arxiv.org/abs/1703.03130.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade import AuxOutput, masks
from saccade.errors import ArgumentError
from saccade.models import classifier, self_read, transformer
from saccade.models.classifier import Pool, Pooled, at_least_float32
from saccade.models.hard import chosen
from saccade.models.layers import Positions, add_positions, apply_layers, layers_of
from saccade.models.padded import Padded
from saccade.models.reinforce import Samples
from saccade.nn.experts import Routing

__all__ = ["Options", "SelfAttention"]


@dataclass(frozen=True, kw_only=True)
class Options(classifier.Options, transformer.Options):
    """The sizes of a classifier by self-attention.

    >>> Options(layers=1).heads
    4
    """

    dropout: float = 0.5
    """Dropout of word vectors, sublayers, hidden features and the classifier's input."""

    hidden_dim: int = 64
    """Features of each position, a multiple of the heads."""

    layers: int = 1
    """Layers of self-attention."""

    feedforward_dim: int = 128
    """Hidden features of the feed-forward networks."""

    positions: Positions = "sinusoidal"
    """Position encoding: added to words (sinusoidal), rotations of queries and keys
    (rotary), distances in the scores (alibi), or none, for a bag of words."""

    queries: int = 1
    """Learned queries that pool the text. Their outputs are concatenated."""

    routing: Routing = "tokens"
    """With --experts: words choose experts (tokens), or experts words (experts).
    If experts choose, a prediction depends on the other texts of the batch."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        classifier.Options.__post_init__(self)
        transformer.Options.__post_init__(self)
        Pool(queries=self.queries)
        if self.routing == "experts":
            _check_routing(self)


def _check_routing(options: Options) -> None:
    """Reject options without effect if experts choose their words."""
    if not options.experts:
        raise ArgumentError("--routing: expected only with --experts, got experts without them")
    for name in ("importance_weight", "load_weight", "expert_groups"):
        if got := getattr(options, name):
            flag = f"--{name.replace('_', '-')}"
            raise ArgumentError(f"{flag}: expected only with --routing tokens, got {got} where experts choose")


_DEFAULT = Options()


class SelfAttention(Pooled):
    r"""Classifier by Transformer layers over words, and attention pooling.

    .. math:: h = \operatorname{Encoder}(P E w + \operatorname{waves})

    P projects word vectors to the layers' width. The layers are those of `saccade.models.layers`, with soft or
    hard self-attention (`--self-read`). The pooling's score is \(v^\top \tanh(W h_j + q)\).

    Args:
        size: size of the vocabulary, with padding (id 0).
        classes: number of classes.
        options: the sizes.

    Example:
        >>> import torch
        >>> model = SelfAttention(11, 3, Options(embedding_dim=4, hidden_dim=8, heads=2, feedforward_dim=16))
        >>> model(Padded(torch.tensor([[4, 5, 6], [7, 0, 0]]), torch.tensor([3, 1]))).shape
        torch.Size([2, 3])

    Source:
        Vaswani et al. 2017, section 3. Pooling after Lin et al. 2017, Eq. 5 to 7, there of a recurrent network's
        states. See `Pooled`.
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = {
        "reviews": {"hidden_dim": 32, "feedforward_dim": 64, "learning_rate": 5e-3},
        "files": {"learning_rate": 3e-3},
    }

    def __init__(self, size: int, classes: int, options: Options = _DEFAULT) -> None:
        super().__init__(size, classes, options.hidden_dim, options, Pool(queries=options.queries))
        self.options = options
        self.projection = nn.Linear(options.dim, options.hidden_dim)
        self.layers = layers_of(options, attends=False, routing=options.routing)
        self.reinforce, self.hard = self_read.learner(options, options.hidden_dim), options.self_read != "soft"
        self.norm = nn.LayerNorm(options.hidden_dim) if options.norm == "pre" else nn.Identity()

    def features(self, source: Padded, samples: Samples | None = None) -> Tensor:
        x = add_positions(self.projection(self.words(source.values)), 0, self.options)
        within = masks.Lengths(source.lengths[:, None])
        features: Tensor = self.norm(apply_layers(self.layers, x, within, self.options, samples))
        return features

    def cost(self, source: Padded, labels: Tensor, label_smoothing: float = 0.0) -> Tensor:
        """Return the training loss, as `Classifier.cost` does.

        If self-attention samples, the gradient of the loss is that of its expectation (`Reinforce`).
        """
        if self.reinforce is None or not self.training:
            return super().cost(source, labels, label_smoothing)
        rows, samples = self.reinforce.start(labels)
        source, labels = Padded(source.values[rows], source.lengths[rows]), labels[rows]
        logits = at_least_float32(self.classify(self.features(source, samples), source))
        losses = F.cross_entropy(logits, labels, reduction="none", label_smoothing=label_smoothing)
        return self.reinforce.cost_of_rows(
            losses.mean(), losses.detach(), torch.ones_like(labels), samples, source.within
        )

    def layers_attended(self, records: Sequence[tuple[str, AuxOutput]]) -> list[Tensor]:
        layers = [aux.weights for name, aux in records if name.endswith(".attention") and aux.weights is not None]
        return list(map(chosen, layers)) if self.hard else layers
