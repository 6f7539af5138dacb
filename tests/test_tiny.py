import subprocess
import sys

import pytest

from tiny import LEASH

CHILD = "import time; print('begun', flush=True); time.sleep(60); print('went on')"
PARENT = "import subprocess, sys; subprocess.run(sys.argv[1:])"


@pytest.mark.skipif(not LEASH, reason="no setpriv here, a command of Linux")
def test_a_program_ends_with_a_parent_that_is_killed():
    command = [sys.executable, "-c", PARENT, *LEASH, sys.executable, "-c", CHILD]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout.readline() == "begun\n"
        parent.kill()
        assert parent.stdout.read() == ""
