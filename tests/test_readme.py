"""The README's pictures, its table of jobs, and the programs of its commands."""

import json
import re
from dataclasses import asdict

import pytest

from commands import ROOT, accept, commands, words
from jobs import JOBS
from scripts import script

README = (ROOT / "README.md").read_text(encoding="utf-8")
ROWS = [row.strip("|").split(" | ") for row in re.findall(r"^\| \[.*\|$", README, flags=re.M)]
UNMEASURED = ("run", "threads", "checkpoint_steps")
"""Options that change no figure of a table."""


def stored(task):
    file, metric = JOBS[task]
    return json.loads((ROOT / "results" / f"{file}.json").read_text(encoding="utf-8")), metric


def test_it_has_at_most_4_pictures():
    assert len(re.findall(r"!\[", README)) <= 4


def test_the_first_call_and_the_install_stand_above_line_50():
    first = README.splitlines()[:50]
    assert any(line.startswith("attend(") for line in first) and any("pip install" in line for line in first)


def test_the_table_has_every_job_once():
    assert [re.search(r"\[([\w-]+)\]", row[0])[1] for row in ROWS] == list(JOBS)


@pytest.mark.parametrize("row", ROWS, ids=list(JOBS))
def test_a_job_has_the_figures_of_its_file(row):
    job, command, minutes, score, picture = (cell.strip() for cell in row)
    task, model = re.search(r"\[([\w-]+)\]", job)[1], re.search(r"`([\w-]+)`", job)[1]
    results, metric = stored(task)
    spent = results["seconds"] / 60
    assert minutes == ("< 0.1" if spent < 0.1 else f"{spent:.1f}")
    assert float(score.split()[-1]) == round(results["metrics"][metric], 4) and results["model"] == model
    assert (ROOT / re.search(r'src="([^"]+)"', picture)[1]).exists()
    if command.startswith("["):  # data to be downloaded, and a recipe that another page has
        anchor = re.search(r"#([\w-]+)\)", command)[1]
        assert f"\n## {anchor.capitalize()}\n" in (ROOT / "docs/results.md").read_text(encoding="utf-8")
        return
    options = asdict(accept(words(command.strip("`"))))
    kept = {name: value for name, value in results["config"]["options"].items() if name not in UNMEASURED}
    assert {name: options[name] for name in kept if name in options} == {n: v for n, v in kept.items() if n in options}


def test_thumbnails_are_cut_from_pictures():
    numpy, image = pytest.importorskip("numpy"), pytest.importorskip("PIL.Image")
    thumbnails = script("tools/draw_thumbnails.py")
    assert list(thumbnails.SQUARES) == list(JOBS)
    for job, row in zip(JOBS, ROWS, strict=True):
        path = ROOT / re.search(r'src="([^"]+)"', row[-1])[1]
        assert path == thumbnails.PICTURES / f"thumbs/{job}.png"
        with image.open(path) as picture:
            assert picture.size == (thumbnails.SIDE, thumbnails.SIDE)
            difference = numpy.asarray(picture, dtype=int) - numpy.asarray(thumbnails.thumbnail(job), dtype=int)
        assert abs(difference).max() <= 2, "run python tools/draw_thumbnails.py"


def test_targets_are_those_of_the_page():
    text = " ".join(README.split())
    met, missed, _ = targets("CPU")
    assert f"of {met + missed} [targets](results/benchmarks/attention.md), {met} are met" in text
    met, missed, unmeasured = targets("GPU")
    whole = met + missed + unmeasured
    assert f"of {whole} [targets](results/benchmarks/attention.md), {met} are met and {missed} missed" in text
    assert f"their {unmeasured} targets are not measured yet" in text


def targets(device):
    """Numbers of targets that the page has of a device as met, missed and not measured."""
    text = (ROOT / "results/benchmarks/attention.md").read_text(encoding="utf-8")
    return map(int, re.search(rf"{device}: (\d+) met, (\d+) missed, (\d+) not measured", text).groups())


def test_its_commands_begin_with_a_known_program():
    assert {command.split()[0] for command in commands(README)} == {"pip", "make", "saccade"}
