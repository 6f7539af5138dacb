"""The page of the report `memory` and its plots, all from report.json."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from saccade import look
from saccade.look import Curve
from saccade.reports.document import Heading, Part, Picture, Text
from saccade.reports.memory.findings import CONTENT, LEARNED, LOCATION, LSTM, NEAR, NTM, Findings
from saccade.reports.pages import beginning, picture, publish, runs, table
from saccade.reports.verdict import rule

__all__ = ["write_page"]

CLAIM = (
    "A controller with an external memory that it writes and reads does on sequences beyond the lengths of training "
    "what it learned on these; an LSTM, which has its state alone, does not."
)
SOURCE = (
    "Graves, Wayne, Danihelka 2014, figures 4 and 5 for copy, figure 11 for recall, https://arxiv.org/abs/1410.5401"
)
_NEAR = (
    f"How near is near is ours: guessing has half of the bits wrong, and {100 * NEAR:g} in 100 more than at the "
    "trained length are as if nothing had changed; of that claim what is left of them has to be above 0. The paper's "
    "own NTM says one vector of 120 twice, and all behind it a step too late (figure 4): such a slip counts in full "
    "here, for a bit is right or wrong at its place. Nothing is concluded where the NTM has more than "
    f"{100 * LEARNED:g} in 100 bits wrong at the trained length."
)
_UNLEARNED = {
    "copy": "The paper's LSTM copies up to 20 vectors nearly without a fault and fails beyond them (figure 5). This "
    "one has not learned that in as many steps: that it is worse on longer sequences is seen, and not how far an LSTM "
    "takes what it has learned.",
    "recall": "The paper's LSTM does not learn recall to the end either (figure 10): that this one is worse on longer "
    "sequences is seen, and not how far an LSTM takes what it has learned.",
}
_HEADS = (
    "Heads go by content and location; by content alone, where they never stay or move on; or by location alone, where "
    "they find nothing by a key. The paper has both and takes neither away, so that nothing of this is in the verdict. "
    "Worse is more bits wrong by the 95% interval of the difference, better fewer so; with one seed nothing is decided."
)
_SAME = (
    "Each model is trained by its own recipe for the problem, on the same sequences in the same batches, for as many "
    "steps unless the clock ends it. {weights} Lengths of training are drawn evenly. A bit is said to be 1 where its "
    "probability is above a half; bits of a sequence are what the right ones cost by their probabilities, summed over "
    "it. Nothing is chosen by the test split."
)
_WEIGHTS = {
    "copy": "The NTM's recipe also ends training where validation gets no better, and takes the weights of the best "
    "validation, which asks for up to 100 vectors, five times as many as training; all other models have those of the "
    "last step. NTM and DNC are trained with 21 to 40 cells, another number in each batch, and tried with 128.",
    "recall": "The weights are those of the last step.",
}
_FLOOR = 1e-4  # the lowest share that is drawn: a logarithm has no place for none


def write_page(folder: Path, content: Mapping[str, Any]) -> None:
    """Write index.md, index.html and the plots that both show."""
    found = Findings(content)
    kinds = [name for name in found.rows if name not in (CONTENT, LOCATION)]
    parts: list[Part] = [
        *beginning("Memory beyond the lengths of training", CLAIM, SOURCE, found.verdict, content),
        _plot(found, folder / "memory", kinds, "Bits wrong by length, by kind of memory"),
        Heading("What is claimed"),
        table(found.claimed()),
        *map(Text, (f"{found.note} {rule(len(found.claims))}", _NEAR, *_unlearned(found))),
        Heading(f"Bits wrong in percent, by {found.unit}"),
        table(found.table()),
        Text(found.note),
        Heading("What addressing is worth"),
        _plot(found, folder / "memory-addressing", [NTM, CONTENT, LOCATION], "Bits wrong by length, by addressing"),
        table(found.addressing()),
        Text(_HEADS),
        Heading(f"Bits a sequence, by {found.unit}"),
        table(found.bits()),
        Heading("How it was measured"),
        table(found.models()),
        *map(Text, (_SAME.format(weights=_WEIGHTS[content["data"]]), _data(found))),
        *runs(content),
    ]
    publish(folder, parts)


def _unlearned(found: Findings) -> list[str]:
    """What the claim lacks where the LSTM has not learned what it was trained on."""
    learned = found.error(LSTM, found.trained).value <= LEARNED
    return [] if learned else [_UNLEARNED[found.content["data"]]]


def _data(found: Findings) -> str:
    each = ", ".join(f"{found.sequences(group)} of {group}" for group in found.groups)
    seeds = ", ".join(map(str, sorted({row["seed"] for row in found.content["rows"]})))
    return f"Data: `{found.content['data']}`, test split, sequences by {found.unit}: {each}. Seeds: {seeds}."


def _plot(found: Findings, path: Path, names: Sequence[str], title: str) -> Picture:
    below = {found.trained: "\nthe longest in training"}
    drawn = look.curves(
        [_curve(found, name) for name in names],
        path,
        ticks=[(length, f"{length}{below.get(length, '')}") for length in found.lengths],
        labels=(f"{found.unit}; bars: 95% intervals", "share of bits that are wrong"),
        title=title,
        note=f"A guess is wrong in half of them; hollow: one in {1 / _FLOOR:,.0f} or fewer",
        bounds=(_FLOOR / 1.5, 1.0),
        log="xy",
        beside=True,
    )
    return picture(drawn, title)


def _curve(found: Findings, name: str) -> Curve:
    shares = [found.error(name, length) for length in found.lengths]
    few = [share.value <= _FLOOR for share in shares]
    bars = [0.0 if none else share.known.half() for none, share in zip(few, shares, strict=True)]
    return Curve(name, found.lengths, [max(_FLOOR, share.value) for share in shares], bars, few)
