"""All layouts of captions of one's own: what is read of them, and what is said of bad ones."""

import json
from pathlib import Path

import pytest
import torch

from image_files import archive_of, plain
from saccade.data.dataset import SPLITS
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.caption.data import open_corpus

FLICKR8K = Path(__file__).resolve().parents[5] / "shared/data/flickr8k_1k"
COUNT = 12
NAMES = {"train": "train", "validation": "dev", "test": "test"}


def split_of(number):
    return {0: "validation", 1: "test"}.get(number % 6, "train")


def photos(folder, count=COUNT):
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (folder / f"{number}.png").write_bytes(plain((number, 100, 50), (20, 16)))
    return folder


def flickr(folder, *, lists=True, count=COUNT):
    photos(folder / "Images", count)
    lines = [f"{number}.png#{n}\tphoto {number} said {n} ." for number in range(count) for n in range(2)]
    (folder / "Flickr8k.token.txt").write_text("\n".join(lines) + "\n")
    if lists:
        for split, name in NAMES.items():
            listed = [f"{number}.png\n" for number in range(count) if split_of(number) == split]
            (folder / f"Flickr_8k.{name}Images.txt").write_text("".join(listed))
    return folder


def flickr30k(folder):
    photos(folder / "Images")
    lines = [f"{number}.png| {n}| photo {number} said {n} ." for number in range(COUNT) for n in range(2)]
    lines[3] = lines[3].replace("| 1| ", "| 1   ")
    (folder / "results.csv").write_text("image_name| comment_number| comment\n" + "\n".join(lines) + "\n")
    for split, name in NAMES.items():
        listed = [f"{number}.png\n" for number in range(COUNT) if split_of(number) == split]
        (folder / f"{name}.txt").write_text("".join(listed))
    return folder


def kaggle(folder):
    flickr(folder)
    lines = [f'{number}.png,"photo {number} said {n} ."' for number in range(COUNT) for n in range(2)]
    (folder / "captions.txt").write_text("image,caption\n" + "\n".join(lines) + "\n")
    (folder / "Flickr8k.token.txt").unlink()
    return folder


def karpathy(folder):
    photos(folder / "val2014")
    (folder / "val2014").rename(folder / "pictures")
    said = {"train": "restval", "validation": "val", "test": "test"}
    images = [
        {
            "filepath": "pictures",
            "filename": f"{number}.png",
            "split": said[split_of(number)],
            "sentences": [{"raw": f"photo {number} said {n} ."} for n in range(2)],
        }
        for number in range(COUNT)
    ]
    (folder / "dataset_coco.json").write_text(json.dumps({"images": images}))
    return folder


def coco(folder):
    photos(folder / "images")
    (folder / "annotations").mkdir()
    for split in SPLITS:
        own = [number for number in range(COUNT) if split_of(number) == split]
        content = {
            "images": [{"id": 10 + number, "file_name": f"{number}.png"} for number in own],
            "annotations": [
                {"id": 2 * number + n, "image_id": 10 + number, "caption": f"photo {number} said {n} ."}
                for number in own
                for n in range(2)
            ],
        }
        name = {"train": "train2014", "validation": "val2014", "test": "test2015"}[split]
        (folder / "annotations" / f"captions_{name}.json").write_text(json.dumps(content))
    return folder


def table(folder):
    photos(folder / "images")
    for split, name in NAMES.items():
        own = [number for number in range(COUNT) if split_of(number) == split]
        lines = [f"images/{number}.png\tphoto {number} said {n} ." for number in own for n in range(2)]
        (folder / f"{name}.tsv").write_text("image\tcaption\n" + "\n".join(lines) + "\n")
    return folder


