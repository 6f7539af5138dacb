"""Every command of the README, as it stands there, in an empty folder: only the budgets are smaller."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCKS = re.findall(r"^```bash\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.M | re.S)
COMMANDS = [line.split("   #")[0].strip() for block in BLOCKS for line in block.splitlines() if line.strip()]
JOBS = [command for command in COMMANDS if "saccade " in command]
SCRIPTS = [command for command in COMMANDS if command.startswith("python benchmarks/")]
SMALLER = {"train": " --max-steps 20 --hidden-dim 16 --embedding-dim 16", "--calls 10000": "--calls 40"}


def run(command, folder):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    search = f"{ROOT / 'src'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": search, "PYTHONWARNINGS": "default"}
    # the installed program, or the same as a module where the package is only on the path
    command = re.sub(r"\bsaccade (?=train|eval|predict|look|list)", f"{sys.executable} -m saccade ", command)
    shell = ["bash", "-o", "pipefail", "-c", command]
    return subprocess.run(shell, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)


def test_every_command_is_known():
    others = [command for command in COMMANDS if command not in JOBS + SCRIPTS]
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M)
    for command in others:
        made = command.startswith("make ") and command.split()[1] in targets
        known = ("source .venv/bin/activate", "pip install -e .", "pip install -e '.[train]'")
        assert made or command in known, command
    assert len(JOBS) >= 6
    assert len(SCRIPTS) == 2


@pytest.mark.slow
def test_jobs_run_one_after_the_other(tmp_path):
    for command in JOBS:
        done = run(command + (SMALLER["train"] if " train " in command else ""), tmp_path)
        assert done.returncode == 0, f"{command}\n{done.stderr[-2000:]}"
        assert done.stdout.strip()
    assert list((tmp_path / "pictures").glob("*.png"))
    assert list((tmp_path / "pictures").glob("*.svg"))


@pytest.mark.slow
@pytest.mark.parametrize("command", SCRIPTS)
def test_scripts_run(command, tmp_path):
    short = command.replace("--calls 10000", SMALLER["--calls 10000"]).replace("attend.py", "attend.py --seconds 0.001")
    done = run(short.replace("benchmarks/", f"{ROOT}/benchmarks/"), tmp_path)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert len(done.stdout.splitlines()) >= 1
