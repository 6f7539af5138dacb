r"""Overlap of texts with several references: BLEU-1 to 4, CIDEr, ROUGE-L.

All count words as COCO's evaluation does: lower case, without punctuation, "man's" and "isn't" as two words each. COCO
uses Stanford's tokenizer, a program in Java. The one here gives the same words for plain English sentences.

    BLEU       by sacreBLEU on these words, without smoothing. The length of the closest reference counts, or the
               shorter of two. Papers without the brevity penalty (Xu et al. 2015) have higher numbers.
    CIDEr      as defined by the class `Cider` of pycocoevalcap, as in the literature: CIDEr-D without stemming.
    ROUGE-L    F of longest common subsequences (rapidfuzz) with the β = 1.2 of COCO's evaluation.
    METEOR     is left out: it needs a program in Java, or WordNet's data.

Source:
    Papineni et al. 2002, "BLEU: a Method for Automatic Evaluation of Machine Translation".
    Vedantam, Zitnick, Parikh 2015, "CIDEr: Consensus-based Image Description Evaluation"
    (https://arxiv.org/abs/1411.5726). Lin 2004, "ROUGE: A Package for Automatic Evaluation of Summaries".
    COCO's evaluation: Chen et al. 2015 (https://arxiv.org/abs/1504.00325), section 3.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from saccade.errors import ArgumentError

__all__ = ["References", "bleu", "bleus", "cider", "rouge_l", "words"]

_ORDERS = 4  # words of the longest n-gram
_SIGMA = 6.0  # of the Gaussian of differences in length
_BETA = 1.2  # weight of recall in ROUGE-L
_APART = re.compile(r"(n't|'(?:s|m|d|re|ve|ll))\b")  # second part of a contraction
_WORD = re.compile(r"n't\b|'(?:s|m|d|re|ve|ll)\b|\w+(?:[-.]\w+)*")
_Counts = Counter[tuple[str, ...]]
_Vector = dict[tuple[str, ...], float]
References = Sequence[Sequence[str]]


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation.

    >>> words("A man's dog isn't in the T-shirt, is it?")
    ['a', 'man', "'s", 'dog', 'is', "n't", 'in', 'the', 't-shirt', 'is', 'it']
    """
    return _WORD.findall(_APART.sub(r" \1", text.lower().replace("\u2019", "'")))


def bleu(outputs: Sequence[str], references: References, order: int = _ORDERS) -> dict[str, Any]:
    r"""Return the BLEU of a corpus, 0 to 100, and the signature of the computation.

        BLEU_n = b · (p₁ · … · p_n)^{1/n},   b = exp(min(0, 1 − r / c))

    where p_k is the share of the outputs' k-grams that a reference of theirs has, c the words of all outputs, and r
    those of the references that are closest to them in length.

    Args:
        outputs: texts of the model.
        references: of each output.
        order: n, words of the longest n-gram: 1 to 4.

    Returns:
        {"score": ..., "signature": ...}.

    Raises:
        ArgumentError: if there are not as many references, or one has none.

    Example:
        >>> round(bleu(["a dog runs"], [["A dog sleeps.", "the dog runs"]], order=1)["score"], 3)
        100.0
        >>> bleu(["a dog"], [["a dog"]], order=2)["signature"]
        'nrefs:1|case:mixed|eff:no|tok:none|smooth:none|version:...|words:lowercase,no-punctuation|order:2'
    """
    return bleus(outputs, references, [order])[order]


