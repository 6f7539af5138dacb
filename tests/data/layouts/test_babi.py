import os
import tarfile
from pathlib import Path

import pytest

from saccade.data.layouts.babi import cut, is_babi
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.memorize.data import open_corpus

STORY = """1 Mary moved to the {0}.
2 John went to the hallway.
3 Where is Mary? \t{0}\t1
4 Daniel went back to the hallway.
5 Where is Daniel? \thallway\t4
"""
PLACES = [f"room{n}" for n in range(30)]
SHARED = Path(__file__).parents[4] / "shared/data/babi"


def write(folder, name="qa1_single-supporting-fact", splits=("train", "test"), content=None):
    folder.mkdir(exist_ok=True)
    for number, split in enumerate(splits):
        stories = [STORY.format(f"{place}{number}") for place in PLACES]
        (folder / f"{name}_{split}.txt").write_text("".join(stories) if content is None else content)
    return folder


def opened(path, **given):
    return open_corpus(str(path), names=SplitNames(given))


def test_a_story_asks_within_and_its_answers_are_one_line(tmp_path):
    data = opened(write(tmp_path / "babi"))
    item = data.example("test", 0)
    assert item.text.startswith("mary moved to the room01 . john went to the hallway . where is mary ? daniel")
    assert item.text.endswith("where is daniel ?") and item.answer == "room01 hallway" and item.group == "qa1"
    assert data.size("test") == 30 and data.size("train") + data.size("validation") == 30 and data.size("validation")
    assert "held out from training" in data.note
    assert data.fingerprint == opened(tmp_path / "babi").fingerprint


def test_tasks_are_read_from_folders(tmp_path):
    folder = write(tmp_path / "babi")
    for task in ("qa10_indefinite-knowledge", "qa2_two-supporting-facts"):
        write(folder, task)
    assert [opened(folder).example("test", n).group for n in (0, 30, 60)] == ["qa1", "qa2", "qa10"]
    assert {opened(folder / "qa1").example("test", n).group for n in range(30)} == {"qa1"}
    assert is_babi(folder) and is_babi(folder / "qa1") and not is_babi(folder / "qa3") and not is_babi(tmp_path)


def test_a_question_mark_alone_asks_nothing(tmp_path):
    folder = tmp_path / "babi"
    folder.mkdir()
    story = "1 Is it Mary?\n2 Who is room{0}?\troom{0}\t1\n"
    for split in ("train", "test"):
        (folder / f"qa1_{split}.txt").write_text("".join(story.format(f"{split}{n}") for n in range(30)))
    item = opened(folder).example("test", 0)
    assert item.text.split().count("?") == len(item.answer.split()) == 1


def test_a_validation_file_is_taken(tmp_path):
    folder = write(tmp_path / "babi", splits=("train", "valid", "test"))
    assert opened(folder).size("validation") == 30 and not opened(folder).note
    write(folder, splits=("extra",))
    assert "not read: extra, which is no split's name" in opened(folder).note
    (folder / "qa1_single-supporting-fact_extra.txt").unlink()
    write(folder, "qa3_three-supporting-facts", splits=("test",))
    assert opened(folder).note == "left out, as there is no training file: qa3"
    with pytest.raises(ArgumentError, match="expected files of training .* got none; of others: qa3"):
        opened(folder / "qa3")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Mary moved.\n", "row 1 of .*qa1_a_train.txt: expected a number and a sentence, got 'Mary moved.'"),
        ("1 Where is Mary?\t\t1\n", "row 1 of .*: expected an answer of one word behind a tab"),
        ("1 Where is Mary?\tthe hall\t1\n", "row 1 of .*: expected an answer of one word behind a tab, got 'the hall"),
        ("", "qa1_a_train.txt: expected a question, a tab and its answer somewhere, got an empty file"),
        ("1 Mary moved to the hall.\n", "expected a question, a tab and its answer somewhere, got none"),
    ],
)
def test_a_line_that_is_wrong_is_named(tmp_path, content, message):
    with pytest.raises(ArgumentError, match=message) as error:
        opened(write(tmp_path / "babi", "qa1_a", ("train",), content))
    assert "\n" not in str(error.value)


def test_bad_bytes_and_archives_are_one_line(tmp_path):
    folder = write(tmp_path / "babi")
    (tmp_path / "babi.tar.gz").touch()
    with pytest.raises(ArgumentError, match=r"babi.tar.gz: .* another kind of file; .*: mkdir .*babi && tar xf"):
        opened(tmp_path / "babi.tar.gz")
    next(folder.glob("*train.txt")).write_bytes(b"1 \xff\xfe\n")
    with pytest.raises(ArgumentError, match="line 1: expected UTF-8, got byte 0xff"):
        opened(folder)


def test_marks_are_words_of_their_own():
    assert cut("Where is Mary?") == ["where", "is", "mary", "?"] and cut("  ") == []


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason=f"no bAbI in {os.path.relpath(SHARED)}")
def test_the_public_files_have_as_many_stories_as_they_say(tmp_path):
    for name in ("en-10k", "en"):
        with tarfile.open(SHARED / f"{name}.tar.gz") as archive:
            archive.extractall(tmp_path / name, filter="data")
    folders = {name: next((tmp_path / name).rglob("qa1_*_train.txt")).parent for name in ("en-10k", "en")}
    data = opened(folders["en-10k"] / "qa1")
    assert data.size("train") + data.size("validation") == 2000 and data.size("test") == 200
    joint = opened(folders["en"])
    assert {joint.example("test", n).group for n in range(0, joint.size("test"), 50)} == {
        f"qa{n}" for n in range(1, 21)
    }
