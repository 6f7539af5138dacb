"""The tables of all models that the laws go through: each with the options that make it another model."""

from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch

from models.translators import BATCH, TARGET
from saccade.models import (
    bag,
    bytenet,
    fixed,
    hierarchical,
    las,
    luong,
    recurrent,
    rnn_attention,
    rnnsearch,
    self_attention,
    transformer,
)
from saccade.models.bag import Bag
from saccade.models.bytenet import ByteNet
from saccade.models.encoder_decoder import EncoderDecoder
from saccade.models.fixed import Fixed
from saccade.models.hierarchical import Hierarchical
from saccade.models.las import Las
from saccade.models.luong import Luong
from saccade.models.padded import Padded
from saccade.models.rnn_attention import RNNAttention
from saccade.models.rnnsearch import RNNSearch
from saccade.models.self_attention import SelfAttention
from saccade.models.transformer import Transformer

TARGET_SIZE, FEATURES, WORDS, CLASSES = 11, 5, 13, 3
WANTED = TARGET.roll(-1, 1).masked_fill(TARGET == 0, 0)
WANTED[:, -1] = torch.tensor([2, 0, 3])
FRAMES = Padded(
    torch.randn(3, 17, FEATURES, generator=torch.Generator().manual_seed(1), dtype=torch.double),
    torch.tensor([17, 9, 2]),
)
TEXTS = Padded(
    torch.tensor([[5, 6, 7, 8, 3, 0, 0], [9, 4, 0, 0, 0, 0, 0], [4, 5, 6, 7, 8, 9, 10]]), torch.tensor([5, 2, 7])
)


@dataclass(frozen=True)
class Variant:
    """A model and the batch that it reads."""

    kind: Any
    options: Any
    source: Padded
    sizes: tuple[int, int]

    def make(self, seed=0, **changes):
        """It in float64, as it answers."""
        torch.manual_seed(seed)
        return self.kind(*self.sizes, replace(self.options, **changes)).double().eval()

    def in_float32(self, seed=0, **changes):
        """It and its batch in float32."""
        return self.make(seed, **changes).float(), self.floats(self.source)

    def floats(self, source):
        """A batch in float32, if it is not of tokens."""
        return source if source.values.dtype == torch.long else source._replace(values=source.values.float())

    def alone(self, row):
        """One example without padding."""
        length = int(self.source.lengths[row])
        return Padded(self.source.values[row : row + 1, :length], self.source.lengths[row : row + 1])

    def spoilt(self):
        """The batch with something else in its padding: another token, or no number."""
        values = self.source.values.clone()
        values[~self.source.within] = 12 if values.dtype == torch.long else torch.nan
        return self.source._replace(values=values)


def translator(kind, options):
    return Variant(kind, options, BATCH, (13, TARGET_SIZE))


def classifier(kind, options):
    return Variant(kind, options, TEXTS, (WORDS, CLASSES))


RECURRENT = recurrent.Options(hidden_dim=10, embedding_dim=6, dropout=0.5)
SEARCH = rnnsearch.Options(**vars(RECURRENT))
LUONG = luong.Options(hidden_dim=10, embedding_dim=6, dropout=0.5)
LOCAL = replace(LUONG, attention="local-p", window=2)
SMALL = transformer.Options(hidden_dim=12, heads=3, layers=2, feedforward_dim=20, dropout=0.5)
BYTENET = bytenet.Options(hidden_dim=5, sets=1, max_dilation=4, dropout=0.5)
LAS = las.Options(hidden_dim=8, embedding_dim=6, layers=2, pyramid=1, location_filters=3, location_width=5, dropout=0.5)
TRANSLATORS = {
    "rnnsearch": translator(RNNSearch, SEARCH),
    "rnnsearch, before": translator(RNNSearch, replace(SEARCH, query="before")),
    "encoder-decoder": translator(EncoderDecoder, RECURRENT),
    "transformer": translator(Transformer, SMALL),
    "bytenet": translator(ByteNet, BYTENET),
    **{
        f"transformer, {name}": translator(Transformer, replace(SMALL, positions=name))
        for name in ("rotary", "alibi", "none")
    },
    "transformer, post": translator(Transformer, replace(SMALL, norm="post")),
    "luong": translator(Luong, LUONG),
    "luong, local-m": translator(Luong, replace(LOCAL, attention="local-m")),
    "luong, local-p": translator(Luong, LOCAL),
    "luong, none": translator(Luong, replace(LUONG, attention="none")),
    "luong, without input feeding": translator(Luong, replace(LOCAL, input_feeding=False)),
    "luong, one layer": translator(Luong, replace(LUONG, layers=1)),
    "luong, reverse": translator(Luong, replace(LUONG, reverse=True)),
    "luong, location": translator(Luong, replace(LUONG, score="location", positions=4)),
    **{
        f"luong, {score}": translator(Luong, replace(LUONG, score=score))
        for score in ("dot", "scaled_dot", "additive", "cosine")
    },
    **{f"luong, {name}": translator(Luong, replace(LUONG, normalizer=name)) for name in ("sparsemax", "entmax")},
    **{
        f"transformer, {score}": translator(Transformer, replace(SMALL, score=score))
        for score in ("dot", "additive", "general", "cosine", "gaussian")
    },
}
READS = {"reinforce": {"read": "reinforce"}, "straight-through": {"read": "straight-through"}}
HARD = {
    f"{name}, {read}": translator(variant.kind, replace(variant.options, **said))
    for name, variant in TRANSLATORS.items()
    for read, said in READS.items()
    if name in ("rnnsearch", "luong", "luong, local-m")
}
SELF_READS = {
    "sample": {"self_read": "sample", "baseline": "moving-average", "samples": 2},
    "argmax": {"self_read": "argmax"},
}
HARD |= {f"transformer, {read}": translator(Transformer, replace(SMALL, **said)) for read, said in SELF_READS.items()}
SPEECH = {
    name: Variant(Las, replace(LAS, **said), FRAMES, (FEATURES, TARGET_SIZE))
    for name, said in {
        "las": {},
        "las, content": {"attention": "content"},
        "las, without ctc": {"ctc_weight": 0.0},
        "las, without a pyramid": {"pyramid": 0},
    }.items()
}
SEQ2SEQ = {**TRANSLATORS, **HARD, **SPEECH}


