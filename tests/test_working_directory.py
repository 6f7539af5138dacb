"""Without a working directory there is one error, before torch is imported."""

import shlex
import subprocess

import pytest

from tiny import environment, python

SCRIPT = "import sys\nfrom saccade.cli import main\nsys.exit(main())\n"
MESSAGE = "working directory: expected a folder that exists, got a removed one; cd to another\n"


@pytest.mark.parametrize("words", ["-m saccade list", "SCRIPT list", "-m saccade.bench.peak", "-c 'import saccade'"])
def test_a_removed_working_directory_is_one_error(words, tmp_path):
    (tmp_path / "gone").mkdir()
    (tmp_path / "saccade").write_text(SCRIPT)
    command = shlex.join(python(*shlex.split(words.replace("SCRIPT", str(tmp_path / "saccade")))))
    shell = f"rmdir ../gone; exec {command}"
    settings = {"cwd": tmp_path / "gone", "capture_output": True, "text": True, "env": environment()}
    done = subprocess.run(["sh", "-c", shell], check=False, **settings)
    if "import" in words:
        assert done.returncode == 1 and done.stderr.endswith(f"\nFileNotFoundError: {MESSAGE}")
    else:
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"error: {MESSAGE}")
