"""Files whose labels are the names of their folders: texts, recordings or images, as many collections come.

train/cat/1.jpg  test/dog/7.jpg     splits, then labels
cat/1.jpg        dog/7.jpg          labels alone; validation_list.txt and testing_list.txt may say which are which

"""

import codecs
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from saccade.data.cleaning import composed
from saccade.data.dataset import SPLITS, inventory
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError

__all__ = ["Found", "Member", "divided", "find_classes", "list_names", "read_list"]

_UNLABELLED = {"unsup", "unlabeled", "unlabelled", "unsupervised", "_background_noise_"}  # folders that are no labels


class Member(NamedTuple):
    """A file of a class.

    >>> Member("train/cat/1.jpg", "train", "cat").label
    'cat'
    """

    name: str
    """Its path below the folder."""
    split: str
    """That its path or a list names, "" for none."""
    label: str


Divide: TypeAlias = Callable[[Sequence[Member], Sequence[str]], Mapping[str, Sequence[bool]]]
"""From what is to train on, and the splits that are missing, to which files are in which split."""


@dataclass(frozen=True)
class Found:
    """The files of a folder of classes.

    Args:
        splits: the files of each split that there is, "train" among them.
        note: what was left out, "" if nothing was.
    """

    splits: Mapping[str, Sequence[Member]]
    note: str

    @property
    def missing(self) -> list[str]:
        """The splits that are to be held out from training."""
        return [split for split in SPLITS if split not in self.splits]


def list_names(names: SplitNames) -> dict[str, str]:
    """Return what lists of files may be called, and the split that each lists.

    >>> list_names(SplitNames())["testing_list.txt"]
    'test'
    """
    return {f"{name}_list.txt": split for name, split in names.all.items() if split != "train"}


def read_list(data: bytes) -> list[str]:
    r"""Return the paths that a list of files names, one a line; folders may have white space in their names.

    >>> read_list(b"hot dog/1.jpg\r\ncat/2.jpg\n")
    ['hot dog/1.jpg', 'cat/2.jpg']
    """
    lines = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape").split("\n")
    return [line.strip() for line in lines if line.strip()]


def find_classes(
    files: Sequence[str],
    where: str,
    kind: str,
    names: SplitNames,
    lists: Mapping[str, Sequence[str]] | None = None,
    *,
    beside: bool = False,
) -> Found:
    """Return the split and the label of each file.

    Args:
        files: paths below a folder or archive, "/" between their parts.
        where: it is, for messages.
        kind: of the files, in the plural: "images".
        names: what splits are called.
        lists: of paths, by the split that they list.
        beside: whether files that are in no class's folder are left out, and said; else they are refused.

    Raises:
        ArgumentError: naming the file that is in no folder of a label, or what is missing.

    Example:
        >>> found = find_classes(["train/cat/1.jpg", "train/dog/2.jpg"], "pets", "images", SplitNames())
        >>> [member.label for member in found.splits["train"]], found.missing
        (['cat', 'dog'], ['validation', 'test'])
    """
    root, members, others, unlabelled = _root(files, names, beside=beside), list[Member](), list[str](), list[str]()
    listed = {composed(name): split for split, paths in (lists or {}).items() for name in paths}
    for name in files:
        own = name.removeprefix(root)
        place = _place(own, names)
        if place is None and not beside:
            wanted = "expected SPLIT/LABEL/FILE (train, validation, test) or LABEL/FILE"
            raise ArgumentError(f"{where}: {_readable(name)}: {wanted}, got another path")
        if place is None:
            others.append(name)
        elif place[1].lower() in _UNLABELLED:
            unlabelled.append(name)
        else:
            split, label = place
            split = split or (listed.get(composed(own), "train") if listed else "")
            members.append(Member(name, split, _label(label, where)))
    splits = _by_split(members, where, kind, names)
    _check_labels(members, where, kind)
    gone = len(set(listed) - {composed(name.removeprefix(root)) for name in files})
    notes = [
        f"{where}: left out {len(unlabelled)} {kind} without a label (such as {unlabelled[0]})" if unlabelled else "",
        f"{where}: left out {inventory(others)}, in no folder of a label" if others else "",
        f"{where}: {gone} of {len(listed)} files that the lists name are not there" if gone else "",
    ]
    return Found(splits, "; ".join(filter(None, notes)))


