"""The report `objects`: what a fixed vector has room for, and attention does not need to have."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from saccade.errors import ArgumentError
from saccade.reports import Made
from saccade.reports.difference import packed, packed_counts
from saccade.reports.making import Design
from saccade.reports.objects.findings import ATTENTION, FIXED, summary
from saccade.reports.objects.page import write_page
from saccade.reports.options import Seeded
from saccade.reports.training import Part, Plan, Variant, make, scheduled
from saccade.tasks.caption import Caption
from saccade.tasks.caption.data import BUILTIN, Corpus, open_corpus
from saccade.tasks.generate.generate import best_texts
from saccade.tasks.image.scenes.grammar import named, read
from saccade.tasks.image.shown import Shown
from saccade.train.results import undisturbed

__all__ = ["Objects", "Options"]

_MOST, _FEW = 8, 3  # things, where nothing is said; with --quick
_SMALL = {"batch_size": 32, "widths": "24,32", "blocks": 1, "cell_dim": 64, "hidden_dim": 128, "embedding_dim": 64}
_AT_ONCE = 256  # images


@dataclass(frozen=True, kw_only=True)
class Options(Seeded):
    """What can be said about the report.

    >>> Options(data="scenes").things
    (1, 8)
    """

    builtin: ClassVar[Mapping[str, str]] = BUILTIN

    data: str = ""
    """Images with captions: scenes, whose things are counted."""

    least: int = 1
    """Things of a scene, at the least."""

    most: int | None = None
    """Things of a scene, at the most: 8 or fewer. If not given 8, with --quick 3."""

    @property
    def things(self) -> tuple[int, int]:
        """The fewest and the most things of a scene."""
        most = (_FEW if self.quick else _MOST) if self.most is None else self.most
        return self.least, most


class Objects:
    """Whether a caption model that is told of an image by one vector gets worse with the number of things in it.

    Three models that differ in what they are told of the image are trained by one recipe. The test images are grouped
    by how many things they show.

    Source:
        After Xu et al. 2015, section 1 (https://arxiv.org/abs/1502.03044), and for sentences Bahdanau, Cho, Bengio
        2015, figure 2 (https://arxiv.org/abs/1409.0473).
    """

    sentence: ClassVar[str] = "captions by the number of things, with attention and by a fixed vector"
    Options: TypeAlias = Options

    @classmethod
    def make(cls, options: Options) -> Made:
        """Train every model with every seed, write about every test image, and write the page."""
        parts = [Part({"measured": "captions"}, _measured)]
        plan = Plan(_variants, lambda data, options: parts, "scenes", (), Caption, _opened)
        return make(Design("objects", write_page, summary), plan, options)


def _opened(options: Options) -> Corpus:
    if options.data not in BUILTIN:
        expected = f"{', '.join(BUILTIN)}, whose things are counted"
        raise ArgumentError(f"--data: expected {expected}, got {options.data}")
    data = open_corpus(options.data, things=options.things)
    if options.things[0] == options.things[1]:
        got = f"{options.things[0]} alone"
        raise ArgumentError(f"--least, --most: expected several numbers of things to compare, got {got}")
    return data


def _variants(options: Options) -> list[Variant]:
    """The model with attention and those without."""
    least, most = options.things
    shared = {"least": least, "most": most, **scheduled(options), **(_SMALL if options.quick else {})}
    attends = Variant(ATTENTION, ATTENTION, {"query": "state-and-word", **shared})
    return [attends, *(Variant(model, model, shared, recipe=ATTENTION) for model in FIXED)]


def _measured(task: Caption, model: Any, seed: int) -> dict[str, Any]:
    """How many things each test image shows, how many of them the sentence about it names, and whether all is true."""
    things, counts, right = list[int](), list[int](), list[bool]()
    size = task.data.size("test") or 0
    with undisturbed(model, seed, "test"):
        for first in range(0, size, _AT_ONCE):
            found = [task.data.example("test", index) for index in range(first, min(first + _AT_ONCE, size))]
            images = [Shown(one.name, one.image) for one in found if one.image is not None]
            texts = best_texts([answer.outputs for answer in task.answer(model, images, None)])
            for one, text in zip(found, texts, strict=True):
                reading = read(text, one.scene)
                things.append(len(one.scene.things))
                counts.append(named(text, one.scene))
                right.append(reading is not None and reading.exact)
    return {
        "images": size,
        "exact_match": sum(right) / max(1, size),
        "things": packed_counts(things),
        "named": packed_counts(counts),
        "right": packed(right),
    }