LAYOUTS = {each.__name__: each for each in (flickr, flickr30k, kaggle, karpathy, coco, table)}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_the_same_data(tmp_path, layout):
    data = open_corpus(str(LAYOUTS[layout](tmp_path)), size=8)
    assert {split: data.size(split) for split in SPLITS} == {"train": 16, "validation": 2, "test": 2}
    assert data.shape == (3, 8, 8)
    assert data.note == ""
    for split in SPLITS:
        seen = []
        for index in range(data.size(split)):
            one = data.example(split, index)
            number = int(one.image[0, 4, 4])
            assert split_of(number) == split
            assert one.image.shape == (3, 8, 8)
            assert one.image.dtype == torch.uint8
            assert one.references == data.references(split, index)
            assert one.references == (f"photo {number} said 0 .", f"photo {number} said 1 .")
            assert one.caption == data.text(split, index)
            assert one.name.endswith(f"{number}.png")
            seen.append(one.caption)
        assert len(set(seen)) == data.size(split)
        if split != "train":
            assert all(caption.endswith("said 0 .") for caption in seen)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_images_may_be_packed_and_are_then_the_same(tmp_path, layout):
    folder = LAYOUTS[layout](tmp_path)
    before = open_corpus(str(folder), size=8)
    image = before.example("test", 1).image
    place = next(path.parent for path in folder.rglob("*.png"))
    archive_of(place, folder / "packed.tar", "w:", root=f"{place.name}/")
    for path in place.iterdir():
        path.unlink()
    after = open_corpus(str(folder), size=8)
    assert after.fingerprint == before.fingerprint
    assert torch.equal(after.example("test", 1).image, image)


@pytest.mark.parametrize(
    ("layout", "file"), [(flickr, "Flickr8k.token.txt"), (karpathy, "dataset_coco.json"), (table, "train.tsv")]
)
def test_a_file_may_be_named_itself(tmp_path, layout, file):
    folder = layout(tmp_path)
    data, whole = (open_corpus(str(path), size=8) for path in (folder / file, folder))
    if layout is table:  # which is then all that there is
        assert {split: data.images(split) for split in SPLITS} == {"train": 6, "validation": 1, "test": 1}
    else:
        assert data.fingerprint == whole.fingerprint


def test_unlisted_images_are_held_out_stably(tmp_path):
    folder = flickr(tmp_path, lists=False, count=40)
    data = open_corpus(str(folder), size=8)
    assert {split: data.size(split) for split in SPLITS} == {"train": 56, "validation": 6, "test": 6}
    assert "held out from training, as there are none of their own: 12 captions for validation" in data.note
    (folder / "Images/new.png").write_bytes(plain((200, 0, 0)))
    with (folder / "Flickr8k.token.txt").open("a") as file:
        file.write("new.png#0\tnew .\n")
    again = open_corpus(str(folder), size=8)
    before, after = ({each.example("validation", n).name for n in range(4)} for each in (data, again))
    assert len(before ^ after) <= 2
    assert again.fingerprint != data.fingerprint


def test_list_of_test_alone_leaves_the_others_to_train_on(tmp_path):
    folder = flickr(tmp_path)
    (folder / "Flickr_8k.trainImages.txt").unlink()
    (folder / "Flickr_8k.devImages.txt").unlink()
    data = open_corpus(str(folder), size=8)
    assert {split: data.images(split) for split in SPLITS} == {"train": 9, "validation": 1, "test": 2}


def test_names_of_splits_are_honoured(tmp_path):
    folder = table(tmp_path)
    (folder / "dev.tsv").rename(folder / "spring.tsv")
    names = SplitNames({"validation": "spring"})
    assert open_corpus(str(folder), size=8, names=names).size("validation") == 2
    with pytest.raises(ArgumentError, match="--test-split: expected the name of a part of"):
        open_corpus(str(folder), size=8, names=SplitNames({"test": "autumn"}))


def test_of_published_data_what_is_absent_is_left_out_and_said(tmp_path):
    folder = flickr(tmp_path)
    for number in (2, 3, 6):
        (folder / f"Images/{number}.png").unlink()
    with (folder / "Flickr8k.token.txt").open("a") as file:
        file.write("4.png#7\t \n")
    data = open_corpus(str(folder), size=8)
    assert "captions, which are about images that are not there" in data.note
    assert "left out 1 of 25 captions, which are empty; the first is" in data.note
    assert {split: data.images(split) for split in SPLITS} == {"train": 6, "validation": 1, "test": 2}


def test_features_take_the_place_of_images(tmp_path):
    folder = flickr(tmp_path)
    for path in (folder / "Images").iterdir():
        path.unlink()
    data = open_corpus(str(folder), known=lambda name: name != "5.png")
    assert data.shape is None
    assert "captions, which are about images without features" in data.note
    assert data.example("train", 0).image is None
    assert data.example("train", 0).name == "2.png"


