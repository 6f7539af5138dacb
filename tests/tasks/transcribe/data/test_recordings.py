import io
import json
import random
import unicodedata

import numpy as np
import pytest
import soundfile

from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.audio.recordings import read_whole
from saccade.tasks.transcribe.data import open_corpus, recordings

SPLITS = ("train", "validation", "test")


@pytest.fixture(scope="module")
def files():
    """Sixty recordings of as many lengths, at 8 kHz."""
    made = [io.BytesIO() for _ in range(60)]
    for number, file in enumerate(made):
        soundfile.write(file, np.full(40 + number, 0.25), 8000, format="WAV")
    return [file.getvalue() for file in made]


@pytest.fixture
def folder(tmp_path, files):
    (tmp_path / "clips").mkdir()
    for number, data in enumerate(files):
        (tmp_path / f"clips/{number}.wav").write_bytes(data)
    return tmp_path


def open_recordings(path, rate, names=None):
    return open_corpus(str(path), rate, names=names)


def rows(numbers, split=None):
    return [[f"clips/{n}.wav", f"words {n}", "ann", *([split] if split else [])] for n in numbers]


def write(path, found):
    header = ["path", "text", "speaker", "split"][: len(found[0])]
    path.write_text("".join(",".join(row) + "\n" for row in [header, *found]))
    return path


def texts(corpus, split):
    return [corpus.example(split, index).text for index in range(corpus.size(split))]


def refused(path, rate=8000):
    with pytest.raises(ArgumentError) as error:
        open_recordings(path, rate)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_manifest_is_divided_by_its_paths(folder):
    found = rows(range(60))
    first = open_recordings(write(folder / "a.csv", found), 8000)
    assert {split: first.size(split) for split in SPLITS} == {"train": 54, "validation": 3, "test": 3}
    assert len({text for split in SPLITS for text in texts(first, split)}) == 60
    random.Random(1).shuffle(found)
    second = open_recordings(write(folder / "b.csv", found), 8000)
    assert all(sorted(texts(first, split)) == sorted(texts(second, split)) for split in SPLITS)
    assert first.fingerprint.startswith("train 54, validation 3, test 3, contents ")


def test_a_recording_that_is_listed_twice_is_in_one_split(folder):
    corpus = open_recordings(write(folder / "a.csv", rows(range(20)) + rows(range(20))), 8000)
    assert sum(corpus.size(split) for split in SPLITS) == 40 and "more than one" not in corpus.note
    assert all(sorted(texts(corpus, split)) == sorted(2 * list(set(texts(corpus, split)))) for split in SPLITS)


def test_a_column_says_which_split_a_row_is_in(folder):
    found = rows([1, 2], "train") + rows([3], "Val") + rows([4], "test") + rows([5], "dev")
    corpus = open_recordings(write(folder / "a.csv", found), 8000)
    assert {split: texts(corpus, split) for split in SPLITS} == {
        "train": ["words 1", "words 2"],
        "validation": ["words 3", "words 5"],
        "test": ["words 4"],
    }


@pytest.mark.parametrize("validation", ["validation", "valid", "val", "dev"])
def test_a_folder_has_a_manifest_for_each_split(folder, validation):
    for name, numbers in (("train", [1, 2]), (validation, [3]), ("test", [4])):
        write(folder / f"{name}.csv", rows(numbers))
    corpus = open_recordings(folder, 8000)
    assert [texts(corpus, split) for split in SPLITS] == [["words 1", "words 2"], ["words 3"], ["words 4"]]


def test_a_manifest_for_all_splits_is_read_without_others(folder):
    whole = write(folder / "manifest.csv", rows(range(20)))
    assert open_recordings(folder, 8000).fingerprint == open_recordings(whole, 8000).fingerprint
    write(folder / "train.csv", rows(range(5)))
    assert sum(open_recordings(folder, 8000).size(split) for split in SPLITS) == 5


def test_recordings_are_resampled_to_the_rate_with_a_note(folder):
    path = write(folder / "manifest.csv", rows(range(20)))
    as_they_are, faster = open_recordings(path, 8000), open_recordings(folder, 16000)
    one, other = as_they_are.example("train", 2), faster.example("train", 2)
    number = int(one.text.removeprefix("words "))
    assert len(one.signal) == 40 + number and one.signal.unique().tolist() == [0.25] and one.notes == ()
    assert one.name == str(folder / f"clips/{number}.wav") and one.group == "ann"
    assert len(other.signal) == 80 + 2 * number
    assert other.notes == (f"{one.name}: resampled from 8000 to 16000 Hz",)
    assert (as_they_are.rate, faster.rate, as_they_are.dim) == (8000, 16000, None)


