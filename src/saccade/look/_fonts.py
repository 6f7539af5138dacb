"""Fonts for every character: ours first, then those of the machine."""

import logging
from functools import cache
from importlib.util import find_spec
from pathlib import Path

BUNDLED = Path(__file__).parent / "fonts"  # Latin, Greek, Cyrillic
EXTRA = Path(__file__).parents[3] / "fonts" / "saccade_fonts"  # other scripts, in a checkout
LAST_RESORT = "DejaVu Sans"  # comes with matplotlib: wide coverage, and symbols that ours lacks
_log = logging.getLogger("saccade")


def families(text: str) -> list[str]:
    """Choose font families that together draw a text, the first for shared characters.

    A character that our fonts and matplotlib's lack is looked for in the fonts of the machine. One that no font has is
    drawn as a box, with one warning on standard error.

    Args:
        text: everything that will be drawn.

    Returns:
        Names of families known to matplotlib, in the order in which they are to be tried.

    Example:
        >>> families("18 juin")
        ['Saccade Sans', 'DejaVu Sans']
    """
    needed = {ord(character) for character in text if not character.isspace()}
    chosen, missing = _cover(needed, _ours())
    missing -= _characters(_default_path())
    others, missing = _cover(missing, _of_the_machine()) if missing else ([], missing)
    _warn(frozenset(missing))
    return list(dict.fromkeys(["Saccade Sans", *chosen, LAST_RESORT, *others]))


def _cover(needed: set[int], fonts: dict[str, str]) -> tuple[list[str], set[int]]:
    """Fonts (path: family) that add characters, and the characters without a font."""
    chosen, missing = [], set(needed)
    for path, family in fonts.items():
        if not missing:
            break
        covered = missing & _characters(path)
        chosen += [family] if covered else []
        missing -= covered
    return chosen, missing


@cache
def _ours() -> dict[str, str]:
    """Register our fonts with matplotlib: path to family, Latin first."""
    from matplotlib.font_manager import fontManager, get_font

    installed = find_spec("saccade_fonts")
    extra = Path(installed.origin).parent if installed is not None and installed.origin else EXTRA
    paths = [str(path) for folder in (BUNDLED, extra) for path in sorted(folder.glob("SaccadeSans*.[ot]tf"))]
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
    """The characters that a font has; none if its file is gone or cannot be read."""
    from matplotlib.font_manager import get_font

    try:
        return frozenset(get_font(path).get_charmap())
    except (OSError, RuntimeError):
        return frozenset()


@cache
def _warn(missing: frozenset[int]) -> None:
    """One line for one set of characters, however many pictures need them."""
    if missing:
        named = ", ".join(f"U+{code:04X}" for code in sorted(missing)[:8]) + (", ..." if len(missing) > 8 else "")
        way_out = "install a Noto font of the script, or Saccade's by `pip install ./fonts` in a checkout"
        _log.warning("no font has %s, drawn as boxes: %s", named, way_out)
