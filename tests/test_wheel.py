"""The wheel, apart from the checkout."""

import os
import subprocess
import zipfile

import pytest

from commands import ROOT
from tiny import python

PROGRAM = """
import sys
from pathlib import Path
import saccade
from saccade.cli import main
assert Path(saccade.__file__).is_relative_to(sys.argv[1]), saccade.__file__
exec(Path(sys.argv[2]).read_text(encoding="utf-8"))
from saccade.look._explorer.pages import server_page
assert "openServer" in server_page("A title")
sys.exit(main(["list"]))
"""


@pytest.mark.slow  # a wheel, and a process of its own
def test_the_wheel_runs_the_readme_and_lists_tasks(tmp_path):
    builders = pytest.importorskip("hatchling.builders.wheel", reason="hatchling is not installed")
    [wheel] = builders.WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    unpacked, empty, example = tmp_path / "unpacked", tmp_path / "empty", tmp_path / "example.txt"
    zipfile.ZipFile(wheel).extractall(unpacked)
    folder = "saccade/look/_explorer/page/"
    files = (path for path in (ROOT / "src" / folder).rglob("*") if path.is_file())
    parts = {path.relative_to(ROOT / "src").as_posix() for path in files}
    assert {f"{folder}app.js", f"{folder}style.css", f"{folder}vendor/LICENSES.txt"} <= parts
    assert {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith(folder)} == parts
    empty.mkdir()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    block = readme.split("```python\n")[1].split("```")[0]
    example.write_text(block, encoding="utf-8")
    command = python("-c", PROGRAM, unpacked, example)
    measured = ("COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START")  # coverage is the checkout's, not this copy's
    settings = {name: os.environ[name] for name in os.environ if name not in measured} | {"PYTHONPATH": str(unpacked)}
    done = subprocess.run(command, cwd=empty, env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("translate") and not list(empty.iterdir())
