"""The numbers that files of results have, and whether a printed one is among them."""

import bisect
import json
import math
import re
from functools import cache
from statistics import stdev

from printed import NUMBER

CHOSEN = {
    "config",
    "arguments",
    "options",
    "settings",
    "versions",
    "command",
    "commands",
    "seed",
    "seeds",
    "shape",
    "shown",
    "parameters",
}
"""What a file has that nobody measured, or that pictures alone show."""
COUNTED = re.compile(
    r"second|tokens_per|flops|speed|^(?:ours|theirs|limit|batch|forward|backward|update|padded|written|sentences|tokens|examples|pairs|rounds"
    r"|steps?|counts?|total|size|width|threads|cores|learning_rate|loss|rate)$"
)
"""Names of what is no score: times, and what is counted."""
SECONDS = {
    "s": 1,
    "seconds": 1,
    "second": 1,
    "taken": 1,
    "ms": 1e3,
    "µs": 1e6,
    "ns": 1e9,
    "minutes": 1 / 60,
    "hours": 1 / 3600,
}
PREFIXES = {"T": 1e-12, "G": 1e-9, "M": 1e-6}


def words(text):
    """The numbers that a text tells, all without a name."""
    found = re.findall(rf"(?<![\w.]){NUMBER}(?!\w|\.\d)", text)
    return [("", float(number.replace(",", ""))) for number in found]


def walk(content, name=""):
    """Names and numbers of a file, without signs; what is in something counted is counted too."""
    if isinstance(content, dict):
        yield from computed(content)
        for key, value in content.items():
            if key not in CHOSEN:
                yield from walk(value, name if COUNTED.search(name) or not re.search("[a-z]", key) else key)
    elif isinstance(content, list):
        for value in content:
            yield from walk(value, name)
    elif isinstance(content, str):
        yield from words(content)
    elif isinstance(content, int | float) and not isinstance(content, bool):
        yield name, abs(float(content))


def computed(content):
    """What pages compute: how many times as long ours takes, the share of the limit, the error that groups make."""
    if content.get("ours") and content.get("ratio"):
        yield "ratio", 1 / content["ratio"]
    if content.get("speed") and content.get("limit"):
        yield "of limit", content["speed"] / content["limit"]
    if len(content) > 2 and all(isinstance(value, float) for value in content.values()):
        yield "standard error", stdev(content.values()) / math.sqrt(len(content))


@cache
def content_of(path):
    """A file's tree, or its lines."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    return json.loads(text) if path.suffix == ".json" else text.splitlines()


@cache
def numbers_in(path):
    return frozenset(words("\n".join(content_of(path))) if path.suffix == ".md" else walk(content_of(path)))


@cache
def numbers_of_row(path, labels):
    """Numbers of what a file has under the names of a row: rows of its pages, entries of its lists."""
    if path.suffix == ".md":
        rows = [line for line in content_of(path) if line.startswith("|") and cells(line)[0] == labels[0]]
        return frozenset(words("\n".join(rows)))
    return frozenset(found for part in parts_named(content_of(path), labels) for found in walk(part))


def cells(line):
    return [
        re.sub(r"^`([^`]*)`.*", r"\1", cell.strip().strip("*").strip()) for cell in line.strip().strip("|").split("|")
    ]


def parts_named(content, labels):
    """Parts of a tree under a key that is a label, and the entries that have most of the labels."""
    named, entries = [], []
    for part in trees(content):
        named += [value for key, value in part.items() if key == labels[0]]
        entries.append(
            (len(set(labels) & {str(value) for value in part.values() if isinstance(value, str | int)}), part)
        )
    most = max((count for count, _ in entries), default=0)
    return named + [part for count, part in entries if most and count == most]


def trees(content):
    if isinstance(content, dict):
        yield content
    for value in content.values() if isinstance(content, dict) else content if isinstance(content, list) else ():
        yield from trees(value)


def is_stored(printed, paths, labels=()):
    """Whether one of the files has a number that is printed so; of a row of a table, under the names of that row."""
    own = set().union(*(numbers_of_row(path, labels) for path in paths)) if labels else set()
    if own and any(has(*way, printed) for way in candidates(*split(frozenset(own)), printed)):
        return True
    found = of_files(paths)
    if own:  # a page of a report may tell it in another table, or another file under other names
        rest = tuple(path for path in paths if path.suffix == ".json" and not numbers_of_row(path, labels))
        texts = any(has(found[0], factor, False, printed) for factor in ((1, 100) if "%" in printed.unit else (1,)))
        return texts or any(has(*way, printed) for way in candidates(*of_files(rest), printed))
    return any(has(*way, printed) for way in candidates(*found, printed))


@cache
def of_files(paths):
    return split(frozenset().union(*map(numbers_in, paths)))


@cache
def split(found):
    """Sorted numbers: those that texts tell, those that are scores or shares, and those that are counted or timed."""
    told = sorted({number for name, number in found if not name})
    scores = sorted({number for name, number in found if name and not COUNTED.search(name)})
    return told, scores, sorted({number for name, number in found if COUNTED.search(name)})


def candidates(told, scores, counted, printed):
    """Sorted numbers, what they are multiplied by, and whether they are taken from the whole before."""
    unit = printed.unit
    shares = [(scores, 100, False)]
    if re.search("[Ee]rr|wrong|WER|left|missing", unit + printed.block):
        shares.append((scores, 100, True))
    time = re.search(rf"(?<!')\b({'|'.join(SECONDS)})\b", unit)
    if "/s" in unit or "a second" in unit:
        return [(told, 1, False), (counted, 1, False), (counted, PREFIXES.get(unit[:1], 1), False)]
    if "%" in unit:
        return [(told, 1, False), (told, 100, False), ([score for score in scores if score > 1], 1, False), *shares]
    if time:
        return [(told, 1, False), (scores, 1, False), (counted, SECONDS[time[1]], False)]
    found = [(told, 1, False), (scores, 1, False)]
    if "times" in unit:
        found.append((counted, 1, False))
    if re.search("point|±|wrong|error|[Aa]ccuracy|WER|match|^\\d|^mean$", unit):
        found += [*shares, (scores, 1, True)]
    if re.search("\\bours\\b|peer", unit):
        found += [(counted, 2**-20, False), (counted, 2**-30, False)]
    return found


def has(numbers, factor, rest, printed):
    least, most = (
        (factor - printed.value if rest else printed.value) / factor + sign * printed.half / factor for sign in (-1, 1)
    )
    slack = 1e-9 * max(1, most)
    place = bisect.bisect_left(numbers, least - slack)
    return place < len(numbers) and numbers[place] <= most + slack
