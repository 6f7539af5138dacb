"""One answer an input, in order, whatever lies between, and whoever is asked beside it."""

import copy
import json
import re
from itertools import product

import pytest
import torch

from saccade.errors import SaccadeError
from tasks.laws.checks import content, is_near
from tasks.laws.table import LIGHT, TABLE, each_task, light_tasks, quick, several


def answers(run, lines, form="json", ahead=512, **request):
    return list(run.answers(lines, run.request("predict", request), form, ahead))


def told(found):
    return [answer.to_json() for answer in found]


def test_an_answer_is_the_same_alone_and_among_others(run, asked):
    together = told(answers(run, [*asked, *asked[::-1]]))
    assert is_near(together, together[: len(asked)] + together[: len(asked)][::-1])
    for line, answer in zip(asked, together, strict=False):
        assert is_near(told(answers(run, [line])), [answer])
    assert any(not is_near(one, other) for one in together for other in together)


@pytest.mark.parametrize("run", quick(*LIGHT), indirect=True)
def test_reading_ahead_is_bounded_and_changes_no_answer(run, asked):
    together = told(answers(run, asked))
    for ahead in (1, 3):
        read, written = [], []
        lines = (read.append(line) or line for line in asked)
        for answer in run.answers(lines, run.request("predict", {}), "json", ahead):
            written.append(answer.to_json())
            assert len(read) <= len(written) - 1 + ahead + (len(written) == 1)
        assert is_near(written, together)


@light_tasks
def test_every_form_has_the_lines_and_is_json(run, asked):
    for count in (1, 2) if several(run.task, 2) else (1,):
        more = several(run.task, count)
        lines, described, drawn = (answers(run, asked, form, **more) for form in ("lines", "json", "pictures"))
        for one, other, another in zip(lines, described, drawn, strict=True):
            assert one.lines() == other.lines() == another.lines() and len(one.lines()) == count
            assert str(one) == "\n".join(one.lines()) and not any("\n" in line for line in one.lines())
        for written in (told(lines), told(described)):
            assert json.loads(json.dumps(written, allow_nan=False)) == written


@each_task
def test_blank_and_unreadable_inputs_keep_their_place(run, asked, tmp_path, capsys):
    entry, plain = TABLE[run.task.name], told(answers(run, asked))
    capsys.readouterr()  # what training said, where it was trained for this test
    (tmp_path / "noise.wav").write_bytes(bytes(range(256)))
    files = [str(tmp_path / "gone.png"), str(tmp_path / "noise.wav"), str(tmp_path), "", "a\0b"]
    files = [f"{path}\tis it red?" for path in files] if entry.beside else files
    unread = run.task.inputs == "files" or entry.beside or entry.exact
    strange = files if unread and not entry.exact else ["?" if entry.blank is None else entry.blank, "", "\u2028", "\t"]
    mixed = [asked[0], *strange, *asked[1:], strange[0]]
    found, stream = [], run.answers(mixed, run.request("predict", several(run.task, 2)), "json", ahead=3)
    if unread:
        with pytest.raises(SaccadeError, match=f"{len(strange) + 1} of {len(mixed)} inputs could not be read"):
            found.extend(stream)
        notes = capsys.readouterr().err
        more = sum(map(int, re.findall(r"\((\d+) more like this\)$", notes, re.MULTILINE)))
        assert len(notes.splitlines()) + more == len(strange) + 1
    else:
        found.extend(stream)
    places = [0, *range(len(strange) + 1, len(mixed) - 1)]
    assert len(found) == len(mixed)
    for place, answer in enumerate(found):
        blank = place not in places
        assert (answer.lines() == [""] * (2 if several(run.task, 2) else 1)) == blank or (entry.silent and not blank), (
            place,
            answer,
        )
        assert json.loads(json.dumps(answer.to_json(), allow_nan=False)) == answer.to_json()
        assert not blank or list(answer.draw(tmp_path / "none")) == []
    once = told(answers(run, [mixed[place] for place in places], **several(run.task, 2)))
    assert is_near([found[place].to_json() for place in places], once) and len(once) == len(plain)


