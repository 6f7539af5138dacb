"""The built-in corpus of parsing: sentences of a small English grammar, and their trees as a row of brackets.

    the cat that sees John sleeps .
    ->  (S (NP (NP DT NN )NP (SBAR (WHNP WDT )WHNP (S (VP VBZ (NP NNP )NP )VP )S )SBAR )NP (VP VBZ )VP . )S

Brackets, phrases and tags are the Penn Treebank's; a word's tag stands in the word's place. The grammar gives every
sentence one tree. What a word is follows from where it stands (*that* is a determiner, a pronoun or a conjunction,
*her* two things), and a phrase is closed when what follows says so: *with a friend* belongs to the verb of the clause,
however much has come between. A sentence belongs to one split, so those of the test have been seen in none.

Source:
    Vinyals et al. 2015, "Grammar as a Foreign Language", figure 2 (https://arxiv.org/abs/1412.7449), which is
    trained on the Penn Treebank and on what other parsers make of text.
"""

from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate, count
from random import Random

from saccade.data.generated import Generated
from saccade.data.rows import text_hash
from saccade.tasks.translate.data.corpus import Pair
from saccade.train.randomness import derive

__all__ = ["GRAMMAR", "LENGTHS", "WORDS", "Trees", "draw"]

#: From a symbol to how it may be written, and how often: a number, and symbols. What follows a colon tells symbols of
#: one name apart and is not shown; where nothing is before it, it has no brackets. `WORDS` has the words of all others.
GRAMMAR: Mapping[str, Sequence[tuple[int, str]]] = {
    "S": ((4, "NP VP ."), (1, "S:clause , CC S:clause .")),
    "S:clause": ((1, "NP VP"),),
    "NP": ((1, "PRP:subject"), (4, ":noun")),
    "NP:object": ((1, "PRP:object"), (4, ":noun")),
    "NP:noun": ((1, ":noun"),),
    "NP:short": ((1, ":short"),),
    ":noun": ((4, "NNP"), (7, ":short"), (2, "NP:short PP:of"), (3, "NP:short SBAR")),
    ":short": ((3, "DT NN"), (1, "DT JJ NN"), (1, "PRP$ NN")),
    "PP:of": ((1, "IN:of NP:noun"),),
    "PP:place": ((1, "IN:place NP:noun"),),
    "PP:with": ((1, "IN:with NP:short"),),
    "VP": (
        (2, "VBZ:alone"),
        (1, "VBZ:alone PP:place"),
        (2, "VBZ:of NP:object"),
        (2, "VBZ:of NP:object PP:with"),
        (2, "VBZ:say SBAR:that"),
    ),
    "SBAR": ((2, "WHNP S:subject"), (1, "WHNP S:object")),
    "WHNP": ((1, "WDT"),),
    "S:subject": ((1, "VP:within"),),
    "S:object": ((1, "NP VP:open"),),
    "VP:within": ((1, "VBZ:alone"), (1, "VBZ:alone PP:place"), (2, "VBZ:of NP:object")),
    "VP:open": ((1, "VBZ:of"),),
    "SBAR:that": ((1, "IN:that S:clause"),),
}
WORDS: Mapping[str, Sequence[str]] = {
    "NNP": ("John", "Mary", "Ruth", "Peter"),
    "NN": ("cat", "dog", "man", "woman", "child", "teacher", "painter", "king", "sailor", "friend"),
    "JJ": ("tall", "young", "small", "quiet", "happy"),
    "DT": ("the", "a", "every", "that"),
    "PRP$": ("his", "her"),
    "PRP:subject": ("he", "she"),
    "PRP:object": ("him", "her"),
    "VBZ:alone": ("sleeps", "waits", "smiles", "sings"),
    "VBZ:of": ("sees", "likes", "follows", "paints"),
    "VBZ:say": ("says", "thinks", "hopes"),
    "IN:of": ("of",),
    "IN:place": ("near", "behind"),
    "IN:with": ("with",),
    "IN:that": ("that",),
    "WDT": ("that",),
    "CC": ("and", "but"),
    ",": (",",),
    ".": (".",),
}
LENGTHS: Mapping[str, str] = {
    "8": "up to 8 words",
    "13": "9 to 13 words",
    "19": "14 to 19 words",
    "": "20 words or more",
}
HELD_OUT = 1000  # different sentences of validation, and of test
_DEEPEST = 16  # symbols from the top to a tag: what would be deeper is written in the shortest way
_PARTS = 10  # of all sentences: one validates, one is to test on


