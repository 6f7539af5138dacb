"""Fields of JSON objects are of the type that they have to be of."""

import json

import pytest

from saccade.errors import ArgumentError
from saccade.tasks.fields import text, whole_number
from tiers import every


def test_fields_of_their_type_are_returned():
    content = json.loads('{"text": "", "negative": -3, "large": 123456789012345678901234567890}')
    assert text(content, "text", "row 1") == "" and whole_number(content, "negative", "row 1") == -3
    assert whole_number(content, "large", "row 1") == 123456789012345678901234567890


@every("value", ["null", "true", "1.0", "NaN", "[1]", "{}"])
def test_all_others_are_refused_by_their_name(value):
    content = json.loads(f'{{"id": {value}}}')
    for read, kind in ((text, "a text"), (whole_number, "a whole number")):
        with pytest.raises(ArgumentError) as caught:
            read(content, "id", "row 1")
        assert str(caught.value) == f"row 1: expected {kind} called id, got {content['id']!r}"
        with pytest.raises(ArgumentError, match="row 1: expected .* called gone, got None"):
            read(content, "gone", "row 1")


def test_a_text_is_no_number_and_what_is_long_is_cut():
    with pytest.raises(ArgumentError, match="got 'x{59}$"):
        whole_number({"id": "x" * 1000}, "id", "row 1")