def test_other_texts_speakers_files_or_splits_are_other_data(folder):
    def fingerprint(found):
        return open_recordings(write(folder / "a.csv", found), 8000).fingerprint

    found = rows([1, 2], "train") + rows([3], "val") + rows([4], "test")
    known = {fingerprint(found)}
    for row, column, value in ((0, 1, "other"), (0, 2, "bob"), (0, 0, "clips/7.wav"), (1, 3, "test")):
        changed = [list(one) for one in found]
        changed[row][column] = value
        known.add(fingerprint(changed))
    soundfile.write(folder / "clips/1.wav", np.zeros(999), 8000)
    known.add(fingerprint(found))
    assert len(known) == 6


def test_an_accent_is_one_however_it_is_written(folder):
    names = [f"{n} é.wav" for n in range(40)]
    found = {}
    for form in ("NFC", "NFD"):
        listed = [[unicodedata.normalize(form, name), name, ""] for name in names]
        for path, _, _ in listed:
            (folder / path).write_bytes(b"sound")
        corpus = open_recordings(write(folder / "a.csv", listed), 8000)
        found[form] = [sorted(row["text"] for row in corpus.rows.splits[split]) for split in SPLITS]
    assert found["NFC"] == found["NFD"]


def test_a_recording_in_two_splits_is_noted(folder):
    found = [*rows([1, 2], "train"), ["clips/../clips/2.wav", "x", "", "val"], *rows([3], "val"), *rows([4], "test")]
    path = write(folder / "a.csv", found)
    assert open_recordings(path, 8000).note == "1 recordings are in more than one split"


def test_rows_that_are_left_out_are_noted(folder):
    for name in ("train", "dev", "test"):
        write(folder / f"{name}.csv", [["clips/1.wav" if name == "train" else f"clips/{name}.wav", "", ""], *rows([2])])
    note = open_recordings(folder, 8000).note
    assert note.count("left out 1 of 2 recordings, which have no text") == 3 and "more than one split" in note


def test_what_is_missing_is_named(folder):
    write(folder / "train.csv", rows([1]))
    assert refused(folder).endswith("expected 3 different recordings or more, to validate, test and train, got 1")
    (folder / "dev.tsv").write_text("path\ttext\nclips/1.wav\tx\n")
    write(folder / "val.csv", rows([1]))
    assert "expected one validation split, got val and dev; say --validation-split" in refused(folder)


def test_splits_that_cannot_be_are_named(folder):
    path = write(folder / "a.csv", rows([1], "train") + rows([2], "eval"))
    names = "train, training, validation, valid, val, dev, test, testing"
    assert refused(path) == f"row 3 of {path}, column \"split\": expected one of {names}, got 'eval'"
    assert refused(write(folder / "a.csv", rows([1, 2], "dev"))).endswith("expected rows of train, got none")


def test_three_recordings_are_enough_and_two_are_not(folder):
    corpus = open_recordings(write(folder / "a.csv", rows([1, 2, 3])), 8000)
    assert all(corpus.size(split) == 1 for split in SPLITS)
    message = refused(write(folder / "a.csv", rows([1, 2, 1])))
    assert message.endswith("expected 3 different recordings or more, to validate, test and train, got 2")


@pytest.mark.parametrize("rate", [-1, 0, 16, 1_000_001])
def test_a_rate_is_one_of_sound(folder, rate):
    message = refused(write(folder / "a.csv", rows([1])), rate)
    assert message == f"--rate: expected a sample rate from 1000 to 1000000 Hz, got {rate}"


def test_a_file_that_is_no_audio_is_named_when_it_is_read(folder):
    (folder / "clips/0.wav").write_bytes(b"RIFF")
    corpus = open_recordings(write(folder / "a.csv", rows([0, 1, 2])), 8000)
    with pytest.raises(ArgumentError, match=r"clips/0\.wav: expected a sound file"):
        [corpus.example(split, 0) for split in SPLITS]


def test_what_there_is_not_is_refused(folder):
    corpus = open_recordings(write(folder / "a.csv", rows([1, 2, 3])), 8000)
    with pytest.raises(ArgumentError, match="index: expected 0 <= index < 1 in test, got 1"):
        corpus.example("test", 1)
    with pytest.raises(ArgumentError, match="split: expected one of"):
        corpus.size("dev")


