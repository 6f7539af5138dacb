"""Measures against several references: figures of pycocoevalcap 1.2, and the definitions written down a second time."""

import math
from itertools import zip_longest

import numpy as np
import pytest
from sacrebleu import metrics

from saccade.errors import ArgumentError
from saccade.tasks.text.overlap import bleu, bleus, cider, rouge_l, words
from tiers import every

OUTPUTS = [
    "a dog runs over the green grass",
    "two men stand on a street",
    "a red bus",
    "a child in a pink dress climbs the stairs",
    "a a a a dog",
    "a man is riding a wave on a surfboard in the ocean",
]
REFERENCES = [
    ["a brown dog runs across the grass", "a dog is running over green grass", "the dog runs"],
    [
        "two men are standing on the street corner",
        "two people stand on a street",
        "men in the city",
        "a busy street with two men",
    ],
    ["a red double decker bus drives down a street"],
    [
        "a child in a pink dress is climbing up a set of stairs in an entry way",
        "a little girl in a pink dress going into a wooden cabin",
    ],
    ["a black dog and a spotted dog are fighting", "two dogs on pavement", "a dog"],
    ["a surfer riding a wave", "a man rides a wave on a surfboard in the ocean", "a man is surfing"],
]
# what pycocoevalcap 1.2 prints of them: Cider().compute_score, Rouge().compute_score, Bleu(4).compute_score
CIDER, ROUGE_L = 1.9771852920211117, 0.6971153330062895
BLEUS = [0.765864417721705, 0.6574142445023895, 0.5547545365125452, 0.4824894929772933]


def test_all_are_those_of_pycocoevalcap():
    assert cider(OUTPUTS, REFERENCES) == pytest.approx(CIDER, rel=1e-12)
    assert rouge_l(OUTPUTS, REFERENCES) == pytest.approx(ROUGE_L, rel=1e-12)
    found = [bleu(OUTPUTS, REFERENCES, order)["score"] / 100 for order in (1, 2, 3, 4)]
    assert found == pytest.approx(BLEUS, rel=1e-8)  # which adds 1e-9 and 1e-15 to what it divides


@pytest.mark.parametrize("outputs", [OUTPUTS, ["a dog", "x", "", "a child in a", "a", "red"]])
def test_bleu_of_all_orders_is_that_of_each_alone(outputs):
    lowered = [[" ".join(words(text)) for text in texts] for texts in REFERENCES]
    found = bleus(outputs, REFERENCES, (4, 1, 2, 3))
    for order in (4, 1, 2, 3):
        metric = metrics.BLEU(tokenize="none", smooth_method="none", max_ngram_order=order, force=True)
        assert found[order]["score"] == metric.corpus_score(outputs, [*zip_longest(*lowered)]).score
        assert found[order] == bleu(outputs, REFERENCES, order)


def grams(text, n):
    tokens = text.split()
    return [" ".join(tokens[at : at + n]) for at in range(len(tokens) - n + 1)]


def dense_cider(outputs, known):
    """The same definition over vectors of all n-grams, one matrix for each n."""
    total = np.zeros(len(outputs))
    for n in (1, 2, 3, 4):
        every = sorted({gram for each in [outputs, *known] for text in each for gram in grams(text, n)})
        place = {gram: number for number, gram in enumerate(every)}

        def counted(text, place=place, n=n):
            return np.bincount([place[gram] for gram in grams(text, n)], minlength=len(place))

        seen = sum((sum(counted(text) for text in each) > 0).astype(int) for each in known)
        rarity = np.log(len(known) / np.maximum(1, seen))
        for image, (output, each) in enumerate(zip(outputs, known, strict=True)):
            own = counted(output) * rarity
            for text in each:
                other = counted(text) * rarity
                norms = np.linalg.norm(own) * np.linalg.norm(other)
                cosine = np.minimum(own, other) @ other / norms if norms else 0
                apart = len(output.split()) - len(text.split())
                total[image] += cosine * math.exp(-(apart**2) / 72) * 10 / 4 / len(each)
    return total.mean()


@every("seed", range(5))
def test_cider_is_the_same_over_dense_vectors(seed):
    draws = np.random.default_rng(seed)

    def text():
        return " ".join(draws.choice(["a", "dog", "red", "runs", "on", "grass"], draws.integers(1, 9)))

    outputs = [text() for _ in range(7)]
    known = [[text() for _ in range(draws.integers(1, 5))] for _ in range(7)]
    assert cider(outputs, known) == pytest.approx(dense_cider(outputs, known), rel=1e-9)


def hand_bleu(outputs, known, order):
    """Papineni's BLEU by counting."""
    logs, length, closest = 0.0, 0, 0
    for n in range(1, order + 1):
        right = every = 0
        for output, each in zip(outputs, known, strict=True):
            own = grams(output, n)
            every += len(own)
            right += sum(min(own.count(gram), max(grams(text, n).count(gram) for text in each)) for gram in set(own))
        if not right:
            return 0.0
        logs += math.log(right / every) / order
    for output, each in zip(outputs, known, strict=True):
        own = len(output.split())
        length += own
        closest += min((abs(len(text.split()) - own), len(text.split())) for text in each)[1]
    return 100 * math.exp(logs + min(0, 1 - closest / length))


@every("order", [1, 2, 3, 4])
@every("kept", [2, 4, 100])
def test_bleu_is_the_definition_with_the_closest_length(order, kept):
    outputs = [" ".join(text.split()[:kept]) for text in OUTPUTS]
    assert bleu(outputs, REFERENCES, order)["score"] == pytest.approx(hand_bleu(outputs, REFERENCES, order), rel=1e-9)


def test_what_is_perfect_and_what_is_nothing():
    first = [each[0] for each in REFERENCES]
    assert bleu(first, REFERENCES)["score"] == pytest.approx(100)
    assert rouge_l(first, REFERENCES) == 1
    assert cider(first, [each[:1] for each in REFERENCES]) == pytest.approx(10)
    for nothing in ("", "...", "xyzzy"):
        outputs = [nothing] * len(OUTPUTS)
        assert bleu(outputs, REFERENCES)["score"] == 0
        assert cider(outputs, REFERENCES) == rouge_l(outputs, REFERENCES) == 0


def test_words_are_cut_as_coco_cuts_them():
    assert words("The man's got a t-shirt; he isn't (there), he'll say \u201chello\u201d\u2026") == [
        "the", "man", "'s", "got", "a", "t-shirt", "he", "is", "n't", "there", "he", "'ll", "say", "hello",
    ]  # fmt: skip
    assert words("can't 3.5 caf\u00e9 ' , - --") == ["ca", "n't", "3.5", "caf\u00e9"]


@pytest.mark.parametrize("known", [REFERENCES[:5], [*REFERENCES[:5], []], [each[0] for each in REFERENCES]])
def test_references_that_do_not_fit_are_refused(known):
    for measure in (bleu, cider, rouge_l):
        with pytest.raises(ArgumentError, match="references: expected"):
            measure(OUTPUTS, known)


def test_case_and_punctuation_are_of_no_matter():
    shouted = [f"{text.upper()} ." for text in OUTPUTS]
    pointed = [[f"{text.capitalize()}!" for text in each] for each in REFERENCES]
    for measure in (bleu, cider, rouge_l):
        assert measure(shouted, pointed) == measure(OUTPUTS, REFERENCES)
