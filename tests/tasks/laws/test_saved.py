"""What is saved is what was trained: read back, moved, gone on with, or damaged and refused in one line."""

import json
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from saccade import runs
from saccade._system.files import read_json, write_json
from saccade.errors import SaccadeError
from saccade.tasks import load_task
from saccade.train.checkpoint import load
from saccade.train.task import options_class
from saccade.train.weights import serialize
from tasks.laws.checks import is_near
from tasks.laws.table import (
    EARLIER,
    FIRST,
    LIGHT,
    REST,
    STEPS,
    TABLE,
    each_task,
    questions,
    quick,
    settings,
    several,
)

AVERAGING = {(task, model): more for task, entry in TABLE.items() for model, more in entry.averaging.items()}
"""Models that learn where to look by rewards, and options of a moving average."""
NOISE = bytes(torch.randint(0, 256, (999,), generator=torch.Generator().manual_seed(1)).tolist())


def told(run, lines, **request):
    return [answer.to_json() for answer in run.answers(lines, run.request("predict", request), "json")]


def copied(run, folder, *, checkpoints=False):
    """A copy of a run elsewhere, by default of what was trained alone."""
    left_out = shutil.ignore_patterns(*(() if checkpoints else ("checkpoints",)))
    return Path(shutil.copytree(run.folder, folder, ignore=left_out))


def without_data(folder):
    """The same run, whose data are gone."""
    config = read_json(folder / "config.json")
    config["options"]["data"] = "no/such/data"
    write_json(folder / "config.json", config)
    return folder


@each_task
def test_a_restored_task_answers_as_the_saved_one(run, asked, tmp_path):
    kind, options = load_task(run.task.name), run.trained.options
    own = settings(run.task.name, options.model)
    prepared = kind.prepare(runs.options(kind, None, own.pop("model"), own))
    prepared.save(tmp_path)
    nowhere = options_class(kind, options.model)(**{**asdict(options), "data": "no/such/data"})
    restored = kind.restore(nowhere, tmp_path)
    inputs = [prepared.read(line, number) for number, line in enumerate(asked, 1)]
    with torch.inference_mode():
        before = prepared.answer(run.model, inputs, None, "json")
        inputs = [restored.read(line, number) for number, line in enumerate(asked, 1)]
        after = restored.answer(run.model, inputs, None, "json")
    assert [answer.to_json() for answer in before] == [answer.to_json() for answer in after]
    with pytest.raises(SaccadeError, match="expected the data of this run at no/such/data"):
        restored.data


@each_task
def test_a_moved_run_answers_without_its_data(run, asked, unsaved, tmp_path):
    moved = runs.load(without_data(copied(run, tmp_path / "moved")), device="cpu")
    more = several(run.task, 2)
    assert told(moved, asked, **more) == told(run, asked, **more)
    assert moved.draw(asked[0], tmp_path / "pictures")
    with pytest.raises(SaccadeError, match="expected the data of this run at no/such/data"):
        moved.evaluate("test")


@pytest.mark.parametrize("case", [*quick(*LIGHT), *REST])
def test_a_resumed_run_is_the_whole_one_byte_for_byte(trained, tmp_path, case):
    (task, model), whole = case, trained(*case)
    for steps in (EARLIER, STEPS):
        runs.train(task, run=tmp_path / "parts", device="cpu", **settings(task, model, max_steps=steps))
    _are_one((whole.folder, tmp_path / "parts"), TABLE[task].file)


@pytest.mark.parametrize(
    ("task", "model"), [pytest.param(*case, marks=[pytest.mark.slow] * (case[0] != "glimpse")) for case in AVERAGING]
)
def test_a_moving_average_of_rewards_is_resumed(tmp_path, task, model):
    folders = (tmp_path / "whole", tmp_path / "parts")
    for folder, steps in ((folders[0], STEPS), (folders[1], EARLIER), (folders[1], STEPS)):
        said = settings(task, model, max_steps=steps, **AVERAGING[task, model])
        runs.train(task, run=folder, device="cpu", **said)
    _are_one(folders, TABLE[task].file)
    weights = load_file(folders[1] / "model.safetensors")
    assert weights["reinforce.average"].abs() > 1e-3


