r"""How much texts have in common with several references each: BLEU-1 to 4, CIDEr and ROUGE-L.

All count words as COCO's evaluation does: lower case, without punctuation, "man's" and "isn't" as two words each. Its
tokenizer is Stanford's, a program in Java; the one here agrees with it on plain English sentences, and is not it.

    BLEU       by sacreBLEU on these words, with no smoothing; the length of the closest reference counts, the shorter
               of two that are as close. Papers that leave out the penalty for brevity (Xu et al. 2015) print more.
    CIDEr      computed here; the definition is that of pycocoevalcap's class `Cider`, which is what the literature
               prints under this name: CIDEr-D, without stemming.
    ROUGE-L    longest common subsequences by rapidfuzz, and of them the F that COCO's evaluation takes, β = 1.2.
    METEOR     is not measured: it needs a program in Java, or WordNet's data, which would have to be downloaded.

Source:
    Papineni et al. 2002, "BLEU: a Method for Automatic Evaluation of Machine Translation"; Vedantam, Zitnick, Parikh
    2015, "CIDEr: Consensus-based Image Description Evaluation" (https://arxiv.org/abs/1411.5726); Lin 2004, "ROUGE: A
    Package for Automatic Evaluation of Summaries"; Chen et al. 2015 (https://arxiv.org/abs/1504.00325), section 3, for
    how COCO's evaluation has them.
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
_SIGMA = 6.0  # of the Gaussian that lengths are compared by
_BETA = 1.2  # how much more recall counts than precision in ROUGE-L
_APART = re.compile(r"(n't|'(?:s|m|d|re|ve|ll))\b")  # what is a word of its own behind another
_WORD = re.compile(r"n't\b|'(?:s|m|d|re|ve|ll)\b|\w+(?:[-.]\w+)*")
_Counts = Counter[tuple[str, ...]]
_Vector = dict[tuple[str, ...], float]
References = Sequence[Sequence[str]]


def words(text: str) -> list[str]:
    """Return the words of a text as they are compared: lower case, without punctuation.

    >>> words("A man's dog isn't in the T-shirt, is it?")
    ['a', 'man', "'s", 'dog', 'is', "n't", 'in', 'the', 't-shirt', 'is', 'it']
    """
    return _WORD.findall(_APART.sub(r" \1", text.lower().replace("\u2019", "'")))


def bleu(outputs: Sequence[str], references: References, order: int = _ORDERS) -> dict[str, Any]:
    r"""Return the BLEU of a corpus, 0 to 100, with the signature that says how it was computed.

        BLEU_n = b · (p₁ · … · p_n)^{1/n},   b = exp(min(0, 1 − r / c))

    where p_k is the share of the outputs' k-grams that a reference of theirs has, c the words of all outputs, and r
    those of the references that are closest to them in length.

    Args:
        outputs: what the model wrote.
        references: of each, those to compare it with.
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
        >>> found = bleus(["a dog runs"], [["A dog sleeps.", "the dog runs"]], [1, 2])
        >>> {order: round(each["score"], 3) for order, each in found.items()}
        {1: 100.0, 2: 100.0}
    """
    from sacrebleu.metrics.bleu import BLEU

    _check(outputs, references)
    cut = [[" ".join(words(text)) for text in texts] for texts in references]
    metric = BLEU(tokenize="none", smooth_method="none", max_ngram_order=max(orders), force=True)
    found = metric.corpus_score([" ".join(words(text)) for text in outputs], [*zip_longest(*cut)])
    signature = f"{metric.get_signature()}|words:lowercase,no-punctuation|order:"

    def score(order: int) -> float:
        counts, lengths = (found.counts[:order], found.totals[:order]), (found.sys_len, found.ref_len)
        return float(metric.compute_bleu(*counts, *lengths, smooth_method="none", max_ngram_order=order).score)

    return {order: {"score": score(order), "signature": f"{signature}{order}"} for order in orders}


def cider(outputs: Sequence[str], references: References) -> float:
    r"""Return the CIDEr of a corpus, 0 to 10: how much outputs say of what references of their images alone say.

        CIDEr = mean over images of  10/m · Σ_j e^{−(l − l_j)² / 2σ²} · s_j
        s_j = ¼ Σ_{n=1..4} min(g_n, r_nj) · r_nj / (|g_n| |r_nj|)

    where g_n are the weights of an output's n-grams, r_nj those of its j-th reference of m, an n-gram's weight is how
    often it is there times ln(images / images of whose references one has it), l are lengths in words, and σ = 6. This
    is CIDEr-D (Vedantam et al. 2015), without stemming, as pycocoevalcap 1.2 computes it under the name of
    Cider; papers often print a hundred times this number. One image alone has 0, as no n-gram tells it from others.

    Args:
        outputs: what the model wrote.
        references: of each, those to compare it with; document frequencies are of these references.

    Raises:
        ArgumentError: if there are not as many references, or one has none.

    Example:
        >>> round(cider(["a dog runs", "red sails"], [["a dog runs", "a dog"], ["two boats"]]), 3)
        2.814
    """
    _check(outputs, references)
    known = [[_counts(words(text)) for text in texts] for texts in references]
    images = Counter(gram for each in known for gram in set().union(*each))
    rarity = {gram: math.log(len(known)) - math.log(count) for gram, count in images.items()}
    unseen = math.log(max(1, len(known)))
    scores = []
    for output, each in zip(outputs, known, strict=True):
        own = _weighted(_counts(words(output)), rarity, unseen)
        near = [_similarity(own, _weighted(counts, rarity, unseen)) for counts in each]
        scores.append(10 * sum(near) / len(near))
    return sum(scores) / max(1, len(scores))


def rouge_l(outputs: Sequence[str], references: References) -> float:
    r"""Return the ROUGE-L of a corpus, 0 to 1: the mean over images of

        (1 + β²) P R / (R + β² P),   P = max_j LCS_j / words of the output,   R = max_j LCS_j / words of reference j

    where LCS_j is the longest common subsequence of words of the output and reference j, and β = 1.2, as COCO's
    evaluation has it.

    Args:
        outputs: what the model wrote.
        references: of each, those to compare it with.

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
        own, known = words(output), [words(text) for text in texts]
        common = [LCSseq.similarity(own, other) for other in known]
        precision = max(common) / max(1, len(own))
        recall = max(count / max(1, len(other)) for count, other in zip(common, known, strict=True))
        if precision and recall:
            total += (1 + _BETA**2) * precision * recall / (recall + _BETA**2 * precision)
    return total / max(1, len(outputs))


