"""Pictures by `saccade look`: their paths are printed as they are drawn, and none is written over."""

import json
from pathlib import Path

import pytest

from saccade.cli import main
from saccade.errors import ArgumentError
from saccade.runs import load
from saccade.train.fit import train as fit
from tiny import Line, line_options, registered, train


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    folder = tmp_path_factory.mktemp("look") / "line"
    with registered():
        fit(Line, line_options(folder, max_steps=2))
        yield folder


def test_each_line_has_its_pictures_in_order(line, tmp_path, capsys):
    (tmp_path / "points.txt").write_text("1 2 3 4\n4 3 2 1\n")
    assert main(["look", str(line), "--input", str(tmp_path / "points.txt"), "--output", str(tmp_path / "new/a")]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [str(tmp_path / "new/a" / f"{name}.png") for name in ("1_2_3_4", "4_3_2_1")]
    assert err == "" and all((tmp_path / "new/a" / name).exists() for name in ("1_2_3_4.png", "4_3_2_1.png"))


def test_without_a_folder_they_are_the_runs_own(line, capsys):
    assert main(["look", str(line), "1 2 3 4"]) == 0
    assert capsys.readouterr().out == f"{line / 'pictures/1_2_3_4.png'}\n"


def test_pictures_before_a_line_that_cannot_be_read_stay(line, tmp_path, capsys):
    (tmp_path / "points.txt").write_text("1 2 3 4\nx\n4 3 2 1\n")
    assert main(["look", str(line), "--input", str(tmp_path / "points.txt"), "--output", str(tmp_path / "a")]) == 2
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == len(list((tmp_path / "a").iterdir())) == 2
    assert err.splitlines()[-1] == "error: 1 of 3 inputs could not be read, as said above; their answers are blank"


@pytest.mark.slow
def test_another_look_is_put_beside_the_first(run, tmp_path, capsys):
    pictures = tmp_path / "pictures"
    words = ["look", str(run), "18 juin 2025", "--output", str(pictures)]
    for _ in range(2):
        assert main(words) == 0
        assert capsys.readouterr().out.splitlines() == [
            str(pictures / f"18-juin-2025{end}") for end in (".png", ".svg")
        ]
    before = {path: path.read_bytes() for path in pictures.iterdir()}
    assert train(tmp_path / "other", "--max-steps", 1, "--seed", 3) == 0
    assert main(["look", str(tmp_path / "other"), *words[2:]]) == 0
    assert {path.name for path in pictures.iterdir()} == {
        f"18-juin-2025{number}{end}" for number in ("", "-2") for end in (".png", ".svg")
    }
    assert {path: path.read_bytes() for path in before} == before


def test_numbers_are_written_beside_a_picture_if_asked(run, tmp_path, capsys):
    assert main(["look", str(run), "18 juin 2025", "--output", str(tmp_path / "a"), "--json"]) == 0
    *_, path = map(Path, capsys.readouterr().out.splitlines())
    told = json.loads(path.read_text(encoding="utf-8"))
    assert path.name == "18-juin-2025.json" and "".join(told["columns"]) == "18 juin 2025⏎"
    assert len(told["values"]) == len(told["rows"]) and {len(row) for row in told["values"]} == {len(told["columns"])}


def test_an_option_of_another_task_is_refused_by_its_name(run, capsys):
    assert main(["look", str(run), "18 juin 2025", "--layer", "1"]) == 2
    assert "--layer: expected only with a run of classify-text" in capsys.readouterr().err


def test_a_blank_line_has_no_picture(run, tmp_path, capsys):
    assert main(["look", str(run), " ", "--output", str(tmp_path / "pictures")]) == 2
    assert "error: INPUT: expected an input to draw, got a blank one" in capsys.readouterr().err
    assert not (tmp_path / "pictures").exists()
    (tmp_path / "in.txt").write_text(" \n")
    assert main(["look", str(run), "--input", str(tmp_path / "in.txt"), "--output", str(tmp_path / "pictures")]) == 0
    assert not (tmp_path / "pictures").exists()


def test_a_folder_that_cannot_be_made_is_one_line(run, tmp_path, capsys):
    (tmp_path / "file").write_text("mine")
    assert main(["look", str(run), "18 juin 2025", "--output", str(tmp_path / "file")]) == 2
    out, err = capsys.readouterr()
    assert f"--output: expected a folder, got a file: {tmp_path / 'file'}; name another" in err
    assert out == "" and err.count("\n") == 1 and (tmp_path / "file").read_text() == "mine"
    with pytest.raises(ArgumentError, match="--output: expected a folder, got a file"):
        load(run, device="cpu").draw("18 juin 2025", tmp_path / "file/below")


def test_names_stand_before_the_pictures_of_each_input(run, tmp_path, capsys):
    (tmp_path / "in.txt").write_text("15. März 1999\n2019年2月15日\n", encoding="utf-8")
    words = ["--input", str(tmp_path / "in.txt"), "--output", str(tmp_path / "pictures"), "--names"]
    assert main(["look", str(run), *words]) == 0
    found = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [name for name, _ in found] == 2 * ["15. März 1999"] + 2 * ["2019年2月15日"]
    assert all(Path(path).is_file() for _, path in found)


def test_a_method_that_the_run_lacks_is_one_line(run, tmp_path, capsys):
    assert main(["look", str(run), "18 juin 2025", "--by", "rollout", "--output", str(tmp_path / "pictures")]) == 2
    out, err = capsys.readouterr()
    expected = "attention, gradient, grad-cam, jacobian or integrated-gradients for this run, got rollout"
    assert err == f"error: --by: expected {expected}. It needs layers of self-attention, as a transformer has.\n"
    assert out == "" and not (tmp_path / "pictures").exists()


def test_a_method_draws_signed_scores_of_each_token(run, tmp_path, capsys):
    words = ["look", str(run), "18 juin 2025", "--by", "integrated-gradients", "--output", str(tmp_path), "--json"]
    assert main(words) == 0
    told = json.loads(Path(capsys.readouterr().out.splitlines()[-1]).read_text(encoding="utf-8"))
    assert told["title"].startswith("Integrated gradients of each output's logit: from -")
    scores = load(run, device="cpu").explain("18 juin 2025", by="integrated-gradients")[0]
    assert told["rows"] == list(scores.outputs) and told["columns"] == list(scores.tokens)
    for row, values in zip(told["values"], scores.values.tolist(), strict=True):
        assert row == pytest.approx(values, abs=2e-3)
