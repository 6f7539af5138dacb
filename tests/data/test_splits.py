import re

import pytest

from saccade.data.splits import SplitNames, SplitOptions, only, split_of
from saccade.errors import ArgumentError
from tiers import every


def test_a_name_by_an_option_is_that_of_no_other_split():
    names = SplitNames.of_options(SplitOptions(validation_split="test"))
    assert names.of("validation") == ("test",) and names.of("test") == ("testing",)
    assert names.split("test") == "validation" and names.split("TRAIN") == "train" and names.split("dev") is None


@every(
    ("options", "words"),
    [
        ({"train_split": ""}, "--train-split: expected a name, got an empty one"),
        ({"train_split": "a", "test_split": "a"}, "--test-split: expected another name than --train-split, got a"),
    ],
)
def test_wrong_names_are_rejected(options, words):
    with pytest.raises(ArgumentError, match=words):
        SplitOptions(**options)


def test_an_option_names_a_part_of_the_data():
    names = SplitNames({"validation": "tst2012"})
    names.check("test", "corpus")
    with pytest.raises(ArgumentError, match="--validation-split: expected the name of a part of corpus, got tst2012; "):
        names.check("validation", "corpus", ["train", "dev"])
    with pytest.raises(ArgumentError, match="--validation-split: expected none for dates, .*; leave tst2012 out"):
        names.refuse("dates")


def test_a_cell_names_a_split():
    assert split_of(b" val ", SplitNames()) == "validation" and split_of("VAL", SplitNames(), "dev") == "dev"
    for cell in (None, 3, float("nan"), b"\xff"):
        with pytest.raises(ValueError, match="^column .split.: expected one of train, .*, got '"):
            split_of(cell, SplitNames())


def test_one_file_of_several_is_an_error(tmp_path):
    assert only([]) is None and only([tmp_path / "a"]) == tmp_path / "a"
    with pytest.raises(ArgumentError, match="expected one file, got a, b and c; move away the others"):
        only([tmp_path / name for name in "abc"])


@pytest.mark.parametrize(("options", "message"), [
    ({"held_out": 0.5}, "--held-out: expected a share from 0 on and below 0.5, got 0.5"),
    ({"fold": "6/5"}, "--fold: expected a fold of two or more, such as 2/5, got '6/5'"),
    ({"fold": "1/1"}, "--fold: expected a fold of two or more, such as 2/5, got '1/1'"),
    ({"fold": "a"}, "--fold: expected a fold of two or more, such as 2/5, got 'a'"),
])  # fmt: skip
def test_shares_and_folds_that_mean_nothing_are_rejected(options, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        SplitOptions(**options)


def test_built_in_data_take_no_share_and_no_fold():
    for names, option in ((SplitNames(held_out=0.2), "--held-out"), (SplitNames(fold=(0, 2)), "--folds")):
        with pytest.raises(ArgumentError, match=f"{option}: expected none for dates, whose splits are fixed"):
            names.refuse("dates")
    SplitNames(held_out=0.0).refuse("dates")  # of a run without the option
