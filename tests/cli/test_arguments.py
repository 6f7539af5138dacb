from dataclasses import dataclass
from typing import Literal

import pytest

from saccade.cli.arguments import UsageError, named_options, one_line, parse, peek
from tiers import every


@dataclass(frozen=True)
class Options:
    """Some options."""

    beam_size: int = 1
    """Outputs at once."""

    resume: bool = True
    """Go on."""


@dataclass(frozen=True)
class Heads:
    """Options of another model."""

    heads: int = 1
    """Heads of attention."""


def test_options_take_dashes_underscores_and_equals():
    for words in (["--beam-size", "3"], ["--beam_size", "3"], ["--beam-size=3"]):
        assert parse(Options, words, "x", "") == Options(3)
    assert parse(Options, ["--no-resume"], "x", "") == Options(resume=False)
    assert parse(Options, [], "x", "", Options(7)) == Options(7)


@every(
    ("words", "message"),
    [
        (["--beamsize", "3"], "unknown option --beamsize; did you mean --beam-size?"),
        (["--zzz"], "unknown option --zzz; see --help"),
        (["--no-resum"], "unknown option --no-resum; did you mean --no-resume?"),
        (["3"], "unexpected argument 3"),
        (["--beam-size", "x"], "--beam-size: expected a whole number, got x; see x --help"),
        (["--beam-size"], "^--beam-size: expected a value, got nothing; see x --help$"),
        (["--beam-size", "--resume"], "^--beam-size: expected a value, got --resume; see x --help$"),
        (["--beam-size", "-r"], "^--beam-size: expected .*got -r, which looks like an option; write --beam-size=-r"),
        (["-r"], "^unknown option -r; see --help$"),
    ],
)
def test_errors_are_one_line(words, message, capsys):
    with pytest.raises(UsageError, match=message) as error:
        parse(Options, words, "x", "")
    assert "\n" not in str(error.value) and "│" not in str(error.value)
    assert capsys.readouterr() == ("", "")


def test_a_word_that_is_none_of_some_is_answered_as_everything_is():
    @dataclass
    class Choice:
        norm: Literal["pre", "post", "both"] = "pre"

    with pytest.raises(UsageError, match=r"^--norm: expected pre, post or both, got pots; did you mean post\?; see x"):
        parse(Choice, ["--norm", "pots"], "x", "")
    with pytest.raises(UsageError, match=r"^--norm: expected pre, post or both, got 7; see x --help$"):
        parse(Choice, ["--norm", "7"], "x", "")


def test_choices_are_named_in_order_and_none_last():
    @dataclass(frozen=True)
    class Views:
        by: Literal["gradient", "attention", "jacobian", "rollout", "saliency"] | None = None

    with pytest.raises(
        UsageError, match="--by: expected attention, gradient, jacobian, rollout, saliency or None, got x;"
    ):
        parse(Views, ["--by", "x"], "p", "")


def test_an_option_that_there_is_elsewhere_says_where():
    with pytest.raises(UsageError, match="^--heads: expected only with --model transformer; leave it out$"):
        parse(Options, ["--heads", "4"], "x", "", others=lambda: {"a": Options, "transformer": Heads}, owner="--model")


def test_an_option_is_found_before_the_rest_is_parsed():
    assert peek(["--model", "a", "--model=b"], "--model") == "b"
    assert peek(["--models", "a"], "--model") is None and peek(["--model"], "--model") is None


def test_options_are_named_with_no_and_with_underscores():
    assert named_options(Options, ["--no-resume", "--heads", "3"]) == ["resume"]
    assert named_options(Options, ["--beam_size=3"]) == ["beam_size"]


def test_one_line():
    assert one_line(" a\n\tb  c ") == "a b c"
