"""`saccade data`: examples as lines, or as the files that `saccade predict` reads."""

import os
from pathlib import Path

import pytest
import soundfile
from PIL import Image

from commands import options
from saccade.cli import data, main
from saccade.tasks import TASKS, load_task
from saccade.train.task import Example
from tasks.laws.table import shrink
from tiers import rest_slow
from tiny import registered

BUILTIN = [
    pytest.param(task, data, marks=[pytest.mark.slow] * (place > 0 or task in ("transcribe", "caption", "answer")))
    for task in TASKS
    for place, data in enumerate(load_task(task).builtin)
]


@pytest.fixture
def shown(capsys):
    def run(*words):
        code = main(["data", *map(str, words)])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out.splitlines(), err.splitlines()

    return run


@pytest.mark.parametrize(("task", "data"), BUILTIN)
def test_every_built_in_data_set_is_shown_alike(task, data, shown, monkeypatch):
    shrink(monkeypatch.setattr)
    code, lines, _ = shown(task, "--data", data, "--count", 3)
    assert code == 0 and len(lines) == 3
    assert all(all(part.strip() for part in line.split("\t")) and line.count("\t") == 1 for line in lines)
    assert shown(task, "--data", data, "--count", 2)[1] == lines[:2]
    assert shown(task, "--data", data, "--count", 3, "--split", "train")[1] != lines


def test_an_option_that_is_given_counts_where_the_data_have_another(shown, tmp_path):
    """Also where what is given is what all other data have."""
    for name, more in (("own", ()), ("given", ("--distractors", 0))):
        assert shown("glimpse", "--data", "cluttered", "--count", 1, "--output", tmp_path / name, *more)[0] == 0
    own, given = (next((tmp_path / name).glob("*.png")).read_bytes() for name in ("own", "given"))
    assert own != given
    code, _, said = shown("glimpse", "--data", "row", "--canvas", 60)
    assert code == 2 and said == ["error: --canvas: expected from 84, 3 digits side by side, to 4096 pixels, got 60"]


def test_the_first_data_set_and_the_test_are_defaults(shown):
    first = next(iter(load_task("translate").builtin))
    assert shown("translate")[1] == shown("translate", "--data", first, "--split", "test", "--count", 5)[1]


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"satz {number}\tline  {number}\n" for number in range(60)))
    return path


def test_own_data_are_shown_as_they_are_read(pairs, shown):
    code, lines, _ = shown("translate", "--data", pairs, "--split", "train", "--count", 10**9)
    assert code == 0 and 40 <= len(lines) < 60
    assert all(line.split("\t")[0].replace("satz", "line") == line.split("\t")[1] for line in lines)  # blanks are one
    held_out = [
        line
        for split in ("validation", "test")
        for line in shown("translate", "--data", pairs, "--split", split, "--count", 9)[1]
    ]
    assert len(lines) + len(held_out) == len({*lines, *held_out}) == 60


def test_lines_are_written_to_files_that_predict_reads(shown, tmp_path, capsys):
    folder = tmp_path / "new/folder"
    code, lines, err = shown("translate", "--count", 4, "--output", folder)
    assert (code, lines, err) == (0, [str(folder / "inputs.txt"), str(folder / "answers.txt")], [])
    texts, answers = (
        (folder / name).read_text(encoding="utf-8").splitlines() for name in ("inputs.txt", "answers.txt")
    )
    assert [f"{text}\t{answer}" for text, answer in zip(texts, answers, strict=True)] == shown(
        "translate", "--count", 4
    )[1]
    assert sorted(path.name for path in folder.iterdir()) == ["answers.txt", "inputs.txt"]


def opened(path):
    if path.endswith(".wav"):
        return soundfile.read(path)[0].shape
    with Image.open(path) as image:
        return image.size


