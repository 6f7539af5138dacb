import math

import pytest

from saccade.errors import ArgumentError
from saccade.tasks.generate import Decoding

DRAWN = {"sample": True}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"temperature": 0.5}, "--temperature: expected only with --sample, got 0.5"),
        ({"top_p": 0.5}, "--top-p: expected only with --sample, got 0.5"),
        ({"seed": 0}, "--seed: expected only with --sample, got 0"),
        ({**DRAWN, "temperature": 0.0}, "--temperature: expected a number above 0, got 0.0"),
        ({**DRAWN, "temperature": math.inf}, "--temperature: expected a number above 0, got inf"),
        ({**DRAWN, "temperature": math.nan}, "--temperature: expected a number above 0, got nan"),
        ({**DRAWN, "top_p": 0.0}, "--top-p: expected a share above 0 and at most 1, got 0.0"),
        ({**DRAWN, "top_p": 1.5}, "--top-p: expected a share above 0 and at most 1, got 1.5"),
        ({**DRAWN, "coverage_penalty": 0.2}, "--coverage-penalty: expected without --sample"),
        ({"coverage_penalty": -1.0}, "--coverage-penalty: expected a number from 0 to 1000, got -1.0"),
        ({"coverage_penalty": math.nan}, "--coverage-penalty: expected a number from 0 to 1000, got nan"),
        ({"min_length": -1}, "--min-length: expected a number from 0 to 100000, got -1"),
        ({"min_length": 10**6}, "--min-length: expected a number from 0 to 100000, got 1000000"),
        ({"prefix": ""}, "--prefix: expected a text in one line, got ''"),
        ({"prefix": " \t"}, "--prefix: expected a text in one line"),
        ({"prefix": "a\nb"}, "--prefix: expected a text in one line"),
    ],
)
def test_what_means_nothing_is_refused_by_name(words, message):
    with pytest.raises(ArgumentError, match=message) as error:
        Decoding(**words)
    assert "\n" not in str(error.value)


def test_what_needs_the_attention_says_so():
    assert not Decoding(min_length=3, prefix="a").attends
    assert Decoding(coverage_penalty=0.1).attends and Decoding(replace_unknown=True).attends
