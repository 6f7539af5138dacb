from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
import tyro

from saccade.cli import main
from saccade.cli.arguments import parse
from saccade.cli.catalogue import tasks
from tiers import every

MODELS = [(task["name"], model["name"]) for task in tasks() for model in task["models"]]


@dataclass(frozen=True)
class Options:
    """Some options."""

    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Folder; a long explanation of it that goes on, past the end of the line, and on."""

    beam_size: int | None = None
    """Outputs at once."""

    norm: Literal["pre", "post"] | None = "pre"
    """Order of layers."""

    resume: bool = True
    """Go on."""

    quick: bool = False
    """Be quick."""


@pytest.fixture
def explained(capsys, monkeypatch):
    def text(*words, columns=80, lines=24, groups=None):
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("LINES", str(lines))
        with pytest.raises(SystemExit) as stop:
            parse(Options, [*words], "saccade x", "The purpose.\n\n    A detail.", groups=groups)
        assert stop.value.code == 0
        return capsys.readouterr().out.splitlines()

    return text


def test_help_has_a_line_an_option_with_its_kind(explained):
    assert explained("--help", columns=120) == [
        "usage: saccade x RUN [OPTIONS]",
        "",
        "The purpose.",
        "",
        "A detail.",
        "",
        "options:",
        "  RUN                     Folder; a long explanation of it that goes on, past the end of the line, and on.",
        "  --beam-size INT         Outputs at once.",
        "  --norm {pre,post}       Order of layers. (default: pre)",
        "  --[no-]resume           Go on.",
        "  --quick                 Be quick.",
    ]


GROUPS = {"first": ["run", "norm"], "second": ["beam_size", "resume", "quick"]}


def test_help_beyond_a_screen_names_the_other_groups(explained):
    short = explained("-h", lines=12, groups=GROUPS)
    assert short[6:] == [
        "first:",
        "  RUN                     Folder.",
        "  --norm {pre,post}       Order of layers. (default: pre)",
        "",
        "second:",
        "  --beam-size --resume --quick",
        "",
        "saccade x --help-all explains every option.",
    ]
    whole = explained("--help", lines=40, groups=GROUPS)
    assert "  --quick                 Be quick." in whole and whole == explained("--help-all", lines=3, groups=GROUPS)


@pytest.mark.parametrize("columns", [1, 5, 30])
def test_help_stays_readable_in_a_narrow_terminal(columns, explained):
    assert "  --quick           Be quick." in explained("--help-all", columns=columns)


@every(("task", "model"), MODELS)
def test_help_of_train_is_one_screen_with_every_option(task, model, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    with pytest.raises(SystemExit):
        main(["train", task, "--model", model, "--help"])
    out = capsys.readouterr().out
    assert len(out.splitlines()) <= 40 and all(len(line) <= 80 for line in out.splitlines())
    [options] = [
        choice["options"]
        for each in tasks()
        if each["name"] == task
        for choice in each["models"]
        if choice["name"] == model
    ]
    assert {word.strip(",.") for word in out.split()} >= {"--" + option["name"].replace("_", "-") for option in options}


def test_all_help_explains_options_of_the_model(capsys):
    with pytest.raises(SystemExit):
        main(["train", "translate", "--model", "transformer", "--help-all"])
    out = capsys.readouterr().out
    assert "\ntransformer:\n" in out and "--heads INT" in out and "(default: pre)" in out
