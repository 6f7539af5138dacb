"""TMX translation memories: units of translations in several languages.

    <tu><tuv xml:lang="de-DE"><seg>Guten Morgen</seg></tuv><tuv xml:lang="en"><seg>Good morning</seg></tuv></tu>

Source:
    TMX 1.4b Specification, Localization Industry Standards Association 2005.
"""

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from saccade.data.splits import SplitNames
from saccade.data.table import Table
from saccade.errors import ArgumentError

__all__ = ["tmx"]

_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def tmx(path: Path, names: SplitNames, source: str | None, target: str | None) -> dict[str, Table] | None:
    """Return rows of a source and its target, or None for another file.

    Units without a source or target are left out.

    Args:
        path: the file.
        names: the names of splits.
        source: the language of the sources, for example "de". It includes "de-AT".
        target: the language of the targets.

    Raises:
        ArgumentError: if the file is damaged, or no unit has the language of an option.
        OSError: if it cannot be read.
    """
    if path.suffix.lower() != ".tmx" or not path.is_file():
        return None
    try:
        units = list(_units(path))
    except ElementTree.ParseError as error:
        raise ArgumentError(f"{path}: expected a whole TMX file, got a damaged one ({error})") from error
    there = sorted({language for unit in units for language in unit})
    for option, side in (("--source", source), ("--target", target)):
        if side is None or side.lower() not in there:
            raise ArgumentError(f"{option}: expected one of {', '.join(there)}, got {side or 'none'} for {path}")
    kept = [number for number, unit in enumerate(units) if {str(source).lower(), str(target).lower()} <= set(unit)]
    rows = [(units[number][str(source).lower()], units[number][str(target).lower()]) for number in kept]
    left = len(units) - len(kept)
    note = f"{path}: left out {left} of {len(units)} units, which have no {source} or no {target}" if left else ""
    return {"": Table(rows, lambda index: f"unit {kept[index] + 1} of {path}", note=note, size=len(rows))}


def _units(path: Path) -> Iterator[dict[str, str]]:
    """Yield the texts of each unit by language, with and without region."""
    for _, element in ElementTree.iterparse(path):  # noqa: S314 # expat itself limits what entities expand to
        if element.tag == "tu":
            unit = dict[str, str]()
            for variant in element.iter("tuv"):
                language = (variant.get(_LANGUAGE) or variant.get("lang") or "").lower()
                text = "".join(part for segment in variant.iter("seg") for part in segment.itertext())
                unit[language] = text
                unit.setdefault(language.partition("-")[0], text)
            yield unit
            element.clear()
