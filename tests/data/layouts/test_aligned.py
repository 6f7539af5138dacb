import gzip
import itertools
import re
from pathlib import Path

import pytest

from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.translate.data import open_corpus
from saccade.tasks.translate.data.corpus import Pair

MULTI30K = Path(__file__).resolve().parents[4] / "shared/data/multi30k/raw"
SPLITS = {"train": 5, "val": 3, "test_2016_flickr": 2}


@pytest.fixture
def folder(tmp_path):
    for split, count in SPLITS.items():
        for side in ("de", "en"):
            (tmp_path / f"{split}.{side}").write_text("".join(f"{split} {n} {side} \n" for n in range(count)))
    return tmp_path


def open_folder(folder, source, target, names=None):
    return open_corpus(str(folder), source, target, names=names)


def refused(folder, source="de", target="en"):
    with pytest.raises(ArgumentError) as caught:
        open_folder(folder, source, target)
    return str(caught.value)


def test_line_n_of_both_sides_is_a_pair(folder):
    corpus = open_folder(folder, "de", "en")
    assert {split: corpus.size(split) for split in corpus.rows.splits} == {"train": 5, "validation": 3, "test": 2}
    assert corpus.example("train", 4) == Pair("train 4 de", "train 4 en", "")
    assert corpus.example("validation", 0) == Pair("val 0 de", "val 0 en", "")
    assert open_folder(folder, "en", "de").example("test", 1).source == "test_2016_flickr 1 en"
    assert corpus.note == ""


def test_content_changes_the_fingerprint_and_packing_not(folder):
    plain = open_folder(folder, "de", "en").fingerprint
    packed = folder / "train.de.gz"
    packed.write_bytes(gzip.compress((folder / "train.de").read_bytes()))
    (folder / "train.de").unlink()
    assert open_folder(folder, "de", "en").fingerprint == plain != open_folder(folder, "en", "de").fingerprint
    (folder / "val.en").write_text("other\n" * 3)
    assert open_folder(folder, "de", "en").fingerprint != plain


@pytest.mark.parametrize("name", ["valid", "validation", "dev"])
def test_validation_has_many_names(folder, name):
    for side in ("de", "en"):
        (folder / f"val.{side}").rename(folder / f"{name}.{side}")
    assert open_folder(folder, "de", "en").size("validation") == 3


def test_a_folder_of_tables_is_read_as_tables(tmp_path):
    (tmp_path / "train.tsv").write_text("".join(f"a {n}\tb {n}\n" for n in range(9)))
    (tmp_path / "test.jsonl").write_text('{"source": "c", "target": "d"}')
    corpus = open_folder(tmp_path, None, None)
    assert [corpus.size(split) for split in ("train", "validation", "test")] == [8, 1, 1]
    assert corpus.example("test", 0) == Pair("c", "d", "")


def test_a_pair_of_files_without_splits_is_held_out(tmp_path):
    for side in ("de", "en"):
        (tmp_path / f"europarl-v7.de-en.{side}").write_text("".join(f"{side} {n}\n" for n in range(60)))
    corpus = open_folder(tmp_path / "europarl-v7.de-en", "en", "de")
    assert [corpus.size(split) for split in ("train", "validation", "test")] == [42, 9, 9]
    assert corpus.example("train", 0).source.replace("en", "de") == corpus.example("train", 0).target


def test_test_split_is_test_or_first_that_has_both_sides(folder):
    (folder / "test_2015.de").write_text("one side alone\n")
    assert open_folder(folder, "de", "en").size("test") == 2
    for side in ("de", "en"):
        (folder / f"test.{side}").write_text("one\n")
    assert open_folder(folder, "de", "en").size("test") == 1


def test_blank_pairs_are_left_out_of_training_alone(folder):
    (folder / "train.en").write_text("a\n\n \nd\ne\n")
    (folder / "val.de").write_text("\n\nc\n")
    corpus = open_folder(folder, "de", "en")
    assert corpus.size("train") == 3 and corpus.size("validation") == 3
    assert corpus.example("train", 1) == Pair("train 3 de", "d", "")
    said = f"train: left out 2 of 5 pairs, which have a blank side; the first is row 2 of {folder}/train.de"
    assert corpus.note == f"{folder}: {said}"


@pytest.mark.parametrize(
    ("sides", "words"),
    [
        ((None, "en"), "--source: expected one of de, en, got none for"),
        (("de", None), "--target: expected one of de, en, got none for"),
        (("de", "fr"), "--target: expected one of de, en, but there is no train.fr in"),
        (("de", "de"), "--target: expected another side than --source, got de for both"),
        (("../de", "en"), "--source: expected one of de, en, but there is no train.../de"),
    ],
)
def test_sides_that_are_not_there_are_named(folder, sides, words):
    assert words in refused(folder, *sides)


