"""Hierarchical attention: GRUs over words and over sentences (Yang et al. 2016).

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

__all__ = ["ENDS", "Hierarchical", "Options", "Sentences", "sentences"]

ENDS = frozenset(".!?…。！？｡؟۔।॥")
"""Punctuation marks that end a sentence, as single words."""
_FIRST = 4  # id of the first word, after the special ones


@dataclass(frozen=True, kw_only=True)
class Options(rnn_attention.Options):
    """The sizes of a hierarchical classifier.

    >>> Options(sentence_words=25).hidden_dim
    128
    """

    sentence_words: int = 40
    """Largest number of words of a sentence. Longer sentences are split."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        rnn_attention.Options.__post_init__(self)
        in_ranges(self, (("sentence_words", 1, 100_000),))


_DEFAULT = Options()


class Sentences(NamedTuple):
    """Indices of the sentences of padded texts. Those in padding are arbitrary.

    Args:
        rows: indices of each sentence's words in the flattened texts, `(sentences, words)`.
        words: number of words of each sentence, `(sentences,)`.
        places: indices of each text's sentences among all sentences, `(batch, sentences)`.
        counts: number of sentences of each text, `(batch,)`.
    """

    rows: Tensor
    words: Tensor
    places: Tensor
    counts: Tensor


def sentences(source: Padded, ends: Tensor, longest: int) -> Sentences:
    """Split texts into sentences.

    A sentence ends after one or several punctuation marks ("?!", "..."), at the latest after `longest` words. The
    period of an abbreviation ends a sentence too.

    Args:
        source: word ids `(batch, length)`.
        ends: booleans `(size,)`, True for the ids of marks that end a sentence.
        longest: largest number of words of a sentence.

    Example:
        >>> text = Padded(torch.tensor([[5, 4, 4, 6, 7, 8, 9]]), torch.tensor([7]))  # 4 is a full stop
        >>> sentences(text, torch.arange(10) == 4, 3).words
        tensor([3, 3, 1])
    """
    within, length = source.within, source.values.shape[1]
    marks = ends[source.values]
    position = torch.arange(length, device=within.device).expand_as(marks)
    begins = torch.zeros_like(marks)
    begins[:, 0] = True
    begins[:, 1:] = marks[:, :-1] & ~marks[:, 1:]
    since = position - torch.where(begins, position, 0).cummax(1).values
    begins = (begins | (since % longest == 0)) & within
    first = begins.flatten().nonzero()[:, 0]
    number = begins.flatten().cumsum(0)[within.flatten()] - 1
    words = torch.bincount(number, minlength=len(first))
    rows = first[:, None] + torch.arange(int(words.max()), device=first.device)
    counts = begins.sum(1)
    indices = (counts.cumsum(0) - counts)[:, None] + torch.arange(int(counts.max()), device=first.device)
    return Sentences(rows.clamp(max=within.numel() - 1), words, indices.clamp(max=len(first) - 1), counts)


class Hierarchical(Classifier):
    r"""Attention pooling of words to sentences, and of sentences to the text.

    .. math::
        h_{it} = \operatorname{BiGRU}(E w_{it}) \qquad
        s_i = \sum_t \operatorname{softmax}_t\big(u_w^\top \tanh(W_w h_{it} + b_w)\big)\, h_{it} \qquad
        g_i = \operatorname{BiGRU}(s_i) \qquad
        v = \sum_i \operatorname{softmax}_i\big(u_s^\top \tanh(W_s g_i + b_s)\big)\, g_i

    and \(f = W v + b\). Punctuation splits a text into sentences (`sentences`). The word GRU takes as many steps as the
    longest sentence has words. For example, a text of 700 words takes 40 steps, and then one step per sentence.

    Args:
        size: size of the vocabulary. Word 0 is padding.
        classes: number of classes.
        options: the sizes. `score` and `queries` apply to both attentions.

    Example:
        >>> model = Hierarchical(11, 3, Options(embedding_dim=4, hidden_dim=6, sentence_words=2))
        >>> model(Padded(torch.tensor([[4, 5, 6], [7, 0, 0]]), torch.tensor([3, 1]))).shape
        torch.Size([2, 3])

    Source:
        Yang et al. 2016, Eq. 1 to 11 (https://aclanthology.org/N16-1174). docs/classify-text.md lists the
        differences.
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = {
        "reviews": {"hidden_dim": 32, "learning_rate": 1e-2},
        "files": {"learning_rate": 3e-3},
    }
    unexported: ClassVar[str] = "it cuts texts into sentences, and their number depends on the words"
    ends: Tensor

    def __init__(self, size: int, classes: int, options: Options = _DEFAULT) -> None:
        super().__init__()
        dim, wide = options.hidden_dim, options.queries * options.hidden_dim
        self.sentence_words = options.sentence_words
        self.words = Words(size, options)
        self.word_encoder = Encoder(options.dim, dim)
        self.word_pool = options.make_pool(dim)
        self.sentence_encoder = Encoder(wide, dim)
        self.pool = options.make_pool(dim)
        self.dropout = LockedDropout(options.dropout)
        self.output = nn.Linear(wide, classes)
        self.register_buffer("ends", torch.zeros(size, dtype=torch.bool), persistent=False)

    def name_words(self, words: Sequence[str]) -> None:
        """Mark the words that end a sentence."""
        self.ends[_FIRST : _FIRST + len(words)] = torch.tensor([word in ENDS for word in words])

    def forward(self, source: Padded) -> Tensor:
        split = sentences(source, self.ends, self.sentence_words)
        vectors = self.words(source.values).flatten(0, 1)[split.rows]
        encoded = self.word_encoder(vectors, split.words)
        vectors = self.word_pool(encoded, mask=masks.Lengths(split.words)).flatten(1)
        states = self.sentence_encoder(self.dropout(vectors[split.places]), split.counts)
        outputs = self.pool(states, mask=masks.Lengths(split.counts)).flatten(1)
        return self.with_prior(self.output(self.dropout(outputs)), source)

    def pooled(self, records: Sequence[tuple[str, AuxOutput]], source: Padded) -> Tensor:
        """Return each word's weight in its sentence times the weight of the sentence."""
        words, text = self._spread(records, source)
        return words[:, None] * text

    def levels(self, records: Sequence[tuple[str, AuxOutput]], source: Padded) -> tuple[Tensor, Tensor]:
        words, text = self._spread(records, source)
        return words, text.mean(1)

    def _spread(self, records: Sequence[tuple[str, AuxOutput]], source: Padded) -> tuple[Tensor, Tensor]:
        """Return the weight of each word in its sentence, and of its sentence in the text.

        They are `(batch, length)`, the mean of all queries, and `(batch, queries, length)`.
        """
        weights = {name.endswith("word_pool"): aux.weights for name, aux in records if name.endswith("pool")}
        of_words, of_sentences = weights[True], weights[False]
        assert of_words is not None
        assert of_sentences is not None
        split, (batch, length) = sentences(source, self.ends, self.sentence_words), source.values.shape
        inside = torch.arange(split.rows.shape[1], device=split.rows.device) < split.words[:, None]
        indices = split.rows[inside]
        words = of_words.new_zeros(batch * length)
        words[indices] = of_words.mean(1)[inside]
        filled = torch.arange(split.places.shape[1], device=indices.device) < split.counts[:, None]
        repeated = of_sentences.mT[filled].repeat_interleave(split.words, 0)
        text = repeated.new_zeros(batch * length, repeated.shape[1])
        text[indices] = repeated
        return words.view(batch, length), text.view(batch, length, -1).mT
