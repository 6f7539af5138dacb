import gzip

import pytest

from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.translate.data import BUILTIN, group_names, open_corpus
from tiers import rest_slow


@pytest.mark.parametrize("name", rest_slow(list(BUILTIN)))
def test_built_in_data_have_three_splits_and_a_fingerprint(name):
    corpus = open_corpus(name)
    for split in ("train", "validation", "test"):
        pair = corpus.example(split, 0)
        assert pair.source and pair.target and pair.group in group_names(name)
    assert corpus.size("test") and corpus.fingerprint == open_corpus(name).fingerprint


def test_data_that_are_not_there_are_named():
    with pytest.raises(ArgumentError, match="no data set no/such/folder, and no folder or file; built in: dates"):
        open_corpus("no/such/folder")
    with pytest.raises(ArgumentError, match="did you mean dates?"):
        open_corpus("date")


def test_a_folder_has_sides_and_a_file_may_have_languages(tmp_path):
    for split in ("train", "val", "test"):
        for side in ("de", "en"):
            (tmp_path / f"{split}.{side}").write_text(f"{split} {side}\n")
    (tmp_path / "pairs").write_text("a\tx\nb\ty\nc\tz\n")
    assert open_corpus(str(tmp_path), "en", "de").example("train", 0).target == "train de"
    assert open_corpus(str(tmp_path / "pairs")).size("train") == 1
    assert open_corpus(str(tmp_path / "pairs"), "ja", "en").size("train") == 1
    with pytest.raises(ArgumentError, match="--target: expected none, as dates says what its sides are"):
        open_corpus("dates", None, "en")


def test_objects_have_the_columns_that_are_asked_for():
    pairs = [(f"satz {n}", f"sentence {n}") for n in range(40)]
    plain = open_corpus("objects", objects=pairs)
    nested = [{"translation": {"de": source, "en": target}} for source, target in pairs]
    named = open_corpus("objects", "de", "en", nested)
    turned = open_corpus("objects", "en", "de", nested)
    assert named.fingerprint == plain.fingerprint != turned.fingerprint
    assert named.example("train", 0) == plain.example("train", 0) and plain.example("train", 0).group == ""
    assert turned.example("test", 0).source.startswith("sentence")
    assert sum(plain.size(split) for split in ("train", "validation", "test")) == 40
    assert plain.note.endswith("none of their own: 2 pairs for validation, 2 pairs for test")
    with pytest.raises(ArgumentError, match="data: train, row 1: expected a column fr or source, got de, en"):
        open_corpus("objects", "fr", "en", nested)


def test_blank_training_pairs_of_objects_are_left_out():
    pairs = [(f"satz {n}", f"sentence {n}") for n in range(40)]
    corpus = open_corpus("objects", objects=[*pairs[:3], ("", "nothing"), *pairs[3:], ("nichts", " ")])
    assert corpus.fingerprint == open_corpus("objects", objects=pairs).fingerprint
    assert corpus.note.startswith("data: train: left out 2 of 42 pairs, which have a blank side; the first is row 4; ")
    own = open_corpus("objects", objects={"train": [*pairs, ("", "")], "val": [("", "a")], "test": [("b", "")]})
    assert [own.size(split) for split in ("train", "validation", "test")] == [40, 1, 1]  # as of a folder


@pytest.fixture
def rows():
    """Sixty sentences, each with three translations, and a third column."""
    return [(f"go {n % 60}", f"va {n}", "CC-BY") for n in range(180)]


def write(path, rows):
    path.write_bytes("".join("\t".join(row) + "\n" for row in rows).encode())
    return str(path)


def pairs(corpus, split):
    return [tuple(row.values()) for row in corpus.rows.splits[split]]


def test_a_sentence_is_in_one_split_with_all_its_translations(tmp_path, rows):
    corpus = open_corpus(write(tmp_path / "pairs.tsv", rows))
    sources = {split: {pair[0] for pair in pairs(corpus, split)} for split in corpus.rows.splits}
    assert {split: len(part) for split, part in sources.items()} == {"validation": 3, "test": 3, "train": 54}
    assert len(set().union(*sources.values())) == 60
    assert {split: corpus.size(split) for split in sources} == {"validation": 9, "test": 9, "train": 162}
    assert ("go 1", "va 61") in [pair for split in sources for pair in pairs(corpus, split)]


