import math
from dataclasses import fields
from types import SimpleNamespace

import pytest

from saccade.errors import ArgumentError
from saccade.tasks.generate.generate import Sampling
from saccade.tasks.generate.request import EvalRequest, Request, check_prefix, search_of
from saccade.tasks.text.bpe import BytePairs
from saccade.tasks.text.tokenizer import Characters
from tiers import every

DRAWN = {"sample": True}
DIGITS = Characters("-0123456789")
PAIRS = BytePairs.learn(["ein Mann fährt Fahrrad", "der Mann sieht ein Fahrrad"] * 5, 400)
RUN = SimpleNamespace(beam_size=3, length_penalty=0.2, seed=7)


@every(
    ("words", "message"),
    [
        ({"temperature": 0.5}, "--temperature: expected only with --sample, got 0.5"),
        ({"top_p": 0.5}, "--top-p: expected only with --sample, got 0.5"),
        ({"seed": 0}, "--seed: expected only with --sample, got 0"),
        ({**DRAWN, "temperature": 0.0}, "--temperature: expected a number above 0, got 0.0"),
        ({**DRAWN, "temperature": -1.0}, "--temperature: expected a number above 0, got -1.0"),
        ({**DRAWN, "temperature": math.inf}, "--temperature: expected a finite number above 0, got inf"),
        ({**DRAWN, "temperature": math.nan}, "--temperature: expected a number above 0, got nan"),
        ({**DRAWN, "top_p": 0.0}, "--top-p: expected a share above 0 and at most 1, got 0.0"),
        ({**DRAWN, "top_p": 1.5}, "--top-p: expected a share above 0 and at most 1, got 1.5"),
        ({**DRAWN, "top_p": math.nan}, "--top-p: expected a share above 0 and at most 1, got nan"),
        ({**DRAWN, "beam_size": 2}, "--beam-size: expected without --sample, got both"),
        ({**DRAWN, "length_penalty": 0.0}, "--length-penalty: expected without --sample, got both"),
        ({"beam_size": 0}, "--beam-size: expected a number from 1 to 10000, got 0"),
        ({"beam_size": 10**6}, "--beam-size: expected a number from 1 to 10000, got 1000000"),
        ({"nbest": 0}, "--nbest: expected a number from 1 to 10000, got 0"),
        ({"nbest": -3}, "--nbest: expected a number from 1 to 10000, got -3"),
        ({"length_penalty": math.nan}, "--length-penalty: expected a finite number from -10 to 10, got nan"),
        ({"length_penalty": 11.0}, "--length-penalty: expected a finite number from -10 to 10, got 11.0"),
        ({"min_length": -1}, "--min-length: expected a number from 0 to 100000, got -1"),
        ({"min_length": 10**6}, "--min-length: expected a number from 0 to 100000, got 1000000"),
        ({"prefix": ""}, "--prefix: expected a text in one line, got ''"),
        ({"prefix": " \t"}, "--prefix: expected a text in one line"),
        ({"prefix": "a\nb"}, "--prefix: expected a text in one line"),
    ],
)
def test_what_means_nothing_is_refused_by_name(words, message):
    with pytest.raises(ArgumentError, match=message) as error:
        Request(**words)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("words", [{"beam_size": 0}, {"length_penalty": -11.0}, {"min_length": -1}])
def test_an_evaluation_is_checked_as_an_answer_is(words):
    for kind in (EvalRequest, Request):
        with pytest.raises(ArgumentError, match=f"--{next(iter(words)).replace('_', '-')}: expected"):
            kind(**words)
    assert {field.name for field in fields(EvalRequest)} <= {field.name for field in fields(Request)}


def test_where_nothing_is_asked_it_is_as_the_run_has_it():
    plain = search_of(RUN, Request(), DIGITS)
    assert (plain.beam_size, plain.length_penalty, plain.count, plain.min_length) == (3, 0.2, 1, 0)
    assert (tuple(plain.prefix), plain.sampling, plain.rank_all) == ((), None, False)
    words = {"beam_size": 5, "length_penalty": 0.0, "nbest": 2, "min_length": 4, "prefix": " 20 "}
    asked = search_of(RUN, Request(**words), DIGITS, rank_all=True)
    assert (asked.beam_size, asked.length_penalty, asked.count, asked.min_length) == (5, 0.0, 2, 4)
    assert list(asked.prefix) == DIGITS.encode("20") and asked.rank_all


def test_draws_follow_from_the_seed_that_is_given_or_that_of_the_run():
    assert search_of(RUN, Request(sample=True), DIGITS).sampling == Sampling(1.0, 1.0, 7)
    asked = Request(sample=True, temperature=0.5, top_p=0.9, seed=0)
    assert search_of(RUN, asked, DIGITS).sampling == Sampling(0.5, 0.9, 0)


@pytest.mark.parametrize("prefix", ["ein Mann", "  ein Mann ", "ein"])
def test_prefix_is_tokens_that_texts_begin_with_in_training(prefix):
    own = list(search_of(RUN, Request(prefix=prefix), PAIRS).prefix)
    assert own == PAIRS.encode("ein Mann fährt Fahrrad")[: len(own)] and PAIRS.decode(own) == prefix.strip()


def test_a_prefix_has_to_fit_and_to_be_known():
    check_prefix(Request(), DIGITS, 0, "characters")
    check_prefix(Request(prefix="2025"), DIGITS, 4, "characters")
    with pytest.raises(
        ArgumentError, match="--prefix: expected at most 3 tokens, as many as an output may have, got 4"
    ):
        check_prefix(Request(prefix="2025"), DIGITS, 3, "characters")
    with pytest.raises(ArgumentError, match="--prefix: expected characters that the run can write, got 'x'"):
        check_prefix(Request(prefix="20x5y"), DIGITS, 9, "characters")
    check_prefix(Request(prefix="💥"), PAIRS, 9, "characters")  # bytes write any text
