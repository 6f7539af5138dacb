import json
import platform

import torch

from saccade import __version__
from saccade.cli import main


def test_versions_and_hardware_are_printed(capsys):
    assert main(["env"]) == 0
    lines = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines())
    assert lines["python"] == platform.python_version() and lines["saccade"] == __version__
    assert lines["torch"] == torch.__version__ and lines["threads of torch"] == str(torch.get_num_threads())
    assert lines["GPUs"] == "none" or torch.cuda.is_available()
    assert all(lines.values())


def test_the_same_as_json(capsys):
    main(["env"])
    names = [line.split(": ", 1)[0] for line in capsys.readouterr().out.splitlines()]
    assert main(["env", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert list(facts) == names and isinstance(facts["GPUs"], list)


def test_a_version_is_printed(capsys):
    for option in ("--version", "-V"):
        assert main([option]) == 0
        assert capsys.readouterr().out == f"saccade {__version__}\n"
