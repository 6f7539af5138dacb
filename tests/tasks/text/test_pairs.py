import gzip
import random

import pytest

from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.text.pairs import open_pairs


def write(path, rows):
    path.write_bytes("".join("\t".join(row) + "\n" for row in rows).encode())
    return path


def pairs(corpus, split):
    return [corpus.row(split, index) for index in range(corpus.size(split))]


@pytest.fixture
def rows():
    """Sixty sentences, each with three translations, and a third column."""
    return [(f"go {n % 60}", f"va {n}", "CC-BY") for n in range(180)]


def test_sentence_is_in_one_split_with_all_its_translations(tmp_path, rows):
    corpus = open_pairs(write(tmp_path / "pairs.tsv", rows))
    sources = {split: {pair[0] for pair in pairs(corpus, split)} for split in corpus.splits}
    assert {split: len(found) for split, found in sources.items()} == {"validation": 3, "test": 3, "train": 54}
    assert len(set().union(*sources.values())) == 60
    assert {split: corpus.size(split) for split in sources} == {"validation": 9, "test": 9, "train": 162}
    assert ("go 1", "va 61") in [pair for split in sources for pair in pairs(corpus, split)]


def test_splits_do_not_depend_on_the_order_of_lines(tmp_path, rows):
    first = open_pairs(write(tmp_path / "first.tsv", rows))
    random.Random(1).shuffle(rows)
    second = open_pairs(write(tmp_path / "second.tsv", rows))
    for split in first.splits:
        found = [set(pairs(corpus, split)) for corpus in (first, second)]
        assert found[0] == found[1]
    assert first.fingerprint != second.fingerprint


def test_packing_and_names_change_nothing(tmp_path, rows):
    plain = write(tmp_path / "pairs.tsv", rows)
    (tmp_path / "other.gz").write_bytes(gzip.compress(plain.read_bytes()))
    one, other = open_pairs(plain), open_pairs(tmp_path / "other.gz")
    assert one.fingerprint == other.fingerprint and pairs(one, "test") == pairs(other, "test")


def test_held_out_splits_are_not_larger_than_a_thousand_sources(tmp_path):
    corpus = open_pairs(write(tmp_path / "pairs.tsv", [(f"source {n}", "target") for n in range(21_000)]))
    assert (corpus.size("validation"), corpus.size("test")) == (1000, 1000)


def test_three_sources_are_enough_and_two_are_not(tmp_path):
    corpus = open_pairs(write(tmp_path / "pairs.tsv", [("a", "x"), ("b", "y"), ("c", "z")]))
    assert all(corpus.size(split) == 1 for split in corpus.splits)
    with pytest.raises(ArgumentError, match="expected 3 different sources or more, .* got 2"):
        open_pairs(write(tmp_path / "pairs.tsv", [("a", "x"), ("b", "y"), ("b", "z")]))


def test_blank_sides_are_left_out_and_white_space_is_taken_off(tmp_path):
    rows = [(" a ", "x\r"), ("b", ""), ("", "y"), ("",), ("c", "\u3000z"), ("d", "w", "")]
    corpus = open_pairs(write(tmp_path / "pairs.tsv", rows))
    found = {pair for split in corpus.splits for pair in pairs(corpus, split)}
    assert found == {("a", "x"), ("c", "z"), ("d", "w")}
    left_out, held_out = corpus.note.split("; held out from training, ")
    assert left_out.endswith("left out 3 of 6 pairs, which have a blank side; the first is line 2")
    assert held_out == "as there are none of their own: 1 pair for validation, 1 pair for test"


def test_a_line_without_a_tab_is_named(tmp_path):
    with pytest.raises(ArgumentError, match=r"pairs\.tsv: line 2: expected a source, a tab and a target, got no tab"):
        open_pairs(write(tmp_path / "pairs.tsv", [("a", "x"), ("no tab",), ("c", "z")]))


def test_a_header_names_the_columns_and_the_split(tmp_path):
    path = tmp_path / "pairs.csv"
    names = ("train", "valid", "test")
    path.write_text("Split,target,source\n" + "".join(f'{names[n % 3]},"va, {n}",go {n}\n' for n in range(9)))
    corpus = open_pairs(path)
    for number, split in enumerate(("train", "validation", "test")):
        assert pairs(corpus, split) == [(f"go {n}", f"va, {n}") for n in range(number, 9, 3)]
    with pytest.raises(ArgumentError, match="--test-split: .*got late; there is train, validation"):
        path.write_text("source,target,split\n" + "a,b,train\nc,d,dev\n" * 2)
        open_pairs(path, SplitNames({"test": "late"}))
    path.write_text("source,target,split\na,b,train\na,b,odd\n")
    with pytest.raises(ArgumentError, match=r"pairs\.csv: line 3: column split: expected one of train"):
        open_pairs(path)


def test_commas_are_text_in_pairs_without_a_header(tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_text("yes, sir\n" * 3)
    with pytest.raises(ArgumentError, match="line 1: .*, got no tab; .* semicolons need a header: source,target"):
        open_pairs(path)
