"""What a job must offer: one line in a table, and all that there is for a task is there for it."""

import json

import pytest

from saccade import runs
from saccade._system.imports import find
from saccade.cli import main
from saccade.errors import SaccadeError
from saccade.tasks import TASKS, load_task
from saccade.train.options import Options
from saccade.train.task import Evaluation, Example, options_class, value, values
from tiers import every
from tiny import Line, Linear, registered


@every("kind", [*map(load_task, TASKS), Line])
def test_inputs_units_requests_and_recipes_of_every_task(kind):
    assert kind.inputs in ("lines", "files") and kind.unit.isalpha()
    assert set(kind.requests) == {"predict", "eval", "look"}
    assert set(kind.recipes) <= {*kind.builtin, "files"} and "files" in kind.recipes


@every("name", TASKS)
def test_a_request_has_defaults_and_explained_flags(name):
    kind = load_task(name)
    for verb, request in kind.requests.items():
        asked = request()  # all fields have defaults
        assert request.__doc__ and asked == request(), verb


@every(("task", "model"), [(task, model) for task in TASKS for model in load_task(task).models])
def test_every_model_exists_with_recipes_of_its_options(task, model):
    kind, found = load_task(task), find(load_task(task).models[model])
    flat = options_class(kind, model)
    assert issubclass(flat, found.Options) and issubclass(flat, kind.Options) and issubclass(flat, Options)
    assert flat is options_class(kind, model)
    known = {name for part in (found.Options, kind.Options, Options) for name in part.__dataclass_fields__}
    for recipe in found.recipes.values():
        assert set(recipe) <= known
    assert {*kind.builtin, "files"} <= set(found.recipes)


def test_a_table_imports_its_names_and_rejects_others():
    assert find("tiny:Linear") is Linear
    with pytest.raises(SaccadeError, match="got saccade.models.nowhere:Model .ModuleNotFoundError"):
        find("saccade.models.nowhere:Model")
    with pytest.raises(SaccadeError, match="got saccade.models.luong:Model .AttributeError"):
        find("saccade.models.luong:Model")
    with pytest.raises(SaccadeError, match="TASK: expected one of translate, classify-text, .*, got trnslate"):
        load_task("trnslate")


def test_a_metric_is_a_number_with_or_without_how_it_was_computed():
    scored = {"score": 38, "signature": "nrefs:1"}
    assert value(scored) == 38.0 and isinstance(value(scored), float) and value(1) == 1.0
    assert values({"a": scored, "b": 0.5}) == {"a": 38.0, "b": 0.5} and values({}) == {}
    assert Evaluation({"a": 0.5}).groups == {} == Evaluation({"b": 1.0}).groups
    assert Example(1, "a", "b") == (1, "a", "b", None)


def test_one_line_in_table_of_tasks_gives_a_task_every_verb(tmp_path, capsys):
    run = tmp_path / "line"
    with registered():
        assert main(["train", "line", "--run", str(run), "--max-steps", "3", "--device", "cpu", "--width", "4"]) == 0
        assert "closeness on test: 0." in capsys.readouterr().out
        for verb, words, found in (
            ("eval", [], "closeness on test: 0."),
            ("predict", ["1 2 3 4"], "."),
            ("predict", ["1 2 3 4", "--json"], '{"point": "1 2 3 4", "height": '),
            ("look", ["1 2 3 4"], "1_2_3_4.png"),
        ):
            assert main([verb, str(run), *words]) == 0
            assert found in capsys.readouterr().out
        assert main(["data", "line"]) == 0 and len(capsys.readouterr().out.splitlines()) == 5
        assert main(["train"]) == 0 and "\n  line " in capsys.readouterr().out
        loaded = runs.load(run, device="cpu")
        assert json.dumps(loaded.align("1 2 3 4")) and len(loaded.predict(["1 2 3 4"] * 3)) == 3
