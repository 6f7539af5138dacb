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


def opened(path, rate=8000, **names):
    return open_corpus(str(path), rate, names=SplitNames(names))


def rows(numbers, split=None):
    return [[f"clips/{n}.wav", f"words {n}", "ann", *([split] if split else [])] for n in numbers]


def write(path, found):
    header = ["path", "text", "speaker", "split"][: len(found[0])]
    path.write_text("".join(",".join(row) + "\n" for row in [header, *found]))
    return path


def lines(path, found):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in found))
    return path


def texts(corpus):
    return [[corpus.text(split, index) for index in range(corpus.size(split))] for split in SPLITS]


def test_a_manifest_is_divided_by_its_paths(folder):
    found = rows(range(60)) + rows(range(20))  # some of them twice
    first = opened(write(folder / "a.csv", found))
    assert [len(set(split)) for split in texts(first)] == [42, 9, 9] and sum(map(len, texts(first))) == 80
    assert len(set().union(*texts(first))) == 60 and "more than one" not in first.note
    random.Random(1).shuffle(found)
    second = opened(write(folder / "b.csv", found))
    assert [sorted(split) for split in texts(first)] == [sorted(split) for split in texts(second)]


def test_a_column_says_which_split_a_row_is_in(folder):
    found = rows([1, 2], "train") + rows([3], "Val") + rows([4], "test") + rows([5], "dev")
    corpus = opened(write(folder / "a.csv", found))
    assert texts(corpus) == [["words 1", "words 2"], ["words 3", "words 5"], ["words 4"]]
    path = write(folder / "b.csv", rows(range(20), "train") + rows([30], "late"))
    assert texts(opened(path, test="late"))[2] == ["words 30"]


@pytest.mark.parametrize("validation", ["validation", "valid", "val", "dev"])
def test_a_folder_has_a_manifest_for_each_split(folder, validation):
    whole = write(folder / "manifest.csv", rows(range(20)))
    assert opened(folder).fingerprint == opened(whole).fingerprint
    for name, numbers in (("train", [1, 2]), (validation, [3]), ("test", [4])):
        write(folder / f"{name}.csv", rows(numbers))
    assert texts(opened(folder)) == [["words 1", "words 2"], ["words 3"], ["words 4"]]


def test_names_of_splits_are_manifests_by_option(folder):
    for name, numbers in (("train_clean", range(20)), ("dev_clean", [30]), ("dev_other", [31]), ("test", [32])):
        write(folder / f"{name}_manifest.csv", rows(numbers))
    assert texts(opened(folder, train="train_clean", validation="dev_other"))[1:] == [["words 31"], ["words 32"]]


def test_recordings_are_resampled_to_the_rate_with_a_note(folder):
    path = write(folder / "manifest.csv", rows(range(20)))
    as_they_are, faster = opened(path), opened(folder, 16000)
    one, other = as_they_are.example("train", 2), faster.example("train", 2)
    number = int(one.text.removeprefix("words "))
    assert len(one.signal) == 40 + number and one.signal.unique().tolist() == [0.25] and one.notes == ()
    assert one.name == str(folder / f"clips/{number}.wav") and one.group == "ann"
    assert len(other.signal) == 80 + 2 * number
    assert other.notes == (f"{one.name}: resampled from 8000 to 16000 Hz",)
    assert (as_they_are.rate, faster.rate, as_they_are.dim) == (8000, 16000, None)


def test_other_texts_speakers_files_or_splits_are_other_data(folder):
    def fingerprint(found):
        return opened(write(folder / "a.csv", found)).fingerprint

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
    names, found = [f"{n} é.wav" for n in range(40)], []
    for form in ("NFC", "NFD"):
        listed = [[unicodedata.normalize(form, name), name, ""] for name in names]
        for path, _, _ in listed:
            (folder / path).write_bytes(b"sound")
        found.append([sorted(split) for split in texts(opened(write(folder / "a.csv", listed)))])
    assert found[0] == found[1]