@each_task
def test_a_lone_unreadable_input_is_the_error(run, tmp_path):
    beside = TABLE[run.task.name].beside
    formal, exact = TABLE[run.task.name].formal, TABLE[run.task.name].exact
    if run.task.inputs == "lines" and not beside and not formal:  # every line can be read, bytes that are no text too
        assert answers(run, ["\udcff \ufffe"]) and answers(run, [""])
        return
    if formal:
        for line in ("\udcff \ufffe", *([""] if exact else [])):
            with pytest.raises(SaccadeError, match="^line 1: expected "):
                answers(run, [line])
        return
    for path in (tmp_path / "gone.wav", tmp_path):
        with pytest.raises(SaccadeError, match=str(path)):
            answers(run, [f"{path}\twhat is it?" if beside else str(path)])


@light_tasks
def test_asking_changes_no_model_and_no_generator(run, asked, unsaved, tmp_path):
    before, state = copy.deepcopy(run.model.state_dict()), torch.random.get_rng_state()
    hooks = [(len(part._forward_hooks), len(part._backward_hooks)) for part in run.model.modules()]
    answers(run, asked, **several(run.task, 2))
    run.draw(asked[:1], tmp_path / "pictures")
    run.evaluate("validation")
    assert torch.equal(state, torch.random.get_rng_state()) and not run.model.training
    after = run.model.state_dict()
    assert before.keys() == after.keys() and all(torch.equal(before[name], after[name]) for name in before)
    assert [(len(part._forward_hooks), len(part._backward_hooks)) for part in run.model.modules()] == hooks
    assert all(parameter.grad is None for parameter in run.model.parameters())


def check_numbers(told):
    """Numbers of all pictures have one form: a colour scale ends at `darkest`, a chart has errors."""
    assert {"title", "rows", "columns", "values"} <= told.keys() and ("darkest" in told) != ("errors" in told)
    values = torch.tensor(told["values"])
    assert values.isfinite().all() and len(values) == (len(told["rows"]) or 1)
    assert not told["columns"] or values.shape[1] == len(told["columns"])


@pytest.mark.parametrize("run", quick("translate", "classify-image", "glimpse"), indirect=True)
def test_drawing_adds_the_numbers_and_overwrites_nothing(run, asked, unsaved, tmp_path):
    folder = tmp_path / "pictures"
    paths = run.draw(asked[0], folder, json=True)
    suffixes = {path.suffix for path in paths}
    assert paths and sorted(folder.iterdir()) == sorted(paths) and {".png", ".svg", ".json"} <= suffixes
    stems = {suffix: [path.stem for path in paths if path.suffix == suffix] for suffix in (".png", ".json")}
    assert stems[".png"] == stems[".json"]
    for path in paths:
        if path.suffix == ".json":
            check_numbers(json.loads(path.read_text(encoding="utf-8")))
    assert "<img" in paths._repr_html_()
    written = {path: path.read_bytes() for path in paths}
    for path in paths:
        path.write_text("somebody's own")
    others = run.draw(asked[0], folder, json=True)
    assert not set(others) & set(paths) and all(path.read_text() == "somebody's own" for path in paths)
    assert [path.read_bytes() for path in others] == list(written.values())


@each_task
def test_an_example_reads_back_from_its_file(run, tmp_path):
    task = run.task
    for split, index in product(("train", "validation", "test"), (0, 1, 7)):
        example, again = task.example(split, index), task.example(split, index)
        assert example.text == again.text and example.answer == again.answer
        assert example.text.strip() and example.answer.strip() and "\n" not in example.text + example.answer
        beside = TABLE[task.name].beside
        assert (example.file is None) == (task.inputs == "lines" and not beside)
        line = example.text
        if example.file is not None:
            suffix, data = example.file
            assert (beside or suffix in task.suffixes) and example.file == again.file
            path = tmp_path / f"{split}{index}{suffix}"
            path.write_bytes(data)
            line = f"{path}\t{line}" if beside else str(path)
        name = TABLE[task.name].content
        assert content(task.read(line, 1), name) == content(example.input, name)
        with torch.inference_mode():
            [given] = task.answer(run.model, [example.input], None, "json")
        [read] = answers(run, [line])
        assert given.lines() == read.lines()


@each_task
def test_an_example_beyond_the_data_is_refused(run):
    for split, index in (("tset", 0), ("test", 10**6), ("test", -1), ("train", -1)):
        with pytest.raises(SaccadeError) as error:
            run.task.example(split, index)
        assert "\n" not in str(error.value)
