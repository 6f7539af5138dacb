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


def test_one_file_of_several_is_an_error(tmp_path):
    assert only([]) is None and only([tmp_path / "a"]) == tmp_path / "a"
    with pytest.raises(ArgumentError, match="expected one file, got a, b and c; move away the others"):
        only([tmp_path / name for name in "abc"])