def test_a_row_with_a_time_is_that_part_of_its_file(folder):
    soundfile.write(folder / "clips/0.wav", np.arange(800) / 1000, 8000, subtype="FLOAT")
    whole = {"audio_filepath": "clips/0.wav", "duration": 0.01}
    listed = [{**whole, "text": f"part {n}", "offset": n / 100} for n in range(9)]
    names = ["train"] * 7 + ["dev", "test"]
    rows = "".join(json.dumps({**row, "split": name}) + "\n" for row, name in zip(listed, names, strict=True))
    (folder / "manifest.json").write_text(rows)
    corpus = open_recordings(folder, 8000)
    assert [round(float(corpus.example("train", n).signal[0]), 3) for n in range(7)] == [0.08 * n for n in range(7)]
    assert len(corpus.example("test", 0).signal) == 80
    (folder / "manifest.json").write_text(rows.replace('"offset": 0.02', '"offset": 0.021'))
    assert open_recordings(folder, 8000).fingerprint != corpus.fingerprint
    for wrong, part in (
        ('"duration": 9', "from 0 s to 9 s"),
        ('"duration": 1e-9', "from 0 s to 1e-09 s"),
        ('"offset": 0.1', "from 0.1 s on"),
    ):
        changed = rows.replace('"duration": 0.01', wrong, 1).replace(', "offset": 0.0,', ",")
        (folder / "manifest.json").write_text(changed)
        with pytest.raises(ArgumentError, match=rf"^row 1 of .*: expected sound {part}, .*, got 0.1 s in .*0\.wav"):
            open_recordings(folder, 8000).example("train", 0)


