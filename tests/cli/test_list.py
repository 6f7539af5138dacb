import contextlib
import io
import json
import re
import subprocess
from dataclasses import fields

import pytest

from commands import options
from saccade.cli import main
from saccade.tasks import TASKS, load_task
from saccade.train.task import options_class
from tiny import environment, python, registered


def test_every_task_model_and_data_set_has_a_sentence(capsys):
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    for name in TASKS:
        task = load_task(name)
        for part in (f"{name}:", *task.models, *task.builtin):
            line = next(line for line in out.splitlines() if line.strip().startswith(part))
            assert len(line.split()) > 4


def test_sentences_stand_in_a_column_and_fit_a_line(capsys):
    assert main(["list"]) == 0
    for task in re.split(r"^(?=\S)", capsys.readouterr().out, flags=re.M)[1:]:
        entries = re.findall(r"^    (\S+ +)(.+)$", task, flags=re.M)
        assert len({len(name) for name, _ in entries}) == 1
        assert all(len(sentence) <= 100 and "endless" not in sentence for _, sentence in entries)


@pytest.fixture(scope="module")
def described():
    with contextlib.redirect_stdout(io.StringIO()) as told:
        assert main(["list", "--json"]) == 0
    return json.loads(told.getvalue())


def test_as_json_it_is_one_object_with_all_that_can_be_chosen(described):
    assert set(described) == {"tasks"} and [task["name"] for task in described["tasks"]] == list(TASKS)
    for task in described["tasks"]:
        kind = load_task(task["name"])
        assert set(task) == {"name", "summary", "models", "data"} and task["summary"].endswith(".")
        assert [model["name"] for model in task["models"]] == list(kind.models)
        assert {data["name"]: data["summary"] for data in task["data"]} == kind.builtin
        for model in task["models"]:
            assert set(model) == {"name", "summary", "options"} and model["summary"].strip()


def test_models_and_data_sets_of_a_task_differ_in_sentence(described):
    for task in described["tasks"]:
        for choices in (task["models"], task["data"]):
            assert len({choice["summary"] for choice in choices}) == len(choices)


def test_options_have_a_name_a_type_a_default_and_help(described):
    for task in described["tasks"]:
        kind = load_task(task["name"])
        for model in task["models"]:
            names = [option["name"] for option in model["options"]]
            assert names == [field.name for field in fields(options_class(kind, model["name"]))]
            for option in model["options"]:
                assert set(option) == {"name", "type", "default", "help"}
                assert option["help"] and option["type"] and "<class" not in option["type"]


@pytest.mark.parametrize("name", TASKS)
def test_defaults_are_those_of_train(described, name):
    kind = load_task(name)
    [task] = [task for task in described["tasks"] if task["name"] == name]
    for model in task["models"]:
        chosen = options(kind, ["--model", model["name"]])
        assert {option["name"]: option["default"] for option in model["options"]} == {
            field.name: getattr(chosen, field.name) for field in fields(chosen)
        }


def test_words_of_a_choice_are_spelt_out(described):
    [translate] = [task for task in described["tasks"] if task["name"] == "translate"]
    choices = {
        option["name"]: option["type"]
        for model in translate["models"]
        for option in model["options"]
        if " or " in option["type"]
    }
    assert choices and all("Literal" not in told for told in choices.values())


WITHOUT_TORCH = """
import sys
from saccade.cli import main
lists = [["list"], ["list", "--json"], ["list", "--help"]]
for words in (["--help"], ["--version"], [], *lists, ["--complete", "train", "answer", "-"]):
    try:
        code = main(words)
    except SystemExit as stop:
        code = stop.code
    assert not code and not {"torch", "numpy"} & set(sys.modules), words
"""


def test_lists_help_and_completion_need_no_torch():
    done = subprocess.run(python("-c", WITHOUT_TORCH), capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode == 0, done.stderr


def test_a_task_of_another_package_is_listed_too(capsys):
    with registered():
        assert main(["list", "--json"]) == 0
    tasks = {task["name"]: task for task in json.loads(capsys.readouterr().out)["tasks"]}
    assert list(tasks)[:-2] == list(TASKS) and {*tasks} == {*TASKS, "line", "opened"}
    assert tasks["line"]["summary"] and tasks["line"]["models"][0]["options"][0]["name"] == "model"
