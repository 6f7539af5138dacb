"""The verb: the table on standard output, the files, and what ends it early."""

import json
import re
import shlex
import sys
import time
from datetime import date
from pathlib import Path

import pytest

from bench.fake import MACHINE, PROBES, row
from saccade.bench import Absent, _gpu, _page
from saccade.cli import bench, main

DOCS = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
COMMANDS = re.findall(r"^(saccade bench(?! --gpu).*)$", DOCS.read_text(encoding="utf-8"), flags=re.M)
TINY = ["--rows", "dot forward 2x4x16x16 torch", "--seconds", "0.001", "--threads", "1", "--device", "cpu"]


@pytest.fixture(autouse=True)
def machine(monkeypatch, tmp_path):
    monkeypatch.setattr(bench, "probes", lambda device: PROBES)
    monkeypatch.setattr(bench, "look_at", lambda device, known: MACHINE)
    monkeypatch.setattr(_page, "disturbed", lambda results: [])  # whatever else runs on the machine of the tests
    monkeypatch.chdir(tmp_path)


def offered(monkeypatch, *rows):
    monkeypatch.setattr(bench, "rows", lambda setup: list(rows))


def absent(*inputs):
    raise Absent("No module named 'other'")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_documentation_run(command, tmp_path, capsys):
    words = shlex.split(command)[1:]
    if "--compare" in words:
        assert main(["bench", "--json", "bench.json", *TINY]) == 0
    assert main([*words, *TINY]) == 0
    out = capsys.readouterr().out
    assert "dot forward 2x4x16x16  torch" in out
    assert all((tmp_path / word).exists() for word in words if word.endswith((".json", ".md", ".png")))


def test_the_documentation_says_more_than_one_command():
    assert len(COMMANDS) >= 3


def test_all_that_was_measured_is_written(monkeypatch, capsys, tmp_path):
    offered(monkeypatch, row(family="known"), row(family="unknown", theirs=absent))
    words = ["--json", "found.json", "--page", "page.md", "--plot", "plot.svg"]
    assert main(["bench", "--seconds", "0.001", *words]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].startswith("x86, 1 thread, torch 2; a plain multiply reaches")
    assert lines[1].split() == ["row", "peer", "ours", "peer's", "ratio", "speed", "of", "limit", "target"]
    assert lines[2].startswith("known 3")
    assert lines[3].startswith("unknown 3")
    assert lines[3].endswith("absent: other: No module named 'other'")
    assert lines[5:] == ["plot: plot.png plot.svg", "JSON: found.json", "page: page.md"]
    first, meaning = err.splitlines()
    assert first == "rows: 2; the machine's limits first" and "; ratio: peer's over ours; " in meaning
    found = json.loads(Path("found.json").read_text(encoding="utf-8"))
    assert found["command"] == f"saccade bench --seconds 0.001 {' '.join(words)}"
    assert (found["seconds"], found["interrupted"], found["backend"]) == (0.001, False, "auto")
    assert (found["clock"], len(found["load"])) == ("wall", 3) and date.fromisoformat(found["date"])
    assert [one["absent"] for one in found["rows"]] == [None, "other: No module named 'other'"]
    assert found["rows"][0]["rounds"] >= 5
    page = Path("page.md").read_text(encoding="utf-8")
    assert "(plot.png)" in page
    assert "absent: other: No module named 'other'" in page
    assert {path.name for path in tmp_path.iterdir()} == {"found.json", "page.md", "plot.png", "plot.svg"}


