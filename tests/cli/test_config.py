import json

import pytest

from saccade.cli import main
from saccade.cli.arguments import UsageError
from saccade.cli.train import read_command
from saccade.tasks.translate import TRANSLATE
from tiers import every
from tiny import train


@pytest.fixture
def named(tmp_path):
    """Options that a file of some lines and some words name."""

    def parsed(text, *words):
        path = tmp_path / "options.yaml"
        path.write_text(text, encoding="utf-8")
        return read_command(TRANSLATE, ["--config", str(path), *words])

    return parsed


def test_options_of_a_file_are_typed_as_those_of_the_command_line(named):
    lines = "learning-rate: 1e-3\nmax_steps: 7\nresume: false\npatience: null\nprecision: 32\nsource: de\n"
    values = {
        "learning_rate": 1e-3,
        "max_steps": 7,
        "resume": False,
        "patience": None,
        "precision": "32",
        "source": "de",
    }
    assert named(lines).named == values
    assert named("").named == {}


def test_words_of_the_command_line_override_the_file(named):
    text = "model: transformer\nheads: 2\nseed: 3\nresume: false\ndata: trees\n"
    command = named(text, "--seed", "5", "--resume", "--data", "dates")
    assert (command.model, command.data) == ("transformer", "dates")
    assert command.named == {"model": "transformer", "heads": 2, "seed": 5, "resume": True, "data": "dates"}


@every(
    ("text", "error"),
    [
        ("learning_rat: 1", "learning_rat: no option with --model rnnsearch; did you mean learning_rate\\?$"),
        ("heads: 2", "heads: no option with --model rnnsearch; "),
        ("seed: x", "^--seed: expected a whole number, got x; see saccade train translate --help$"),
        ("data: no", "data: expected a value, in quotes if it is a word such as no, got False$"),
        ("learning_rate: off", "learning_rate: expected a value, .* got False$"),
        ('resume: "no"', "resume: expected true or false, got 'no'$"),
        ("seed: [1, 2]", "seed: expected one value, got \\[1, 2\\]$"),
        ("words", "expected lines such as max_steps: 600, got 'words'$"),
        ("a: b: c", "^--config: expected a YAML file, got .*options.yaml"),
        ("task: caption\noptions: {}", "expected a run of translate, got one of caption$"),
    ],
)
def test_a_file_of_anything_else_is_one_error(text, error, named):
    with pytest.raises(UsageError, match=error) as stop:
        named(text)
    assert "\n" not in str(stop.value)


def test_a_missing_file_is_one_error(capsys):
    assert main(["train", "translate", "--config", "nowhere.yaml"]) == 2
    assert capsys.readouterr().err == "error: nowhere.yaml: No such file or directory\n"


def test_config_of_a_run_trains_another_run_alike(tmp_path):
    assert train(tmp_path / "first", "--max-steps", 2, "--dropout", "0.25") == 0
    words = ["--config", str(tmp_path / "first/config.json"), "--run", str(tmp_path / "second"), "--seed", "2"]
    assert main(["train", "translate", *words]) == 0
    first, second = (json.loads((tmp_path / name / "config.json").read_text()) for name in ("first", "second"))
    changed = {"run": str(tmp_path / "second"), "seed": 2}
    assert second == {**first, "options": {**first["options"], **changed}}
