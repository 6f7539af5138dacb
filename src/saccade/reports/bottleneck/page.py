"""The page of the report `bottleneck` and its pictures, all from report.json."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade import look
from saccade.look import Curve
from saccade.reports.bottleneck.codes import AUTOENCODER, PIXELS, PRINCIPAL, drawn_image
from saccade.reports.bottleneck.copying import ATTENTION, SYMBOLS, VECTOR
from saccade.reports.bottleneck.findings import LEARNED, Findings
from saccade.reports.document import Heading, Part, Picture, Text
from saccade.reports.pages import COSTS, beginning, costs, curve, picture, publish, table, where
from saccade.reports.verdict import claimed, decided

__all__ = ["write_page"]

CLAIM = (
    "One vector of a fixed size keeps a share of what is read that is the smaller the more is read, where "
    "attention, which can look at all of it, keeps as much; and of pictures a code keeps the less the fewer "
    "numbers it has."
)
SOURCE = (
    "Cho et al. 2014, https://arxiv.org/abs/1409.1259, and Bahdanau, Cho, Bengio 2015, section 1, "
    "https://arxiv.org/abs/1409.0473, of sentences; Hinton, Salakhutdinov 2006 for codes of pictures"
)
_COPYING = (
    f"Sequences are of {SYMBOLS} symbols, drawn evenly and independently, so that one of n tokens has n × "
    f"{math.log2(SYMBOLS):.2f} bits. A GRU reads, another begins with its last state and writes. Through one vector "
    "it reads that state at every step besides; with attention it attends to all states and embeddings. Both are "
    "told places by sinusoidal positions, and trained alike: the same sequences in the same batches, the same "
    "steps and rate. Every length is trained on in as many tokens as any other, and tested on sequences of its "
    "own. Nothing is chosen by the test."
)
_BITS = (
    "Bits are the sum of log2 p of the right tokens, beyond what a guess has: so many have come through at the "
    "least, as the tokens are independent. Below 0 a model is surer than it may be."
)
_LIMITS = (
    "What is compared is what is learned in {steps} steps, at long lengths as at short ones, and not how much {width} "
    "numbers hold: {seen}. Nothing is concluded where a model copies less than {learned:.0%} of the shortest sequences."
)
_CODES = (
    "Digits go through a code of 2 to 64 numbers, by an autoencoder with a layer of 256 either way that is trained "
    "on the squared error, and by as many principal components, which of all linear codes err least on what they "
    "are computed from. Named right is what a linear classifier (logistic regression, of up to 5,000 codes of "
    "training) makes of the codes of the test."
)


def write_page(folder: Path, content: Mapping[str, Any]) -> None:
    """Write index.md, index.html and the pictures that both show."""
    found = Findings(content)
    about = content["arguments"]
    models = (ATTENTION, VECTOR, AUTOENCODER)
    parts: list[Part] = [
        *beginning("What passes through one vector", CLAIM, SOURCE, found.verdict, content),
        _by_length(found, folder),
        Heading("What is claimed"),
        table(claimed(found.claims)),
        Text(decided(len(found.claims))),
        Heading("Copied by length"),
        table(found.copies()),
        _bits(found, folder),
        *map(Text, (f"The vector has {about['width']} numbers. {_COPYING}", _BITS, _limits(found))),
        Heading("Digits by the size of their code"),
        _digits(found, folder, about["side"]),
        table(found.code_table()),
        Text(_CODES),
        Heading("How it was measured"),
        table([["model", *COSTS], *([name, *costs(content, name)] for name in models)]),
        Text(
            f"Parameters of the autoencoder are those of its smallest code. Digits: {about['data']}. "
            f"`{PIXELS}` and `{PRINCIPAL}` are computed once."
        ),
        *where(content),
    ]
    publish(folder, parts)


def _limits(found: Findings) -> str:
    """What the bits through one vector say of it: one that is full keeps as many, however long the sequence is."""
    short, long = found.lengths[0], found.lengths[-1]
    few, many = (found.bits(VECTOR, length) for length in (long, short))
    seen = f"of {short} tokens {many.text(0)} bits come through one vector, of {long} {few.text(0)}"
    if few.value < many.value:
        seen += f", where one that is merely full would keep its {many.value:.0f}"
    steps = costs(found.content, VECTOR)[COSTS.index("steps")]
    return _LIMITS.format(steps=steps, width=found.content["arguments"]["width"], seen=seen, learned=LEARNED)


def _by_length(found: Findings, folder: Path) -> Picture:
    title = "Tokens copied right, by the length of the sequence"
    places = [math.log2(length) for length in found.lengths]
    shares = {name: [found.right(name, length) for length in found.lengths] for name in (ATTENTION, VECTOR)}
    drawn = look.curves(
        [curve(name, places, own, 100) for name, own in shares.items()],
        folder / "bottleneck",
        ticks=[(place, str(length)) for place, length in zip(places, found.lengths, strict=True)],
        labels=("tokens; bars: 95% over seeds", "% right"),
        title=title,
        note=f"A guess is right in {100 / SYMBOLS:g} of 100",
        bounds=(0, 103),
    )
    return picture(drawn, title)


def _bits(found: Findings, folder: Path) -> Picture:
    title = "Bits of a sequence that come through, by its length"
    lengths = found.lengths
    whole = [length * math.log2(SYMBOLS) for length in lengths]
    curves = []
    for name in (ATTENTION, VECTOR):
        values = [max(1.0, found.bits(name, length).value) for length in lengths]
        few = [found.bits(name, length).value < 1 for length in lengths]
        curves.append(Curve(name, lengths, values, [0.0] * len(lengths), few))
    curves.append(Curve("all there are", lengths, whole, [0.0] * len(lengths), [True] * len(lengths)))
    drawn = look.curves(
        curves,
        folder / "bottleneck-bits",
        ticks=[(length, str(length)) for length in lengths],
        labels=("tokens", "bits"),
        title=title,
        note="Means over seeds; hollow at 1: one or fewer",
        log="xy",
    )
    return picture(drawn, title)


def _digits(found: Findings, folder: Path, side: int) -> Picture:
    title = "Digits that came back from codes of so many numbers"
    names = ["the digits", *(f"{code} numbers" for code in found.codes)]
    drawn = [found.shown(PIXELS, 0), *(found.shown(AUTOENCODER, code) for code in found.codes)]
    images = [[drawn_image(digit, side) for digit in row] for row in drawn]
    note = "Of the test, by an autoencoder"
    paths = look.grid(images, folder / "bottleneck-digits", rows=names, title=title, note=note)
    return picture(paths, title)
