"""Files of translators: TMX, XLIFF 1.2 and XLIFF 2.0.

Each unit has a source and a target, for example:

    <tu><tuv xml:lang="de-DE"><seg>Guten Morgen</seg></tuv><tuv xml:lang="en"><seg>Good morning</seg></tuv></tu>
    <trans-unit id="1"><source>Guten Morgen</source><target>Good morning</target></trans-unit>
    <unit id="1"><segment><source>Guten Morgen</source><target>Good morning</target></segment></unit>

Source:
    TMX 1.4b Specification, Localization Industry Standards Association 2005.
    XLIFF 1.2, OASIS 2008 (https://docs.oasis-open.org/xliff/v1.2/os/xliff-core.html).
    XLIFF 2.0, OASIS 2014 (https://docs.oasis-open.org/xliff/xliff-core/v2.0/xliff-core-v2.0.html).
"""

import gzip
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO
from xml.etree import ElementTree

from saccade.data.table import Table
from saccade.data.texts import suffix_of
from saccade.errors import ArgumentError

__all__ = ["PAIR_FILES", "read_pair_file"]

#: Suffixes of the files.
PAIR_FILES = (".tmx", ".xlf", ".xliff")

_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_CODES = ("bpt", "ept", "it", "ph", "ut")  # inline elements with codes of the original format
_SIDES = {"source": ("srcLang", "source-language"), "target": ("trgLang", "target-language")}  # of XLIFF 2 and 1
_DAMAGE = (ElementTree.ParseError, EOFError, zlib.error, gzip.BadGzipFile, RecursionError)


def read_pair_file(path: Path, source: str | None, target: str | None) -> Table:
    """Return rows of a source and its target. Units without one of them are left out.

    Args:
        path: the file, packed by gzip or not.
        source: the language of the sources, for example "de". It includes "de-AT". Default: that of an XLIFF file.
        target: the language of the targets. Default: likewise.

    Raises:
        ArgumentError: if the file is damaged, or no unit has the language of an option.
        OSError: if it cannot be read.
    """
    is_tmx = suffix_of(path) == ".tmx"
    try:
        with _opened(path) as file:
            units = list(_tmx(file) if is_tmx else _xliff(file, path))
    except _DAMAGE as error:
        kind = "TMX" if is_tmx else "XLIFF"
        raise ArgumentError(f"{path}: expected a whole {kind} file, got a damaged one ({error})") from error
    if not units:
        raise ArgumentError(f"{path}: expected units of a source and its target, found none")
    there = sorted({language for unit in units for language in unit})
    if is_tmx and len({language.partition("-")[0] for language in there}) == 1 and not any(map(_differs, units)):
        raise ArgumentError(f"{path}: expected a source and a target language, got {there[-1]} for both")
    if not is_tmx:
        first, second, *_ = units[0]
        source, target = source or first, target or second
        if source.lower() == target.lower():
            raise _one_side(path, f"{target} for both")
    for option, side in (("--source", source), ("--target", target)):
        if side is None or side.lower() not in there:
            raise ArgumentError(f"{option}: expected one of {', '.join(there)}, got {side or 'none'} for {path}")
    sides = [str(side).lower() for side in (source, target)]
    kept = [number for number, unit in enumerate(units) if all(unit.get(side, "").strip() for side in sides)]
    rows = [tuple(units[number][side] for side in sides) for number in kept]
    if rows and all(first == second for first, second in rows):  # de and de-AT are one if there is no other German
        raise _one_side(path, f"{target}, whose texts are those of {source}")
    left = len(units) - len(kept)
    note = f"{path}: left out {left} of {len(units)} units, which have no {source} or no {target}" if left else ""
    return Table(rows, lambda index: f"unit {kept[index] + 1} of {path}", note=note, size=len(rows))


def _differs(unit: Mapping[str, str]) -> bool:
    return len(set(unit.values())) > 1


def _one_side(path: Path, got: str) -> ArgumentError:
    return ArgumentError(f"--target: expected another side than --source, got {got}; name the other side of {path}")


def _opened(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path) if packed else path.open("rb")  # type: ignore[return-value]


def _tmx(file: IO[bytes]) -> Iterator[dict[str, str]]:
    """Yield the texts of each unit by language, with and without region."""
    for _, element in ElementTree.iterparse(file):  # noqa: S314 # expat itself limits what entities expand to
        if element.tag == "tu":
            variants = list(element.iter("tuv"))
            languages = [variant.get(_LANGUAGE) or variant.get("lang") or "" for variant in variants]
            texts = ["".join(map(_text, variant.iter("seg"))) for variant in variants]
            yield _by_language(zip(languages, texts, strict=True))
            element.clear()


def _xliff(file: IO[bytes], path: Path) -> Iterator[dict[str, str]]:
    """Yield the source and the target of each unit by language, in this order."""
    sides = {"source": "source", "target": "target"}
    for event, element in ElementTree.iterparse(file, ("start", "end")):  # noqa: S314 # as above
        name = _name(element)
        if event == "start" and name in ("xliff", "file"):
            for side, attributes in _SIDES.items():
                sides[side] = next(filter(None, map(element.get, attributes)), sides[side])
        if event == "end" and name in ("trans-unit", "segment"):
            if sides["source"].lower() == sides["target"].lower():
                raise ArgumentError(f"{path}: expected a source and a target language, got {sides['source']} for both")
            texts = {_name(child): _text(child) for child in element if _name(child) in sides}
            yield _by_language((sides[side], texts.get(side, "")) for side in sides)
            element.clear()


def _by_language(texts: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return texts by language in lower case, then also without region."""
    unit = {language.lower(): text for language, text in texts}
    return unit | {short: text for name, text in unit.items() if (short := name.partition("-")[0]) not in unit}


def _name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _text(element: ElementTree.Element) -> str:
    """Return the text of an element, without the codes within."""
    parts = ((_text(child) if _name(child) not in _CODES else "") + (child.tail or "") for child in element)
    return (element.text or "") + "".join(parts)