def _are_one(folders, file):
    """Assert that two runs have come to the same, and would go on alike."""
    for name in ("model.safetensors", "config.json", file):
        one, other = ((folder / name).read_bytes() for folder in folders)
        if name == "config.json":
            one, other = (_identity(json.loads(content)) for content in (one, other))
        assert one == other, name
    checkpoints = [load(folder / "checkpoints", STEPS) for folder in folders]
    for name in ("model", "optimizer"):
        one, other = (serialize(getattr(checkpoint, name)) for checkpoint in checkpoints)
        assert one == other, name
    results = [read_json(folder / "results.json") for folder in folders]
    assert all(results[0][name] == results[1][name] for name in ("metrics", "groups", "validation", "steps"))


def _identity(config):
    return {**config, "options": {k: v for k, v in config["options"].items() if k not in ("run", "max_steps")}}


def test_an_evaluation_repeats_what_training_measured(run):
    for split, key in (("test", "metrics"), ("validation", "validation")):
        found = run.evaluate(split)
        assert is_near(found.metrics, run.results[key])
        assert split == "validation" or is_near(found.groups, run.results["groups"])


def damages(content):
    return {"cut": content[: len(content) // 2], "empty": b"", "noise": NOISE, "gone": None, "null": b"null"}


@pytest.mark.parametrize(("task", "model"), FIRST)
def test_damage_of_a_file_is_one_error_that_names_it(trained, tmp_path, task, model):
    whole = trained(task, model)
    for name in ("config.json", TABLE[task].file, "model.safetensors"):
        for kind, content in damages((whole.folder / name).read_bytes()).items():
            folder = copied(whole, tmp_path / f"{name}-{kind}")
            (folder / name).unlink()
            if content is not None:
                (folder / name).write_bytes(content)
            with pytest.raises(SaccadeError) as error:
                runs.load(folder, device="cpu")
            assert "\n" not in str(error.value)
            place = folder if (name, kind) == ("model.safetensors", "gone") else folder / name
            assert str(place) in str(error.value) or f"{folder}: not a run" in str(error.value), (name, kind)


WRONG = (None, -1, 0, 1.5, True, "x", [], {}, ["a", "a"], {"kind": "x"}, "\0", [None], [1.0], "\ud800", ["\ud800"])


def changes(content, within=()):
    """The content with one value changed or left out, at every place of its first levels."""
    for place, (key, value) in enumerate(content.items()):
        if not within:
            yield {other: old for other, old in content.items() if other != key}
        for number in (place,) if within else (place, place + 5, place + 9):
            yield {**content, key: WRONG[number % len(WRONG)]}
        if isinstance(value, dict) and not within:
            yield from ({**content, key: changed} for changed in changes(value, (key,)))


def refusal(folder, lines):
    """What a run is refused with, None where it answers; anything but a SaccadeError fails."""
    try:
        told(runs.load(folder, device="cpu"), lines)
    except SaccadeError as error:
        return str(error)
    return None


@pytest.mark.parametrize(("task", "model"), FIRST)
def test_a_run_with_a_changed_value_is_refused_or_answers(trained, tmp_path, task, model):
    whole = trained(task, model)
    (tmp_path / "asked").mkdir()
    lines, folder = questions(whole.task, tmp_path / "asked", 1), copied(whole, tmp_path / "run")
    config = read_json(folder / "config.json")
    config["files"] = {}  # whose digests would refuse any change before it is read
    write_json(folder / "config.json", config)
    refused = 0
    for name in ("config.json", TABLE[task].file):
        before = read_json(folder / name)
        for content in changes(before):
            write_json(folder / name, content)
            message = refusal(folder, lines)
            refused += message is not None
            assert message is None or ("\n" not in message and str(folder) in message), (content, message)
        write_json(folder / name, before)
    assert refused > 20 and is_near(told(runs.load(folder, device="cpu"), lines), told(whole, lines))


@pytest.mark.parametrize(("task", "model"), FIRST)
def test_a_run_is_not_resumed_as_another(trained, task, model):
    whole = trained(task, model)
    others = [name for name in load_task(task).models if name != model]
    for change in ({"seed": 4}, {"learning_rate": 0.5}, *({"model": name} for name in others[:1])):
        own = settings(task, model) if "model" not in change else settings(task, others[0])
        with pytest.raises(SaccadeError, match=f"{whole.folder}: this run was made with --[a-z-]+ .*, not "):
            runs.train(task, run=whole.folder, device="cpu", **{**own, **change})
    other = next(name for name in TABLE if name != task)
    with pytest.raises(SaccadeError, match=f"this run was made with task {task}, not {other}|made with --model"):
        runs.train(other, run=whole.folder, device="cpu", **settings(other, next(iter(TABLE[other].models))))
