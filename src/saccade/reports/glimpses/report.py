"""The report `glimpses`: eyes that choose where they look, beside ones that do not, and a network that sees all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from saccade.reports import Made
from saccade.reports.eyes import Canvas, canvas_options, measured, open_canvas
from saccade.reports.glimpses.findings import summary
from saccade.reports.glimpses.noise import DRAWS, GROUPS, ROLLOUTS, noise
from saccade.reports.glimpses.page import write_page
from saccade.reports.glimpses.variants import FULL, QUICK, variants
from saccade.reports.making import Design
from saccade.reports.training import Part, Plan, Variant, make, scheduled
from saccade.tasks.glimpse import Glimpse
from saccade.tasks.glimpse.data import BUILTIN
from saccade.tasks.image.dataset import Dataset

__all__ = ["Glimpses", "Options"]

_QUICK_MINUTES = 1.25  # of training an eye, whose policy begins to move after one: measuring takes half a minute in all


@dataclass(frozen=True, kw_only=True)
class Options(Canvas):
    """What can be said about the report.

    >>> Options(data="translated").canvas
    60
    """

    builtin: ClassVar[Mapping[str, str]] = {name: BUILTIN[name] for name in ("digits", "translated", "cluttered")}

    data: str = ""
    """Images, as `saccade train glimpse` takes them: translated (clutter is then varied, too), cluttered, digits, or a
    folder."""


class Glimpses:
    """Whether an eye that chooses where to look is better than one that does not, and by more and by coarse glimpses.

    One eye is trained, and others that differ from it in one thing: where they look (a Gaussian, a grid, anywhere), how
    often, at how many scales, and among how much clutter. The difference of two errors has an error from the seeds and
    one from the images.

    Source:
        Mnih, Heess, Graves, Kavukcuoglu 2014, tables 1 and 2 of the NIPS proceedings
        (https://papers.nips.cc/paper/5542-recurrent-models-of-visual-attention).
    """

    sentence: ClassVar[str] = "eyes by glimpses, scales, policy and clutter (Mnih et al. 2014, tables 1 and 2 of NIPS)"
    Options: TypeAlias = Options

    @classmethod
    def make(cls, options: Options) -> Made:
        """Train every eye with every seed, measure its paths and its gradients' noise, and write the page."""
        plan = Plan(_variants, _parts, "translated", (), Glimpse, open_canvas)
        return make(Design("glimpses", write_page, summary), plan, options)


def _variants(options: Options) -> Sequence[Variant]:
    """Every eye."""
    shared = {**canvas_options(options), **scheduled(options)}
    if options.quick:
        return variants(QUICK, options.data, {**shared, "max_minutes": _QUICK_MINUTES})
    return variants(FULL, options.data, shared)


def _parts(data: Dataset, options: Options) -> Sequence[Part]:
    """The paths, and the noise."""
    return [Part({"measured": "paths"}, _measured), Part({"measured": "noise"}, _noise)]


def _measured(task: Glimpse, model: Any, seed: int) -> dict[str, Any]:
    settings = task.settings
    sizes = {name: getattr(settings, name, None) for name in ("glimpses", "scales")}
    return {"policy": settings.model, **sizes, "pieces": settings.distractors, **measured(task, model, task.data, seed)}


def _noise(task: Glimpse, model: Any, seed: int) -> dict[str, Any]:
    sizes = {"groups": GROUPS, "draws": DRAWS, "rollouts": ROLLOUTS}
    return {**sizes, "estimators": noise(task, model, seed)}
