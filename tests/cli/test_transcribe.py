"""The verbs of a run that hears: files, folders, lists and standard input, and what is wrong with them."""

import hashlib
import io
import json
import shutil
import sys

import numpy as np
import pytest
import soundfile

from saccade.cli import main
from speech import record, train
from tiny import program


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hearing") / "run"
    assert train(folder, "--max-steps", 20) == 0
    return folder


@pytest.fixture
def clips(tmp_path):
    folder = tmp_path / "clips"
    folder.mkdir()
    for index, name in enumerate(("b.wav", "a.flac")):
        record(folder / name, index)
    (folder / "notes.txt").write_text("no sound")
    return folder


def asked(capsys, *arguments):
    """Exit code, lines of standard output, and of standard error."""
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return code, out.splitlines(), err.splitlines()


def hand_over(monkeypatch, content):
    """Have standard input be these bytes."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))


def test_a_file_a_folder_a_list_and_standard_input_are_answered_alike(run, clips, tmp_path, capsys, monkeypatch):
    first, second = (asked(capsys, "predict", run, clips / name) for name in ("a.flac", "b.wav"))
    assert first[0] == second[0] == 0 and len(first[1]) == len(second[1]) == 1
    assert asked(capsys, "predict", run, clips)[1] == first[1] + second[1]
    (tmp_path / "list.txt").write_text(f"{clips / 'b.wav'}\n\n{clips / 'a.flac'}\n")
    assert asked(capsys, "predict", run, "--input", tmp_path / "list.txt")[1] == second[1] + first[1]
    hand_over(monkeypatch, (clips / "b.wav").read_bytes())
    assert asked(capsys, "predict", run)[1] == second[1]
    hand_over(monkeypatch, f"{clips / 'b.wav'}\n{clips / 'a.flac'}\n".encode())
    assert asked(capsys, "predict", run)[1] == second[1] + first[1]


def test_another_rate_and_several_channels_are_said(run, tmp_path, capsys):
    record(tmp_path / "fast.wav", rate=16000)
    code, out, err = asked(capsys, "predict", run, tmp_path / "fast.wav")
    assert code == 0 and len(out) == 1 and len(err) == 1 and "resampled from 16000 to 8000 Hz" in err[0]
    record(tmp_path / "two.wav", columns=2)
    code, out, err = asked(capsys, "predict", run, tmp_path / "two.wav")
    assert code == 0 and len(out) == 1 and len(err) == 1 and "2 channels" in err[0]


def spoil(folder, kind):
    path = folder / f"{kind}.wav"
    if kind == "empty":
        soundfile.write(path, np.zeros(0), 8000)
    elif kind == "corrupt":
        path.write_bytes(b"RIFF" + bytes(range(200)))
    elif kind == "nothing":
        path.write_bytes(b"")
    elif kind == "text":
        path.write_text("this is no sound")
    return path


@pytest.mark.parametrize("kind", ["empty", "corrupt", "nothing", "text", "missing"])
def test_a_bad_file_alone_is_one_line(run, tmp_path, capsys, kind):
    path = spoil(tmp_path, kind)
    for verb in ("predict", "look"):
        code, out, err = asked(capsys, verb, run, path)
        assert code == 2 and out == [] and len(err) == 1 and str(path) in err[0]


def test_a_bad_file_among_others_loses_none_of_them(run, clips, tmp_path, capsys):
    good = asked(capsys, "predict", run, clips)[1]
    spoil(clips, "corrupt")
    code, out, err = asked(capsys, "predict", run, clips)
    assert code == 2 and out == [*good, ""]  # a.flac, b.wav, corrupt.wav
    assert len(err) == 2 and "corrupt.wav" in err[0] and "1 of 3 inputs could not be read" in err[1]
    code, out, err = asked(capsys, "look", run, clips, "--output", tmp_path / "pictures")
    assert code == 2 and len(out) == 4 and len(err) == 2


def test_a_strange_path_in_a_list_loses_no_answer(run, clips, tmp_path, capsys, monkeypatch):
    good = asked(capsys, "predict", run, clips / "b.wav")[1]
    lines = [clips / "b.wav", "x" * 300, clips / "b.wav/inside", clips, tmp_path / "gone.wav", clips / "b.wav"]
    (tmp_path / "list.txt").write_text("".join(f"{line}\n" for line in lines))
    code, out, err = asked(capsys, "predict", run, "--input", tmp_path / "list.txt")
    assert code == 2 and out == [*good, "", "", "", "", *good] and len(err) == 5 and "4 of 6 inputs" in err[-1]
    (tmp_path / "list.txt").write_text(f"{tmp_path / 'gone.wav'}\n{clips / 'b.wav'}\n")
    assert asked(capsys, "predict", run, "--input", tmp_path / "list.txt")[1] == ["", *good]


def test_a_recording_is_no_list_and_nothing_is_neither(run, clips, capsys, monkeypatch):
    code, out, err = asked(capsys, "predict", run, "--input", clips / "b.wav")
    assert code == 2 and out == [] and "expected a list of files, one a line, got a file itself" in err[-1]
    hand_over(monkeypatch, b"")
    code, out, err = asked(capsys, "predict", run)
    assert code == 2 and out == [] and "got nothing" in err[0]


def test_folder_without_sound_and_an_empty_name_are_refused(run, tmp_path, capsys):
    (tmp_path / "none").mkdir()
    for argument, message in ((tmp_path / "none", "expected files that end in"), ("", "expected a file or a folder")):
        code, out, err = asked(capsys, "predict", run, argument)
        assert code == 2 and out == [] and len(err) == 1 and message in err[0]


def test_several_answers_draws_and_alignments(run, clips, capsys):
    path = clips / "b.wav"
    assert len(asked(capsys, "predict", run, path, "--nbest", "3", "--beam-size", "3")[1]) == 3
    drawn = asked(capsys, "predict", run, path, "--sample", "--nbest", "4", "--seed", "3")[1]
    assert (
        len(drawn) == 4 and drawn == asked(capsys, "predict", run, path, "--sample", "--nbest", "4", "--seed", "3")[1]
    )
    [line] = asked(capsys, "predict", run, path, "--json")[1]
    assert json.loads(line)["file"] == str(path)
    code, _, err = asked(capsys, "predict", run, path, "--replace-unknown")
    assert code == 2 and err == ["error: --replace-unknown: expected only with a run of translate; leave it out"]
    assert asked(capsys, "predict", run, path, "--ctc-rescoring", "0.5", "--beam-size", "3")[0] == 0
    for more in (["--beam-size", "1"], ["--beam-size", "3", "--ensemble", run.parent / "copy"]):
        shutil.copytree(run, run.parent / "copy", dirs_exist_ok=True)
        code, _, err = asked(capsys, "predict", run, path, "--ctc-rescoring", "0.5", *more)
        assert code == 2 and len(err) == 1 and "--ctc-rescoring" in err[0]


@pytest.mark.slow
def test_runs_are_asked_together(run, clips, tmp_path, capsys):
    assert train(tmp_path / "other", "--max-steps", 4, "--seed", 5) == 0
    capsys.readouterr()
    assert len(asked(capsys, "predict", run, clips, "--ensemble", tmp_path / "other")[1]) == 2
    shutil.copytree(tmp_path / "other", tmp_path / "third")
    other = (run / "tokenizer.json").read_bytes().replace(b'"7"', b'"x"')
    (tmp_path / "third/tokenizer.json").write_bytes(other)
    config = json.loads((tmp_path / "third/config.json").read_text())
    config["files"]["tokenizer.json"] = hashlib.sha256(other).hexdigest()
    (tmp_path / "third/config.json").write_text(json.dumps(config))
    code, _, err = asked(capsys, "predict", run, clips, "--ensemble", tmp_path / "third")
    assert code == 2 and "expected the tokenizer of RUN" in err[0]


def test_pictures_are_named_by_their_files(run, clips, tmp_path, capsys):
    code, out, _ = asked(capsys, "look", run, clips, "--output", tmp_path / "pictures")
    assert code == 0 and sorted(path.name for path in (tmp_path / "pictures").iterdir()) == [
        "a.png",
        "a.svg",
        "b.png",
        "b.svg",
    ]
    assert " at 0." in (tmp_path / "pictures/a.svg").read_text() and len(out) == 4


def test_eval_writes_what_was_asked(run, capsys):
    code, out, _ = asked(capsys, "eval", run, "--split", "validation", "--beam-size", "2", "--ctc-rescoring", "0.3")
    assert code == 0 and any(line.startswith("wer on validation: ") for line in out)
    found = json.loads((run / "results-validation-beam-size-2-ctc-rescoring-0.3.json").read_text())
    assert found["asked"] == {"beam_size": 2, "ctc_rescoring": 0.3}


def manifest(folder, rows):
    folder.mkdir(exist_ok=True)
    for index in range(8):
        record(folder / f"{index}.wav", index)
    (folder / "manifest.tsv").write_text("path\ttext\tsplit\n" + "\n".join("\t".join(row) for row in rows) + "\n")
    return folder


ROWS = [(f"{index}.wav", "one two", "train") for index in range(6)] + [
    ("6.wav", "two", "dev"),
    ("7.wav", "one", "test"),
]


def taught(run, data, *more):
    shared = ["--max-steps", "2", "--hidden-dim", "16", "--embedding-dim", "8", "--batch-tokens", "300"]
    return ["train", "transcribe", "--data", data, "--run", run, *shared, *more]


def test_own_recordings_are_learned_and_resampled(tmp_path, capsys):
    code, _, err = asked(capsys, *taught(tmp_path / "own", manifest(tmp_path / "data", ROWS)))
    assert code == 0 and not any("resampled" in line for line in err)
    code, _, err = asked(capsys, *taught(tmp_path / "run", tmp_path / "data", "--rate", "16000"))
    assert code == 0 and sum("resampled from 8000 to 16000 Hz" in line for line in err) == 1
    assert asked(capsys, "predict", tmp_path / "run", tmp_path / "data/6.wav")[0] == 0


def test_row_whose_file_is_missing_is_named_before_training(tmp_path, capsys):
    data = manifest(tmp_path / "data", [*ROWS, ("gone.wav", "one", "train")])
    code, _, err = asked(capsys, *taught(tmp_path / "run", data))
    assert code == 2 and len(err) == 1 and "row 10 of " in err[0] and "gone.wav" in err[0]
    assert not (tmp_path / "run").exists()


def test_words_of_the_test_alone_are_said(tmp_path, capsys):
    data = manifest(tmp_path / "data", [*ROWS[:-1], ("7.wav", "one seven", "test")])
    code, _, err = asked(capsys, *taught(tmp_path / "run", data))
    assert (
        code == 0 and sum("test has seven, which training has not: they cannot be written" in line for line in err) == 1
    )


def test_texts_that_are_too_long_or_empty_are_left_out_and_said(tmp_path, capsys):
    rows = [*ROWS, ("0.wav", "", "train"), ("1.wav", "one " * 30, "train")]
    code, _, err = asked(capsys, *taught(tmp_path / "run", manifest(tmp_path / "data", rows), "--max-length", "20"))
    assert code == 0
    assert sum("left out 1 of 10 recordings, which have no text" in line for line in err) == 1
    assert sum("1 of 7 training texts looked at have more than 20 tokens" in line for line in err) == 1
    assert sum("left out, longer than --max-seconds 20 or --max-length 20" in line for line in err) == 1
    code, _, err = asked(capsys, *taught(tmp_path / "short", tmp_path / "data", "--max-seconds", "0.01"))
    assert code == 2 and "--max-seconds: all of" in err[-1] and not (tmp_path / "short").exists()
    code, _, err = asked(capsys, *taught(tmp_path / "other", tmp_path / "data", "--max-length", "1"))
    assert code == 2 and "--max-length: each training text has more than 1 tokens" in err[0]


def test_options_of_other_tasks_are_refused(tmp_path, capsys):
    ranked = ["--beam-size", "4", "--ctc-weight", "0", "--ctc-rescoring", "0.5"]
    for option in (["--source", "de"], ranked, ["--rate", "3"], ["--mels", "900"], ["--ctc-rescoring", "0.5"]):
        code, _, err = asked(capsys, *taught(tmp_path / "run", "tones", *option))
        assert code == 2 and len(err) == 1 and option[-2].removeprefix("--") in err[0]
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_recording_comes_through_a_pipe(run, clips, capsys):
    with (clips / "b.wav").open("rb") as sound:
        found = program("predict", run, stdin=sound)
    assert found.returncode == 0 and main(["predict", str(run), str(clips / "b.wav")]) == 0
    assert found.stdout == capsys.readouterr().out
