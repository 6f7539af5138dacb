"""An evaluation is the answers to a split, counted: as a whole, by groups, and whatever lies in one batch."""

from collections import Counter
from dataclasses import replace

import pytest
import torch

from saccade.errors import SaccadeError
from tasks.laws.entry import HELD_OUT
from tasks.laws.table import TABLE, each_task


def measured(run, limit=None, split="test"):
    with torch.inference_mode():
        return run.task.evaluate(run.model, split, limit)


@pytest.mark.parametrize("split", ["validation", "test"])
def test_it_is_what_the_answers_come_to(run, split):
    found, examples = measured(run, split=split), [run.task.example(split, index) for index in range(HELD_OUT)]
    with torch.inference_mode():
        answers = run.task.answer(run.model, [example.input for example in examples], None)
    texts = [answer.lines()[0].partition("\t")[0] for answer in answers]
    wanted = [example.answer for example in examples]
    assert found.metrics[run.task.headline] == pytest.approx(TABLE[run.task.name].by_hand(texts, wanted), abs=1e-5)
    assert found.examples == HELD_OUT and found.count > 0 and found.seconds > 0


@each_task
def test_groups_add_up_to_the_whole(run):
    found, group = measured(run), TABLE[run.task.name].group
    if group is None:
        assert found.groups == {}
        return
    sizes = Counter(group(run.task.data, "test", index) for index in range(HELD_OUT))
    parts = found.groups[run.task.headline]
    assert sizes.keys() <= parts.keys()
    mean = sum(parts[name] * count for name, count in sizes.items()) / HELD_OUT
    assert mean == pytest.approx(found.metrics[run.task.headline])


@each_task
def test_it_is_the_same_again_and_a_limit_is_kept(run):
    whole, again, all_of_it = measured(run), measured(run), measured(run, HELD_OUT + 9)
    assert replace(whole, seconds=0) == replace(again, seconds=0) == replace(all_of_it, seconds=0)
    for limit in (1, 7):
        part = measured(run, limit)
        assert 1 <= part.examples <= limit and 0 < part.count <= whole.count
        assert {run.task.headline} <= part.metrics.keys() <= whole.metrics.keys()  # some mean nothing of a few


@each_task
def test_the_mean_loss_of_validation_is_the_same_again(run):
    def mean(limit):
        torch.manual_seed(7)  # a reward is drawn
        with torch.inference_mode():
            return run.task.mean_loss(run.model, "validation", limit)

    assert mean(7) == mean(7) and isinstance(mean(None), float) and mean(HELD_OUT + 9) == mean(None)


@each_task
def test_a_split_that_is_not_there_is_refused(run):
    with pytest.raises(SaccadeError, match="split: expected one of train, validation, test, got 'tset'"):
        measured(run, split="tset")


@each_task
def test_the_headline_is_among_the_metrics(run):
    found = run.evaluate("validation")
    assert run.task.headline in found.metrics and found.metrics[run.task.headline] <= 1
    unbounded = TABLE[run.task.name].unbounded
    bounded = [part for name, part in found.groups.items() if name not in unbounded]
    assert all(0 <= value <= 1 for part in bounded for value in part.values())


@pytest.mark.parametrize("split", ["validation", "test"])
@each_task
def test_baselines_are_measured_by_the_headline(run, split):
    state = torch.random.get_rng_state()
    found = run.task.baselines(split)
    assert found and torch.equal(state, torch.random.get_rng_state())
    for baseline in found.values():
        assert next(iter(baseline.metrics)) == run.task.headline
        assert baseline.metrics.keys() <= measured(run).metrics.keys()
        assert baseline.about and baseline.seconds >= 0
    again = run.task.baselines(split)
    assert {name: one.metrics for name, one in found.items()} == {name: one.metrics for name, one in again.items()}
    assert run.evaluate(split).baselines.keys() == found.keys()


@each_task
def test_the_most_frequent_answer_is_a_baseline(run):
    examples = [run.task.example("test", index).answer for index in range(HELD_OUT)]
    baselines = run.task.baselines("test")
    if "majority" in baselines:
        always = baselines["majority"].about.removeprefix("always ").strip("'")
        expected = TABLE[run.task.name].by_hand([always] * HELD_OUT, examples)
        assert baselines["majority"].metrics[run.task.headline] == pytest.approx(expected)
    else:
        assert tuple(baselines) == tuple(TABLE[run.task.name].baselines) != ()
