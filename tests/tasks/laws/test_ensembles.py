"""Several runs as one: the mean of what they believe, refused where they do not speak of the same."""

import shutil
from types import NoneType
from typing import get_args, get_type_hints

import pytest
import torch

from saccade import runs
from saccade.errors import SaccadeError
from saccade.train.task import values
from tasks.laws.checks import is_near
from tasks.laws.table import FIRST, LIGHT, TABLE, each_task, light_tasks, questions, quick, several


def told(run, lines, **request):
    return [answer.to_json() for answer in run.answers(lines, run.request("predict", request), "json")]


def test_a_run_and_its_copy_are_the_run(run, asked, tmp_path):
    copy = shutil.copytree(run.folder, tmp_path / "copy", ignore=shutil.ignore_patterns("checkpoints"))
    both = runs.load(run.folder, device="cpu", ensemble=[copy])
    one, two = (told(each, asked, **several(run.task, 2)) for each in (run, both))
    entry = TABLE[run.task.name]
    for alone, twice in zip(one, two, strict=True):
        for names in entry.omitted:
            if names[0] not in twice:
                for name in names:
                    alone.pop(name, None)
        for name, joined in entry.joined.items():
            if twice.get(name) is not None:
                assert joined(twice.pop(name), alone.pop(name))
    assert is_near(one, two)
    found, expected = (values(each.evaluate("validation").metrics) for each in (both, run))
    assert found == pytest.approx(expected)


@light_tasks
def test_every_way_of_drawing_works_or_is_refused(run, asked, unsaved, tmp_path):
    """Never with a traceback: of models that do not attend by default, of ways that need one model by name."""
    copy = shutil.copytree(run.folder, tmp_path / "copy", ignore=shutil.ignore_patterns("checkpoints"))
    both = runs.load(run.folder, device="cpu", ensemble=[copy])
    kind = get_type_hints(run.task.requests["look"]).get("by", NoneType)
    ways = [way for part in get_args(kind) for way in get_args(part)]
    for request in [{}, *({"by": way} for way in ways)]:
        by, refused = request.get("by"), ""
        try:
            paths = both.draw(asked[:1], tmp_path / "pictures", **request)
        except SaccadeError as error:
            refused = str(error)
        way_out = "--by: expected" if by == "attention" else "draw each by itself"
        of_one = by in ("rollout", "flow", "grad-cam", "jacobian")
        assert way_out in refused and "\n" not in refused if refused else paths and not of_one


@each_task
def test_each_run_is_given_once(run, tmp_path):
    (tmp_path / "link").symlink_to(run.folder)
    for other in (run.folder, tmp_path / "link", f"{run.folder}/../{run.folder.name}"):
        with pytest.raises(SaccadeError, match="expected each run once, got it again"):
            runs.load(run.folder, device="cpu", ensemble=[other])
    with pytest.raises(SaccadeError, match="--ensemble: expected the folder of a run, got an empty name"):
        runs.load(run.folder, device="cpu", ensemble=[""])


@pytest.mark.parametrize("case", quick("classify-text"))
def test_models_of_all_kinds_answer_as_one_in_any_order(trained, case, tmp_path):
    task, model = case
    found = [trained(task, name) for name in TABLE[task].models]
    found = found if len(found) > 1 else [found[0], trained(task, model, seed=4)]
    folders = [each.folder for each in found]
    lines = questions(found[0].task, tmp_path, 4)
    answers = []
    for order in (folders, folders[::-1]):
        ensemble = runs.load(order[0], device="cpu", ensemble=order[1:])
        answers.append([answer.lines() for answer in ensemble.predict(lines, **several(ensemble.task, 2))])
        assert told(ensemble, lines) and ensemble.evaluate("validation").examples
    assert [len(each) for each in answers[0]] == [2 if several(ensemble.task, 2) else 1] * 4
    if not TABLE[task].classes:
        assert answers[0] == answers[1]
        return
    shares = [[answer["probabilities"] for answer in told(each, lines)] for each in found]
    for place, answer in enumerate(told(runs.load(folders[0], device="cpu", ensemble=folders[1:]), lines)):
        for label, share in answer["probabilities"].items():
            assert share == pytest.approx(sum(own[place][label] for own in shares) / len(found), abs=2e-5)


def test_a_run_of_another_task_is_none_of_them(trained):
    (task, model), other = FIRST[:2]
    with pytest.raises(SaccadeError, match=f"expected a run of {task}, got one of {other[0]}"):
        runs.load(trained(task, model).folder, device="cpu", ensemble=[trained(*other).folder])


@pytest.mark.parametrize("task", [task for task, entry in TABLE.items() if entry.incompatible])
def test_a_run_with_other_inputs_is_refused_by_name(trained, task):
    change, message = TABLE[task].incompatible
    model = next(iter(TABLE[task].models))
    other = trained(task, model, max_steps=2, **change)
    with pytest.raises(SaccadeError, match=f"--ensemble {other.folder}: expected {message}, got "):
        runs.load(trained(task, model).folder, device="cpu", ensemble=[other.folder])


@pytest.mark.parametrize("run", quick(*LIGHT), indirect=True)
def test_an_ensemble_leaves_its_members_as_they_are(run, tmp_path, asked):
    copy = shutil.copytree(run.folder, tmp_path / "copy", ignore=shutil.ignore_patterns("checkpoints"))
    before = {path.name: path.read_bytes() for path in run.folder.iterdir() if path.is_file()}
    both = runs.load(run.folder, device="cpu", ensemble=[copy])
    before_measuring = told(both, asked)
    both.evaluate("validation")
    assert told(both, asked) == before_measuring  # nothing is dropped after it was measured
    assert not any(part.training for part in both.model.modules())
    assert {path.name: path.read_bytes() for path in run.folder.iterdir() if path.is_file()} == before
    assert repr(both) == repr(run)
    assert sum(p.numel() for p in both.model.parameters()) == 2 * sum(p.numel() for p in run.model.parameters())
    for one, other in zip(run.model.parameters(), both.model.members[0].parameters(), strict=True):
        assert torch.equal(one, other)
