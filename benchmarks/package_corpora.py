r"""Make four corpora out of Debian packages, to try on data that no recipe was tuned on.

    apt-get download evince-common evolution-common gedit-common gimp-data gnome-control-center-data gnucash-common \
        inkscape krita-l10n libglib2.0-data libgtk-3-common nautilus-data rhythmbox-data totem-common coreutils \
        git git-man manpages manpages-dev
    for package in *.deb; do dpkg -x $package packages; done
    python benchmarks/package_corpora.py packages corpora

pairs   English and Dutch messages of programs, of 2 to 25 words: a folder of aligned files
short   one line about each package that Debian knows, and its section, of twelve: TSV with a header (`apt-cache`)
long    manual pages of 150 words or more, and their section, of five: a folder a class
words   ten words, said by `espeak-ng` in twelve voices, four times each: a folder a word, with Speech Commands' lists

What is validated and tested on is drawn with a seed, or by position; voices that are tested on are not trained on.
"""

import argparse
import gettext
import gzip
import random
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path

SECTIONS = {"admin", "doc", "electronics", "games", "graphics", "mail"}
SECTIONS |= {"net", "science", "sound", "text", "utils", "web"}
WORDS = ("open", "close", "left", "right", "forward", "backward", "faster", "slower", "louder", "softer")
VARIANTS = ("en-us+f1", "en-us+f2", "en-us+f3", "en-us+m1", "en-us+m3", "en-us+m5", "en-gb+f4", "en-gb+m7", "en-gb+f5")
VOICES = ("en-us", "en-gb", *VARIANTS, "en-us+m2")
LISTS = {"testing_list.txt": ("en-gb+f4", "en-us+m3"), "validation_list.txt": ("en-us+f2", "en-gb+m7")}


def pairs(packages: Path) -> list[tuple[str, str]]:
    """Return messages and their translations, the first of each, shuffled."""
    found: dict[str, str] = {}
    for path in sorted(packages.rglob("nl/LC_MESSAGES/*.mo")):
        with path.open("rb") as file:
            catalog = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
        for message, translation in catalog.items():
            if isinstance(message, str) and isinstance(translation, str) and not re.search("[\x04%<]", message):
                english, dutch = (" ".join(text.replace("_", "").split()) for text in (message, translation))
                if dutch and english != dutch and 2 <= len(english.split()) <= 25:
                    found.setdefault(english, dutch)
    rows = sorted(found.items())
    random.Random(5).shuffle(rows)
    return rows


def short() -> list[tuple[str, str]]:
    """Return descriptions and sections, shuffled."""
    command = ["apt-cache", "dumpavail"]
    known = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603
    rows = set[tuple[str, str]]()
    for block in known.split("\n\n"):
        section = re.search(r"^Section: (\S+)", block, re.MULTILINE)
        line = re.search(r"^Description(?:-en)?: (.*)", block, re.MULTILINE)
        if section and line and section[1] in SECTIONS and not re.search('["\t]', line[1]):
            rows.add((line[1].strip(), section[1]))
    found = sorted(rows)
    random.Random(5).shuffle(found)
    return found


def long(packages: Path) -> Iterator[tuple[str, str, str, str]]:
    """Give the split, the section, the name and the text of each manual page, without what names its section."""
    count = Counter[str]()
    for path in sorted(packages.glob("usr/share/man/man[12357]/*.gz")):
        source = gzip.decompress(path.read_bytes()).decode("utf-8", errors="replace")
        plain = re.sub(r"\\f.|\\-|\\&|\\\(..|\\s[-+]?\d", "", re.sub(r"^[.'].{0,3}\s?", "", source, flags=re.MULTILINE))
        lines = [line for line in plain.split("\n")[5:] if not re.search(r'\(\d\w*\)|^"', line)]
        words, section = " ".join(lines).split(), path.parent.name[-1]
        if not source.startswith(".so ") and len(words) >= 150:
            split = {0: "test", 1: "dev"}.get(count[section] % 5, "train")
            count[section] += 1
            yield split, section, path.name.removesuffix(".gz"), " ".join(words)


def say_words(folder: Path) -> None:
    """Write the recordings of all words and voices, at drawn speeds and pitches, and the lists of the splits."""
    draw = random.Random(7)
    for voice, word, take in product(VOICES, WORDS, range(4)):
        path = folder / word / f"{voice.replace('+', '-')}_{take}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        how = ["-v", voice, "-s", str(draw.randint(120, 200)), "-p", str(draw.randint(25, 75))]
        subprocess.run(["espeak-ng", *how, "-w", str(path), word], check=True)  # noqa: S603, S607
        for name in (name for name, voices in LISTS.items() if voice in voices):
            with (folder / name).open("a", encoding="utf-8") as file:
                file.write(f"{word}/{path.name}\n")


def main() -> None:
    """Write all four into a folder that is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", type=Path, help="the folder that packages were unpacked into")
    parser.add_argument("output", type=Path)
    given = parser.parse_args()
    for name in ("pairs", "short"):
        (given.output / name).mkdir(parents=True)
    messages, lines = pairs(given.packages), short()
    for split, part in (("train", messages[1000:]), ("val", messages[:500]), ("test", messages[500:1000])):
        for side, language in enumerate(("en", "nl")):
            text = "".join(row[side] + "\n" for row in part)
            (given.output / "pairs" / f"{split}.{language}").write_text(text, encoding="utf-8")
    tenth = len(lines) // 10
    for split, part in (("test", lines[:tenth]), ("dev", lines[tenth : 2 * tenth]), ("train", lines[2 * tenth :])):
        text = "text\tlabel\n" + "".join(f"{line}\t{section}\n" for line, section in part)
        (given.output / "short" / f"{split}.tsv").write_text(text, encoding="utf-8")
    for split, section, page, text in long(given.packages):
        path = given.output / "long" / split / section / f"{page}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    say_words(given.output / "words")


if __name__ == "__main__":
    main()