def bleus(outputs: Sequence[str], references: References, orders: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Return `bleu` of several orders from one count of n-grams.

    Raises:
        ArgumentError: as `bleu`.

    Example:
        >>> scores = bleus(["a dog runs"], [["A dog sleeps.", "the dog runs"]], [1, 2])
        >>> {order: round(result["score"], 3) for order, result in scores.items()}
        {1: 100.0, 2: 100.0}
    """
    from sacrebleu.metrics.bleu import BLEU

    _check(outputs, references)
    cut = [[" ".join(words(text)) for text in texts] for texts in references]
    metric = BLEU(tokenize="none", smooth_method="none", max_ngram_order=max(orders), force=True)
    statistics = metric.corpus_score([" ".join(words(text)) for text in outputs], [*zip_longest(*cut)])
    signature = f"{metric.get_signature()}|words:lowercase,no-punctuation|order:"

    def score(order: int) -> float:
        counts, lengths = (
            (statistics.counts[:order], statistics.totals[:order]),
            (statistics.sys_len, statistics.ref_len),
        )
        return float(metric.compute_bleu(*counts, *lengths, smooth_method="none", max_ngram_order=order).score)

    return {order: {"score": score(order), "signature": f"{signature}{order}"} for order in orders}


def cider(outputs: Sequence[str], references: References) -> float:
    r"""Return the CIDEr of a corpus, 0 to 10: overlap of rare n-grams.

        CIDEr = mean over images of  10/m · Σ_j e^{−(l − l_j)² / 2σ²} · s_j
        s_j = ¼ Σ_{n=1..4} min(g_n, r_nj) · r_nj / (|g_n| |r_nj|)

    where g_n are the weights of the n-grams of an output, and r_nj those of its j-th reference of m. A weight is a
    count times ln(images / images with the n-gram in a reference). Lengths in words are l, and σ = 6. This is CIDEr-D
    (Vedantam et al. 2015) without stemming, as the class Cider of pycocoevalcap 1.2 computes it. Papers often have a
    hundred times this number. A single image has 0, since no n-gram is rare.

    Args:
        outputs: texts of the model.
        references: of each output. Document frequencies are of these.

    Raises:
        ArgumentError: if there are not as many references, or one has none.

    Example:
        >>> round(cider(["a dog runs", "red sails"], [["a dog runs", "a dog"], ["two boats"]]), 3)
        2.814
    """
    _check(outputs, references)
    counted = [[_counts(words(text)) for text in texts] for texts in references]
    images = Counter(gram for texts in counted for gram in set().union(*texts))
    rarity = {gram: math.log(len(counted)) - math.log(count) for gram, count in images.items()}
    unseen = math.log(max(1, len(counted)))
    scores = []
    for output, texts in zip(outputs, counted, strict=True):
        weighted = _weighted(_counts(words(output)), rarity, unseen)
        near = [_similarity(weighted, _weighted(counts, rarity, unseen)) for counts in texts]
        scores.append(10 * sum(near) / len(near))
    return sum(scores) / max(1, len(scores))


def rouge_l(outputs: Sequence[str], references: References) -> float:
    r"""Return the ROUGE-L of a corpus, 0 to 1: the mean over images of

        (1 + β²) P R / (R + β² P),   P = max_j LCS_j / words of the output,   R = max_j LCS_j / words of reference j

    where LCS_j is the longest common subsequence of words of the output and reference j, and β = 1.2, as COCO's
    evaluation has it.

    Args:
        outputs: texts of the model.
        references: of each output.

    Raises:
        ArgumentError: if there are not as many references, or one has none.

    Example:
        >>> round(rouge_l(["a dog runs"], [["a brown dog runs", "x"]]), 3)
        0.836
    """
    from rapidfuzz.distance import LCSseq

    _check(outputs, references)
    total = 0.0
    for output, texts in zip(outputs, references, strict=True):
        tokens, others = words(output), [words(text) for text in texts]
        common = [LCSseq.similarity(tokens, other) for other in others]
        precision = max(common) / max(1, len(tokens))
        recall = max(count / max(1, len(other)) for count, other in zip(common, others, strict=True))
        if precision and recall:
            total += (1 + _BETA**2) * precision * recall / (recall + _BETA**2 * precision)
    return total / max(1, len(outputs))


def _check(outputs: Sequence[str], references: References) -> None:
    if len(outputs) != len(references):
        raise ArgumentError(f"references: expected {len(outputs)}, one list for each output, got {len(references)}")
    if isinstance(next(iter(references), ()), str) or not all(references):
        raise ArgumentError("references: expected a list of one or more texts for each output, got another")


def _counts(tokens: Sequence[str]) -> _Counts:
    """Count the n-grams of one to four words."""
    grams = (tuple(tokens[at : at + n]) for n in range(1, _ORDERS + 1) for at in range(len(tokens) - n + 1))
    return Counter(grams)


def _weighted(counts: _Counts, rarity: _Vector, unseen: float) -> tuple[list[_Vector], int]:
    """Return the weights of n-grams by n, and the length in bigrams (pycocoevalcap)."""
    vectors: list[_Vector] = [{} for _ in range(_ORDERS)]
    for gram, count in counts.items():
        vectors[len(gram) - 1][gram] = count * rarity.get(gram, unseen)
    return vectors, sum(count for gram, count in counts.items() if len(gram) == 2)


def _similarity(text: tuple[list[_Vector], int], other: tuple[list[_Vector], int]) -> float:
    """Return the similarity of two texts, 0 to 1."""
    total = 0.0
    for mine, theirs in zip(text[0], other[0], strict=True):
        norms = math.hypot(*mine.values()) * math.hypot(*theirs.values())
        shared = sum(min(weight, theirs[gram]) * theirs[gram] for gram, weight in mine.items() if gram in theirs)
        total += shared / norms if norms else 0.0
    return total / _ORDERS * math.exp(-((text[1] - other[1]) ** 2) / (2 * _SIGMA**2))