def _check(outputs: Sequence[str], references: References) -> None:
    if len(outputs) != len(references):
        raise ArgumentError(f"references: expected {len(outputs)}, one list for each output, got {len(references)}")
    if isinstance(next(iter(references), ()), str) or not all(references):
        raise ArgumentError("references: expected a list of one or more texts for each output, got another")


def _counts(tokens: Sequence[str]) -> _Counts:
    """How often each n-gram of one to four words is there."""
    grams = (tuple(tokens[at : at + n]) for n in range(1, _ORDERS + 1) for at in range(len(tokens) - n + 1))
    return Counter(grams)


def _weighted(counts: _Counts, rarity: _Vector, unseen: float) -> tuple[list[_Vector], int]:
    """The weights of n-grams by n, and how long the text is: in bigrams, as pycocoevalcap counts it."""
    vectors: list[_Vector] = [{} for _ in range(_ORDERS)]
    for gram, count in counts.items():
        vectors[len(gram) - 1][gram] = count * rarity.get(gram, unseen)
    return vectors, sum(count for gram, count in counts.items() if len(gram) == 2)


def _similarity(own: tuple[list[_Vector], int], other: tuple[list[_Vector], int]) -> float:
    """How near two texts are, 0 to 1."""
    total = 0.0
    for mine, theirs in zip(own[0], other[0], strict=True):
        norms = math.hypot(*mine.values()) * math.hypot(*theirs.values())
        shared = sum(min(weight, theirs[gram]) * theirs[gram] for gram, weight in mine.items() if gram in theirs)
        total += shared / norms if norms else 0.0
    return total / _ORDERS * math.exp(-((own[1] - other[1]) ** 2) / (2 * _SIGMA**2))
