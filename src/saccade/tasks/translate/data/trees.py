"""Built-in data of parsing: sentences of a small grammar, and their trees.

The sentences are English. A tree is a row of brackets.

    the cat that sees John sleeps .
    ->  (S (NP (NP DT NN )NP (SBAR (WHNP WDT )WHNP (S (VP VBZ (NP NNP )NP )VP )S )SBAR )NP (VP VBZ )VP . )S

Brackets, phrases and tags are the Penn Treebank's. A word's tag stands in the word's place. Every sentence has one
tree: the place of a word decides its tag, since *that* has three and *her* two. For example *with a friend* belongs to
the verb of the clause, however far away. A sentence belongs to one split.

Source:
    Vinyals et al. 2015, "Grammar as a Foreign Language", figure 2 (https://arxiv.org/abs/1412.7449). Their data are the
    Penn Treebank and texts with the trees of other parsers.
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

#: Each symbol's ways to be written: a frequency, and symbols. Text behind a colon is not shown. A symbol without text
#: before it has no brackets. `WORDS` has the words of all other symbols.
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
_DEEPEST = 16  # symbols from the top to a tag. Deeper ones are written in the shortest way
_PARTS = 10  # of all sentences, one for validation and one for test


class Trees(Generated[Pair]):
    """Sentences and trees: 80% for training, 10% for validation and 10% for test.

    Training is endless. Validation and test hold 1,000 different sentences each, as the grammar draws them: most are
    short. The group of a pair is the number of its words, punctuation included.

    Example:
        >>> trees = Trees()
        >>> trees.example("train", 0) == trees.example("train", 0), trees.size("test"), trees.size("train")
        (True, 1000, None)
    """

    def make(self, split: str, index: int) -> Pair:
        sentence, tree = next(_drawn(split, index)) if split == "train" else _held_out(split)[index]
        words = sentence.count(" ") + 1
        return Pair(sentence, tree, next((length for length in LENGTHS if length and words <= int(length)), ""))

    @property
    def held_out(self) -> int:
        return HELD_OUT

    @property
    def fingerprint(self) -> str:
        return f"trees {text_hash(repr((GRAMMAR, WORDS, LENGTHS, _DEEPEST, _PARTS))):016x}"


def draw(random: Random, symbol: str = "S", deepest: int = _DEEPEST) -> tuple[list[str], list[str]]:
    """Draw words for a symbol, and the brackets and tags of their tree.

    Args:
        random: source of numbers.
        symbol: of the grammar, or a tag.
        deepest: most symbols from this one to a tag, unless the first way of the grammar is longer.

    Example:
        >>> draw(Random(0), "PP:with")
        (['with', 'every', 'child'], ['(PP', 'IN', '(NP', 'DT', 'NN', ')NP', ')PP'])
    """
    tag = symbol.partition(":")[0]
    if symbol in WORDS:
        return [WORDS[symbol][int(random.random() * len(WORDS[symbol]))]], [tag]
    sums, ways = _ways(symbol, deepest)
    parts = [draw(random, part, deepest - 1) for part in ways[bisect(sums, random.random() * sums[-1])]]
    words, tree = ([token for part in side for token in part] for side in zip(*parts, strict=True))
    return words, [f"({tag}", *tree, f"){tag}"] if tag else tree


@cache
def _ways(symbol: str, deepest: int) -> tuple[Sequence[int], Sequence[Sequence[str]]]:
    """Ways to write a symbol without deeper tags, with cumulative frequencies.

    If there is none, this is the first way.
    """
    ways = [(often, way.split(" ")) for often, way in GRAMMAR[symbol]]
    short = [(often, way) for often, way in ways if max(map(_depth, way)) < deepest] or ways[:1]
    return list(accumulate(often for often, _ in short)), [way for _, way in short]


@cache
def _depth(symbol: str) -> int:
    """Depth of a symbol down to its deepest tag, each written in the first way.

    The first way never recurs.
    """
    return 0 if symbol in WORDS else 1 + max(map(_depth, GRAMMAR[symbol][0][1].split(" ")))


def _drawn(split: str, index: int) -> Iterator[tuple[str, str]]:
    """Sentences of a split, with their trees."""
    for attempt in count():
        words, tree = draw(Random(derive(0, split, index, attempt)))
        sentence = " ".join(words)
        if {0: "validation", 1: "test"}.get(text_hash(sentence) % _PARTS, "train") == split:
            yield sentence, " ".join(tree)


@cache
def _held_out(split: str) -> Sequence[tuple[str, str]]:
    """Return the first different sentences of a held-out split."""
    trees, drawn = dict[str, str](), _drawn(split, 0)
    while len(trees) < HELD_OUT:
        trees.setdefault(*next(drawn))
    return tuple(trees.items())
