"""Hierarchical attention: a GRU over words, and a GRU over sentences (Yang et al. 2016).

"Hierarchical Attention Networks for Document Classification", https://aclanthology.org/N16-1174.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn

from saccade import AuxOutput, masks
from saccade._definitions.checks import in_ranges
from saccade.models import rnn_attention
from saccade.models.classifier import Classifier, Words
from saccade.models.padded import Padded
from saccade.models.recurrent import Encoder, LockedDropout
from saccade.nn import AttentionPool

__all__ = ["ENDS", "Hierarchical", "Options", "Sentences", "sentences"]

ENDS = frozenset(".!?…。！？｡؟۔।॥")
"""The marks that end a sentence, a word each."""
_FIRST = 4  # the id of the first word; special ones are before it


@dataclass(frozen=True, kw_only=True)
class Options(rnn_attention.Options):
    """The sizes of a hierarchical classifier.

    >>> Options(sentence_words=25).hidden_dim
    128
    """

    sentence_words: int = 40
    """Most words of a sentence. A longer one is split."""

    def __post_init__(self) -> None:
        """Refuse what any part refuses."""
        rnn_attention.Options.__post_init__(self)
        in_ranges(self, (("sentence_words", 1, 100_000),))


_DEFAULT = Options()


class Sentences(NamedTuple):
    """Where the sentences of padded texts lie.

    Args:
        rows: the place of each word of each sentence in the flattened texts, `(sentences, words)`; any in padding.
        words: how many words each sentence has, `(sentences,)`.
        places: the number of each sentence of each text among all, `(batch, most)`; any in padding.
        counts: how many sentences each text has, `(batch,)`.
    """

    rows: Tensor
    words: Tensor
    places: Tensor
    counts: Tensor


def sentences(source: Padded, ends: Tensor, most: int) -> Sentences:
    """Cut texts into sentences.

    A sentence ends behind a mark that ends sentences, or behind several in a row ("?!", "..."), and at the latest after
    so many words: a text without such marks is pieces of that length. An abbreviation's point ends one too.

    Args:
        source: ids of words `(batch, length)`.
        ends: which ids are marks that end a sentence, boolean `(size,)`.
        most: words of a sentence at most.

    Example:
        >>> text = Padded(torch.tensor([[5, 4, 4, 6, 7, 8, 9]]), torch.tensor([7]))  # of which 4 is a full stop
        >>> sentences(text, torch.arange(10) == 4, 3).words
        tensor([3, 3, 1])
    """
    within, length = source.within, source.values.shape[1]
    marks = ends[source.values]
    place = torch.arange(length, device=within.device).expand_as(marks)
    begins = torch.zeros_like(marks)
    begins[:, 0] = True
    begins[:, 1:] = marks[:, :-1] & ~marks[:, 1:]
    since = place - torch.where(begins, place, 0).cummax(1).values
    begins = (begins | (since % most == 0)) & within
    first = begins.flatten().nonzero()[:, 0]
    number = begins.flatten().cumsum(0)[within.flatten()] - 1
    words = torch.bincount(number, minlength=len(first))
    rows = first[:, None] + torch.arange(int(words.max()), device=first.device)
    counts = begins.sum(1)
    places = (counts.cumsum(0) - counts)[:, None] + torch.arange(int(counts.max()), device=first.device)
    return Sentences(rows.clamp(max=within.numel() - 1), words, places.clamp(max=len(first) - 1), counts)


class Hierarchical(Classifier):
    r"""Words are pooled to sentences and sentences to the text, each where a GRU has read its neighbours.

    .. math::
        h_{it} = \operatorname{BiGRU}(E w_{it}) \qquad
        s_i = \sum_t \operatorname{softmax}_t\big(u_w^\top \tanh(W_w h_{it} + b_w)\big)\, h_{it} \qquad
        g_i = \operatorname{BiGRU}(s_i) \qquad
        v = \sum_i \operatorname{softmax}_i\big(u_s^\top \tanh(W_s g_i + b_s)\big)\, g_i

    and \(f = W v + b\). Sentences are found by their marks (`sentences`). A GRU's steps are as many as the longest
    sentence has words, not the text: a text of 700 words takes 40 steps and then one a sentence.

    Args:
        size: number of words, from 0 (padding) on.
        classes: number of classes.
        options: the sizes; `score` and `queries` are those of both attentions.

    Example:
        >>> model = Hierarchical(11, 3, Options(embedding_dim=4, hidden_dim=6, sentence_words=2))
        >>> model(Padded(torch.tensor([[4, 5, 6], [7, 0, 0]]), torch.tensor([3, 1]))).shape
        torch.Size([2, 3])

    Source:
        Yang et al. 2016, Eq. 1 to 11 (https://aclanthology.org/N16-1174); what is otherwise is in
        docs/classify-text.md.
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = {
        "reviews": {"hidden_dim": 32, "learning_rate": 1e-2},
        "files": {"learning_rate": 3e-3},
    }
    ends: Tensor

    def __init__(self, size: int, classes: int, options: Options = _DEFAULT) -> None:
        super().__init__()
        dim, wide = options.hidden_dim, options.queries * options.hidden_dim
        self.most = options.sentence_words
        self.words = Words(size, options)
        self.word_encoder = Encoder(options.dim, dim)
        self.word_pool = AttentionPool(dim, num_queries=options.queries, score=options.score)
        self.sentence_encoder = Encoder(wide, dim)
        self.pool = AttentionPool(dim, num_queries=options.queries, score=options.score)
        self.dropout = LockedDropout(options.dropout)
        self.output = nn.Linear(wide, classes)
        self.register_buffer("ends", torch.zeros(size, dtype=torch.bool), persistent=False)

    def name_words(self, words: Sequence[str]) -> None:
        """Note which words end a sentence."""
        self.ends[_FIRST : _FIRST + len(words)] = torch.tensor([word in ENDS for word in words])

    def forward(self, source: Padded) -> Tensor:
        found = sentences(source, self.ends, self.most)
        read = self.words(source.values).flatten(0, 1)[found.rows]
        encoded = self.word_encoder(read, found.words)
        vectors = self.word_pool(encoded, mask=masks.Lengths(found.words)).flatten(1)
        told = self.sentence_encoder(self.dropout(vectors[found.places]), found.counts)
        logits: Tensor = self.output(self.dropout(self.pool(told, mask=masks.Lengths(found.counts)).flatten(1)))
        return logits

    def pooled(self, records: Sequence[tuple[str, AuxOutput]], source: Padded) -> Tensor:
        """Return how much of the text each query took of each word: its share of its sentence, by the sentence's."""
        words, text = self._spread(records, source)
        return words[:, None] * text

    def levels(self, records: Sequence[tuple[str, AuxOutput]], source: Padded) -> tuple[Tensor, Tensor]:
        words, text = self._spread(records, source)
        return words, text.mean(1)

    def _spread(self, records: Sequence[tuple[str, AuxOutput]], source: Padded) -> tuple[Tensor, Tensor]:
        """The share of each word in its sentence, `(batch, length)`, the mean of all queries; and of each word's
        sentence in the text, `(batch, queries, length)`.
        """
        weights = {name.endswith("word_pool"): aux.weights for name, aux in records if name.endswith("pool")}
        of_words, of_sentences = weights[True], weights[False]
        assert of_words is not None
        assert of_sentences is not None
        found, (batch, length) = sentences(source, self.ends, self.most), source.values.shape
        inside = torch.arange(found.rows.shape[1], device=found.rows.device) < found.words[:, None]
        places = found.rows[inside]
        words = of_words.new_zeros(batch * length)
        words[places] = of_words.mean(1)[inside]
        filled = torch.arange(found.places.shape[1], device=places.device) < found.counts[:, None]
        told = of_sentences.mT[filled].repeat_interleave(found.words, 0)
        text = told.new_zeros(batch * length, told.shape[1])
        text[places] = told
        return words.view(batch, length), text.view(batch, length, -1).mT
