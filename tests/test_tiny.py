import subprocess
import sys
from pathlib import Path

import pytest

from tiny import LEASH, python

TESTS = Path(__file__).parent
CHILD = "import time; print('begun', flush=True); time.sleep(60); print('went on')"
PARENT = "import subprocess, sys; subprocess.run(sys.argv[1:])"


@pytest.mark.skipif(not LEASH, reason="no setpriv here, a command of Linux")
def test_a_program_ends_with_a_parent_that_is_killed():
    command = [sys.executable, "-c", PARENT, *python("-c", CHILD)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout.readline() == "begun\n"
        parent.kill()
        assert parent.stdout.read() == ""


def test_every_python_that_a_test_starts_is_leashed():
    files = {path for path in TESTS.rglob("*.py") if "sys.executable" in path.read_text(encoding="utf-8")}
    assert files == {TESTS / "tiny.py", TESTS / "test_tiny.py"}  # the helper, and its own test