def test_what_a_user_should_know_is_noted(folder):
    found = [*rows([1, 2], "train"), ["clips/../clips/2.wav", "x", "", "val"], *rows([3], "val"), *rows([4], "test")]
    assert opened(write(folder / "a.csv", found)).note == "1 recordings are in more than one split"
    write(folder / "train.csv", rows(range(40)))
    write(folder / "test.csv", rows(range(40, 45)))
    note = "held out from training, as there are none of their own: 6 recordings for validation"
    assert opened(folder).note == note
    for name in ("train", "dev", "test"):
        write(folder / f"{name}.csv", [["clips/1.wav" if name == "train" else f"clips/{name}.wav", "", ""], *rows([2])])
    note = opened(folder).note
    assert note.count("left out 1 of 2 recordings, which have no text") == 3 and "more than one split" in note


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (rows([1, 2, 1]), "expected 3 different recordings or more, to validate, test and train, got 2"),
        (
            rows([1], "train") + rows([2], "eval"),
            "row 3 of .*, column .split.: expected one of train, training, validation, valid, val, dev, .*, got 'eval'",
        ),
        (rows([1, 2], "dev"), "expected rows of train, got none"),
        (rows([1, 2, 0]), r"row 4 of .*a\.csv: expected a whole sound file, got .*0\.wav, cut short by 7 bytes"),
    ],
)
def test_recordings_that_cannot_be_learned_from_are_named(folder, found, message):
    path = folder / "clips/0.wav"
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(ArgumentError, match=f"{message}$") as error:
        opened(write(folder / "a.csv", found))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("rate", [-1, 0, 16, 1_000_001])
def test_a_rate_is_one_of_sound(folder, rate):
    with pytest.raises(ArgumentError, match=f"^--rate: expected a sample rate from 1000 to 1000000 Hz, got {rate}$"):
        opened(write(folder / "a.csv", rows([1, 2, 3])), rate)


def test_what_there_is_not_is_refused(folder):
    (folder / "clips/0.wav").write_bytes(b"RIFF")
    corpus = opened(write(folder / "a.csv", rows([0, 1, 2])))
    with pytest.raises(ArgumentError, match=r"clips/0\.wav: expected a sound file"):
        [corpus.example(split, 0) for split in SPLITS]
    with pytest.raises(ArgumentError, match="index: expected 0 <= index < 1 in test, got 1"):
        corpus.example("test", 1)
    with pytest.raises(ArgumentError, match="split: expected one of"):
        corpus.size("dev")


def test_a_row_with_a_time_is_that_part_of_its_file(folder):
    soundfile.write(folder / "clips/0.wav", np.arange(800) / 1000, 8000, subtype="FLOAT")
    whole = {"audio_filepath": "clips/0.wav", "duration": 0.01}
    names = ["train"] * 7 + ["dev", "test"]
    listed = [{**whole, "text": f"part {n}", "offset": n / 100, "split": name} for n, name in enumerate(names)]
    corpus = opened(lines(folder / "manifest.json", listed))
    assert [round(float(corpus.example("train", n).signal[0]), 3) for n in range(7)] == [0.08 * n for n in range(7)]
    assert len(corpus.example("test", 0).signal) == 80
    changed = lines(folder / "manifest.json", [*listed[:2], {**listed[2], "offset": 0.021}, *listed[3:]])
    assert opened(changed).fingerprint != corpus.fingerprint
    for wrong, part in (
        ({"offset": None, "duration": 9}, "from 0 s to 9 s"),
        ({"offset": None, "duration": 1e-9}, "from 0 s to 1e-09 s"),
        ({"offset": 0.1, "duration": None}, "from 0.1 s on"),
    ):
        path = lines(folder / "manifest.json", [{**listed[0], **wrong}, *listed[1:]])
        with pytest.raises(ArgumentError, match=rf"^row 1 of .*: expected sound {part}, .*, got 0.1 s in .*0\.wav"):
            opened(path).example("train", 0)


@pytest.fixture
def parts(folder):
    """A corpus whose rows are five parts of each of three files of 1600 bytes, each a number in its first sample."""
    found = []
    for number in range(3):
        sound = np.repeat(np.arange(5) / 100 + number / 10, 80)
        soundfile.write(folder / f"clips/{number}.wav", sound, 8000, subtype="FLOAT")
        found += [
            {"path": f"clips/{number}.wav", "offset": n / 100, "duration": 0.01, "text": f"{n}", "split": split}
            for n in range(5)
            for split in SPLITS
        ]
    return opened(lines(folder / "manifest.jsonl", found))