def divided(found: Found, where: str, kind: str, divide: Divide) -> dict[str, list[Member]]:
    """Return the files of all three splits, of which `divide` holds those out that are missing.

    Args:
        found: what there is.
        where: they are, for messages.
        kind: of the files, in the plural.
        divide: what holds them out.

    Raises:
        ArgumentError: if a label is of nothing to train on.
    """
    splits = {split: list(members) for split, members in found.splits.items()}
    if found.missing:
        train = splits["train"]
        parts = divide(train, found.missing)
        splits |= {name: [one for one, here in zip(train, part, strict=True) if here] for name, part in parts.items()}
    splits = {split: splits[split] for split in SPLITS}
    _check_known(splits, where, kind)
    return splits


def _check_known(splits: Mapping[str, Sequence[Member]], where: str, kind: str) -> None:
    """Refuse a label that nothing to train on has."""
    known = {one.label for one in splits["train"]}
    for split in SPLITS[1:]:
        for one in splits[split]:
            if one.label not in known:
                wrong = f"the label {one.label!r:.60} of {one.name} ({split}) is of no {kind[:-1]} to train on"
                raise ArgumentError(f"{where}: {wrong}; leave it out, or add {kind} that have it")


def _root(files: Sequence[str], names: SplitNames, *, beside: bool) -> str:
    """A folder that all files are in and that is neither a split nor a label, as an archive may have: "cifar10/"."""
    inside = [name for name in files if "/" in name] if beside else files
    tops, deep = {name.split("/")[0] for name in inside}, [name.count("/") > 1 for name in inside]
    alone = len(tops) == 1 and (any(deep) if beside else all(deep))
    return f"{tops.pop()}/" if alone and not any(map(names.split, tops)) else ""


def _place(name: str, names: SplitNames) -> tuple[str, str] | None:
    """The split and the label that a path names."""
    *folders, _ = name.split("/")
    if len(folders) == 2 and (split := names.split(folders[0])):
        return split, folders[1]
    if len(folders) == 1 and not names.split(folders[0]):
        return "", folders[0]
    return None


def _label(name: str, where: str) -> str:
    try:
        name.encode()
    except UnicodeEncodeError:
        way_out = f"this renames them: convmv -f latin1 -t utf-8 -r --notest {shlex.quote(_readable(where))}"
        got = repr(_readable(name))
        raise ArgumentError(f"{where}: expected names of folders in UTF-8, got {got}; {way_out}") from None
    return composed(name)


def _readable(name: str) -> str:
    return os.fsencode(name).decode(errors="replace")


def _by_split(members: Sequence[Member], where: str, kind: str, names: SplitNames) -> dict[str, list[Member]]:
    named = {split: [one for one in members if one.split == split] for split in ("", *SPLITS)}
    if named[""] and len(named[""]) < len(members):
        other = next(one for one in members if one.split)
        raise ArgumentError(f"{where}: expected all {kind} in splits or none, got {named[''][0].name} and {other.name}")
    train = named["train"] or named[""]
    for split in SPLITS:
        if not named[split]:
            names.check(split, where, {one.name.split("/")[0] for one in members})
    if not train:
        raise ArgumentError(f"{where}: expected {kind} to train on, in train/LABEL, found none")
    return {"train": train, **{split: named[split] for split in SPLITS[1:] if named[split]}}


def _check_labels(members: Sequence[Member], where: str, kind: str) -> None:
    labels = sorted({one.label for one in members})
    if len(labels) < 2:
        raise ArgumentError(f"{where}: expected {kind} of two labels or more, a folder each, got {labels[0]!r} alone")
