import pytest

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
    assert plain.note.endswith("none of their own: 2 examples for validation, 2 examples for test")
    with pytest.raises(ArgumentError, match="data: train, row 1: expected a column fr or source, got de, en"):
        open_corpus("objects", "fr", "en", nested)


def test_blank_training_pairs_of_objects_are_left_out():
    pairs = [(f"satz {n}", f"sentence {n}") for n in range(40)]
    corpus = open_corpus("objects", objects=[*pairs[:3], ("", "nothing"), *pairs[3:], ("nichts", " ")])
    assert corpus.fingerprint == open_corpus("objects", objects=pairs).fingerprint
    assert corpus.note.startswith("data: train: left out 2 of 42 pairs, which have a blank side; the first is row 4; ")
    own = open_corpus("objects", objects={"train": [*pairs, ("", "")], "val": [("", "a")], "test": [("b", "")]})
    assert [own.size(split) for split in ("train", "validation", "test")] == [40, 1, 1]  # as of a folder