def test_splits_do_not_depend_on_the_order_of_lines(tmp_path, rows):
    first = open_corpus(write(tmp_path / "first.tsv", rows))
    second = open_corpus(write(tmp_path / "second.tsv", rows[::-1]))
    for split in first.rows.splits:
        assert set(pairs(first, split)) == set(pairs(second, split))
    assert first.fingerprint != second.fingerprint
    (tmp_path / "other.gz").write_bytes(gzip.compress((tmp_path / "first.tsv").read_bytes()))
    assert open_corpus(str(tmp_path / "other.gz")).fingerprint == first.fingerprint


def test_blank_sides_are_left_out_and_white_space_is_taken_off(tmp_path):
    rows = [(" a ", "x\r"), ("b", ""), ("", "y"), ("",), ("c", "\u3000z"), ("d", "w", "")]
    corpus = open_corpus(write(tmp_path / "pairs.tsv", rows))
    assert {pair for split in corpus.rows.splits for pair in pairs(corpus, split)} == {
        ("a", "x"),
        ("c", "z"),
        ("d", "w"),
    }
    left_out, held_out = corpus.note.split("; held out from training, ")
    where = f"the first is row 2 of {tmp_path}/pairs.tsv"
    assert left_out.endswith(f"train: left out 2 of 5 pairs, which have a blank side; {where}")
    assert held_out == "as there are none of their own: 1 pair for validation, 1 pair for test"


def test_a_line_without_a_tab_is_named(tmp_path):
    with pytest.raises(ArgumentError, match=r"^row 2 of .*pairs\.tsv: expected source and target with a tab .*no tab"):
        open_corpus(write(tmp_path / "pairs.tsv", [("a", "x"), ("no tab",), ("c", "z")]))


def test_a_header_names_the_columns_and_the_split(tmp_path):
    path, names = tmp_path / "pairs.csv", ("train", "valid", "test")
    path.write_text("Split,target,source\n" + "".join(f'{names[n % 3]},"va, {n}",go {n}\n' for n in range(9)))
    corpus = open_corpus(str(path))
    for number, split in enumerate(("train", "validation", "test")):
        assert pairs(corpus, split) == [(f"go {n}", f"va, {n}") for n in range(number, 9, 3)]
    path.write_text("source,target,split\n" + "a,b,train\nc,d,dev\n" * 2)
    with pytest.raises(ArgumentError, match="--test-split: .*got late; there is train, validation"):
        open_corpus(str(path), names=SplitNames({"test": "late"}))
    path.write_text("source,target,split\na,b,train\na,b,odd\n")
    with pytest.raises(ArgumentError, match=r"^row 3 of .*pairs\.csv, column .split.: expected one of train"):
        open_corpus(str(path))


def test_commas_are_text_in_pairs_without_a_header(tmp_path):
    (tmp_path / "pairs.txt").write_text("yes, sir\n" * 3)
    with pytest.raises(ArgumentError, match="row 1 of .*: expected a header that names source and target, got 'yes, s"):
        open_corpus(str(tmp_path / "pairs.txt"))


def test_both_sides_in_one_language_are_refused_in_any_file(tmp_path):
    units = "".join(f'<tu><tuv xml:lang="en"><seg>{n}</seg></tuv></tu>' for n in range(5))
    (tmp_path / "a.tmx").write_text(f'<tmx version="1.4"><header/><body>{units}</body></tmx>')
    (tmp_path / "a.csv").write_text("en,de\n" + "".join(f"a{n},b{n}\n" for n in range(5)))
    for name in ("a.tmx", "a.csv"):
        with pytest.raises(ArgumentError, match="^--target: expected another side than --source, got EN for both"):
            open_corpus(str(tmp_path / name), "en", "EN")
