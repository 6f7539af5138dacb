"""Models and tasks of another package keep every promise of ours."""

import json
import os
import subprocess
import sys

import pytest

from other_package import MODULE, install
from saccade import runs
from saccade.cli import main
from saccade.errors import ArgumentError
from saccade.tasks import TASKS
from saccade.train.run import folder_of
from tiers import every
from tiny import environment, equal, python

SHORT = [
    "--max-steps",
    "2",
    "--checkpoint-steps",
    "1",
    "--validation-examples",
    "4",
    "--batch-size",
    "4",
    "--device",
    "cpu",
]


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The package, installed; returns an empty folder for runs."""
    (tmp_path / "site").mkdir()
    install(tmp_path / "site")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setitem(TASKS, "stripes", "forty:STRIPES")
    yield tmp_path / "runs"
    sys.modules.pop("forty", None)


def test_the_package_has_forty_lines():
    assert len([line for line in MODULE.splitlines() if line.strip()]) <= 40


@pytest.mark.parametrize(
    ("task", "model"),
    [
        ("stripes", "forty:Small"),
        pytest.param("stripes", "small", marks=pytest.mark.slow),
        pytest.param("classify-image", "forty:Small", marks=pytest.mark.slow),
        pytest.param("classify-image", "small", marks=pytest.mark.slow),
    ],
)
def test_another_package_has_every_verb(task, model, package, capsys):
    train = ["train", task, "--model", model, "--width", "3", *SHORT]
    run, whole = str(package / "run"), str(package / "whole")
    assert main([*train, "--run", run, "--max-steps", "1"]) == 0 == main([*train, "--run", run])  # and goes on
    assert main([*train, "--run", whole]) == 0 and equal(run, whole)
    assert main(["data", task, "--count", "2", "--output", str(package / "inputs")]) == 0
    inputs = ["--input", str(package / "inputs/inputs.txt")]
    paths = (package / "inputs/inputs.txt").read_text().splitlines()
    capsys.readouterr()
    assert main(["predict", run, *inputs, "--device", "cpu"]) == 0
    answers = capsys.readouterr().out.splitlines()
    assert len(answers) == 2 and [str(answer) for answer in runs.load(run).predict(paths)] == answers
    assert main(["predict", run, *inputs, "--device", "cpu", "--ensemble", whole]) == 0
    assert capsys.readouterr().out.splitlines() == answers  # of a run and its twin
    assert main(["look", run, str(package / "inputs/0001.png"), "--output", str(package / "pictures")]) == 0
    assert len(list(package.glob("pictures/*.png"))) == 1
    assert json.loads((package / "run/config.json").read_text())["model"] == model
    assert runs.train(task, model=model, run=run, width=3, max_steps=2).folder == package / "run"
    assert main(["eval", run, "--split", "validation", "--errors", "2"]) == 0
    errors = [line.split("\t") for line in capsys.readouterr().out.splitlines() if "\t" in line]
    assert len(errors) == 2 and float(errors[0][0]) >= float(errors[1][0]) and errors[0][1].startswith("validation-")


def test_models_and_tasks_of_others_are_listed(package, capsys):
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    stripes = lines.index("stripes: Directions of stripes.")
    assert lines[stripes + 2 : stripes + 5 : 2] == [
        "    small    Stripes, and a small network.",
        "    stripes  stripes in noise",
    ]
    assert "    small          Stripes, and a small network." in lines  # of classify-image
    assert main(["--complete", "train", "classify-image", "--model", "s"]) == 0
    assert capsys.readouterr().out == "small\n"
    assert main(["--complete", "train", "stripes", "--wi"]) == 0
    assert capsys.readouterr().out == "--width\n"


@every(
    ("model", "error"),
    [
        ("forty:Smal", "--model: expected module:Name, got forty:Smal (AttributeError: module 'forty' has no "),
        ("fourty:Small", "--model: expected module:Name, got fourty:Small (ModuleNotFoundError: No module named "),
        ("forty:", "--model: expected module:Name, got forty: (AttributeError: module 'forty' has no attribute '')"),
        (":Small", "--model: expected module:Name, got :Small (ValueError: Empty module name)"),
        ("forty:Options", "--model: expected a torch module with a dataclass Options, got forty:Options"),
        ("smal", "--model: there is no smal; did you mean small?"),
    ],
)
def test_a_model_that_is_none_is_one_error(model, error, package, capsys):
    assert main(["train", "classify-image", "--model", model]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: {error}") and err.count("\n") == 1


def test_a_run_without_its_package_is_one_error(package, monkeypatch):
    run = runs.train("classify-image", model="forty:Small", run=package / "run", max_steps=1, device="cpu").folder
    monkeypatch.setattr(sys, "path", sys.path[1:])
    sys.modules.pop("forty")
    with pytest.raises(ArgumentError, match="expected module:Name, got forty:Small .*No module named 'forty'"):
        runs.load(run)


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """Write modules that others import; returns the path of a module."""
    monkeypatch.syspath_prepend(str(tmp_path))
    written = []

    def module(text):
        name = f"broken_{len(written)}"
        written.append(name)
        (tmp_path / f"{name}.py").write_text(text)
        return tmp_path / f"{name}.py"

    yield module
    for name in written:
        sys.modules.pop(name, None)


FAULTS = [
    ("\nraise RuntimeError('no\\nlicence')", "RuntimeError: no licence", 2),
    ("x = 1\n1 / 0", "ZeroDivisionError: division by zero", 2),
    ("def f():\n    return {}['a']\n\nf()", "KeyError: 'a'", 2),
    ("import sys\nsys.exit(3)", "SystemExit: 3", 2),
    ("import nowhere.at_all", "ModuleNotFoundError: No module named 'nowhere'", 1),
    ("x = (\n", "SyntaxError: '(' was never closed", 1),
]


@every(("text", "reason", "line"), FAULTS)
def test_a_module_that_raises_is_one_line_with_its_place(text, reason, line, broken, capsys, monkeypatch):
    path = broken(text)
    assert main(["train", "classify-image", "--model", f"{path.stem}:Model"]) == 2
    err = capsys.readouterr().err
    assert (
        err.startswith(f"error: --model: expected module:Name, got {path.stem}:Model ({reason}")
        and "\n" not in err[:-1]
    )
    assert err.endswith(f"{path}:{line})\n")
    monkeypatch.setitem(TASKS, "theirs", f"{path.stem}:TASK")
    assert main(["train", "theirs"]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: TASK theirs: expected module:Name, got {path.stem}:TASK ({reason}")
    assert main(["list"]) == 0  # ours are there
    out, err = capsys.readouterr()
    assert out.startswith("translate: ") and "theirs" not in out and err.startswith("TASK theirs: ")
    assert err.count("\n") == 1


MODEL = """from dataclasses import dataclass
from torch import nn
from saccade.tasks.classify_image import CLASSIFY_IMAGE
from saccade.train.options import Options as Shared

