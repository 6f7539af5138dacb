import json
from pathlib import Path

import pytest
import torch

from saccade.bench import Setup, _gpu, rows
from saccade.bench._gpu import MEASURED, Part, parts, run
from saccade.bench._rows import matches
from saccade.cli.arguments import parse
from saccade.cli.bench import Arguments

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


def python(code):
    return ["-c", code]


def test_every_part_has_rows_on_a_gpu():
    names = [row.name for row in rows(Setup(CUDA))]
    counts = {name: sum(matches(row, pattern) for row in names) for name, (pattern, _) in MEASURED.items()}
    measured = {
        "windows": 14,
        "statistics": 12,
        "additive": 16,
        "sparse": 6,
        "entmax": 8,
        "module": 8,
        "memory": 2,
        "flex": 4,
    }
    assert counts == measured


def test_parts_without_rows_are_left_out_on_a_cpu(tmp_path):
    assert {"graphs", "random", *MEASURED} == {part.name for part in parts(tmp_path, CUDA)}
    assert {"statistics", "entmax", "flex"} == set(MEASURED) - {part.name for part in parts(tmp_path, CPU)}


def test_a_folder_may_begin_with_a_dash():
    [*_, part] = parts(Path("-card"), CPU)
    options = parse(Arguments, part.commands[0][3:], "saccade bench", "")
    assert (options.json, options.page) == (f"-card/{part.name}.json", f"-card/{part.name}.md")


@pytest.mark.slow  # three processes
def test_parts_that_fail_or_do_not_end_keep_their_lines(tmp_path, capsys):
    endless = "import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.01)"
    listed = [
        Part("wrong", [python("print('one'); raise SystemExit(3)")], 1e9),
        Part("endless", [python(endless)], 1e-9),  # no time is left to it
        Part("right", [python("print('two')"), python("pass")], 1.0),
    ]
    assert run(tmp_path, listed, 600.0) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "one" and lines[1].startswith("wrong: failed, exit code 3, after ")
    assert any(line.startswith("endless: stopped after ") for line in lines)
    assert lines[-2] == "two" and lines[-1].startswith("right: done after ")


def test_files_of_parts_are_joined_for_a_comparison(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(_gpu, "_run", lambda part, log, limit: (log.write_text("a line") > 0, [0]))
    for name, interrupted in (("a", False), ("b", True)):
        content = {"command": name, "machine": {"gpu": "G"}, "rows": [{"row": name}], "interrupted": interrupted}
        (tmp_path / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    assert run(tmp_path, [Part(name, [], 1.0) for name in "abc"], 480.0) == 0
    joined = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))
    assert joined["rows"] == [{"row": "a"}, {"row": "b"}] and joined["interrupted"]
    assert joined["machine"] == {"gpu": "G"} and joined["command"] == "saccade bench --gpu"
    assert capsys.readouterr().out.endswith(f"JSON: {tmp_path / 'all.json'}\n")


def test_ctrl_c_keeps_the_files_of_parts(tmp_path, monkeypatch):
    def interrupted(part, log, limit):
        raise KeyboardInterrupt

    monkeypatch.setattr(_gpu, "_run", interrupted)
    content = {"command": "a", "rows": [{"row": "a"}], "interrupted": True}
    (tmp_path / "a.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, [Part("a", [], 1.0)], 480.0)
    assert json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))["rows"] == [{"row": "a"}]


@pytest.mark.slow  # a process
def test_a_stopped_part_leaves_no_process(tmp_path, monkeypatch):
    def interrupted(processes, seconds):
        started.extend(processes)
        raise KeyboardInterrupt

    started = []
    monkeypatch.setattr(_gpu, "_wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _gpu._run(Part("a", [python("import time; time.sleep(600)")], 1.0), tmp_path / "a.log", 1.0)
    assert started[0].wait(600) != 0


def test_time_that_is_left_goes_to_later_parts(tmp_path, monkeypatch):
    limits, now = [], [0.0]

    def spend(part, log, limit):
        limits.append(limit)
        now[0] += 10.0
        log.write_text("")
        return True, [0]

    monkeypatch.setattr(_gpu, "_run", spend)
    run(tmp_path, [Part("a", [], 3.0), Part("b", [], 1.0), Part("c", [], 1.0)], 110.0, clock=lambda: now[0])
    assert limits == [60.0, 45.0, 80.0]