def test_an_earlier_file_is_compared_with_and_without_measuring(monkeypatch, capsys):
    offered(monkeypatch, row(family="first"), row(family="second"))
    assert main(["bench", "--seconds", "0.001", "--rows", "first", "--json", "old.json"]) == 0
    assert main(["bench", "--seconds", "0.001", "--compare", "old.json", "--json", "new.json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-4].startswith("first 3  other") and lines[-3] == "only in this measurement: second 3 other"
    monkeypatch.setattr(bench, "look_at", None)
    assert main(["bench", "--compare", "old.json", "new.json"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("first 3  other")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "--compare: expected one file or two, got 0"),
        (["a", "b", "c"], "--compare: expected one file or two, got 3"),
        (
            ["a", "b", "--quick"],
            "--quick: expected no such option beside --compare with two files; leave one out",
        ),
        (["a.json"], "a.json: expected a file or a folder, got nothing there; correct the name"),
        ([""], "--compare: expected the name of a file, got an empty name"),
    ],
)
def test_a_wrong_comparison_is_refused_before_measuring(words, complaint, capsys):
    assert main(["bench", "--compare", *words]) == 2
    assert capsys.readouterr() == ("", f"error: {complaint}\n")


def test_a_gpu_is_checked_into_a_new_folder(monkeypatch, capsys):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert main(["bench", "--gpu", "card"]) == 2
    assert capsys.readouterr().err.startswith("error: --gpu: expected a machine with a GPU, got none; --device cpu ")
    monkeypatch.setattr(_gpu, "run", lambda folder, parts, seconds: int(folder.is_dir() and seconds == 480))
    assert main(["bench", "--gpu", "card", "--device", "cpu"]) == 1
    assert main(["bench", "--gpu", "card", "--device", "cpu"]) == 2
    assert main(["bench", "--gpu", "other", "--rows", "dot"]) == 2
    assert main(["bench", "--gpu", "other/card", "--device", "cpu"]) == 2
    assert main(["bench", "--gpu", "", "--device", "cpu"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "error: --gpu: expected the name of a new folder, got card, which is there already",
        "error: --rows: expected no such option beside --gpu; leave one out",
        "error: --gpu: expected a name in a folder that exists, got other/card",
        "error: --gpu: expected the name of a new folder, got an empty name",
    ]


def test_an_error_keeps_what_was_measured(monkeypatch):
    def failing(*inputs):
        raise RuntimeError("a fault of ours")

    offered(monkeypatch, row(), row(ours=failing))
    with pytest.raises(RuntimeError, match="a fault of ours"):
        main(["bench", "--seconds", "0.001", "--json", "found.json"])
    found = json.loads(Path("found.json").read_text())
    assert len(found["rows"]) == 1 and found["interrupted"]


def test_ctrl_c_keeps_what_was_measured(monkeypatch, capsys):
    def interrupted(*inputs):
        raise KeyboardInterrupt

    offered(monkeypatch, row(family="done"), row(family="under way", ours=interrupted), row(family="left"))
    assert main(["bench", "--seconds", "0.001", "--json", "found.json"]) == 130
    out, err = capsys.readouterr()
    assert "done 3" in out
    assert "left 3" not in out
    assert err.endswith("interrupted after 1 of 3 rows\n")
    found = json.loads(Path("found.json").read_text(encoding="utf-8"))
    assert found["interrupted"] is True
    assert [one["family"] for one in found["rows"]] == ["done"]


@pytest.mark.parametrize(
    ("option", "name", "there"),
    [
        ("--json", "found.json", "found.json"),
        ("--page", "page.md", "page.md"),
        ("--plot", "plot", "plot.svg"),
        ("--plot", "plot.svg", "plot.png"),
    ],
)
def test_an_existing_file_is_refused_before_measuring(option, name, there, monkeypatch, capsys):
    def measuring(*inputs):
        raise AssertionError("measured")

    offered(monkeypatch, row(ours=measuring))
    Path(there).write_text("mine", encoding="utf-8")
    assert main(["bench", option, name]) == 2
    assert capsys.readouterr() == (
        "",
        f"error: {option}: expected the name of a new file, got {there}, which is there already\n",
    )
    assert Path(there).read_text(encoding="utf-8") == "mine"


def test_a_backend_that_cannot_serve_a_row_is_named_there(capsys):
    assert main(["bench", "--rows", "additive forward 8x32x256 eager", "--backend", "sdpa", "--seconds", "0.001"]) == 0
    assert "absent: ours: backend='sdpa': " in capsys.readouterr().out


def test_a_plot_of_nothing_is_said_to_be_none(monkeypatch, capsys, tmp_path):
    offered(monkeypatch, row(theirs=absent))
    assert main(["bench", "--seconds", "0.001", "--plot", "plot"]) == 0
    assert "--plot: nothing to draw, no row has both sides" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_quick_measures_rows_of_short_list_for_shorter_time(monkeypatch, capsys):
    seen = {}

    def measured(rows, setup, **settings):
        seen.update(settings, names=[one.family for one in rows])
        return iter(())

    monkeypatch.setattr(bench, "measure_rows", measured)
    offered(monkeypatch, row(family="long"), row(family="short", quick=True))
    assert main(["bench", "--quick"]) == 0
    both = {"probes": PROBES, "clock": time.perf_counter}
    assert seen == {**both, "seconds": 0.3, "least": 3, "bound": 8.0, "whole": 85.0, "names": ["short"]}
    seen.clear()
    assert main(["bench"]) == 0
    assert seen == {**both, "seconds": 2.0, "least": 5, "bound": 120.0, "names": ["long", "short"]}
    seen.clear()
    assert main(["bench", "--cpu-time", "--device", "cpu"]) == 0
    assert seen["clock"] is time.process_time


def test_threads_and_device_reach_the_rows(monkeypatch):
    places, set_to = [], []
    monkeypatch.setattr(bench.torch, "set_num_threads", set_to.append)
    monkeypatch.setattr(bench, "rows", lambda setup: places.append(setup) or [row()])
    assert main(["bench", "--threads", "1", "--device", "cpu", "--backend", "chunked", "--seconds", "0.001"]) == 0
    assert set_to == [1]
    assert (str(places[0].device), places[0].backend) == ("cpu", "chunked")


def test_a_terminal_shows_which_row_is_under_way(monkeypatch, capsys):
    offered(monkeypatch, row(family="first"), row(family="second"))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert main(["bench", "--seconds", "0.001"]) == 0
    err = capsys.readouterr().err
    assert "\r\x1b[K1 of 2: first 3 other" in err
    assert "\r\x1b[K2 of 2: second 3 other" in err
    assert err.endswith("\r\x1b[K")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--json", "a.x", "--page", "a.x"], "--page: expected a file of its own, got a.x, which --json writes too"),
        (["--page", "a.svg", "--plot", "a"], "--plot: expected a file of its own, got a.svg, which --page writes too"),
        (["--json", "link"], "--json: expected the name of a new file, got link, which is there already"),
    ],
)
def test_every_file_is_its_own(words, said, capsys):
    Path("link").symlink_to("nowhere")
    assert main(["bench", *words, *TINY]) == 2
    assert capsys.readouterr().err == f"error: {said}\n"


