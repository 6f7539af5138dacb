"""Layouts of COCO captions: captions_*.json, and the JSON of Karpathy's splits.

Karpathy's splits of Flickr8k and Flickr30k have the same layout.

    dataset_coco.json              {"images": [{"filepath": "val2014", "filename": "COCO_val2014_000000391895.jpg",
                                     "split": "test", "sentences": [{"raw": "A man with a red helmet ..."}]}]}
    captions_train2014.json        {"images": [{"id": 9, "file_name": "COCO_train2014_000000000009.jpg"}],
                                     "annotations": [{"id": 7, "image_id": 9, "caption": "A bowl of rice ..."}]}

Source:
    Chen, Fang, Lin et al. 2015, "Microsoft COCO Captions: Data Collection and Evaluation Server"
    (https://arxiv.org/abs/1504.00325).
    Karpathy, Li 2015, "Deep Visual-Semantic Alignments for Generating Image Descriptions"
    (https://arxiv.org/abs/1412.2306). `restval` is the part of the COCO validation images for training.
"""

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade.data.columns import Listed
from saccade.data.dataset import SPLITS
from saccade.data.layouts.annotations import filled, objects, read_objects
from saccade.data.splits import SPLIT, SplitNames, only
from saccade.data.table import Row, Table
from saccade.errors import ArgumentError

__all__ = ["coco"]

_DESCRIBED = ("dataset_info.json", "dataset_infos.json", "dataset_dict.json")  # metadata files of `datasets`
_NAMED = re.compile(r"captions_(.+?)_?(?:\d{4})?\.json")  # of captions_val2014.json the split is val


def coco(path: Path, names: SplitNames) -> dict[str, Table] | None:
    """Return rows of `image` and `caption` of a JSON file or a folder.

    Karpathy's files go before those of COCO.

    Args:
        path: the file or the folder.
        names: the names of splits.

    Raises:
        ArgumentError: for an invalid image or caption, or for an ambiguous choice of files, with their names.
        OSError: if a file cannot be read.
    """
    named, captions = [path], list[Path]()
    if path.is_file():
        with path.open("rb") as start:  # an array is a table of rows
            if path.suffix.lower() != ".json" or start.read(16).lstrip().startswith(b"["):
                return None
    else:
        named = [file for file in path.glob("dataset_*.json") if file.name not in _DESCRIBED]
        named = sorted([*named, *path.glob("dataset.json")])
        captions = sorted(file for deep in ("", "annotations/") for file in path.glob(f"{deep}captions_*.json"))
    if (file := only(named, "name the one that is meant by --data")) is not None:
        content = read_objects(file, "captions")
        return {"": _captions(content, file)} if "annotations" in content else {"": _karpathy(content, file, names)}
    return _coco({file: read_objects(file, "captions") for file in captions}, path, names) if captions else None


def _karpathy(content: Any, path: Path, names: SplitNames) -> Table:
    """Return captions of images with splits."""
    rows, used = list[tuple[str, Row]](), set[str]()
    for where, image in objects(content, "images", path, split=str, filename=str, sentences=list):
        split = image["split"]
        split = names.of("train")[0] if split == "restval" and not names.split(split) else split
        name = "/".join(filter(None, (str(image.get("filepath", "")), image["filename"])))
        if name in used:
            raise ArgumentError(f"{where}: expected each image once, got {name} again")
        used.add(name)
        for _, sentence in objects(image, "sentences", where, raw=str):
            rows.append((where, {"image": Listed(name), "caption": sentence["raw"], SPLIT: split}))
    return filled(rows, "caption", path)


def _coco(contents: Mapping[Path, Any], folder: Path, names: SplitNames) -> dict[str, Table]:
    """Return captions of COCO, a file for each split. A single file is for training."""
    if len(contents) == 1:
        [(path, content)] = contents.items()
        return {"": _captions(content, path)}
    called = {path: match[1] if (match := _NAMED.fullmatch(path.name)) else path.stem for path in contents}
    splits = {path: names.split(name) or names.split(path.stem) for path, name in called.items()}
    for split in SPLITS:
        there = [path.name for path in contents if splits[path] == split]
        if len(there) > 1:
            got = " and ".join(there)
            raise ArgumentError(f"{folder}: expected one file of {split}, got {got}; say which by --{split}-split")
        if not there:
            names.check(split, folder, called.values())
    if "train" not in splits.values():
        raise ArgumentError(f"{folder}: expected captions_train*.json, got {', '.join(path.name for path in contents)}")
    tables = {
        names.of(split)[0]: _captions(contents[path], path)
        for split in SPLITS
        for path, assigned in splits.items()
        if assigned == split
    }
    return tables | {called[path]: Table((), str) for path, split in splits.items() if split is None}


def _captions(content: Any, path: Path) -> Table:
    files, rows, used, unknown = dict[int, str](), list[tuple[str, Row]](), set[int](), list[str]()
    for where, image in objects(content, "images", path, id=int, file_name=str):
        if image["id"] in files:
            raise ArgumentError(f"{where}: expected each id once, got {image['id']} again")
        files[image["id"]] = image["file_name"]
    if len(set(files.values())) < len(files):
        twice = Counter(files.values()).most_common(1)[0][0]
        raise ArgumentError(f"{path}: expected each image once, got {twice} under two ids")
    for where, annotation in objects(content, "annotations", path, image_id=int, caption=str):
        if (key := annotation.get("id")) in used:
            raise ArgumentError(f"{where}: expected each id once, got {key} again")
        used |= set() if key is None else {key}
        if annotation["image_id"] in files:
            rows.append((where, {"image": Listed(files[annotation["image_id"]]), "caption": annotation["caption"]}))
        else:
            unknown.append(f"{where}, of {annotation['image_id']}")
    if unknown and not rows:
        raise ArgumentError(
            f"{path}: expected captions of the images that it lists, got none; the first is {unknown[0]}"
        )
    left = f"{path}: left out {len(unknown)} captions of images that it does not list; " if unknown else ""
    return filled(rows, "caption", path, left + unknown[0] if unknown else "")
