"""COCO's layouts: its own captions_*.json, and the JSON of Karpathy's splits, which Flickr8k and Flickr30k have too.

    dataset_coco.json              {"images": [{"filepath": "val2014", "filename": "COCO_val2014_000000391895.jpg",
                                     "split": "test", "sentences": [{"raw": "A man with a red helmet ..."}]}]}
    captions_train2014.json        {"images": [{"id": 9, "file_name": "COCO_train2014_000000000009.jpg"}],
                                     "annotations": [{"id": 7, "image_id": 9, "caption": "A bowl of rice ..."}]}

Source:
    Chen, Fang, Lin et al. 2015, "Microsoft COCO Captions: Data Collection and Evaluation Server"
    (https://arxiv.org/abs/1504.00325); Karpathy, Li 2015, "Deep Visual-Semantic Alignments for Generating Image
    Descriptions" (https://arxiv.org/abs/1412.2306), whose `restval` is what of COCO's validation set is to train on.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade.data.dataset import SPLITS
from saccade.data.media import read_bytes
from saccade.data.splits import SplitNames, only
from saccade.errors import ArgumentError
from saccade.tasks.caption.data.listing import Listing
from saccade.tasks.fields import text, whole_number

__all__ = ["is_coco", "read_json"]

_MOST_BYTES = 1 << 30
_DESCRIBED = ("dataset_info.json", "dataset_infos.json", "dataset_dict.json")  # what `datasets` writes beside
_NAMED = re.compile(r"captions_(.+?)_?(?:\d{4})?\.json")  # of captions_val2014.json the split is val


def is_coco(path: Path) -> bool:
    """Return whether a path is a JSON file, or a folder with one of COCO's layouts."""
    if path.is_file():
        with path.open("rb") as file:  # an array is a table of rows
            return path.suffix.lower() == ".json" and not file.read(16).lstrip().startswith(b"[")
    return bool(_karpathy_files(path) or _coco_files(path))


def read_json(path: Path, names: SplitNames) -> Listing:
    """Read the captions of a JSON file, or of a folder of them: Karpathy's before COCO's own, as they say the splits.

    Args:
        path: the file or the folder.
        names: what splits are called.

    Raises:
        ArgumentError: naming the image or caption that is wrong, or the files of which one is to be named.
        OSError: if a file cannot be read.
    """
    named = _karpathy_files(path) if path.is_dir() else [path]
    if not named:
        return _coco({file: _read(file) for file in _coco_files(path)}, path, names)
    file = only(named, "name the one that is meant by --data")
    assert file is not None, "there is one"
    content = _read(file)
    return _coco({file: content}, path, names) if "annotations" in content else _karpathy(content, file, names)


def _karpathy_files(folder: Path) -> list[Path]:
    """The files of a folder that are called as Karpathy's are: dataset_*.json, or dataset.json."""
    named = (path for path in folder.glob("dataset_*.json") if path.name not in _DESCRIBED)
    return sorted([*named, *folder.glob("dataset.json")])


def _coco_files(folder: Path) -> list[Path]:
    """The files of a folder that are called captions_*.json, as COCO's are, also in its folder annotations."""
    return sorted(path for deep in ("", "annotations/") for path in folder.glob(f"{deep}captions_*.json"))


def _karpathy(content: Any, path: Path, names: SplitNames) -> Listing:
    """Captions whose images say which split they are in; `restval` is to train on."""
    listing, seen = Listing(path, published=True), set[str]()
    images = _objects(content, "images", path)
    for number, image in enumerate(images):
        where = f"{path}: image {number + 1}"
        named = text(image, "split", where)
        split = names.split(named) or ("train" if named == "restval" else None)
        if split is None:
            expected = f"one of {', '.join(names.all)} or restval as its split"
            raise ArgumentError(f"{where}: expected {expected}, got {named!r:.60}")
        folder = text(image, "filepath", where) if "filepath" in image else ""
        name = "/".join(filter(None, (folder, text(image, "filename", where))))
        if name in seen:
            raise ArgumentError(f"{where}: expected each image once, got {name} again")
        seen.add(name)
        for sentence in _objects(image, "sentences", where):
            listing.add(name, text(sentence, "raw", where), where, split)
    for split in SPLITS:
        if not any(one.split == split for one in listing.images.values()):
            names.check(split, path, sorted({str(image["split"]) for image in images}))
    return listing


def _coco(contents: Mapping[Path, Any], folder: Path, names: SplitNames) -> Listing:
    """COCO's own captions, a file a split; a single one is to train on, whatever it is called."""
    paths = list(contents)
    listing = Listing(folder if len(paths) > 1 else paths[0], published=True)
    called = {path: match[1] if (match := _NAMED.fullmatch(path.name)) else path.stem for path in paths}
    splits = {path: names.split(name) or names.split(path.stem) for path, name in called.items()}
    for split in SPLITS:
        found = [path for path in paths if splits[path] == split]
        if len(found) > 1:
            got = " and ".join(path.name for path in found)
            raise ArgumentError(f"{folder}: expected one file of {split}, got {got}; say which by --{split}-split")
        if not found:
            names.check(split, folder, called.values())
    if len(paths) > 1 and "train" not in splits.values():
        raise ArgumentError(f"{folder}: expected captions_train*.json, got {', '.join(path.name for path in paths)}")
    for path, own in splits.items():
        if own is None and len(paths) > 1:
            listing.notes.append(f"not read: {path.name}, which is no split's name (--train-split, ...)")
        else:
            _add(listing, path, contents[path], own if len(paths) > 1 and own else "")
    return listing


def _add(listing: Listing, path: Path, content: Any, split: str) -> None:
    """Add the captions of a file."""
    files = dict[int, str]()
    for number, image in enumerate(_objects(content, "images", path)):
        where = f"{path}: image {number + 1}"
        key, name = whole_number(image, "id", where), text(image, "file_name", where)
        if key in files:
            raise ArgumentError(f"{where}: expected each id once, got {key} again")
        files[key] = name
    if len(set(files.values())) < len(files):
        twice = Counter(files.values()).most_common(1)[0][0]
        raise ArgumentError(f"{path}: expected each image once, got {twice} under two ids")
    seen, unknown, first = set[int](), 0, ""
    for number, annotation in enumerate(_objects(content, "annotations", path)):
        where = f"{path}: annotation {number + 1}"
        key = whole_number(annotation, "id", where) if "id" in annotation else -1 - number
        if key in seen:
            raise ArgumentError(f"{where}: expected each id once, got {key} again")
        seen.add(key)
        named = whole_number(annotation, "image_id", where)
        if named not in files:
            unknown, first = unknown + 1, first or f"{where}, of {named}"
            continue
        listing.add(files[named], text(annotation, "caption", where), where, split)
    if unknown and unknown == len(seen):
        raise ArgumentError(f"{path}: expected captions of the images that it lists, got none; the first is {first}")
    if unknown:
        listing.notes.append(f"{path}: left out {unknown} captions of images that it does not list; {first}")


def _read(path: Path) -> dict[str, Any]:
    data = read_bytes(path, str(path), "captions in JSON", _MOST_BYTES, "leave out what is no caption")
    try:
        content = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"{path}: expected captions in JSON, got what is none ({error})") from error
    if not isinstance(content, dict):
        raise ArgumentError(f"{path}: expected a JSON object with images, got {type(content).__name__}")
    return content


def _objects(content: Any, name: str, where: object) -> list[dict[str, Any]]:
    found = content.get(name)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ArgumentError(f"{where}: expected a list of objects called {name}, got {found!r:.60}")
    return found
