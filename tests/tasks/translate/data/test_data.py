import pytest

from saccade.errors import ArgumentError
from saccade.tasks.translate.data import BUILTIN, group_names, open_corpus
from tiers import rest_slow


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
    assert plain.note.endswith("none of their own: 6 pairs for validation, 6 pairs for test")
    with pytest.raises(ArgumentError, match="data: train, row 1: expected a column fr or source, got de, en"):
        open_corpus("objects", "fr", "en", nested)


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
    assert {split: len(part) for split, part in sources.items()} == {"validation": 9, "test": 9, "train": 42}
    assert len(set().union(*sources.values())) == 60
    assert {split: corpus.size(split) for split in sources} == {"validation": 27, "test": 27, "train": 126}
    assert ("go 1", "va 61") in [pair for split in sources for pair in pairs(corpus, split)]


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


@pytest.mark.parametrize("name", rest_slow(list(BUILTIN)))
def test_built_in_data_are_pairs_of_named_groups(name):
    corpus = open_corpus(name)
    assert corpus.fingerprint == open_corpus(name).fingerprint
    for split in ("train", "validation", "test"):
        pair = corpus.example(split, 3)
        assert pair.source and pair.target and pair.group in group_names(name)
        assert pair == open_corpus(name).example(split, 3)


UNITS = "".join(f'<tu><tuv xml:lang="en"><seg>{n}</seg></tuv></tu>' for n in range(5))


@pytest.mark.parametrize(
    ("file", "content", "sides", "message"),
    [
        ("a.tsv", "a\tx\nno tab\nc\tz\n", (), r"^row 2 of .*a\.tsv: expected source and target with a tab .*no tab"),
        ("a.txt", "yes, sir\n" * 3, (), "row 1 of .*: expected a header that names source and target, got 'yes, s"),
        ("a.tmx", f'<tmx version="1.4"><header/><body>{UNITS}</body></tmx>', ("en", "EN"), "got EN for both"),
        ("a.csv", "en,de\na,b\n", ("en", "EN"), "^--target: expected another side than --source, got EN for both"),
    ],
)
def test_what_is_no_pair_of_sides_is_one_line(file, content, sides, message, tmp_path):
    (tmp_path / file).write_text(content)
    with pytest.raises(ArgumentError, match=message):
        open_corpus(str(tmp_path / file), *sides)
