"""The page of the report `order` and its plot, all from report.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade import look
from saccade.look import Dots
from saccade.reports.document import Heading, Part, Picture, Text
from saccade.reports.order.exact import HOLDS
from saccade.reports.order.findings import MARGIN, SET, WAYS, Findings
from saccade.reports.order.shuffling import HOW
from saccade.reports.pages import about_data, beginning, picture, publish, runs, sentence, signatures, table
from saccade.reports.scoring import ERRORS, SENTENCES
from saccade.reports.verdict import bars, rule

__all__ = ["write_page"]

CLAIM = (
    "Attention has no recurrence and no convolution, so without a mask it sees the positions of its input as a set; a "
    "model that attends to all of them sees their order by what is added for it."
)
SOURCE = "Vaswani et al. 2017, section 3.5, https://arxiv.org/abs/1706.03762"
_EXACT = (
    "A layer f is equivariant if a permuted input gives the permuted output, f(πx) = π f(x), and invariant if it gives "
    "the same one. The deviation is the largest distance between the two sides over twenty permutations, as a share of "
    f"the largest number of f(x), in float64 with weights that were drawn; below {HOLDS:.0e} it is rounding."
)
_SET = (
    f"`{SET}` is the Transformer with `--positions none`: its encoder is equivariant, and its decoder attends to the "
    "source without knowing where anything stands, so a source is a set of tokens to it. The causal mask still tells "
    "each word of the target which others came before it. Where words are cut into several tokens, the set is of "
    "tokens: which of them stood together is not seen either."
)
_TRAINED = (
    "Each model is trained by its own recipe on sentences in their order, and translates the test sentences as they "
    "are and with the words of each source in another order, drawn once and the same for all models, evenly from all "
    "orders that change the text. What it loses is what the order was worth to it."
)

_MARGIN = (
    f"That `{SET}` loses nothing is shown where the interval of its loss lies within {MARGIN:.0%} of its score: that "
    "no loss was seen is no evidence that there is none. Both scores are of the same trained models on the same "
    "sentences."
)


def write_page(folder: Path, content: Mapping[str, Any]) -> None:
    """Write index.md, index.html and the plot that both show."""
    found = Findings(content)
    count = f", {found.first['changed']} of which shuffling changes"
    parts: list[Part] = [
        *beginning("What the order of the words is worth", CLAIM, SOURCE, found.verdict, content),
        _plot(found, folder / "order"),
        Heading("Layers, exactly"),
        Text(_EXACT),
        table(found.exact_table()),
        Heading("Models, trained"),
        table(found.table()),
        Text(f"{bars(SENTENCES, found.seeds)} {rule(len(found.claims()))} {_MARGIN}"),
        Heading("How it was measured"),
        *map(Text, (_TRAINED, f"What is permuted: {HOW[found.first['rule']]}.", _SET)),
        *map(Text, (*about_data(content, found.first["sentences"], count), ERRORS, *signatures(found.rows))),
        *runs(content),
    ]
    publish(folder, parts)


def _plot(found: Findings, path: Path) -> Picture:
    series = [
        Dots(
            way,
            [found.scores[model][way].value for model in found.models],
            [found.scores[model][way].half for model in found.models],
        )
        for way in WAYS
    ]
    title = sentence(f"{found.name} with the words of the source in order and shuffled")
    label = f"{found.name}; bars: 95% intervals"
    note = "The claim: a model without positions loses nothing, any other something"
    return picture(look.dots(found.models, series, path, label=label, title=title, note=note), title)