def test_decoded_images_are_kept_and_read_only(tmp_path, monkeypatch):
    data = open_corpus(str(flickr(tmp_path)), size=8)
    before = data.example("test", 0).image
    data.example("test", 0).image.zero_()
    for path in (tmp_path / "Images").iterdir():
        path.unlink()
    assert torch.equal(data.example("test", 0).image, before)
    with pytest.raises(ArgumentError, match=r"Images/7.png: expected an image that can be read"):
        data.example("test", 1)


BAD = {
    "a missing image": ("0.png\tone\nb.png\ttwo\n", r"row 2 of .*: expected an image, found none: b.png"),
    "an archive that has no parts": (
        "b.png\ttwo\n",
        r"expected an image, found none: b.png; .*x.tgz is not looked",
    ),
    "an empty caption": (
        "0.png\tone\n1.png\t  \n",
        r'row 2 of .*, column "caption": expected a caption, got an empty cell',
    ),
    "an empty name": ("\tone\n", r'row 1 of .*, column "image": expected the name of an image, got an empty cell'),
    "too few": (
        "0.png\tone\n1.png\ttwo\n",
        r"expected 3 different captions or more, .* got 2",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_table_is_one_line(tmp_path, what):
    content, message = BAD[what]
    photos(tmp_path)
    if what == "an archive that has no parts":
        (tmp_path / "x.tgz").write_bytes(b"")
    (tmp_path / "captions.tsv").write_bytes(content.encode())
    for data in (tmp_path, tmp_path / "captions.tsv"):
        with pytest.raises(ArgumentError, match=message) as caught:
            open_corpus(str(data))
        assert "\n" not in str(caught.value)


def test_an_image_in_two_splits_is_one_line(tmp_path):
    folder = table(tmp_path)
    with (folder / "test.tsv").open("a") as file:
        file.write("./images/2.png\tagain\n")
    with pytest.raises(ArgumentError, match=r"^row 6 of .*test.tsv: expected images/2.png in one split, got it in"):
        open_corpus(str(folder))


@pytest.mark.parametrize("tarred", [False, True])
def test_a_bad_image_is_one_line_that_names_it(tmp_path, tarred):
    folder = table(tmp_path)
    (folder / "images/2.png").write_bytes(b"a text")
    if tarred:
        archive_of(folder / "images", folder / "packed.tar", "w:", root="images/")
        for path in (folder / "images").iterdir():
            path.unlink()
    data = open_corpus(str(folder), size=8)
    with pytest.raises(ArgumentError, match=r"images/2.png: expected an image .*got another file"):
        data.example("train", 0)


def json_change(path, change):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


TRAIN = "annotations/captions_train2014.json"
JSON = {
    "an id twice": (coco, TRAIN, lambda c: c["images"][1].update(id=12), r"images 2: expected each id once, got 12"),
    "a file twice": (coco, TRAIN, lambda c: c["images"][1].update(file_name="2.png"), r"got 2.png under two ids"),
    "a caption twice": (coco, TRAIN, lambda c: c["annotations"][1].update(id=4), r"annotations 2: .* got 4 again"),
    "no ids": (coco, TRAIN, lambda c: c["images"][0].pop("id"), r"images 1: expected a whole number called id"),
    "no captions": (coco, TRAIN, lambda c: c["annotations"][0].pop("caption"), r"expected a text called caption"),
    "unknown images": (
        coco, TRAIN, lambda c: [a.update(image_id=99) for a in c["annotations"]],
        r"expected captions of the images that it lists, got none; the first is .*annotations 1, of 99",
    ),
    "no annotations": (coco, TRAIN, lambda c: c.update(annotations=7), r"list of objects called annotations, got 7"),
    "an image twice": (
        karpathy, "dataset_coco.json", lambda c: c["images"].append(c["images"][0]),
        r"images 13: expected each image once, got pictures/0.png again",
    ),
    "an unknown split": (
        karpathy, "dataset_coco.json", lambda c: c["images"][0].update(split="spare"), r"images 1, .*, got 'spare'"
    ),
    "half a character": (
        karpathy, "dataset_coco.json", lambda c: c["images"][0]["sentences"][0].update(raw="\ud800"),
        r"images 1, .*expected a text, got half a character",
    ),
    "names that are unknown": (
        karpathy, "dataset_coco.json", lambda c: [i.update(filename="x" + i["filename"]) for i in c["images"]],
        r"left out 24 of 24 captions, which are about images that are not there",
    ),
    "no images": (
        karpathy, "dataset_coco.json", lambda c: c.update(images=[]), r"expected rows of train, got none"
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", JSON)
def test_bad_json_is_one_line(tmp_path, what):
    layout, name, change, message = JSON[what]
    json_change(layout(tmp_path) / name, change)
    with pytest.raises(ArgumentError, match=message) as caught:
        open_corpus(str(tmp_path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", ["[1]", "{"])
def test_what_is_no_json_is_one_line(tmp_path, content):
    (tmp_path / "captions.json").write_text(content)
    with pytest.raises(ArgumentError, match=r"captions.json: expected (captions|a JSON object|image and caption)"):
        open_corpus(str(tmp_path / "captions.json"))


LINES = {
    "no tab": ("0.png#1 a dog", r"row 2 of .*: expected IMAGE#NUMBER, a tab and a caption, got '0.png#1 a dog'"),
    "no number": ("0.png\ta dog", r"row 2 of .*: expected IMAGE#NUMBER, a tab and a caption"),
    "an id twice": ("0.png#0\ta dog", r"row 2 of .*: expected each id once, got 0.png#0 again"),
}


@pytest.mark.parametrize("what", LINES)
def test_a_bad_token_file_is_one_line(tmp_path, what):
    line, message = LINES[what]
    photos(tmp_path)
    (tmp_path / "Flickr8k.token.txt").write_text(f"0.png#0\ta cat\n{line}\n")
    with pytest.raises(ArgumentError, match=message):
        open_corpus(str(tmp_path))


def test_two_lists_that_name_one_image_are_refused(tmp_path):
    folder = flickr(tmp_path)
    with (folder / "Flickr_8k.testImages.txt").open("a") as file:
        file.write("2.png\n")
    with pytest.raises(ArgumentError, match=r"row 3 of .*: expected 2.png in one list, it is in train's too"):
        open_corpus(str(folder))


def test_captions_that_name_only_unknown_images_are_refused(tmp_path):
    folder = flickr(tmp_path)
    for path in (folder / "Images").iterdir():
        path.unlink()
    with pytest.raises(ArgumentError, match=r"expected images in or below .*, found none"):
        open_corpus(str(folder))


def test_what_is_no_data_is_said(tmp_path):
    with pytest.raises(ArgumentError, match=r"expected in the folder .* Flickr8k.token.txt, .* got an empty folder"):
        open_corpus(str(tmp_path))
    with pytest.raises(ArgumentError, match="no data set scene, .* did you mean scenes"):
        open_corpus("scene")


def test_a_size_that_is_none_is_refused(tmp_path):
    for size in (0, 7, 1025):
        with pytest.raises(ArgumentError, match=f"--size: expected pixels from 8 to 1024, got {size}"):
            open_corpus(str(tmp_path), size=size)


def test_an_index_that_is_none_is_refused(tmp_path):
    data = open_corpus(str(table(tmp_path)), size=8)
    for split, index in (("train", 16), ("test", 2), ("test", -1), ("tset", 0)):
        for ask in (data.example, data.text, data.references):
            with pytest.raises(ArgumentError, match=r"index|split"):
                ask(split, index)


@pytest.mark.slow
@pytest.mark.skipif(not FLICKR8K.is_dir(), reason="the thousand photos of Flickr8k are not here")
def test_flickr8k_as_it_is():
    data = open_corpus(str(FLICKR8K))
    assert {split: data.images(split) for split in SPLITS} == {"train": 753, "validation": 113, "test": 125}
    assert data.size("train") == 5 * 753
    assert "left out 35045 of 40000 captions, which are about images that are not there" in data.note
    assert "left out 93 images that are in no split" in data.note
    one = data.example("validation", 0)
    assert one.image.shape == (3, 96, 96)
    assert len(one.references) == 5


def test_flickr30k_is_read_by_the_name_of_its_tokens(tmp_path):
    folder = flickr(tmp_path / "flickr", lists=False)
    (folder / "Flickr8k.token.txt").rename(folder / "results_20130124.token")
    data = open_corpus(str(folder))
    assert sum(data.images(split) for split in SPLITS) == COUNT
    assert all(len(data.references("test", index)) == 2 for index in range(data.size("test")))