def parts(folder, files, each):
    """A corpus whose rows are parts of a few files, each a number in its first sample."""
    rows = []
    for number in range(files):
        sound = np.repeat(np.arange(each) / 100 + number / 10, 80)
        soundfile.write(folder / f"clips/{number}.wav", sound, 8000, subtype="FLOAT")
        rows += [
            {"path": f"clips/{number}.wav", "offset": n / 100, "duration": 0.01, "text": f"{n}", "split": split}
            for n in range(each)
            for split in SPLITS
        ]
    (folder / "manifest.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return open_recordings(folder, 8000)


def test_a_file_is_read_once_for_all_rows_that_are_parts_of_it(folder, monkeypatch):
    corpus, read = parts(folder, files=3, each=5), []
    monkeypatch.setattr(recordings, "read_whole", lambda path, *rest: read.append(path.stem) or read_whole(path, *rest))
    for order in (range(15), random.Random(0).sample(range(15), 15)):
        for index in order:
            one = corpus.example("train", index)
            assert one.signal.tolist() == pytest.approx([index % 5 / 100 + index // 5 / 10] * 80)
            one.signal.zero_()  # which is a copy
    assert read == ["0", "1", "2"]


@pytest.mark.parametrize(("most", "reads"), [(3200, "0120"), (1600, "01210"), (1599, "001221100")])
def test_files_that_are_kept_take_no_more_than_so_much_memory(folder, monkeypatch, most, reads):
    corpus, read = parts(folder, files=3, each=5), []
    monkeypatch.setattr(recordings, "read_whole", lambda path, *rest: read.append(path.stem) or read_whole(path, *rest))
    monkeypatch.setattr(recordings, "_KEPT", most)
    for index in (0, 1, 5, 10, 11, 6, 7, 2, 3):
        corpus.example("train", index)
    assert "".join(read) == reads  # a file has 1600 bytes of samples
    assert sum(audio.samples.nbytes for audio in corpus._heard._files.values()) <= most


def test_a_file_too_large_to_be_kept_leaves_those_that_are(folder, monkeypatch):
    corpus, read = parts(folder, files=2, each=5), []
    monkeypatch.setattr(recordings, "read_whole", lambda path, *rest: read.append(path.stem) or read_whole(path, *rest))
    monkeypatch.setattr(recordings, "_KEPT", 1600)
    corpus.example("train", 0)
    samples, rate = soundfile.read(folder / "clips/1.wav")
    soundfile.write(folder / "clips/1.wav", np.append(samples, 0.0), rate)
    for index in (5, 1, 6, 2):
        corpus.example("train", index)
    assert read == ["0", "1", "1"]


def test_a_single_recording_is_not_kept(folder):
    rows = [
        {"path": f"clips/{n}.wav", "duration": (40 + n) / 8000, "text": "a", "split": split}
        for n, split in enumerate(SPLITS)
    ]
    (folder / "manifest.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    corpus = open_recordings(folder, 8000)
    assert [len(corpus.example(split, 0).signal) for split in SPLITS] == [40, 41, 42]
    assert not corpus._heard._files


def test_names_of_splits_are_manifests_by_option(folder):
    for name, numbers in (("train_clean", range(20)), ("dev_clean", [30]), ("dev_other", [31]), ("test", [32])):
        write(folder / f"{name}_manifest.csv", rows(numbers))
    names = SplitNames({"train": "train_clean", "validation": "dev_other"})
    corpus = open_recordings(folder, 8000, names)
    assert [corpus.size(split) for split in SPLITS] == [20, 1, 1]
    assert texts(corpus, "validation") == ["words 31"]
    with pytest.raises(ArgumentError, match="--test-split: expected the name of a part"):
        open_recordings(folder, 8000, SplitNames({"train": "train_clean", "test": "nothing"}))


def test_an_option_names_a_split_of_the_column(folder):
    path = write(folder / "manifest.csv", rows(range(20), "train") + rows([30], "late"))
    corpus = open_recordings(path, 8000, SplitNames({"test": "late"}))
    assert texts(corpus, "test") == ["words 30"]
    path = write(folder / "manifest.csv", rows(range(20), "train"))
    with pytest.raises(ArgumentError, match="--test-split: .*got late; there is train"):
        open_recordings(path, 8000, SplitNames({"test": "late"}))


def test_a_manifest_without_validation_has_it_held_out(folder):
    write(folder / "train.csv", rows(range(40)))
    write(folder / "test.csv", rows(range(40, 45)))
    corpus = open_recordings(folder, 8000)
    assert [corpus.size(split) for split in SPLITS] == [38, 2, 5]
    assert corpus.note == "held out from training, as there are none of their own: 2 recordings for validation"


def test_a_file_that_is_cut_short_is_refused_with_its_line(folder):
    path = folder / "clips/1.wav"
    path.write_bytes(path.read_bytes()[:-7])
    message = refused(write(folder / "a.csv", rows(range(4))))
    assert message.startswith(f"row 3 of {folder}/a.csv: expected a whole sound file, got {path}, cut short by 7 bytes")


def heard(path):
    """Texts, speakers and files of all recordings."""
    rows = open_recordings(path, 8000).rows
    return sorted((row["text"], row["speaker"], row["audio"].name) for part in rows.splits.values() for row in part)


def listed(folder, name, content):
    (folder / name).write_text(content)
    return folder / name


def test_all_forms_of_a_manifest_say_the_same(folder):
    found = [{"path": f"clips/{n}.wav", "text": f"good, morning {n}", "speaker": "ann"} for n in range(9)]
    expected = [(row["text"], "ann", row["path"].rpartition("/")[2]) for row in found]
    forms = {
        "a.csv": "Text,age, PATH ,client_id\n" + "".join(f'"{r["text"]}",3,{r["path"]},ann\n' for r in found),
        "a.tsv": "path\tsentence\tspeaker\n" + "".join("\t".join(row.values()) + "\n" for row in found),
        "a.jsonl": "".join(f"{json.dumps(row)}\n\n" for row in found),
        "b.json": json.dumps(found),
        "nemo.json": "".join(
            json.dumps({"audio_filepath": r["path"], "duration": None, "text": r["text"], "speaker": "ann"}) + "\n"
            for r in found
        ),
    }
    for name, content in forms.items():
        assert heard(listed(folder, name, content)) == expected, name


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.csv",
            "file,path_of,words\nc.wav,x\n",
            "row 1 of {}: expected a header that names audio and text",
        ),
        ("a.csv", "path,text\n ,b\n", 'row 2 of {}, column "path": expected a recording, got an empty cell'),
        (
            "a.csv",
            "clips/1.wav,a\nd.wav,b\nclips/2.wav,c\n",
            "row 3 of {}: expected a sound file, found none",
        ),
        (
            "a.csv",
            "clips,a\nclips/1.wav,b\nclips/2.wav,c\n",
            "row 2 of {}: expected a sound file, got a folder",
        ),
        (
            "a.csv",
            "empty.flac,a\nclips/1.wav,b\nclips/2.wav,c\n",
            "row 2 of {}: expected a sound file, got an empty one",
        ),
        ("a.jsonl", '{"path": "\\u0000", "text": "x"}', 'row 1 of {}, column "path": expected a sound file, got '),
        ("a.jsonl", '{"audio": "c.wav"}', "row 1 of {}: "),
        (
            "a.jsonl",
            '{"path": "clips/1.wav", "text": "x", "duration": "s"}',
            'row 1 of {}, column "duration": expected seconds',
        ),
        (
            "a.jsonl",
            '{"path": "clips/1.wav", "text": "x", "duration": 0}',
            'row 1 of {}, column "duration": expected seconds',
        ),
        (
            "a.jsonl",
            '{"path": "clips/1.wav", "text": "x", "offset": -1}',
            'row 1 of {}, column "offset": expected seconds',
        ),
        ("a.csv", "path,text,speaker,speaker\nc.wav,x,a,b\n", "row 1 of {}: expected one column speaker, got several"),
    ],
)
def test_a_row_of_a_manifest_that_is_wrong_is_named(folder, name, content, message):
    (folder / "empty.flac").touch()
    path = listed(folder, name, content if "path" in content or "audio" in content else f"path,text\n{content}")
    assert refused(path).startswith(message.format(path))