class Trees(Generated[Pair]):
    """Sentences and their trees, split by the sentence: four fifths to train on, a tenth to validate, a tenth to test.

    Training is endless; validation and test hold 1,000 different sentences each, as the grammar draws them: most are
    short. The group of a pair is how many words it has, the full stop and commas among them.

    Source:
        Vinyals et al. 2015, "Grammar as a Foreign Language" (https://arxiv.org/abs/1412.7449).

    Example:
        >>> trees = Trees()
        >>> trees.example("train", 0) == trees.example("train", 0)
        True
        >>> trees.size("test"), trees.size("train")
        (1000, None)
    """

    def make(self, split: str, index: int) -> Pair:
        sentence, tree = next(_drawn(split, index)) if split == "train" else _held_out(split)[index]
        return Pair(sentence, tree, _group(sentence))

    @property
    def held_out(self) -> int:
        return HELD_OUT

    @property
    def fingerprint(self) -> str:
        """What the examples are made of, in one string."""
        return f"trees {text_hash(repr((GRAMMAR, WORDS, LENGTHS, _DEEPEST, _PARTS))):016x}"


def draw(random: Random, symbol: str = "S", deepest: int = _DEEPEST) -> tuple[list[str], list[str]]:
    """Draw what a symbol is written as: words, and the brackets and tags of their tree.

    Args:
        random: where numbers come from.
        symbol: of the grammar, or a tag.
        deepest: symbols from this one to a tag at most, where the first way of the grammar is as short.

    Example:
        >>> draw(Random(0), "PP:with")
        (['with', 'every', 'child'], ['(PP', 'IN', '(NP', 'DT', 'NN', ')NP', ')PP'])
    """
    shown = symbol.partition(":")[0]
    if symbol in WORDS:
        return [WORDS[symbol][int(random.random() * len(WORDS[symbol]))]], [shown]
    sums, ways = _ways(symbol, deepest)
    parts = [draw(random, part, deepest - 1) for part in ways[bisect(sums, random.random() * sums[-1])]]
    words, tree = ([token for part in side for token in part] for side in zip(*parts, strict=True))
    return words, [f"({shown}", *tree, f"){shown}"] if shown else tree


_HELD_OUT = {"validation": 0, "test": 1}


@cache
def _ways(symbol: str, deepest: int) -> tuple[Sequence[int], Sequence[Sequence[str]]]:
    """How a symbol may be written where tags are no deeper than that, and the sums of how often; else the first way."""
    ways = [(often, way.split(" ")) for often, way in GRAMMAR[symbol]]
    short = [(often, way) for often, way in ways if max(map(_depth, way)) < deepest] or ways[:1]
    return list(accumulate(often for often, _ in short)), [way for _, way in short]


@cache
def _depth(symbol: str) -> int:
    """How many symbols lie from one to its deepest tag where each is written in the first way, which never recurs."""
    return 0 if symbol in WORDS else 1 + max(map(_depth, GRAMMAR[symbol][0][1].split(" ")))


def _drawn(split: str, index: int) -> Iterator[tuple[str, str]]:
    """Sentences of a split, with their trees."""
    for attempt in count():
        words, tree = draw(Random(derive(0, split, index, attempt)))
        sentence = " ".join(words)
        if _split(sentence) == split:
            yield sentence, " ".join(tree)


def _split(sentence: str) -> str:
    part = text_hash(sentence) % _PARTS
    return next((split for split, own in _HELD_OUT.items() if part == own), "train")


@cache
def _held_out(split: str) -> Sequence[tuple[str, str]]:
    """The sentences of a split that ends: the first different ones that are drawn."""
    found: dict[str, str] = {}
    for sentence, tree in _drawn(split, 0):
        found.setdefault(sentence, tree)
        if len(found) == HELD_OUT:
            break
    return tuple(found.items())


def _group(sentence: str) -> str:
    words = sentence.count(" ") + 1
    return next((most for most in LENGTHS if most and words <= int(most)), "")
