"""Reports whose rows are trained models: each an ordinary run below runs/, with a budget, measured once."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from saccade.errors import ArgumentError
from saccade.reports import Made
from saccade.reports.commands import command, train_command
from saccade.reports.folder import Folder
from saccade.reports.making import Design, Step, finish
from saccade.reports.options import Seeded, Trained, arguments, default_folder, whole
from saccade.reports.scoring import measured
from saccade.tasks.translate import Translate
from saccade.tasks.translate.data import open_corpus
from saccade.tasks.translate.data.corpus import Corpus, Pair
from saccade.train.environment import choose_device
from saccade.train.fit import train
from saccade.train.options import Options
from saccade.train.plan import Plan as Planned
from saccade.train.plan import fitted, open_plan
from saccade.train.task import Task, options_class
from saccade.train.task import recipe as recipe_of
from saccade.train.trained import load_trained

__all__ = ["Part", "Plan", "Variant", "budget", "make", "opened", "scheduled", "settings", "tested", "whole_test"]

MINUTES = 40.0  # that a model is trained for at most if nothing is said
QUICK_MINUTES = 3.0  # of training in all with --quick; the rest of five minutes is for data and measuring
_ABOUT = ("steps", "seconds", "tokens_per_second", "parameters", "metrics", "hardware", "versions")


@dataclass(frozen=True)
class Variant:
    """A model that is trained, or one with options of its own.

    Args:
        name: what the report calls it; rows carry it as "model".
        model: one of the task's.
        values: options that are not the recipe's.
        recipe: the model whose recipe is taken, so that several have one; its own if not given.
    """

    name: str
    model: str
    values: Mapping[str, Any] = field(default_factory=dict)
    recipe: str | None = None


@dataclass(frozen=True)
class Part:
    """One thing that is measured of every trained model, and makes a row.

    Args:
        about: what tells its row from the model's others, at the row's beginning.
        measure: from the task, the model and the run's seed to the rest of the row.
    """

    about: Mapping[str, Any]
    measure: Callable[[Any, Any, int], dict[str, Any]]


class Opened(Protocol):
    """A corpus, as far as the frame of a report asks for it."""

    @property
    def fingerprint(self) -> str:
        """What the data are, in one string."""


def opened(options: Trained) -> Corpus:
    """Open the parallel corpus that the options name.

    Raises:
        SaccadeError: if it cannot be read.
    """
    return open_corpus(options.data, options.source, options.target)


@dataclass(frozen=True)
class Plan:
    """What a report trains and measures.

    Args:
        variants: the models, from the options.
        parts: what is measured of each, from the corpus and the options.
        quick: the built-in data of --quick.
        before: steps without training, which come first.
        task: what the models are trained for.
        opened: opens the corpus that the options name.
        unsaid: what held of options in reports that were begun before there were these.
    """

    variants: Callable[[Any], Sequence[Variant]]
    parts: Callable[[Any, Any], Sequence[Part]]
    quick: str = "dates"
    before: Sequence[Step] = ()
    task: type[Task] = Translate
    opened: Callable[[Any], Opened] = opened
    unsaid: Mapping[str, Any] = field(default_factory=dict)


def make(design: Design, plan: Plan, options: Seeded) -> Made:
    """Train every model with every seed, measure every part, and write the page.

    Raises:
        ReportError: if the folder belongs to something else.
        SaccadeError: if the data cannot be read, or there is no such device.
    """
    typed = command(f"saccade report {design.name}", options, type(options)())
    options = whole(options, plan.quick)
    choose_device(options.device)
    path = Path(options.output or default_folder(design.name, options))
    corpus = plan.opened(options)
    parts = plan.parts(corpus, options)
    decided = {**arguments(options), "data": corpus.fingerprint}  # another folder may hold the same data
    folder = Folder.open(path, design.name, decided, typed, resume=options.resume, unsaid=plan.unsaid)
    jobs = [(variant, seed) for seed in range(1, options.seeds + 1) for variant in plan.variants(options)]
    minutes = QUICK_MINUTES / len(jobs) if options.quick else MINUTES
    with folder.locked():
        folder.content.setdefault("data", options.data)
        if options.quick:  # more seeds are trained for as long as the first
            minutes = folder.content.setdefault("minutes", minutes)
            folder.commit()
        steps = [_step(plan.task, options, variant, seed, parts, minutes) for variant, seed in jobs]
        return finish(folder, design, [*plan.before, *steps])


def tested(corpus: Corpus, data: str) -> list[Pair]:
    """Return the sentences of the test split with their references.

    Raises:
        ArgumentError: if there are none.
    """
    if not (pairs := [corpus.example("test", index) for index in range(corpus.size("test") or 0)]):
        raise ArgumentError(f"--data: expected sentences in the test split of {data}, got none")
    return pairs


def whole_test(corpus: Corpus, options: Trained) -> list[Part]:
    """Return the one part of a report that measures each model on the whole test split."""
    pairs = tested(corpus, options.data)
    return [Part({"measured": "score"}, lambda task, model, seed: measured(task, model, pairs, seed))]


def _step(
    kind: type[Task], options: Seeded, variant: Variant, seed: int, parts: Sequence[Part], minutes: float
) -> Step:
    rows = [{"model": variant.name, "seed": seed, **part.about} for part in parts]
    do = partial(_train, kind, options, variant, seed, parts, minutes)
    return Step(f"{variant.name}, seed {seed}", rows, do)


def _train(
    kind: type[Task],
    options: Seeded,
    variant: Variant,
    seed: int,
    parts: Sequence[Part],
    minutes: float,
    folder: Folder,
) -> bool:
    """Train one model unless it is trained, and measure what is not measured; False if the user stopped it."""
    name = f"{re.sub(r'[^a-z0-9-]+', '-', variant.name.lower())}-{seed}"
    chosen = settings(options, variant, seed, folder.path / "runs" / name, minutes, kind)
    outcome = train(kind, chosen, given=set(variant.values))
    if outcome.results is None:
        return False
    typed = _command(kind, chosen, outcome.run.folder, set(variant.values))
    about = {key: outcome.results[key] for key in _ABOUT}
    about["budget"] = _ending(chosen, open_plan(outcome.run.folder))
    about["patient"] = _patient(outcome.results["final"])
    folder.content["runs"][name] = {"model": variant.name, "seed": seed, **about, "command": typed}
    folder.commit()
    trained = load_trained(kind, outcome.run, choose_device(options.device))
    for part in parts:
        row = {"model": variant.name, "seed": seed, **part.about}
        if not folder.rows(**row):
            measured = part.measure(trained.task, trained.model, seed)
            folder.content["rows"].append({**row, **measured, "command": typed})
            folder.commit()
    return True


def _command(kind: type[Task], options: Options, folder: Path, given: Collection[str]) -> str:
    """The command that trains the same run, wherever it is typed."""
    plan = open_plan(folder)
    suited = None if options.data in kind.builtin else kind.suited(options.model, asdict(options)).options
    return train_command(kind, fitted(options, plan, given), suited, () if plan is None else plan.options)


def _ending(options: Options, made: Planned | None) -> dict[str, Any]:
    """What may have ended a run: its steps, those of the recipe where the minutes have room for all, or its minutes."""
    most = made.steps if made is not None and made.whole else options.max_steps
    return {"max_steps": most, "max_minutes": options.max_minutes}


def _patient(final: Mapping[str, Any]) -> bool:
    """Whether a run ended since its validations got no better, and not by its budget."""
    return final["patience"] is not None and final["validations_since_best"] >= final["patience"]


def settings(
    options: Seeded, variant: Variant, seed: int, folder: Path, minutes: float, kind: type[Task] = Translate
) -> Options:
    """Return the options of one run.

    Args:
        options: of the report.
        variant: what is trained.
        seed: of the run.
        folder: of the run.
        minutes: that it may take at most if the report's options name no budget.
        kind: the task.
    """
    flat = options_class(kind, variant.model)
    recipe = recipe_of(kind, variant.recipe or variant.model, options.data)
    corpus = {name: getattr(options, name) for name in ("data", "source", "target") if hasattr(options, name)}
    own = {"model": variant.model, "run": str(folder), "seed": seed, "device": options.device}
    own |= {} if options.threads is None else {"threads": options.threads}
    values = {**recipe, **budget(options, recipe, minutes), **corpus, **own, **variant.values}
    names = {field.name for field in fields(flat)}
    return flat(**{name: value for name, value in values.items() if name in names})


def budget(options: Seeded, recipe: Mapping[str, Any], minutes: float) -> dict[str, Any]:
    """Return how long a model is trained: as `saccade train` reads the same options, else as the recipe has it, but no
    longer than so many minutes.

    >>> budget(Trained(data="d"), {"max_steps": 600}, 2.0)
    {'max_steps': 600, 'max_minutes': 2.0}
    >>> budget(Trained(data="d", max_minutes=5), {"max_steps": 600}, 2.0)
    {'max_steps': None, 'max_minutes': 5}
    """
    if options.max_steps is not None or options.max_minutes is not None:
        return {"max_steps": options.max_steps, "max_minutes": options.max_minutes}
    return {"max_steps": recipe.get("max_steps"), "max_minutes": minutes}


def scheduled(options: Seeded) -> dict[str, Any]:
    """Return the options by which a schedule ends where the budget does.

    >>> scheduled(Trained(data="d", max_steps=500)), scheduled(Trained(quick=True))
    ({'schedule_steps': 500, 'warmup_steps': 50}, {'max_steps': None})
    """
    if options.quick:
        return {"max_steps": None}  # its minutes are planned
    if options.max_steps is None:
        return {}
    steps = max(2, options.max_steps)
    return {"schedule_steps": steps, "warmup_steps": max(1, min(100, steps // 10))}