@pytest.mark.parametrize("task", rest_slow(["classify-image", "transcribe"]))
def test_files_are_written_beside_a_list_of_them(task, shown, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, lines, _ = shown(task, "--count", 3, "--output", "data")
    assert code == 0 and lines[:2] == ["data/inputs.txt", "data/answers.txt"]
    assert {*lines} == {str(path.relative_to(tmp_path)) for path in (tmp_path / "data").iterdir()}
    paths = (tmp_path / "data/inputs.txt").read_text().splitlines()
    assert [path.rpartition("/")[2].partition(".")[0] for path in paths] == ["0001", "0002", "0003"]
    assert all(path.startswith(str(tmp_path / "data")) and opened(path)[0] > 0 for path in paths)  # wherever one stands
    answers = [line.split("\t")[1] for line in shown(task, "--count", 3)[1]]
    assert (tmp_path / "data/answers.txt").read_text().splitlines() == answers


@pytest.mark.parametrize(("task", "name"), [("translate", "answers.txt"), ("classify-image", "0002.png")])
def test_nothing_is_overwritten_or_half_written(task, name, shown, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / name).write_text("mine")
    code, out, err = shown(task, "--count", 3, "--output", tmp_path / "data")
    assert code == 2 and out == []
    assert err == [
        f"error: {tmp_path / 'data' / name}: it is there already and is something else; give another --output"
    ]
    assert [path.name for path in (tmp_path / "data").iterdir()] == [name]
    assert (tmp_path / "data" / name).read_text() == "mine"


def test_a_link_to_nothing_is_not_replaced(shown, tmp_path):
    (tmp_path / "answers.txt").symlink_to("nowhere")
    code, _, err = shown("translate", "--count", 3, "--output", tmp_path)
    assert code == 2 and err[0].startswith(f"error: {tmp_path / 'answers.txt'}: it is there already")
    assert [path.name for path in tmp_path.iterdir()] == ["answers.txt"] and (tmp_path / "answers.txt").is_symlink()


def test_the_same_command_again_leaves_the_same_files(shown, tmp_path):
    for _ in range(2):
        assert shown("classify-image", "--count", 2, "--output", tmp_path / "data")[0] == 0
    before = {path: path.read_bytes() for path in (tmp_path / "data").iterdir()}
    assert shown("classify-image", "--count", 3, "--output", tmp_path / "data")[0] == 2  # the lists would be others
    assert {path: path.read_bytes() for path in (tmp_path / "data").iterdir()} == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("translte", "TASK: there is no translte; did you mean translate?"),
        (
            "translate --split tset",
            (
                "--split: expected train, validation or test, got tset; did you mean test?; "
                "see saccade data translate --help"
            ),
        ),
        ("translate --count 0", "--count: expected a number above 0, got 0"),
        ("translate --count -3", "--count: expected a number above 0, got -3"),
        ("translate --count many", "--count: expected a whole number, got many; see saccade data translate --help"),
        ("translate --data=", "--data: expected a name, got an empty one"),
        ("translate --output=", "--output: expected a name, got an empty one"),
        ("translate --data dats", "--data: no data set dats, and no folder or file; did you mean dates?"),
        ("translate --cuont 3", "unknown option --cuont; did you mean --count?"),
        ("translate dates", "unexpected argument dates; quote texts that contain spaces, and see --help"),
        (
            "classify-image --size 3",
            "--size: expected a number of pixels from 8 to 1024, got 3; see saccade data classify-image --help",
        ),
    ],
)
def test_what_means_nothing_is_one_line(words, said, shown, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert shown(*words.split()) == (2, [], [f"error: {said}"])
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_the_folder_is_one_line(shown, tmp_path):
    (tmp_path / "file").write_text("mine")
    code, out, err = shown("translate", "--output", tmp_path / "file")
    assert code == 2 and out == [] and len(err) == 1 and (tmp_path / "file").read_text() == "mine"


def test_alone_it_names_the_tasks(shown):
    for words in ([], ["--help"], ["-h"]):
        code, lines, _ = shown(*words)
        assert code == 0 and {*TASKS} <= {line.split()[0] for line in lines if line.startswith("  ")}


def test_help_has_the_options_that_say_how_data_are_read(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["data", "translate", "--help"])
    told = capsys.readouterr().out
    assert stop.value.code == 0 and all(name in told for name in ("--source", "--split", "--output", "--count"))


def test_a_task_that_is_added_is_shown_too(shown):
    with registered():
        assert shown("line", "--count", 2)[:2] == (0, ["test 0\t0.000", "test 1\t4.000"])
        assert shown("line", "--count", 9, "--scale", 2)[1][1:2] == ["test 1\t8.000"]


def test_a_file_instead_of_a_folder_is_refused_first(tmp_path, shown):
    (tmp_path / "file").write_text("mine")
    code, lines, told = shown("caption", "--data", "nowhere", "--output", tmp_path / "file")
    assert (code, lines, len(told)) == (2, [], 1)
    assert f"--output: expected a folder, got a file: {tmp_path / 'file'}; name another" in told[0]
    assert (tmp_path / "file").read_text() == "mine"


def test_file_and_what_is_asked_of_it_keep_tab_between_them(shown, tmp_path, monkeypatch):
    asked = [Example(None, "my  image.jpg\twhat is\tthis", "a cat"), Example(None, "one.jpg\t who ", "a  dog")]
    monkeypatch.setattr(data, "examples", lambda *given, **more: asked)
    assert shown("answer", "--output", tmp_path / "out")[0] == 0
    assert (tmp_path / "out/inputs.txt").read_text() == "my image.jpg\twhat is this\none.jpg\twho\n"
    assert (tmp_path / "out/answers.txt").read_text() == "a cat\na dog\n"


def test_a_file_beside_you_is_read_before_data_of_its_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dates").write_text("".join(f"a{n}\tb{n}\n" for n in range(40)))
    outputs = []
    for name in ("dates", "./dates"):
        assert main(["data", "translate", "--data", name, "--count", "2"]) == 0
        outputs.append(capsys.readouterr())
    assert outputs[0].out == outputs[1].out and outputs[0].out.startswith("a")
    assert outputs[0].err.count("taking ./dates") == 1 and "taking" not in outputs[1].err


def test_training_takes_the_file_beside_you(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dates").write_text("".join(f"a{n}\tb{n}\n" for n in range(40)))
    kind = load_task("translate")
    assert options(kind, ["--data", "dates"]).data == "./dates"


def test_paths_in_a_folder_that_is_no_utf_8_keep_their_bytes(tmp_path, capfdbinary):
    folder = os.fsdecode(os.fsencode(tmp_path / "data") + b"\xff")
    assert main(["data", "classify-image", "--count", "2", "--output", folder]) == 0
    paths = (Path(folder) / "inputs.txt").read_bytes().splitlines()
    assert [os.fsencode(folder) + b"/000%d.png" % number for number in (1, 2)] == paths
    assert capfdbinary.readouterr().out.startswith(os.fsencode(folder) + b"/inputs.txt\n")
