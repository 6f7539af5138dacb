import json
import os

import pytest

from saccade.errors import ArgumentError
from saccade.tasks.saved import labels_from, reading, whole_number
from tiers import every


def test_what_is_written_is_given(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"labels": ["ä", "b"], "width": 3}), encoding="utf-8")
    with reading(tmp_path / "a.json", "the numbers") as content:
        assert labels_from(content) == ("ä", "b") and whole_number(content, "width") == 3


@pytest.mark.parametrize(
    "content", [None, b"", b"{", b"\xff\xfe", b"[" * 100_000, b"[]", b"null", b"{}", b'{"width": []}']
)
def test_whatever_is_wrong_with_a_file_is_one_error_that_names_it(tmp_path, content):
    if content is not None:
        (tmp_path / "a.json").write_bytes(content)
    with (
        pytest.raises(ArgumentError, match=rf"{tmp_path / 'a.json'}: expected the numbers of this run, got ") as error,
        reading(tmp_path / "a.json", "the numbers") as found,
    ):
        whole_number(found, "width")
    assert "\n" not in str(error.value)


def test_a_folder_in_its_place_is_named(tmp_path):
    with pytest.raises(ArgumentError, match="expected the numbers of this run"), reading(tmp_path, "the numbers"):
        pass


@every("value", [0, -1, 2**31, 1.0, True, None, "3", [3]])
def test_what_is_no_length_is_refused(value):
    with pytest.raises(ValueError, match="width "):
        whole_number({"width": value}, "width")
    assert whole_number({"width": 2**31 - 1}, "width") == 2**31 - 1


@every("value", [None, "ab", [], ["a"], [1, 2], ["a", None], {"a": 1, "b": 2}])
def test_what_is_no_list_of_labels_is_refused(value):
    with pytest.raises(ValueError, match="labels "):
        labels_from({"labels": value})


def test_other_errors_are_not_swallowed(tmp_path):
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(ZeroDivisionError), reading(tmp_path / "a.json", "the numbers"):
        raise ZeroDivisionError


def test_a_missing_file_is_named_and_a_pipe_not_awaited(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    for name, words in (("gone.json", "No such file or directory"), ("pipe.json", "expected a file, got a pipe")):
        with (
            pytest.raises(ArgumentError, match=rf"{name}: expected the numbers of this run, got {words}$"),
            reading(tmp_path / name, "the numbers"),
        ):
            pass
