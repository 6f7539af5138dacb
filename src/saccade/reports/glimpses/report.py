"""The report `glimpses`: eyes that choose where they look, beside ones that do not, and a network that sees all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from saccade.errors import ArgumentError
from saccade.reports import Made
from saccade.reports.eyes import measured
from saccade.reports.glimpses.findings import summary
from saccade.reports.glimpses.noise import DRAWS, GROUPS, ROLLOUTS, noise
from saccade.reports.glimpses.page import write_page
from saccade.reports.glimpses.variants import FULL, QUICK, variants
from saccade.reports.making import Design
from saccade.reports.options import Seeded
from saccade.reports.training import Part, Plan, Variant, make
from saccade.tasks.glimpse import Glimpse
from saccade.tasks.glimpse.data import BUILTIN, open_data
from saccade.tasks.image.dataset import Dataset
from saccade.train.task import options_class

__all__ = ["Glimpses", "Options", "canvas_options", "open_canvas"]


@dataclass(frozen=True, kw_only=True)
class Options(Seeded):
    """What can be said about the report.

    >>> Options(data="translated").canvas
    60
    """

    builtin: ClassVar[Mapping[str, str]] = BUILTIN

    data: str = ""
    """Images, as `saccade train glimpse` takes them: translated (clutter is then varied, too), cluttered, digits, or a
    folder."""

    digits: str | None = None
    """Folder of MNIST's files, whose digits built-in data are made of; those of scikit-learn if not given."""

    canvas: int = 60
    """Pixels of height and width of translated and cluttered images."""


class Glimpses:
    """An eye that chooses where to look is better than one that does not, and by more glimpses and a coarse view.

    One eye is trained, and others that differ from it in one thing: where they look (a Gaussian, a grid, anywhere), how
    often, at how many scales, and among how much clutter. The difference of two errors has an error from the seeds and
    one from the images.

    Source:
        Mnih, Heess, Graves, Kavukcuoglu 2014, tables 1 and 2 (https://arxiv.org/abs/1406.6247).
    """

    sentence: ClassVar[str] = "eyes by glimpses, scales, policy and clutter (Mnih et al. 2014, tables 1 and 2)"
    Options: TypeAlias = Options

    @classmethod
    def make(cls, options: Options) -> Made:
        """Train every eye with every seed, measure its paths and its gradients' noise, and write the page.

        Raises:
            ReportError: if the folder belongs to something else.
            SaccadeError: if the data cannot be read, or there is no such device.
        """
        plan = Plan(_variants, _parts, "translated", (), Glimpse, open_canvas)
        return make(Design("glimpses", write_page, summary), plan, options)


def canvas_options(options: Any) -> dict[str, Any]:
    """Return the options of a run that say what its images are, where they are not as they always are.

    >>> canvas_options(Options(data="translated", canvas=100)), canvas_options(Options(data="images"))
    ({'canvas': 100}, {})
    """
    given = {"digits": options.digits, "canvas": options.canvas}
    usual = options_class(Glimpse, "ram", checked=False).__dataclass_fields__
    return {name: value for name, value in given.items() if value != usual[name].default}


def open_canvas(options: Any) -> Dataset:
    """Open the images that the options name.

    Raises:
        SaccadeError: if they cannot be read, or there are none to test on.
    """
    run = options_class(Glimpse, "ram", checked=False)
    data = open_data(run(model="ram", data=options.data, **canvas_options(options), **_distractors(options.data)))
    if not data.size("test"):
        raise ArgumentError(f"--data: expected images in the test split of {options.data}, got none")
    return data


def _distractors(data: str) -> dict[str, Any]:
    recipe = Glimpse.recipes.get(data, {})
    return {"distractors": recipe["distractors"]} if "distractors" in recipe else {}


def _variants(options: Options) -> Sequence[Variant]:
    """Each eye, over the budget that is named: a schedule that falls ends where it does."""
    shared = canvas_options(options)
    if options.quick:
        shared |= {"max_steps": None}  # its minutes are planned
    elif options.max_steps is not None:
        steps = max(2, options.max_steps)
        shared |= {"schedule_steps": steps, "warmup_steps": max(1, min(100, steps // 10))}
    return variants(QUICK if options.quick else FULL, options.data, shared)


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
