"""Python objects as data: the same checks as files, known by what they hold, needed to measure and not to answer."""

from functools import cache

import numpy as np
import pytest

from saccade import runs
from saccade.errors import SaccadeError
from saccade.tasks import load_task
from tasks.laws.checks import is_near
from tasks.laws.table import FIRST, TABLE, questions, settings


@cache
def built_in(task):
    return load_task(task).prepare(options(task)).data


def rows(task, first=0, count=40):
    """Rows of built-in examples, each of an image of its own where several texts are about one."""
    data, numbers = built_in(task), range(first, first + count)
    if hasattr(data, "about"):
        numbers = [data.about("train", image)[0] for image in numbers]
    return [TABLE[task].row(data.example("train", index)) for index in numbers]


def options(task, **more):
    kind, own = load_task(task), settings(task, next(iter(TABLE[task].models)), **more)
    return runs.options(kind, None, own.pop("model"), own)


def prepared(task, objects):
    kind, own = load_task(task), settings(task, next(iter(TABLE[task].models)), **TABLE[task].object_options)
    return kind.prepare(runs.options(kind, "objects", own.pop("model"), own), objects)


@pytest.fixture(params=[task for task, _ in FIRST])
def task(request):
    return request.param


def test_pairs_lists_and_columns_are_the_same_data(task):
    pairs = rows(task)
    forms = [pairs, [list(row) for row in pairs], [dict(zip(TABLE[task].columns, row, strict=True)) for row in pairs]]
    found = [prepared(task, form) for form in forms]
    assert len({each.data.fingerprint for each in found}) == 1
    for split in ("train", "validation", "test"):
        assert len({each.example(split, 0).answer for each in found}) == 1
    sizes = [found[0].data.size(split) for split in ("train", "validation", "test")]
    assert sum(sizes) == 40 and min(sizes) >= 2


def test_contents_make_the_fingerprint_and_no_order_a_split(task):
    pairs = rows(task)
    first = prepared(task, pairs).data
    asked, answer = pairs[0][:-1], next(row[-1] for row in pairs[1:] if row[-1] != pairs[0][-1])
    image = rows(task, 99, 1)[0][0]
    repair = TABLE[task].repair
    for other in (pairs[1:], [repair((*asked, answer)), *pairs[1:]], [repair((image, *pairs[0][1:])), *pairs[1:]]):
        assert prepared(task, other).data.fingerprint != first.fingerprint
    backwards = prepared(task, pairs[::-1]).data
    for split in ("train", "validation", "test"):
        assert backwards.size(split) == first.size(split)


def test_given_splits_are_kept_and_missing_ones_held_out(task):
    pairs = rows(task)
    given = prepared(task, {"train": pairs[:30], "dev": pairs[30:34], "test": pairs[34:]}).data
    assert [given.size(split) for split in ("train", "validation", "test")] == [30, 4, 6]
    missing = prepared(task, {"train": pairs[:34], "test": pairs[34:]}).data
    assert missing.size("train") + missing.size("validation") == 34 and missing.size("test") == 6


HOSTILE = {
    "nothing": [],
    "no train": {"test": [("a", "b")]},
    "a text": ["ab", "cd", "ef"],
    "one part": [("a",)] * 9,
    "three parts": [("a", "b", "c")] * 9,
    "no texts": [(None, None)] * 9,
    "other columns": [{"x": "a", "y": "b"}] * 9,
    "numbers": [(1.5, 2.5)] * 9,
    "one row": [("a", "b")],
}


def test_objects_that_are_no_data_are_one_error(task):
    for kind, objects in HOSTILE.items():
        with pytest.raises(SaccadeError, match="^data") as error:
            prepared(task, objects)
        assert "\n" not in str(error.value), kind


def test_a_wrong_row_is_named_by_split_and_number(task):
    pairs = rows(task)
    with pytest.raises(SaccadeError, match="data: train, row 4: "):
        prepared(task, [*pairs[:3], (object(), object()), *pairs[3:]])
    with pytest.raises(SaccadeError, match="data: test, row 1: "):
        prepared(task, {"train": pairs, "test": [()]})


@pytest.mark.parametrize("wrong", [np.array([0.5, np.nan]), np.zeros((3, 4)), np.zeros(0)])
def test_what_is_no_waveform_is_named(wrong):
    with pytest.raises(SaccadeError, match=r"data: train, row 1: expected a waveform \(samples,\) of finite numbers"):
        prepared("transcribe", [(wrong, "one"), *rows("transcribe")])


@pytest.mark.parametrize(
    "task", [pytest.param(task, marks=[pytest.mark.slow] * (task not in ("translate", "regress"))) for task in TABLE]
)
def test_a_run_of_objects_is_measured_with_them_alone(task, tmp_path):
    pairs, place = rows(task), tmp_path / "run"
    own = settings(task, next(iter(TABLE[task].models)), max_steps=2, **TABLE[task].object_options)
    first = runs.train(task, data=pairs, run=place, device="cpu", **own)
    measured = first.evaluate("test")
    assert is_near(first.results["metrics"], measured.metrics)
    alone = runs.load(place, device="cpu")
    (tmp_path / "asked").mkdir()
    lines = questions(first.task, tmp_path / "asked", 2)
    assert [answer.lines() for answer in alone.predict(lines)] == [answer.lines() for answer in first.predict(lines)]
    with pytest.raises(SaccadeError, match="expected the Python objects that this run was trained on, got none"):
        alone.evaluate("test")
    assert runs.load(place, device="cpu", data=pairs).evaluate("test").metrics == measured.metrics
    with pytest.raises(SaccadeError, match=f"{place}: this run was made with --data .*, not "):
        runs.train(task, data=pairs[:-1], run=place, device="cpu", **{**own, "max_steps": 3})
    assert runs.train(task, data=list(pairs), run=place, device="cpu", **{**own, "max_steps": 3}).results["steps"] == 3


def test_objects_are_not_for_several_processes(task):
    with pytest.raises(SaccadeError, match="processes: expected 1 where data are Python objects"):
        runs.train(task, data=[], processes=2)
