"""Training, resuming and predicting with what other systems lack removed."""

import subprocess

import pytest

from tiny import environment, python

REMOVED = """
import os, signal, subprocess, sys
import filelock, lightning, matplotlib, numba, torch, torchmetrics  # these have code of their own for each system

for module in ("fcntl", "resource", "grp", "pwd", "termios"):
    sys.modules[module] = None
for place, names in {
    os: ("geteuid", "getuid", "getloadavg", "sched_getaffinity", "sysconf", "fork", "register_at_fork", "mkfifo",
         "O_NOFOLLOW", "RTLD_NOLOAD"),
    signal: ("SIGHUP",),
}.items():
    for name in names:
        if hasattr(place, name):
            delattr(place, name)
"""
TRAIN = """
from saccade import runs

options = dict(data="sine", model="nadaraya-watson", run=sys.argv[1], seed=1)
runs.train("regress", max_steps=3, **options)
run = runs.train("regress", max_steps=6, **options)
print(run.results["steps"], len(run.predict("0.5")))
"""


@pytest.mark.slow
def test_training_resumes_and_predicts_without_what_windows_lacks(tmp_path):
    done = subprocess.run(
        python("-c", REMOVED + TRAIN, tmp_path / "run"), check=False, capture_output=True, text=True, env=environment()
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-2:] == ["6", "1"]


@pytest.mark.slow
def test_imports_survive_without_what_windows_lacks():
    imports = REMOVED + "import saccade.runs, saccade.cli, saccade.train.fit, saccade.kernels.cache\n"
    done = subprocess.run(python("-c", imports), check=False, capture_output=True, text=True, env=environment())
    assert done.returncode == 0, done.stderr
