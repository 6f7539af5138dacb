import codecs
import gzip
import json

import pytest

from saccade.errors import ArgumentError
from saccade.tasks.transcribe.data.manifest import is_manifest, read_manifest

ROWS = [
    {"path": "clips/a.wav", "text": "good morning", "split": "train", "speaker": "ann"},
    {"path": "clips/b ü.wav", "text": 'he said "no", twice', "split": "dev", "speaker": ""},
    {"path": "c.wav", "text": "日本語", "split": "test", "speaker": "bob"},
]
EMPTY = "expected a row for each recording, with its path and text, got "
HEADER = "expected the names of columns, path and text among them"
NONE = "expected a JSON object, got what is none ("


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "clips").mkdir()
    for length, row in enumerate(ROWS, 1):
        (tmp_path / row["path"]).write_bytes(bytes(length))
    return tmp_path


def csv(rows):
    quoted = [[value.replace('"', '""') for value in row.values()] for row in rows]
    return "path,text,split,speaker\n" + "".join('"' + '","'.join(row) + '"\n' for row in quoted)


def tsv(rows):
    return "path\ttext\tsplit\tspeaker\n" + "".join("\t".join(row.values()) + "\n" for row in rows)


def jsonl(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def write(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refused(path):
    with pytest.raises(ArgumentError) as error:
        read_manifest(path)
    message = str(error.value)
    assert message.startswith(str(path)) and "\n" not in message
    return message.removeprefix(f"{path}: ")


@pytest.mark.parametrize("form", [csv, tsv, jsonl])
@pytest.mark.parametrize("change", ["none", "gzip", "mark", "windows", "blank lines"])
def test_all_forms_say_the_same(folder, form, change):
    data = form(ROWS).encode()
    if change == "gzip":
        data = gzip.compress(data)
    elif change == "mark":
        data = codecs.BOM_UTF8 + data
    elif change == "windows":
        data = data.replace(b"\n", b"\r\n")
    elif change == "blank lines":
        data = data.replace(b"\n", b"\n \n") + b"\n\n"
    rows, note = read_manifest(write(folder, f"list.{form.__name__}{'.gz' * (change == 'gzip')}", data))
    assert [(row.listed, row.text, row.split, row.speaker) for row in rows] == [tuple(row.values()) for row in ROWS]
    assert [row.size for row in rows] == [1, 2, 3] and note == ""
    assert [row.path for row in rows] == [folder / row["path"] for row in ROWS]


def test_columns_stand_in_any_order_and_others_are_not_read(folder):
    path = write(folder, "list.csv", "Text,age, PATH \nhello,30,c.wav\n")
    (row,), _ = read_manifest(path)
    assert (row.text, row.listed, row.split, row.speaker) == ("hello", "c.wav", "", "")
    (row,), _ = read_manifest(write(folder, "a.jsonl", '{"path": "c.wav", "text": "x", "speaker": null, "age": 3}'))
    assert (row.text, row.speaker) == ("x", "")


def test_words_have_one_space_between_and_a_path_may_be_absolute(folder):
    (row,), _ = read_manifest(write(folder, "list.csv", f'path,text\n{folder}/c.wav,"  two \n words "\n'))
    assert (row.text, row.path) == ("two words", folder / "c.wav")


def test_rows_without_a_text_are_left_out_with_a_note(folder):
    path = write(folder, "list.tsv", "path\ttext\nc.wav\thello\ngone.wav\t \nc.wav\t\n")
    rows, note = read_manifest(path)
    assert len(rows) == 1
    assert note == f"left out 2 of 3 rows, which have no text; the first is {path}: line 3"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.csv", "", f"{EMPTY}none"),
        ("a.csv", "path,text\n", f"{EMPTY}none"),
        ("a.csv", "path,text\nc.wav, \n", f"{EMPTY}no text in any row"),
        ("a.jsonl", "\n\n", f"{EMPTY}none"),
        ("a.csv", "file,words\nc.wav,x\n", f"line 1: {HEADER}, got file, words"),
        ("a.csv", "path,text,path\n", "line 1: expected one column path or audio_filepath, got path and path; rename"),
        ("a.tsv", "path,text\nc.wav,x\n", f"line 1: {HEADER}, got path,text"),
        ("a.csv", "path,text\nc.wav,a,b\n", "line 2: expected 2 columns, as the first line has, got 3"),
        ("a.tsv", "path\ttext\nc.wav\tx\nc.wav\n", "line 3: expected 2 columns, as the first line has, got 1"),
        ("a.csv", 'path,text\nc.wav,"a"b\n', "line 2: expected a quote that ends the cell"),
        ("a.csv", 'path,text\nc.wav,"a\n', "line 2: expected a quote that ends the cell"),
        ("a.csv", "path,text\nc.wav,a\n ,b\n", "line 3: expected a path, got none"),
        ("a.csv", b"path,text\nc.wav,caf\xe9\n", "line 2: expected UTF-8, got byte 0xe9"),
        ("a.jsonl", '{"path": "c.wav", "text": "x"}\n{"path": \n', f"line 2: {NONE}"),
        ("a.jsonl", '{"path": "c.wav", "text": "\\ud800"}', f"line 1: {NONE}"),
        ("a.jsonl", '{"path": "c.wav", "text": "x", "path": "d.wav"}', f"line 1: {NONE}path twice)"),
        ("a.jsonl", "[" * 100_000, f"line 1: {NONE}"),
        ("a.jsonl", '{"audio": "c.wav"}', "line 1: expected a JSON object with path and text, got audio"),
        ("a.jsonl", "{}", "line 1: expected a JSON object with path and text, got an empty one"),
        ("a.jsonl", "\n[1]", "line 2: expected a JSON object with path and text, got [1]"),
        ("a.jsonl", '{"path": "c.wav", "text": 7}', "line 1: expected a text for text, got 7"),
        ("a.csv", "path,text\nc.wav,a\nd.wav,b\n", "line 3: expected a sound file, found none at "),
        ("a.csv", "path,text\nd.wav,a\n,b\ne.wav,b\nc.wav,b\n", "line 3: expected a path, got none"),
        ("a.csv", "path,text\nclips,a\n", "line 2: expected a sound file, got a folder or device at "),
        ("a.jsonl", '{"path": "\\u0000", "text": "x"}', "line 1: expected a sound file, found none at "),
        ("a.txt", "path,text\n", "expected a manifest called .csv, .tsv, .jsonl, .json, got another kind of file"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(folder, name, data, message):
    assert refused(write(folder, name, data)).startswith(message)


def test_a_file_without_a_byte_is_named(folder):
    (folder / "e.flac").write_bytes(b"")
    path = write(folder, "a.csv", "path,text\nc.wav,a\ne.flac,b\n")
    assert refused(path) == f"line 3: expected a sound file, got an empty one at {folder}/e.flac"


def test_all_missing_files_are_counted(folder):
    path = write(folder, "a.csv", "path,text\nc.wav,a\n" + "".join(f"gone{n}.wav,b\n" for n in range(9)))
    expected = f"line 3: expected a sound file, found none at {folder}/gone0.wav (and 8 more are missing)"
    assert refused(path) == expected


@pytest.mark.parametrize(("name", "expected"), [("a.csv", True), ("a.tsv.gz", True), ("a.wav", False), ("csv", False)])
def test_a_manifest_is_known_by_its_name(tmp_path, name, expected):
    assert is_manifest(tmp_path / name) is expected


def test_a_manifest_as_nemo_writes_it(folder):
    rows = [{"audio_filepath": "c.wav", "duration": 1.5, "text": "hello", "lang": "en", "offset": 2}]
    (row,), _ = read_manifest(write(folder, "train_manifest.json", jsonl(rows)))
    assert (row.listed, row.text, row.offset, row.duration) == ("c.wav", "hello", 2.0, 1.5)
    (row,), _ = read_manifest(write(folder, "a.csv", "audio_filepath,text,duration\nc.wav,hello,\n"))
    assert (row.listed, row.offset, row.duration) == ("c.wav", 0.0, None)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.json", '{"audio_filepath": "a", "path": "a", "text": "x"}', "line 1: expected path or audio_filepath, "),
        ("a.json", '{"path": "c.wav", "text": "x", "duration": "s"}', "line 1: expected seconds for duration, got 's'"),
        ("a.json", '{"path": "c.wav", "text": "x", "duration": 0}', "line 1: expected seconds for duration, got '0'"),
        ("a.json", '{"path": "c.wav", "text": "x", "offset": -1}', "line 1: expected seconds for offset, got '-1'"),
        (
            "a.csv",
            "path,text,speaker,speaker\nc.wav,x,a,b\n",
            "line 1: expected one column speaker or client_id, got speaker and",
        ),
        (
            "a.csv",
            "path,text,audio_filepath\nc.wav,x,a\n",
            "line 1: expected one column path or audio_filepath, got path and audio",
        ),
    ],
)
def test_what_is_said_twice_or_is_no_time_is_named(folder, name, data, message):
    assert refused(write(folder, name, data)).startswith(message)
