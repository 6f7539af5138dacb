import shlex
import subprocess

import pytest

from saccade.cli import VERBS, main
from saccade.tasks import TASKS
from saccade.tasks.translate import TRANSLATE
from saccade.train.task import options_class
from tiers import every
from tiny import environment, python, registered


@pytest.fixture
def completed(capsys):
    def words(line):
        *before, start = line.split(" ")
        assert main(["--complete", *before, start]) == 0
        return capsys.readouterr().out.split()

    return words


def test_verbs_and_tasks_complete(completed):
    assert completed("") == [*VERBS] and completed("pre") == ["predict"]
    assert completed("train ") == completed("data ") == [*TASKS]
    assert completed("--print-completion ") == ["bash", "zsh", "fish"]


def test_options_of_the_model_complete(completed):
    for model in ("rnnsearch", "transformer"):
        names = {name.replace("_", "-") for name in options_class(TRANSLATE, model).__dataclass_fields__}
        found = completed(f"train translate --model {model} --")
        assert {word.removeprefix("--") for word in found} == names | {"help", "help-all", "no-resume", "config"}
        assert len(found) == len(set(found))


@every(
    ("line", "words"),
    [
        ("train translate --model ", [*TRANSLATE.models]),
        ("train translate --model t", ["transformer"]),
        ("train translate --data ", [*TRANSLATE.builtin]),
        ("train translate --data ./", []),
        ("train translate --model transformer --norm ", ["pre", "post"]),
        ("train translate --seed ", []),
        ("train translate --device ", ["auto", "cpu", "cuda"]),
        ("train nothing --data ", []),
        ("data caption --split t", ["train", "test"]),
        ("predict runs/x --be", ["--beam-size"]),
        ("predict runs/x ", []),
        ("eval runs/x --split ", ["test", "validation"]),
        ("list --j", ["--json"]),
        ("nothing --j", []),
    ],
)
def test_values_complete_if_they_are_few(line, words, completed):
    assert completed(line) == words


def test_a_task_of_another_package_completes_too(completed):
    with registered():
        assert completed("train li") == ["line"] and completed("train line --wid") == ["--width"]


def test_bash_completes_by_the_printed_script():
    program = shlex.join(python("-m", "saccade"))
    script = (
        f'saccade() {{ {program} "$@"; }}; eval "$(saccade --print-completion bash)"; '
        'COMP_WORDS=(saccade train translate --model tr); COMP_CWORD=4; _saccade; echo "${COMPREPLY[@]}"; '
        "complete -p saccade"
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment(), check=False)
    assert done.stdout.splitlines() == ["transformer", "complete -o bashdefault -o default -F _saccade saccade"]


def test_an_unknown_shell_is_one_error(capsys):
    assert main(["--print-completion", "tcl"]) == 2
    assert capsys.readouterr().err == "error: --print-completion: there is no tcl; there is: bash, zsh, fish\n"
