from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from saccade.errors import ArgumentError
from saccade.tasks.generate import Decoding
from saccade.tasks.text.bpe import BytePairs
from saccade.tasks.text.tokenizer import Characters
from saccade.tasks.translate import Translate

PAIRS = BytePairs.learn(["ein Mann fährt Fahrrad", "der Mann sieht ein Fahrrad"] * 5, 400)


def task_of(model="rnnsearch", beam_size=1, tokenizer="characters"):
    settings = Translate.options(model)(
        model=model, beam_size=beam_size, tokenizer=tokenizer, data="dates", hidden_dim=8
    )
    if tokenizer == "bpe":
        return Translate(settings, PAIRS, PAIRS, 10)
    return Translate(settings, Characters("0123456789. abc"), Characters("-0123456789"), 5)


def ask(task, count=1, **words):
    return task.asked(task.build().eval(), Decoding(**words), count)


@pytest.mark.parametrize(
    ("task", "words", "message"),
    [
        (task_of(tokenizer="bpe"), {"replace_unknown": True}, "got --tokenizer bpe, whose tokens can write any text"),
        (task_of("encoder-decoder"), {"replace_unknown": True}, "attends to the source, got encoder-decoder"),
        (task_of("encoder-decoder", 2), {"coverage_penalty": 0.2}, "attends to the source, got encoder-decoder"),
        (task_of(), {"coverage_penalty": 0.2}, "--coverage-penalty: expected a --beam-size above 1, got 1"),
        (task_of(), {"prefix": "2025-x1"}, "--prefix: expected characters that the run can write, got 'x'"),
        (
            task_of(),
            {"prefix": "1" * 11},
            "--prefix: expected at most 10 tokens, as many as .* have, got 11",
        ),
    ],
)
def test_what_means_nothing_here_is_refused(task, words, message):
    with pytest.raises(ArgumentError, match=message):
        ask(task, **words)


def test_what_means_something_is_remembered():
    task = task_of(beam_size=2)
    words = {"coverage_penalty": 0.2, "replace_unknown": True, "min_length": 3, "prefix": "2025"}
    assert ask(task, **words).decoding == Decoding(**words) and task.decoding == Decoding()
    assert ask(task_of(), count=2, coverage_penalty=0.2).decoding.coverage_penalty == 0.2


@pytest.mark.parametrize("prefix", ["ein Mann", "  ein Mann ", "ein"])
def test_a_prefix_is_the_tokens_that_texts_begin_with_in_training(prefix):
    own = ask(task_of(tokenizer="bpe"), prefix=prefix).prefix
    assert own == PAIRS.encode("ein Mann fährt Fahrrad")[: len(own)] and PAIRS.decode(own) == prefix.strip()
    assert task_of(tokenizer="bpe").prefix == []


def trained(task, name="runs/b"):
    return SimpleNamespace(task=task, model=task.build(), run=SimpleNamespace(folder=Path(name)))


def test_runs_of_other_tokens_are_no_ensemble():
    task, joint = task_of(), task_of(tokenizer="bpe")
    for other, side in ((replace(task, source=Characters("a")), "source"), (replace(task, target=PAIRS), "target")):
        size = len(getattr(other, side))
        expected = f"--ensemble runs/b: expected the {side} tokenizer of RUN, got another, of {size} tokens"
        with pytest.raises(ArgumentError, match=expected):
            task.join(task.build(), [trained(task), trained(other)])
    with pytest.raises(ArgumentError, match="source tokenizer"):
        joint.join(joint.build(), [trained(task)])
    with pytest.raises(ArgumentError, match="got a task sing"):
        other = SimpleNamespace(name="sing", build=task.build)
        task.join(task.build(), [trained(other)])


def test_an_ensemble_takes_what_every_member_takes():
    task, model = task_of(), task_of().build()
    other = replace(task, settings=replace(task.settings, max_length=50), longest=3)
    joined, ensemble = task.join(model, [trained(other), trained(task_of("transformer"))])
    assert (joined.settings.max_length, joined.longest, joined.most) == (50, 3, 200)
    assert ensemble.members[0] is model and len(ensemble.members) == 3
