"""Which numbers of a page are results: percentages, scores, times, rates, ratios and what stands beside ±.

What was chosen (sizes, rates, budgets), what is a name (sections, versions, seeds) and what is quoted is told apart by
the words around it. A number with a point is a result unless something says that it is not; a whole number needs a
unit or a score's name.
"""

import re
from dataclasses import dataclass

NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
ALONE = re.compile(rf"(?<![\w.^/])(?<!\w[-,]){NUMBER}(?![\w^]|[.,]\d|-(?!\d)|\s?[×/·]\s?\d)")


def either(*words):
    return f"(?:{'|'.join(words)})"


TIMES_AS = either("as", "the", "that", "those", "its", "less", "more", "fewer", "what", "eager")
TIME = either("ms", "µs", "ns", "s", "seconds?", "minutes?", "hours?")
UNIT = re.compile(
    either(
        r"\s?%",
        r"\s?±",
        r"\s?×(?!\s?\d)",
        r"\spoints?\b(?! (?:a|to|in|of)\b)",
        rf"\stimes {TIMES_AS}\b",
        rf"\s{TIME}\b",
        r"\s(?:\w+ ){1,3}a second\b",
        r"\s?(?:[TGM] terms|[TGM]?FLOP|[TGM]?B)/s\b",
    )
)
JOINED = re.compile(rf"(?:,| to| and| or|,? (?:and|or)| against| beside)\s(?={NUMBER})")
JOINED_BEFORE = re.compile(r"\d(?:,| to| and| or|,? (?:and|or)) $")
SCORE = re.compile(
    either("BLEU(?:-4)?", "[Aa]ccuracy", "WER", "CER", "chrF", "CIDEr", "perplexity", "F1", "error rate", "R²")
    + r"(?: on \w+)?(?: (?:of|is|was|comes to|at))?:? ?$"
)
CHOSEN = re.compile(
    either(
        *(
            "dropout",
            "smoothing",
            "rates?",
            "momentum",
            "temperatures?",
            "σ",
            "decay",
            "weights?",
            "penalty",
            "bandwidth",
        ),
        *(
            "factor",
            "default",
            "threshold",
            "clip",
            "norm",
            "scale",
            "tolerance",
            "coefficient",
            "probability",
            "noise",
        ),
        *("share", "importance", "load", "level", "interval", "shift", "thin", "power", "coverage", "Adam at"),
        *("at most", "at least", "less than", "more than", "below", "above", "within", "up to", "every", "budget of"),
        *("equal within", "a loss of", "error or", ", or by", "none for", "pauses of", "[Bb]atches of", "would take"),
        *("aimed at(?: are)?", "aim", "[=←·<>≤≥]", "-{3,}"),
    )
    + r"(?: (?:of|is|was|with|about|the|a|all|its|from|at|by|both))* ?$"
)
"""Words straight before a number that was chosen; a row of hyphens is an option."""
LIMIT = re.compile(
    either(
        "interval of",
        "within",
        "a loss of",
        "at most",
        "at least",
        "less than",
        "more than",
        "level of",
        "hold",
        "aim of",
    )
    + " $"
)
"""The same for shares."""
AFTER = re.compile(r"\s(?:or newer|at most|log\b|if not given|million\b)|\s?\*\* ?\|")
"""Words straight after a number, and its unit, that say the same."""
NAMED = re.compile(
    either(
        *("[Tt]ables?", "[Ff]igures?", "[Ss]ections?", "[Ee]quations?", "[Cc]hapters?", "[Aa]ppendix", "[Vv]ersions?"),
        *(
            "[Aa]lgorithms?",
            "[Ss]eeds?",
            "[Pp]ages?",
            "Python",
            "JoeyNMT",
            "ESPnet",
            "torch",
            "numpy",
            "numba",
            "triton",
        ),
        *("saccade", "entmax", "α", "Apache", "bAbI"),
    )
    + r"(?: [\d.]+(?:,| and| or| to))* ?\(?$"
)
"""Words straight before a number that is a name."""
MEASURED = re.compile(
    either(
        *(
            "^seconds",
            "^taken$",
            "outcome",
            "BLEU",
            "chrF",
            "accuracy",
            "F1",
            "WER",
            "CER",
            "error",
            "match",
            "R²",
            "MAE",
        ),
        *("coverage", "validation", "test", "ratio", r"\bours\b", r"\bms\b", "µs", r"/s\b", r"\bs a step", "a second"),
        *(
            "perplexity",
            "CIDEr",
            "pointing",
            "wrong",
            "MB",
            "result",
            "plain way",
            "%",
            "praise",
            "blame",
            "speed",
            "limit",
        ),
        *("peer.s", r"after \d"),
    )
)
"""Heads of columns that say that a table is of results."""
QUOTES = (
    r"^<!-- measured -->.*?^<!-- end of what was measured -->",
    r"^ *```.*?^ *```",
    r"<!--.*?-->",
    r"!\[[^\]]*\]",
    r"(?<!`)`[^`]+`",
    r"\]\([^)]*\)",
    r"https?://\S+",
    r"\$\$.*?\$\$",
    r"^#.*?$",
    r"^    .*?$",
    r'"[^"|]{1,120}"',
    r"\(\d[\d.]*(?:, \d[\d.]*)+\)",
)
"""Tables that programs write, code, pictures, addresses, formulas, headings, quotations, tuples."""


