"""Texts of one's own with one space between two words, and what is none."""

import pytest

from saccade.errors import ArgumentError
from saccade.tasks.text.cleaning import cleaned


def test_white_space_of_any_kind_is_one_space():
    assert cleaned("\u00a0a\u2003 b\tc\r\n", "here") == "a b c" and cleaned(" \n", "here") == ""


@pytest.mark.parametrize(("text", "said"), [("a \ud800", "half a character"), ("a" * 65_537, "at most 65536")])
def test_what_is_no_text_is_refused_by_its_place(text, said):
    with pytest.raises(ArgumentError, match=f"line 7: .*{said}"):
        cleaned(text, "line 7")
