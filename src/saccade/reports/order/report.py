"""The report `order`: which models see the order of the words, and what it is worth to them."""

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, TypeAlias

from saccade.reports import Made
from saccade.reports.folder import Folder
from saccade.reports.making import Design, Step
from saccade.reports.options import Trained
from saccade.reports.order.exact import LAYERS, deviation
from saccade.reports.order.findings import SET, WAYS, summary
from saccade.reports.order.page import write_page
from saccade.reports.order.shuffling import how, shuffled
from saccade.reports.scoring import measured
from saccade.reports.training import Part, Plan, Variant, make, tested
from saccade.tasks.translate import Translate
from saccade.tasks.translate.data.corpus import Corpus, Pair

__all__ = ["Options", "Order"]

Options = Trained


class Order:
    """Attention sees a set: without positions, no order of the words makes a difference to it.

    Single layers are tried exactly, on permuted inputs in float64. Then every model is trained, a Transformer without
    positions among them, and translates the test sentences as they are and with the words of each source shuffled.

    Source:
        Vaswani et al. 2017, section 3.5 (https://arxiv.org/abs/1706.03762).
    """

    sentence: ClassVar[str] = "what shuffling the words does to each model (Vaswani et al. 2017, section 3.5)"
    Options: TypeAlias = Options

    @classmethod
    def make(cls, options: Options) -> Made:
        """Permute what layers read, train every model, measure it both ways, and write the page."""
        steps = [Step(name, [{"layer": name}], partial(_permute, name)) for name in LAYERS]
        plan = Plan(lambda options: _variants(), _parts, before=steps)
        return make(Design("order", write_page, summary), plan, options)


def _variants() -> list[Variant]:
    """Every model of the task, and the Transformer that sees a set."""
    return [*(Variant(model, model) for model in Translate.models), Variant(SET, "transformer", {"positions": "none"})]


def _permute(name: str, folder: Folder) -> bool:
    """Try one layer; a row of the report."""
    layer = LAYERS[name]
    row = {"layer": name, "kind": layer.kind, "holds": layer.holds, "deviation": deviation(name)}
    folder.content["rows"].append(row)
    folder.commit()
    return True


def _parts(corpus: Corpus, options: Options) -> Sequence[Part]:
    """The test sentences both ways."""
    pairs, rule = tested(corpus, options.data), how(options.data, options.source)
    both = dict(zip(WAYS, (pairs, shuffled(pairs, rule)), strict=True))
    changed = sum(one.source != other.source for one, other in zip(*both.values(), strict=True))
    about = {"rule": rule, "changed": changed}
    return [Part({"words": way}, partial(_measured, both[way], about)) for way in WAYS]


def _measured(pairs: Sequence[Pair], about: dict[str, Any], task: Translate, model: Any, seed: int) -> dict[str, Any]:
    return {**about, **measured(task, model, pairs, seed)}
