"""Typefaces: for every character a font that has it, ours first, then whatever the machine has."""

import logging
from functools import cache
from pathlib import Path

SHIPPED = Path(__file__).parent / "fonts"
LAST_RESORT = "DejaVu Sans"  # comes with matplotlib: wide coverage, and symbols that the others lack
_log = logging.getLogger("saccade")


def families(text: str) -> list[str]:
    """Choose the font families that together draw a text, the first of them for what they share.

    Fonts that come with Saccade cover most living scripts; a character that they lack is looked for in the fonts of the
    machine. One that no font has is drawn as a box, and named once on standard error.

    Args:
        text: everything that will be drawn.

    Returns:
        Names of families known to matplotlib, in the order in which they are to be tried.

    Example:
        >>> families("18 juin")
        ['Saccade Sans', 'DejaVu Sans']
        >>> families("יום 18")
        ['Saccade Sans', 'Saccade Sans Hebrew', 'DejaVu Sans']
    """
    needed = {ord(character) for character in text if not character.isspace()}
    chosen, missing = _cover(needed, _shipped())
    missing -= _characters(_default_path())
    found, missing = _cover(missing, _of_the_machine()) if missing else ([], missing)
    _say_missing(frozenset(missing))
    return list(dict.fromkeys(["Saccade Sans", *chosen, LAST_RESORT, *found]))


def _cover(needed: set[int], fonts: dict[str, str]) -> tuple[list[str], set[int]]:
    """Which of the fonts (path: family) have characters that those before lack, and which characters none has."""
    chosen, missing = [], set(needed)
    for path, family in fonts.items():
        if not missing:
            break
        covered = missing & _characters(path)
        chosen += [family] if covered else []
        missing -= covered
    return chosen, missing


@cache
def _shipped() -> dict[str, str]:
    """The fonts that come with Saccade, made known to matplotlib: path to family, plain Saccade Sans first."""
    from matplotlib.font_manager import fontManager, get_font

    paths = sorted(map(str, SHIPPED.glob("*.[ot]tf")), key=lambda path: (len(path), path))
    for path in paths:
        fontManager.addfont(path)
    return {path: get_font(path).family_name for path in paths}


def _default_path() -> str:
    from matplotlib.font_manager import findfont

    return str(findfont(LAST_RESORT))


def _of_the_machine() -> dict[str, str]:
    """Every upright font of ordinary weight that matplotlib has found."""
    from matplotlib.font_manager import fontManager

    upright = (font for font in fontManager.ttflist if font.style == "normal" and "Last Resort" not in font.name)
    return {font.fname: font.name for font in upright if font.weight in (400, "normal", "regular")}


@cache
def _characters(path: str) -> frozenset[int]:
    """The characters that a font has; none where its file is gone or cannot be read."""
    from matplotlib.font_manager import get_font

    try:
        return frozenset(get_font(path).get_charmap())
    except (OSError, RuntimeError):
        return frozenset()


@cache
def _say_missing(missing: frozenset[int]) -> None:
    """One line for one set of characters, however many pictures need them."""
    if missing:
        named = ", ".join(f"U+{code:04X}" for code in sorted(missing)[:8]) + (", ..." if len(missing) > 8 else "")
        _log.warning("no font at hand draws %s: drawn as a box (a Noto font for its script helps)", named)
