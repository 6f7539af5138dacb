"""Questions about images in every layout, and what is wrong with each in one line."""

import json
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from image_files import plain
from saccade.data.dataset import SPLITS
from saccade.data.layouts.vqa import normalized
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError, SaccadeError
from saccade.tasks.answer.data import open_corpus
from saccade.tasks.answer.data.questions import kind_of
from saccade.tasks.image import pictures
from tiny import python

SHARED = Path(__file__).resolve().parents[5] / "shared/data"
COLOURS = {"red": (250, 10, 10), "green": (10, 250, 10), "blue": (10, 10, 250)}


def photos(folder, count=30, size=(20, 12)):
    """Images of one colour each, three questions about each."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for number in range(count):
        name, colour = f"{number}.png", list(COLOURS)[number % 3]
        (folder / name).write_bytes(plain(COLOURS[colour], size))
        lines += [f"{name}\twhat colour is it?\t{colour}", f"{name}\tis it red?\t{'yes' if colour == 'red' else 'no'}"]
    return lines


def test_lines_are_held_out_by_images_and_kinds_are_first_words(tmp_path):
    lines = photos(tmp_path / "photos")
    (tmp_path / "q.tsv").write_text("image\tquestion\tanswer\n" + "".join(f"photos/{line}\n" for line in lines))
    data = open_corpus(str(tmp_path / "q.tsv"))
    assert data.shape == (3, 12, 20)
    rows = {split: [data.example(split, n) for n in range(data.size(split))] for split in data.splits}
    assert sum(map(len, rows.values())) == 60 and {one.posed.group for one in rows["train"]} == {"what", "is"}
    names = [{one.name for one in each} for each in rows.values()]
    assert not (names[0] & names[1] or names[0] & names[2] or names[1] & names[2]) and all(names)
    for one in rows["test"]:
        colour = next(name for name, rgb in COLOURS.items() if one.image[:, 3, 3].tolist() == list(rgb))
        assert one.posed.answers[0] in (colour, "yes" if colour == "red" else "no")
    for split, own in rows.items():
        about = [data.about(split, image) for image in range(data.images(split))]
        assert sorted(index for each in about for index in each) == list(range(data.size(split)))
        assert [len({own[index].name for index in each}) for each in about] == [1] * len({one.name for one in own})
    with pytest.raises(ArgumentError, match="index"):
        data.about("test", data.images("test"))
    assert open_corpus(str(tmp_path / "q.tsv")).fingerprint == data.fingerprint
    (tmp_path / "q.tsv").write_text("".join(f"photos/{line}\n" for line in lines).replace("\tno\n", "\tnot\n"))
    assert open_corpus(str(tmp_path / "q.tsv")).fingerprint != data.fingerprint


def test_a_folder_has_a_file_a_split_and_one_image_shape(tmp_path):
    photos(tmp_path)
    (tmp_path / "odd.png").write_bytes(plain((1, 2, 3), (200, 500)))
    for split, name in (("train", "0.png"), ("dev", "odd.png"), ("test", "1.png")):
        (tmp_path / f"{split}.tsv").write_text(f"{name}\tis it red?\tyes\n{name}\twhat is it?\tno\n")
    data = open_corpus(str(tmp_path), size=10)
    assert [data.size(split) for split in ("train", "validation", "test")] == [2, 2, 2] and data.note == ""
    assert data.example("validation", 0).image.shape == data.shape == (3, 8, 10)


def test_an_image_is_decoded_once_while_there_is_room(tmp_path, monkeypatch):
    lines, read, original = photos(tmp_path, 3), [], pictures.read_image
    (tmp_path / "q.tsv").write_text("\n".join(lines))
    monkeypatch.setattr(
        pictures, "read_image", lambda *given, **more: read.append(given[1]) or original(*given, **more)
    )
    for room, expected in ((1 << 20, 1), (0, 4)):
        monkeypatch.setattr(pictures, "_CACHED", room)
        data = open_corpus(str(tmp_path / "q.tsv"))
        read.clear()
        for _ in range(2):
            for index in range(data.size("train")):
                data.example("train", index)
        assert len(read) == expected


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            b"0.png\tis it red?",
            "q.tsv: expected image, question and answer with a tab between",
        ),
        (
            b"0.png is it red? yes",
            "q.tsv: expected image, question and answer with a tab between",
        ),
        (b"gone.png\tis it red?\tyes", 'q.tsv, column "image": expected an image, found none: gone.png'),
        (
            b"0.png\t  \tyes",
            'q.tsv, column "question": expected a question, got an empty cell; fill it, or leave the row out',
        ),
        (b"0.png\tis it red?\t ", 'q.tsv, column "answer": expected an answer, got an empty cell; fill it, or'),
        (b"\tis it red?\tyes", 'q.tsv, column "image": expected the name of an image, got an empty cell'),
        (b"0.png\tis \xff\0 it?\tyes", "line 2: expected UTF-8, got byte 0xff"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, said):
    photos(tmp_path, 3)
    (tmp_path / "q.tsv").write_bytes(b"0.png\twhat is it?\tred\n" + line + b"\n")
    with pytest.raises(ArgumentError) as caught:
        open_corpus(str(tmp_path / "q.tsv"))
    assert said in str(caught.value) and str(caught.value).startswith(("row 2 of ", str(tmp_path)))
    assert "\n" not in str(caught.value)


def test_an_image_of_two_names_is_in_one_split(tmp_path):
    (tmp_path / "photos").mkdir()
    for number in range(30):
        (tmp_path / f"photos/{number}.png").write_bytes(plain((number, 100, 50), (9, 9)))
    names = [f"{folder}{number}.png" for number in range(30) for folder in ("photos/", "", "./photos/")]
    (tmp_path / "questions.tsv").write_text("".join(f"{name}\twhat is it?\tred\n" for name in names))
    corpus = open_corpus(str(tmp_path))
    splits = [{number for number, _ in corpus.splits[split]} for split in SPLITS]
    assert sum(map(len, splits)) == 30 == len(set.union(*splits)) and all(splits)


def test_files_without_a_line_are_told_what_they_shall_hold(tmp_path):
    (tmp_path / "q.tsv").write_bytes(b"")
    with pytest.raises(ArgumentError, match=r"q\.tsv: expected a table with image, .* got an empty file"):
        open_corpus(str(tmp_path / "q.tsv"))
    wanted = {"data.csv": "rows of question, answer, image_id", "test_images_list.txt": "the name of an image a line"}
    for name, said in wanted.items():
        folder = daquar(tmp_path / name)
        (folder / name).write_bytes(b"")
        with pytest.raises(ArgumentError, match=f"{name}: expected {said}, got an empty file"):
            open_corpus(str(folder))


def test_what_is_no_image_or_a_huge_one_is_named(tmp_path):
    (tmp_path / "q.tsv").write_text("".join(f"{n}.png\twhat is it?\tred\n" for n in range(3)))
    for content, said in ((b"no image", "expected an image"), (None, "at most 64 million pixels")):
        for number in range(3):
            path = tmp_path / f"{number}.png"
            if content is None:
                Image.new("1", (9_000, 9_000)).save(path)
                content = path.read_bytes()
            path.write_bytes(content)
        with pytest.raises(ArgumentError) as caught:
            open_corpus(str(tmp_path / "q.tsv"))
        assert said in str(caught.value) and ".png" in str(caught.value)
        content = None


def test_there_is_no_such_data(tmp_path):
    with pytest.raises(SaccadeError, match="did you mean scenes"):
        open_corpus("scnes")
    with pytest.raises(SaccadeError, match="expected in .* lines of images, questions and answers"):
        open_corpus(str(tmp_path))
    with pytest.raises(SaccadeError, match="--size"):
        open_corpus("scenes", 32)
    with pytest.raises(SaccadeError, match="--most"):
        open_corpus("scenes", things=(4, 9))
    with pytest.raises(SaccadeError, match="--least"):
        open_corpus("scenes", things=(3, 6))


def easy_vqa(folder):
    for split, count in (("train", 12), ("test", 3)):
        photos(folder / split / "images", count, (16, 16))
        rows = [["what colour is it?", list(COLOURS)[n % 3], n] for n in range(count)]
        (folder / split / "questions.json").write_text(json.dumps(rows))
    (folder / "answers.txt").write_text("red\ngreen\nblue\n")


def test_easy_vqa_is_read_packed_and_unpacked(tmp_path):
    easy_vqa(tmp_path / "open/data")
    (tmp_path / "packed").mkdir()
    with tarfile.open(tmp_path / "packed/easy_vqa_data.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "open/data", "data")
    packed = [tmp_path / "packed", tmp_path / "packed/easy_vqa_data.tar.gz"]
    found = [open_corpus(str(path)) for path in (tmp_path / "open", tmp_path / "open/data", *packed)]
    assert len({data.fingerprint for data in found}) == 1 and "held out" in found[0].note
    assert [found[0].size(split) for split in ("train", "validation", "test")] == [11, 1, 3]
    for data in found:
        assert data.example("test", 1).image[:, 3, 3].tolist() == list(COLOURS["green"])
    rows = tmp_path / "open/data/train/questions.json"
    wrong = {"{": "expected JSON", "[" * 100_000: "expected JSON", "{}": "expected a list"}
    for content, said in (wrong | {'[["a", "b"]]': "row 1: expected"}).items():
        rows.write_text(content)
        with pytest.raises(ArgumentError, match=said):
            open_corpus(str(tmp_path / "open"))
        with tarfile.open(tmp_path / "wrong.tar.gz", "w:gz") as archive:
            archive.add(tmp_path / "open/data", "data")
        with pytest.raises(ArgumentError, match=f"wrong.tar.gz: train/questions.json: .*{said}"):
            open_corpus(str(tmp_path / "wrong.tar.gz"))


def daquar(folder):
    folder.mkdir()
    photos(folder / "images", 12)
    for number in range(12):
        (folder / f"images/{number}.png").rename(folder / f"images/image{number}.png")
    rows = [f'"what is left of it, and right",{list(COLOURS)[n % 3]},image{n}' for n in range(12)]
    head = "question,answer,image_id\n"
    (folder / "data.csv").write_text(head + "\n".join(rows))
    (folder / "data_train.csv").write_text(head + "\n".join(rows[::2]))
    (folder / "data_eval.csv").write_text(head + "\n".join(rows[1::2]))
    (folder / "train_images_list.txt").write_text("\n".join(f"image{n}" for n in range(8)))
    (folder / "test_images_list.txt").write_text("\n".join(f"image{n}" for n in range(8, 12)))
    return folder


def test_daquar_is_split_by_images_or_named_questions(tmp_path):
    folder = daquar(tmp_path / "daquar")
    data = open_corpus(str(folder))
    assert "DAQUAR's own split by images: 8 questions to train, 4 questions to test" in data.note
    assert {data.example("test", n).name for n in range(4)} == {f"image{n}" for n in range(8, 12)}
    assert data.posed("test", 0).question == "what is left of it, and right"
    data = open_corpus(str(folder), names=SplitNames({"train": "data_train", "test": "data_eval"}))
    assert "by questions: data_train.csv, data_eval.csv" in data.note and data.size("test") == 6
    with pytest.raises(ArgumentError, match="--test-split"):
        open_corpus(str(folder), names=SplitNames({"train": "data_train", "test": "eval"}))
    (folder / "images/image9.png").unlink()
    assert "left out 1 of 12 questions, which are about images that are not there" in open_corpus(str(folder)).note
    (folder / "data.csv").write_text("what is it,red\n")
    with pytest.raises(ArgumentError, match="row 1 of .*: expected a question, an answer and an image's name, got 2"):
        open_corpus(str(folder))


WHOLE = "expected a whole number called question_id"


def vqa(folder, changed=None, version="v2_"):
    folder.mkdir(exist_ok=True)
    for subtype, first in (("train2014", 0), ("val2014", 20)):
        photos(folder / "unpacked", 1)
        questions, annotations = [], []
        for number in range(first, first + 12):
            (folder / f"COCO_{subtype}_{number:012}.jpg").write_bytes(plain((number, 0, 0), (20, 16)))
            questions.append({"question_id": number, "image_id": number, "question": "Is it red?"})
            answers = [{"answer": "Yes." if n < number % 11 else "no"} for n in range(10)]
            told = {"question_id": number, "image_id": number, "answer_type": "yes/no", "answers": answers}
            annotations.append(told)
        if changed:
            changed(questions, annotations)
        name = folder / f"{version}OpenEnded_mscoco_{subtype}_questions.json"
        name.write_text(json.dumps({"questions": questions}))
        (folder / f"{version}mscoco_{subtype}_annotations.json").write_text(json.dumps({"annotations": annotations}))
    (folder / "v2_OpenEnded_mscoco_test2015_questions.json").write_text('{"questions": []}')
    return folder


def test_the_first_version_of_vqa_has_other_names(tmp_path):
    data = open_corpus(str(vqa(tmp_path / "vqa", version="")))
    assert [data.size(split) for split in ("train", "validation", "test")] == [11, 12, 1]
    assert len(data.posed("validation", 3).answers) == 10


def test_vqa_has_ten_answers_and_tests_on_what_is_held_out(tmp_path):
    data = open_corpus(str(vqa(tmp_path / "vqa")))
    assert [data.size(split) for split in ("train", "validation", "test")] == [11, 12, 1]
    assert "not read: v2_OpenEnded_mscoco_test2015_questions.json" in data.note
    posed = data.posed("validation", 3)
    assert posed.answers == ("yes",) * (23 % 11) + ("no",) * (10 - 23 % 11) and posed.group == "yes/no"
    data = open_corpus(str(tmp_path / "vqa"), names=SplitNames({"test": "val"}))
    assert [data.size(split) for split in ("train", "validation", "test")] == [11, 1, 12]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (lambda questions, _: questions.append(questions[0]), "expected each question_id once, got 0 again"),
        (lambda _, annotations: annotations.append(dict(annotations[0])), "each question_id once, got 0 again"),
        (lambda _, annotations: annotations.pop(0), "expected an annotation of question 0"),
        (lambda questions, _: questions[0].pop("question"), "questions 1: expected a text called question"),
        (lambda questions, _: questions[0].update(question=["x"]), "1: expected a text called question, got ['x']"),
        (lambda questions, _: questions[0].update(image_id="x"), "1: expected a whole number called image_id, got 'x'"),
        (lambda questions, _: questions[1].update(question_id=[1]), f"questions 2: {WHOLE}, got [1]"),
        (lambda questions, _: questions[0].update(question_id={}), f"questions 1: {WHOLE}, got {{}}"),
        (lambda questions, _: questions[0].update(question_id=None), f"questions 1: {WHOLE}, got None"),
        (lambda _, annotations: annotations[0].update(question_id=[1]), f"annotations 1: {WHOLE}, got [1]"),
        (lambda _, annotations: annotations[0].update(question_id=None), f"annotations 1: {WHOLE}, got None"),
        (lambda _, annotations: annotations[0].update(question_id=True), f"annotations 1: {WHOLE}, got True"),
        *(
            (
                lambda _, annotations, fields=fields: annotations[2].update(fields),
                f"_annotations.json: annotations 3: {said}",
            )
            for fields, said in (
                ({"answers": 7}, "expected a list called answers, got 7"),
                ({"answers": ["yes"]}, "expected a list of objects called answers, got ['yes']"),
                ({"answers": [{"answer": None}]}, "answers 1: expected a text called answer, got None"),
                ({"answers": [{}]}, "answers 1: expected a text called answer, got None"),
                ({"answers": [{"answer": "\ud800"}]}, "answers 1: expected a text, got half a character"),
                ({"answers": []}, "expected an answer to question 2, got none; write one, or leave out the annotation"),
                ({"answers": [{"answer": " "}]}, "expected an answer to question 2, got none; write one"),
                ({"answer_type": ["x"]}, "expected a text called answer_type, got ['x']"),
                ({"answer_type": None}, "expected a text called answer_type, got None"),
            )
        ),
    ],
)
def test_what_is_wrong_with_vqa_is_named(tmp_path, changed, said):
    with pytest.raises(ArgumentError) as caught:
        open_corpus(str(vqa(tmp_path / "vqa", changed)))
    assert said in str(caught.value) and ".json" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["v2_OpenEnded_mscoco_train2014_questions.json", "v2_mscoco_train2014_annotations.json"]
)
def test_vqa_in_json_of_endless_depth_is_named(tmp_path, name):
    (vqa(tmp_path / "vqa") / name).write_text("[" * 100_000)
    with pytest.raises(ArgumentError, match=f"{name}: expected (questions|annotations) in JSON, got another text"):
        open_corpus(str(tmp_path / "vqa"))


def test_features_are_known_in_the_place_of_images_in_every_layout(tmp_path):
    """By the names that a store has them by, and no image is looked for."""
    easy_vqa(tmp_path / "easy/data")
    lines = photos(tmp_path / "own", 6)
    (tmp_path / "own/q.tsv").write_text("\n".join(lines))
    found = {
        "easy": (tmp_path / "easy", lambda name: name.startswith(("train/images/", "test/images/"))),
        "daquar": (daquar(tmp_path / "daquar"), lambda name: name.endswith(".png")),
        "vqa": (vqa(tmp_path / "vqa"), lambda name: name.startswith("COCO_")),
        "own": (tmp_path / "own/q.tsv", lambda name: name.endswith(".png")),
    }
    for path, known in found.values():
        seen, images = open_corpus(str(path), known=known), open_corpus(str(path))
        assert seen.shape is None and seen.fingerprint != images.fingerprint
        for split in ("train", "validation", "test"):
            for index in range(seen.size(split)):
                one = seen.example(split, index)
                assert one.image is None and known(one.name) and one.posed.answers
        assert sum(map(seen.size, seen.splits)) == sum(map(images.size, images.splits))


def test_images_without_features_are_left_out_or_named(tmp_path):
    folder = daquar(tmp_path / "daquar")
    data = open_corpus(str(folder), known=lambda name: name.endswith(".png") and name != "image9.png")
    assert "left out 1 of 12 questions, which are about images without features" in data.note
    (tmp_path / "q.tsv").write_text("\n".join(photos(tmp_path, 6)))
    with pytest.raises(ArgumentError, match=r"row 5 of .*: expected features of it in the store, found none: 2\.png"):
        open_corpus(str(tmp_path / "q.tsv"), known=lambda name: name != "2.png")
    with pytest.raises(ArgumentError, match="left out 12 of 12 questions, which are about images without features"):
        open_corpus(str(folder), known=lambda name: False)


def test_features_of_images_without_files_name_are_refused():
    for data, objects in (("scenes", None), ("objects", [])):
        with pytest.raises(ArgumentError, match=f"--features: expected none for {data}, whose images have no file's"):
            open_corpus(data, objects=objects, known=lambda name: True)


def test_answers_are_compared_as_vqa_compares_them():
    told = {"A Dog.": "dog", "two": "2", "none": "0", "1.5 m": "1.5 m", "don't": "don't", "yes, it is!": "yes it is"}
    told |= {"1,000": "1000", "$2,500.50": "$2500.50"}
    assert {answer: normalized(answer) for answer in told} == told
    assert kind_of("HOW many are there") == "how many" and kind_of("Why?") == "why?"


def test_objects_are_rows_or_mappings_with_images_once(tmp_path):
    (tmp_path / "a.png").write_bytes(plain((9, 9, 9), (12, 12)))
    images = [np.full((12, 12, 3), level, np.uint8) for level in range(0, 240, 8)]
    rows = [(image, "how bright is it?", str(int(image[0, 0, 0]) // 80)) for image in images]
    rows += [(image, "is it bright?", ["yes", "no"]) for image in images]
    rows += [{"image": tmp_path / "a.png", "question": "is it bright?", "answer": "no"}]
    data = open_corpus("objects", objects=rows)
    assert len(data.pictures) == 31 and data.shape == (3, 12, 12)
    for bad in (("a", "b"), (images[0], "", "c"), (images[0], "a", []), ("gone.png", "a", "b"), (None, "a", "b")):
        with pytest.raises(ArgumentError, match="data: train, row 1"):
            open_corpus("objects", objects=[bad])


@pytest.mark.slow
@pytest.mark.skipif(not (SHARED / "easy_vqa").is_dir(), reason="easy-VQA is not there")
def test_easy_vqa_itself_is_read():
    data = open_corpus(str(SHARED / "easy_vqa"))
    assert data.size("train") + data.size("validation") == 38_575 and data.size("test") == 9_673
    assert data.shape == (3, 64, 64) and data.example("test", 9_672).posed.answers


@pytest.mark.slow
@pytest.mark.skipif(not (SHARED / "daquar").is_dir(), reason="DAQUAR is not there")
def test_daquar_itself_is_read():
    data = open_corpus(str(SHARED / "daquar"))
    assert sum(data.size(split) for split in ("train", "validation", "test")) == 12_468
    assert data.shape == (3, 73, 96) and "own split by images" in data.note


MEASURED = """
import resource, sys
from saccade.tasks.answer.data import open_corpus
from saccade.tasks.image import pictures
pictures._CACHED = 16 << 20
data = open_corpus(sys.argv[1])
data.example("train", 0)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for split in ("train", "validation", "test"):
    for index in range(data.size(split)):
        data.example(split, index)
print(sum(map(data.size, ("train", "validation", "test"))), data.example("train", 0).image.numel(),
    (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
"""


@pytest.mark.slow
def test_images_take_no_more_memory_than_is_kept(tmp_path):
    """All of them would take 110 MB; those that are kept take 16."""
    for number in range(4_000):
        (tmp_path / f"{number}.png").write_bytes(plain((number % 256, number // 256, 50), (96, 96)))
    lines = (f"{number}.png\tis it {number % 7}?\t{'yes' if number % 2 else 'no'}\n" for number in range(4_000))
    (tmp_path / "asked.tsv").write_text("".join(lines))
    command = python("-c", MEASURED, tmp_path / "asked.tsv")
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    count, pixels, grown = map(int, done.stdout.split())
    assert (count, pixels) == (4_000, 3 * 96 * 96)
    assert grown < 60
