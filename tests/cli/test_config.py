import json

import pytest

from saccade.cli import main
from saccade.cli.config import read_config
from saccade.cli.train import read_command
from saccade.tasks.translate import TRANSLATE
from tiers import every
from tiny import train


@pytest.fixture
def write(tmp_path):
    """A file of options; returns its path."""

    def written(text):
        path = tmp_path / "options.yaml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return written


@pytest.fixture
def named(write):
    """Options that a file of some lines and some words name."""
    return lambda text, *words: read_command(TRANSLATE, [*words], read_config(write(text), TRANSLATE))


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


def test_scalars_are_read_as_on_the_command_line(named):
    """Not as YAML has them: 010 is no octal number, 1:30 no time, and no is a language."""
    lines = 'seed: 010\nsource: no\ntarget: "off"\nmax_minutes: 1_0\nresume: No\nmax_steps: ~\nrun: 2024-01-01\n'
    values = {"seed": 10, "source": "no", "target": "off", "max_minutes": 10.0, "resume": False, "max_steps": None}
    assert named(lines).named == {**values, "run": "2024-01-01"}
    assert named("max_steps: null", "--max-steps", "3").named == {"max_steps": 3}


@every(
    ("text", "error"),
    [
        ("learning_rat: 1", "learning_rat: no option with --model rnnsearch; did you mean learning_rate?"),
        ("heads: 2", "heads: no option with --model rnnsearch; "),
        ("seed: x", "seed: expected a whole number, got x"),
        ("seed: 0x10", "seed: expected a whole number, got 0x10"),
        ("max_minutes: 1:30", "max_minutes: expected a number, got 1:30"),
        ("learning_rate: off", "learning_rate: expected a number, got off"),
        ("seed: null", "seed: expected a value, got null"),
        ("data:", "data: expected a value, got nothing"),
        ("max_steps: 0", "max_steps: expected a number above 0, got 0"),
        ("tokenizer: letters", "tokenizer: expected "),
        ("model: luon", "model: there is no luon; did you mean luong?"),
        ("device: gpu7", "device: expected one of auto, cpu"),
        ("data: date", "data: no data set date, and no "),
        ('resume: "no"', "resume: expected true or false, got no"),
        ("seed: [1, 2]", "seed: expected one value, got several"),
        ("words", "expected lines such as max_steps: 600, got 'words'"),
        ("- words", "expected lines such as max_steps: 600, got 'a list'"),
        ("task: caption\noptions: {}", "expected a run of translate, got one of caption"),
    ],
)
def test_an_error_of_a_file_names_file_and_key(text, error, write, capsys, tmp_path):
    path = write(text)
    run = [] if text.startswith("resume") else ["--run", str(tmp_path / "run")]
    assert main(["train", "translate", "--config", path, *run]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: --config {path}: {error}") and err.count("\n") == 1
    assert not (tmp_path / "run").exists()


@every(
    ("text", "line", "key"),
    [
        ("seed: 1\nmax_steps: 5\nseed: 2", 3, "seed"),
        ("max-steps: 1\nmax_steps: 5", 2, "max_steps"),
        ('{"task": "translate", "options": {"seed": 1,\n"seed": 2}}', 2, "seed"),
    ],
)
def test_a_repeated_key_is_refused_with_its_line(text, line, key, write, capsys):
    path = write(text)
    assert main(["train", "translate", "--config", path]) == 2
    error = f"error: --config {path}, line {line}: {key}: expected once, got it on line 1 too\n"
    assert capsys.readouterr().err == error


def test_a_file_of_no_yaml_is_one_error(write, capsys):
    for text in ("a: b: c", "a: [", "\x00", "%"):
        assert main(["train", "translate", "--config", write(text)]) == 2
        err = capsys.readouterr().err
        assert err.startswith("error: --config: expected a YAML file, got ") and err.count("\n") == 1


def test_an_error_of_the_command_line_is_its_own(write, capsys):
    assert main(["train", "translate", "--config", write("max_steps: 7"), "--max-steps", "0"]) == 2
    assert capsys.readouterr().err.startswith("error: --max-steps: expected a number above 0, got 0")


def test_config_of_a_run_of_another_model_is_one_error(write, capsys):
    options = {"model": "transformer", "heads": 2, "threads": None}
    path = write(json.dumps({"task": "translate", "model": "transformer", "options": options}))
    assert read_command(TRANSLATE, [], read_config(path, TRANSLATE)).named == options
    assert main(["train", "translate", "--config", path, "--model", "luong"]) == 2
    error = "heads: no option with --model luong; the file is of a run of transformer\n"
    assert capsys.readouterr().err == f"error: --config {path}: {error}"


def test_a_missing_file_is_one_error(capsys):
    assert main(["train", "translate", "--config", "nowhere.yaml"]) == 2
    assert capsys.readouterr().err == (
        "error: nowhere.yaml: expected a file or a folder, got nothing there; correct the name\n"
    )


def test_config_of_a_run_trains_another_run_alike(tmp_path):
    assert train(tmp_path / "first", "--max-steps", 2, "--dropout", "0.25") == 0
    words = ["--config", str(tmp_path / "first/config.json"), "--run", str(tmp_path / "second"), "--seed", "2"]
    assert main(["train", "translate", *words]) == 0
    first, second = (json.loads((tmp_path / name / "config.json").read_text()) for name in ("first", "second"))
    changed = {"run": str(tmp_path / "second"), "seed": 2}
    assert second == {**first, "options": {**first["options"], **changed}}
