import gzip

import pytest

from saccade.data.splits import SplitNames, SplitOptions, held_out, only
from saccade.errors import ArgumentError


def test_a_name_that_an_option_gives_is_no_other_splits():
    names = SplitNames({"validation": "test"})
    assert names.of("validation") == ("test",) and names.of("test") == ("testing",)
    assert names.split("test") == "validation" and names.split("TRAIN") == "train" and names.split("dev") is None


def test_names_are_taken_from_options():
    assert SplitNames.of_options(SplitOptions(test_split="tst2013")).given == {"test": "tst2013"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"train_split": ""}, "--train-split: expected a name, got an empty one"),
        ({"train_split": "a", "test_split": "a"}, "--test-split: expected another name than --train-split, got a"),
    ],
)
def test_what_is_no_name_is_refused(options, words):
    with pytest.raises(ArgumentError, match=words):
        SplitOptions(**options)


def test_what_an_option_names_has_to_be_there():
    names = SplitNames({"validation": "tst2012"})
    names.check("test", "corpus")
    with pytest.raises(ArgumentError, match="--validation-split: expected the name of a part of corpus, got tst2012; "):
        names.check("validation", "corpus", ["train", "dev"])
    with pytest.raises(ArgumentError, match="--validation-split: expected none for dates, .*; leave tst2012 out"):
        names.refuse("dates")


def test_nothing_is_said_where_nothing_was_held_out():
    assert held_out([], {}, "texts") == ""


def test_one_file_of_two_is_taken_where_they_hold_the_same_alone(tmp_path):
    plain, packed = tmp_path / "train.de", tmp_path / "train.de.gz"
    assert only([]) is None
    plain.write_bytes(b"eins\n")
    packed.write_bytes(gzip.compress(b"eins\n"))
    assert only([plain, packed]) == plain
    packed.write_bytes(gzip.compress(b"zwei\n"))
    with pytest.raises(ArgumentError, match=r"got train.de and train.de.gz, which differ; move away"):
        only([plain, packed])
    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(ArgumentError, match=r"train\.de\.gz: expected a whole gzip file, got a damaged one"):
        only([plain, packed])
