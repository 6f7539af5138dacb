"""Bag of words and n-grams: logistic regression (Joulin et al. 2017).

"Bag of Tricks for Efficient Text Classification", https://arxiv.org/abs/1607.01759.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade._definitions.checks import in_ranges
from saccade.errors import ArgumentError
from saccade.models import classifier
from saccade.models.classifier import Classifier, Words, contrast
from saccade.models.padded import Padded

__all__ = ["Bag", "Options"]

_FACTOR, _MODULUS = 116_049_371, 2**31 - 1  # of the hash; products of both stay below 2^63
_LONGEST = 10  # words of an n-gram


@dataclass(frozen=True, kw_only=True)
class Options(classifier.Options):
    """The sizes of a bag of words.

    >>> Options(ngrams=2).buckets
    131072
    """

    ngrams: int = 1
    """Length of the longest n-gram. With 2, "not good" has its own vector."""

    buckets: int = 131_072
    """Number of n-gram vectors, shared by a hash."""

    reduction: Literal["sum", "mean", "root"] = "sum"
    """Pooling: sum, mean (the paper), or sum divided by the root of the count."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        classifier.Options.__post_init__(self)
        in_ranges(self, (("ngrams", 1, _LONGEST), ("buckets", 1, 100_000_000)))
        if self.reduction not in ("sum", "mean", "root"):
            raise ArgumentError(f"--reduction: expected sum, mean or root, got {self.reduction}")


_DEFAULT = Options()


class Bag(Classifier):
    r"""A linear classifier on the sum or mean of word and n-gram vectors.

    .. math:: f = W \frac{1}{s(m)} \Big(\sum_j E w_j + \sum_{n=2}^{N} \sum_j G_{h(w_j \ldots w_{j+n-1})}\Big) + b

    for m vectors in all, with s(m) = 1 (sum), m (mean, the paper) or \(\sqrt m\) (root), and a hash h into the rows
    of G. With N = 1 each word adds W E w to the logits at any position. For example, "not" has one effect on all texts.

    Args:
        size: size of the vocabulary. Word 0 is padding.
        classes: number of classes.
        options: features, n-grams and dropout.

    Example:
        >>> model = Bag(11, 2, Options(embedding_dim=4)).eval()
        >>> logits = model(Padded(torch.tensor([[4, 5, 6]]), torch.tensor([3])))
        >>> torch.allclose(logits, model(Padded(torch.tensor([[6, 4, 5]]), torch.tensor([3]))), atol=1e-6)
        True

    Source:
        Joulin et al. 2017, section 2, with hashed n-grams in section 2.2. The sum is that of Iyyer et al. 2015, section
        2 (https://aclanthology.org/P15-1162), who also have the name.
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = {
        "reviews": {"learning_rate": 1e-2},
        "files": {},
    }

    def __init__(self, size: int, classes: int, options: Options = _DEFAULT) -> None:
        super().__init__()
        self.options = options
        self.words = Words(size, options)
        self.output = nn.Linear(options.dim, classes)
        if options.ngrams > 1:
            self.runs = nn.Embedding(options.buckets, options.dim)
            nn.init.normal_(self.runs.weight, 0, 0.1)

    def forward(self, source: Padded) -> Tensor:
        return self.with_prior(self._sum(source), source)

    def _sum(self, source: Padded) -> Tensor:
        total = torch.where(source.within[..., None], self.words(source.values), 0.0).sum(1)
        count = source.lengths
        for n, rows in self._rows(source.values):
            inside = torch.arange(rows.shape[1], device=rows.device) + n <= source.lengths[:, None]
            vectors = self.words.dropout(self.runs(rows))
            total = total + torch.where(inside[..., None], vectors, 0.0).sum(1)
            count = count + inside.sum(1)
        logits: Tensor = self.output(total / self._scale(count)[:, None].to(total.dtype))
        return logits

    def shares(self, tokens: Tensor, label: int) -> Tensor | None:
        """Return the share of each word in a logit less the mean of the other logits.

        An n-gram's contribution is divided evenly among its words.
        """
        gain: Tensor | float = 1.0
        if self.prior is not None:
            logits = self._sum(Padded(tokens[None], torch.tensor([len(tokens)], device=tokens.device)))
            gain = (self.prior.bounded(logits) / logits).nan_to_num(1.0)  # of the bound, by class

        def differences(vectors: Tensor) -> Tensor:
            return contrast((self.output(vectors) - self.output(torch.zeros_like(vectors))) * gain, label)

        shares = differences(self.words.embedding(tokens))
        count = len(tokens)
        for n, rows in self._rows(tokens[None]):
            added = differences(self.runs(rows[0])) / n
            count += len(added)
            for offset in range(n):
                shares[offset : offset + len(added)] += added
        shares = shares / self._scale(torch.tensor(count)).to(shares)
        return shares if self.prior is None else shares + contrast(self.prior.contributions(tokens), label)

    def _rows(self, tokens: Tensor) -> Iterator[tuple[int, Tensor]]:
        """Yield each n from 2 on with hashes of the n-grams `(batch, length - n + 1)`."""
        if torch.compiler.is_exporting():  # then every text has n-grams, those in padding too
            tokens = F.pad(tokens, (0, self.options.ngrams - 1))
        hashes = tokens
        for n in range(2, min(self.options.ngrams, tokens.shape[1]) + 1):
            hashes = (hashes[:, :-1] * _FACTOR + tokens[:, n - 1 :]) % _MODULUS
            yield n, hashes % self.options.buckets

    def _scale(self, count: Tensor) -> Tensor:
        power = {"sum": 0.0, "root": 0.5, "mean": 1.0}[self.options.reduction]
        return count.double() ** power