def slowly(names):
    """The same names as cases of the slow tier."""
    return [pytest.param(name, marks=pytest.mark.slow) for name in names]


TRANSLATOR_KINDS = ["rnnsearch", "encoder-decoder", "transformer", "bytenet", "luong", "luong, local-p"]
SEQ2SEQ_CASES = [
    *TRANSLATOR_KINDS,
    "las",
    *slowly(["luong, local-m", "luong, none", "luong, without input feeding", "transformer, rotary"]),
    *slowly(["transformer, alibi", "rnnsearch, before", "rnnsearch, reinforce"]),
    *slowly(["luong, straight-through", "las, content", "transformer, sample", "transformer, argmax"]),
]

DROPS = {"dropout": 0.5, "word_dropout": 0.2}
FIXED = fixed.Options(embedding_dim=6, **DROPS)
RNN = rnn_attention.Options(embedding_dim=6, hidden_dim=10, **DROPS)
HIERARCHICAL = hierarchical.Options(embedding_dim=6, hidden_dim=10, sentence_words=3, **DROPS)
SELF = self_attention.Options(embedding_dim=6, hidden_dim=12, heads=3, layers=2, feedforward_dim=20, **DROPS)
CLASSIFIERS = {
    "sum": classifier(Bag, bag.Options(embedding_dim=6, **DROPS)),
    "sum, pairs": classifier(Bag, bag.Options(embedding_dim=6, ngrams=2, buckets=11, reduction="root", **DROPS)),
    "sum, mean": classifier(Bag, bag.Options(embedding_dim=6, ngrams=3, buckets=7, reduction="mean", **DROPS)),
    "fixed": classifier(Fixed, FIXED),
    "fixed, dot": classifier(Fixed, replace(FIXED, score="dot")),
    "fixed, four queries": classifier(Fixed, replace(FIXED, queries=4, hidden_dim=7)),
    "fixed, own projections": classifier(Fixed, replace(FIXED, queries=2, own_projections=True)),
    "rnn-attention": classifier(RNNAttention, RNN),
    "rnn-attention, dot": classifier(RNNAttention, replace(RNN, score="dot", queries=2)),
    "hierarchical": classifier(Hierarchical, HIERARCHICAL),
    "hierarchical, dot": classifier(Hierarchical, replace(HIERARCHICAL, score="dot", queries=2)),
    "self-attention": classifier(SelfAttention, SELF),
    "self-attention, rotary": classifier(SelfAttention, replace(SELF, positions="rotary", queries=3)),
    "self-attention, alibi": classifier(SelfAttention, replace(SELF, positions="alibi", norm="post")),
    "self-attention, a bag": classifier(SelfAttention, replace(SELF, positions="none")),
    **{
        f"self-attention, {read}": classifier(SelfAttention, replace(SELF, **said)) for read, said in SELF_READS.items()
    },
}
CLASSIFIER_CASES = [
    *["sum", "fixed", "rnn-attention", "hierarchical", "self-attention"],
    *slowly(["sum, mean", "fixed, four queries", "hierarchical, dot", "self-attention, rotary"]),
    *slowly(["self-attention, a bag", "self-attention, sample", "self-attention, argmax"]),
]