BLOCK = re.compile(r"^[^\n]*\S[^\n]*(?:\n(?! *(?:-|\d+\.) )[^\n]*\S[^\n]*)*", flags=re.M)
"""A paragraph, an item of a list, or a table."""


@dataclass(frozen=True)
class Result:
    """A number that a page tells as a result: as it is printed, with its unit, and where it stands."""

    page: str
    line: int
    text: str
    unit: str
    block: str

    def __str__(self):
        return f"{self.page}:{self.line}: {self.text} {self.unit}".rstrip()

    @property
    def value(self):
        return float(self.text.replace(",", ""))

    @property
    def half(self):
        """Half of the last digit that is printed."""
        return 0.5 * 10.0 ** -len(self.text.partition(".")[2])

    @property
    def in_row(self):
        """Whether it stands in a table of results."""
        return self.block.startswith("|")


def results_of(page, text):
    """All results that a page tells, in sentences and in tables."""
    text = prose(text)
    for found in BLOCK.finditer(text):
        for start, block, places in parts(found.start(), found[0]):
            for place, number, unit in places:
                yield Result(page, text.count("\n", 0, start + place) + 1, number, unit, block)


def prose(text):
    """The page without what is quoted; all else stays in its place."""
    for quote in QUOTES:
        text = re.sub(quote, blank, text, flags=re.M | re.S)
    return text


def blank(quote):
    """Nothing, as long and in as many lines; an option stays known as one."""
    return re.sub(r"[^\n]", "-" if quote[0].startswith("`--") else " ", quote[0])


def parts(start, block):
    """A paragraph, or the rows of a table, each with its results."""
    lines = block.splitlines(keepends=True)
    if not block.startswith("|"):
        yield start, block, list(in_sentences(block))
        return
    heads = [head.strip() for head in lines[0].strip().strip("|").split("|")]
    measured = any(MEASURED.search(head) for head in heads)
    place = start + sum(map(len, lines[:2]))
    for line in lines[2:]:
        cells = list(in_row(line, heads if measured else [""] * len(heads)))
        yield place, line if measured else line[1:], cells
        place += len(line)


def in_sentences(block, bare=True):
    """Places, texts and units of the numbers that a text tells as results; bare ones too, if they have a point."""
    numbers = list(ALONE.finditer(block))
    chosen = False
    for number, unit in zip(numbers, units_of(block, numbers), strict=True):
        before = re.sub(r"\s+", " ", block[max(0, number.start() - 60) : number.start()])
        told = UNIT.match(block, number.end())
        joined = chosen and JOINED_BEFORE.search(before)
        chosen = bool(joined or CHOSEN.search(before) or AFTER.match(block, told.end() if told else number.end()))
        spread = unit == "±" or before.endswith(("±", "± "))
        share = unit == "%" and not LIMIT.search(before)
        scored = not chosen and (unit or SCORE.search(before) or (bare and "." in number[0]))
        if not NAMED.search(before) and (spread or share or scored):
            yield number.start(), number[0], unit


def units_of(block, numbers):
    """The unit after each number, or after the last of those that it is told together with (13 to 19 ms)."""
    units, later = [], ""
    for number in reversed(numbers):
        unit = UNIT.match(block, number.end())
        later = unit[0].strip() if unit else later if JOINED.match(block, number.end()) else ""
        units.append(later)
    return units[::-1]


def in_row(line, heads):
    """Places, texts and units of the numbers that a row of a table tells as results."""
    place = 1
    for head, cell in zip(heads, line.strip().strip("|").split("|"), strict=False):
        found = in_cell(cell, head) if MEASURED.search(head) else in_sentences(cell, bare=False)
        yield from ((place + start, text, unit) for start, text, unit in found)
        place += len(cell) + 1


def in_cell(cell, head):
    """The same of a cell below a head that says what was measured."""
    whole = re.fullmatch(rf"\s*[-+−]?{NUMBER}\s*", cell)
    for number in ALONE.finditer(cell):
        unit = UNIT.match(cell, number.end())
        if whole or unit or "." in number[0]:
            yield number.start(), number[0], unit[0].strip() if unit else head