def test_a_read_only_folder_is_refused_before_measuring(monkeypatch, capsys):
    def refuse(**options):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    assert main(["bench", "--json", "found.json", *TINY]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err == (
        "error: --json: expected a name in a folder that can be written to, got found.json: Read-only file system\n"
    )


def test_an_unwritable_file_keeps_no_other_from_being(monkeypatch, capsys):
    offered(monkeypatch, row())
    write_new = bench.write_new

    def full(contents):
        if Path("found.json") in contents:
            raise OSError(28, "No space left on device", "found.json")
        write_new(contents)

    monkeypatch.setattr(bench, "write_new", full)
    assert main(["bench", "--seconds", "0.001", "--json", "found.json", "--page", "page.md", "--plot", "plot"]) == 2
    assert capsys.readouterr().err.endswith(
        "found.json: expected room on the disk, got none; make room, then give the command again\n"
    )
    assert Path("page.md").exists() and Path("plot.png").exists() and not Path("found.json").exists()


@pytest.mark.parametrize(("option", "name"), [("--json", "a.json"), ("--page", "a.md"), ("--plot", "a.svg")])
def test_a_file_that_came_meanwhile_is_not_written_over(option, name, monkeypatch, capsys):
    offered(monkeypatch, row(ours=lambda x: lambda: x * Path(name).write_text("mine") / len("mine")))
    assert main(["bench", "--seconds", "0.001", option, name]) == 2
    assert f"{name}: there is a file now, which is not written over" in capsys.readouterr().err
    assert Path(name).read_text() == "mine"


def test_a_link_that_came_meanwhile_is_not_written_over(monkeypatch, capsys):
    offered(monkeypatch, row(theirs=lambda x: Path("a.json").symlink_to("nowhere") or (lambda: x)))
    assert main(["bench", "--seconds", "0.001", "--json", "a.json"]) == 2
    assert "a.json: there is a file now, which is not written over" in capsys.readouterr().err
    assert Path("a.json").is_symlink() and not Path("nowhere").exists()


@pytest.mark.parametrize("name", [".", "/", "..", "a/.."])
def test_a_folder_is_no_name_of_a_plot(name, capsys):
    assert main(["bench", "--plot", name, *TINY]) == 2
    assert capsys.readouterr().err == f"error: --plot: expected the name of a new file, got a folder: {name}\n"