class Model(nn.Module):
    {options}
"""


@every(
    ("options", "error"),
    [
        (
            "@dataclass\n    class Options:\n        width: int",
            "{model}.Options: expected a default of each field, got none",
        ),
        (
            "class Options(Shared, CLASSIFY_IMAGE.Options): pass",
            "{model}.Options: expected a dataclass beside the task's",
        ),
        ("Options = int", "expected a torch module with a dataclass Options"),
    ],
)
def test_options_of_a_model_that_do_not_fit_are_one_error(options, error, broken, capsys):
    model = f"{broken(MODEL.format(options=options)).stem}:Model"
    for verb in (["--help"], []):
        assert main(["train", "classify-image", "--model", model, *verb]) == 2
        err = capsys.readouterr().err
        assert err.startswith(f"error: --model: {error.format(model=model)}") and err.count("\n") == 1


def test_an_entry_point_to_something_else_is_one_error(monkeypatch, capsys):
    monkeypatch.setitem(TASKS, "theirs", "json:dumps")
    assert main(["train", "theirs"]) == 2
    expected = "error: TASK theirs: expected a saccade.tasks.task.Task, got function json:dumps\n"
    assert capsys.readouterr().err == expected


def test_a_run_is_named_after_the_class():
    assert str(folder_of("regress", "package.module:Class", "sine")) == "runs/regress-sine-Class"


@pytest.mark.slow  # processes of their own
def test_an_installed_task_needs_no_registration(tmp_path):
    install(tmp_path)
    settings = environment() | {"PYTHONPATH": os.pathsep.join([str(tmp_path), environment()["PYTHONPATH"]])}
    words = ["train", "stripes", "--run", str(tmp_path / "run"), *SHORT]
    done = subprocess.run(python("-m", "saccade", *words), env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