def test_sides_of_different_lengths_are_counted(folder):
    (folder / "train.en").write_text("one\n")
    assert re.search(r"got 5 in \S+train\.de and 1 in \S+train\.en: line n", refused(folder))


def test_a_split_that_is_not_there_is_named(folder):
    (folder / "val.en").unlink()
    assert "expected val.de and val.en, found val.de alone" in refused(folder)
    for side in ("de", "en"):
        (folder / f"train.{side}").unlink()
    assert "expected files of both sides such as train.de and train.en, or train.tsv, found none" in refused(folder)


def test_an_empty_side_is_named(folder):
    (folder / "test_2016_flickr.en").write_text("")
    assert re.search(r"test_2016_flickr\.en: .* empty file", refused(folder))


@pytest.mark.skipif(not MULTI30K.exists(), reason="Multi30k is not at hand")
def test_multi30k_as_it_ships():
    corpus = open_folder(MULTI30K, "de", "fr")
    assert {split: corpus.size(split) for split in corpus.rows.splits} == {
        "train": 29000,
        "validation": 1014,
        "test": 1000,
    }
    pair = corpus.example("train", 28999)
    assert pair.source and pair.target and pair.target == pair.target.strip()


def test_splits_have_other_names_by_options(folder):
    for split, count in (("tst2012", 4), ("tst2013", 6), ("corpus.dev", 2)):
        for side in ("de", "en"):
            (folder / f"{split}.{side}").write_text("".join(f"{split} {n} {side}\n" for n in range(count)))
    names = SplitNames({"validation": "tst2012", "test": "tst2013"})
    corpus = open_folder(folder, "de", "en", names)
    assert [corpus.size(split) for split in corpus.rows.splits] == [5, 4, 6]
    assert corpus.fingerprint != open_folder(folder, "de", "en").fingerprint
    assert open_folder(folder, "de", "en", SplitNames({"validation": "corpus.dev"})).size("validation") == 2
    other = open_folder(folder, "de", "en", SplitNames({"train": "tst2013"}))
    assert other.example("train", 0) == Pair("tst2013 0 de", "tst2013 0 en", "")
    for split in ("train", "validation", "test"):
        with pytest.raises(ArgumentError, match=f"--{split}-split: expected the name of .*, got tst2010; there"):
            open_folder(folder, "de", "en", SplitNames({split: "tst2010"}))


def test_a_plain_file_goes_before_a_packed_one(folder):
    known = open_folder(folder, "de", "en").fingerprint
    (folder / "train.de.gz").write_bytes(gzip.compress(b"other\n" * 5))
    assert open_folder(folder, "de", "en").fingerprint == known
    for side in ("de", "en"):
        (folder / f"dev.{side}").write_text("one\n")
    assert "expected one validation split, got val and dev; say --validation-split" in refused(folder)
    assert open_folder(folder, "de", "en", SplitNames({"validation": "val"})).fingerprint == known


def test_one_held_out_split_without_the_other_is_refused(folder):
    for side in ("de", "en"):
        (folder / f"val.{side}").unlink()
    words = r"val.de and val.en.*found no such pair of files; --validation-split names"
    with pytest.raises(ArgumentError, match=words):
        open_folder(folder, "de", "en")


def test_splits_that_are_not_there_are_held_out_by_sources(folder):
    for side in ("de", "en"):
        for split in ("val", "test_2016_flickr"):
            (folder / f"{split}.{side}").unlink()
        (folder / f"train.{side}").write_text("".join(f"{n % 50} {side}\n" for n in range(100)))
    corpus = open_folder(folder, "de", "en")
    sizes = {split: corpus.size(split) for split in ("train", "validation", "test")}
    assert sum(sizes.values()) == 100 and all(sizes.values())
    sources = [{corpus.example(split, n).source for n in range(size)} for split, size in sizes.items()]
    assert not any(one & other for one, other in itertools.combinations(sources, 2))
    assert corpus.note.startswith("held out from training, as there are none of their own: ")


def test_which_of_several_test_splits_is_taken_is_said(folder):
    for side in ("de", "en"):
        (folder / f"test_2017_flickr.{side}").write_text("one\n")
    note = open_folder(folder, "de", "en").note
    assert note == "the test split is test_2016_flickr; there is test_2017_flickr too (--test-split)"