@pytest.fixture
def read(monkeypatch):
    """The names of the files that are read."""
    names = []
    monkeypatch.setattr(
        recordings, "read_whole", lambda path, *more: names.append(path.stem) or read_whole(path, *more)
    )
    return names


def test_a_file_is_read_once_for_all_rows_that_are_parts_of_it(parts, read):
    for order in (range(15), random.Random(0).sample(range(15), 15)):
        for index in order:
            one = parts.example("train", index)
            assert one.signal.tolist() == pytest.approx([index % 5 / 100 + index // 5 / 10] * 80)
            one.signal.zero_()  # which is a copy
    assert read == ["0", "1", "2"]


@pytest.mark.parametrize(("most", "reads"), [(3200, "0120"), (1600, "01210"), (1599, "001221100")])
def test_files_that_are_kept_take_no_more_than_so_much_memory(parts, read, monkeypatch, most, reads):
    monkeypatch.setattr(recordings, "_KEPT", most)
    for index in (0, 1, 5, 10, 11, 6, 7, 2, 3):
        parts.example("train", index)
    assert "".join(read) == reads


def test_a_file_too_large_to_be_kept_leaves_those_that_are(folder, parts, read, monkeypatch):
    monkeypatch.setattr(recordings, "_KEPT", 1600)
    parts.example("train", 0)
    samples, rate = soundfile.read(folder / "clips/1.wav")
    soundfile.write(folder / "clips/1.wav", np.append(samples, 0.0), rate)
    for index in (5, 1, 6, 2):
        parts.example("train", index)
    assert read == ["0", "1", "1"]


def test_a_single_recording_is_not_kept(folder, read):
    found = [
        {"path": f"clips/{n}.wav", "duration": (40 + n) / 8000, "text": "a", "split": split}
        for n, split in enumerate(SPLITS)
    ]
    corpus = opened(lines(folder / "manifest.jsonl", found))
    assert [len(corpus.example(split, 0).signal) for split in SPLITS * 2] == [40, 41, 42] * 2
    assert read == ["0", "1", "2"] * 2


def test_all_forms_of_a_manifest_say_the_same(folder):
    found = [{"path": f"clips/{n}.wav", "text": f"good, morning {n}", "speaker": "ann"} for n in range(9)]
    forms = {
        "a.csv": "Text,age, PATH ,client_id\n" + "".join(f'"{r["text"]}",3,{r["path"]},ann\n' for r in found),
        "files.csv": "file,text,speaker\n" + "".join(f'{r["path"]},"{r["text"]}",ann\n' for r in found),
        "a.tsv": "path\tsentence\tspeaker\n" + "".join("\t".join(row.values()) + "\n" for row in found),
        "a.jsonl": "".join(f"{json.dumps(row)}\n\n" for row in found),
        "b.json": json.dumps(found),
        "nemo.json": "".join(
            json.dumps({"audio_filepath": r["path"], "duration": None, "text": r["text"], "speaker": "ann"}) + "\n"
            for r in found
        ),
    }
    for name, content in forms.items():
        (folder / name).write_text(content)
        heard = [row for part in opened(folder / name).rows.splits.values() for row in part]
        said = sorted(
            ({key: row[key] for key in ("text", "speaker")} | {"path": row["listed"]} for row in heard), key=str
        )
        assert said == [{"text": row["text"], "speaker": "ann", "path": row["path"]} for row in found], name


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.csv",
            "file,path_of,words\nc.wav,x\n",
            "row 1 of {}: expected a header that names text",
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
            '{"path": "clips/1.wav", "text": "x", "duration": "1,5"}',
            "row 1 of {}, column \"duration\": expected seconds for duration, got '1,5'; write decimals with a point",
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
    path = folder / name
    path.write_text(content if "path" in content or "audio" in content else f"path,text\n{content}")
    with pytest.raises(ArgumentError) as error:
        opened(path)
    assert str(error.value).startswith(message.format(path)) and "\n" not in str(error.value)
