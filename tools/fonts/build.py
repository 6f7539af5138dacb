"""Makes the fonts of pictures from Noto: only regular, only the characters of living scripts, unhinted.

That of Latin, Greek and Cyrillic goes to src/saccade/look/fonts, the others to fonts/saccade_fonts.

    apt-get download fonts-noto-core fonts-noto-cjk
    for package in *.deb; do dpkg-deb -x "$package" noto; done
    python tools/fonts/build.py noto            # needs fonttools

Subsets carry names of their own ("Saccade Sans", ...): a font that is installed on the reader's machine under its full
name has more characters than the subset, and one must not be taken for the other.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTCollection, TTFont

ROOT = Path(__file__).resolve().parents[2]
OWN, EXTRA = ROOT / "src/saccade/look/fonts", ROOT / "fonts/saccade_fonts"
SCRIPTS = ("Arabic", "Armenian", "Bengali", "Devanagari", "Georgian", "Gujarati", "Gurmukhi", "Hebrew", "Kannada")
SCRIPTS += ("Khmer", "Lao", "Malayalam", "Myanmar", "Sinhala", "Tamil", "Telugu", "Thai")
LATIN = (range(0x20, 0x250), range(0x300, 0x370), range(0x1E00, 0x1F00), range(0x2000, 0x2070), range(0x20A0, 0x20C0))
GREEK_CYRILLIC = (range(0x370, 0x530), range(0x1F00, 0x2000))
CJK = (range(0x20, 0x7F), range(0x3000, 0x3100), range(0xFF00, 0xFFF0))
CHINESE, SIMPLIFIED_FACE = range(0x4E00, 0xA000), "Noto Sans CJK SC"
NAMES = {1: "{}", 3: "{} 1.0", 4: "{} Regular", 6: "{}", 16: "{}", 17: "Regular"}


def double_byte(codec: str, leads: range) -> Iterator[int]:
    """The characters of a two-byte national standard, by lead byte: its first rows hold what is used most."""
    for lead in leads:
        for trail in range(0xA1, 0xFF):
            yield from map(ord, bytes((lead, trail)).decode(codec, "ignore"))


def common_cjk() -> set[int]:
    """The first levels of GB 2312 and JIS X 0208, and the syllables of KS X 1001."""
    return {
        *(code for codes in CJK for code in codes),
        *double_byte("gb2312", range(0xB0, 0xD8)),
        *double_byte("euc_jp", range(0xB0, 0xD0)),
        *double_byte("euc_kr", range(0xB0, 0xC9)),
    }


def write(font: TTFont, name: str, characters: set[int] | None) -> Path:
    """Subsets a font to some characters (None: all that it has), renames it, and saves it."""
    options = subset.Options(hinting=False, name_IDs=["*"], notdef_outline=True)
    options.drop_tables += ["STAT", "BASE", "VORG", "vhea", "vmtx", "DSIG"]
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=set(font.getBestCmap()) & (characters or set(font.getBestCmap())))
    subsetter.subset(font)
    kept = [record for record in font["name"].names if record.nameID in (0, 2, 5, 13, 14)]
    font["name"].names = kept
    for identifier, pattern in NAMES.items():
        text = pattern.format(name)
        font["name"].setName(text.replace(" ", "") if identifier == 6 else text, identifier, 3, 1, 0x409)
    if "CFF " in font:
        font["CFF "].cff.fontNames = [name.replace(" ", "")]
    path = (OWN if name == "Saccade Sans" else EXTRA) / f"{name.replace(' ', '')}.{'otf' if 'CFF ' in font else 'ttf'}"
    font.save(path)
    return path


def main() -> None:
    """Writes every subset and says how large it is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("noto", type=Path, help="the folder into which the two packages were unpacked")
    fonts = parser.parse_args().noto / "usr/share/fonts"
    truetype = fonts / "truetype/noto"
    latin = {code for codes in (*LATIN, *GREEK_CYRILLIC) for code in codes}
    written = [write(TTFont(truetype / "NotoSans-Regular.ttf"), "Saccade Sans", latin)]
    sources = {script: TTFont(truetype / f"NotoSans{script}-Regular.ttf") for script in SCRIPTS}
    written += [write(font, f"Saccade Sans {script}", None) for script, font in sources.items()]
    faces = TTCollection(fonts / "opentype/noto/NotoSansCJK-Regular.ttc").fonts
    simplified = next(face for face in faces if face["name"].getDebugName(1) == SIMPLIFIED_FACE)
    written.append(write(simplified, "Saccade Sans CJK", common_cjk()))
    for path in written:
        print(f"{path.stat().st_size:>9,}  {path.name}")
    print(f"{sum(path.stat().st_size for path in written):>9,}  in all")


if __name__ == "__main__":
    main()
