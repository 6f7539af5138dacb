"""Studies of trained models: ordinary runs below runs/, with a budget."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from saccade._system.environment import choose_device
from saccade._system.notes import say
from saccade.errors import ArgumentError
from saccade.tasks.translate import TRANSLATE
from saccade.tasks.translate.data import open_corpus
from saccade.tasks.translate.data.corpus import Corpus, Pair
from saccade.train.fit import train
from saccade.train.options import Options
from saccade.train.plan import fitted
from saccade.train.task import Kind, options_class
from saccade.train.task import recipe as recipe_of
from saccade.train.trained import load_trained
from studies.frame.folder import Folder
from studies.frame.options import Seeded, Trained, command
from studies.frame.scores import measured
from studies.frame.study import Step, Work

MINUTES = 40.0  # of training of a model at most, without a budget
QUICK_MINUTES = 3.0  # of training in all with --quick; the rest of five minutes is for data and measurements
_ABOUT = ("steps", "seconds", "tokens_per_second", "parameters", "metrics", "hardware", "versions")


@dataclass(frozen=True)
class Variant:
    """A named model to be trained, and its options beside the recipe of a model."""

    name: str
    model: str
    values: Mapping[str, Any] = field(default_factory=dict)
    recipe: str | None = None


@dataclass(frozen=True)
class Part:
    """A row of every trained model: its first columns, and a measurement of others."""

    about: Mapping[str, Any]
    measure: Callable[[Any, Any, int], dict[str, Any]]


def opened(options: Trained) -> Corpus:
    """Open the parallel corpus that the options name."""
    return open_corpus(options.data, options.source, options.target)


@dataclass(frozen=True)
class Trainings:
    """Trainings and measurements of a study; `measure` of a `Study`.

    Args:
        variants: the models, from the options.
        parts: measurements of each, from the data and the options.
        quick: built-in data of --quick.
        before: steps without training, which come first.
        task: of the models.
        open_data: opens the data that the options name, with a fingerprint and sizes of splits.
    """

    variants: Callable[[Any], Sequence[Variant]]
    parts: Callable[[Any, Any], Sequence[Part]]
    quick: str = "dates"
    before: Sequence[Step] = ()
    task: Any = TRANSLATE
    open_data: Callable[[Any], Any] = opened

    def __call__(self, options: Seeded) -> Work:
        if not options.quick and not options.data:
            raise ArgumentError("--data: expected a corpus, got none; --quick tries the claim on built-in data")
        if options.quick:
            options = replace(options, data=options.data or self.quick)
            say(f"trying the claim on {options.data}: {options.builtin[options.data]}")
        choose_device(options.device)
        data = self.open_data(options)
        if not data.size("test"):
            raise ArgumentError(f"--data: expected examples in the test split of {options.data}, got none")
        parts = self.parts(data, options)
        steps = [
            Step(
                f"{variant.name}, seed {seed}",
                [{"model": variant.name, "seed": seed, **part.about} for part in parts],
                partial(self._train, options, variant, seed, parts),
            )
            for seed in range(1, options.seeds + 1)
            for variant in self.variants(options)
        ]
        about = {"data": options.data, **({"minutes": QUICK_MINUTES / len(steps)} if options.quick else {})}
        decided = {"data": data.fingerprint}  # another folder may hold the same data
        return Work([*self.before, *steps], decided, options.data, about)

    def _train(
        self, options: Seeded, variant: Variant, seed: int, parts: Sequence[Part], folder: Folder
    ) -> Iterator[dict[str, Any]]:
        """Train a model if necessary, and measure missing parts."""
        name = f"{re.sub(r'[^a-z0-9-]+', '-', variant.name.lower())}-{seed}"
        minutes = folder.content.get("minutes", MINUTES)  # more seeds train as long as the first
        chosen = settings(options, variant, seed, folder.path / "runs" / name, minutes, self.task)
        outcome = train(self.task, chosen, given=set(variant.values))
        if outcome.results is None:
            raise KeyboardInterrupt
        plan = outcome.run.config.get("plan", {"whole": False, "options": {}})
        typed = _command(self.task, chosen, plan["options"], set(variant.values))
        about = {key: outcome.results[key] for key in _ABOUT}
        limit = plan["steps"] if plan["whole"] else chosen.max_steps
        about["budget"] = {"max_steps": limit, "max_minutes": chosen.max_minutes}
        about["patient"] = outcome.results["final"]["stopped_early"]
        folder.content["runs"][name] = {"model": variant.name, "seed": seed, **about, "command": typed}
        folder.commit()
        trained = load_trained(self.task, outcome.run, choose_device(options.device))
        for part in parts:
            row = {"model": variant.name, "seed": seed, **part.about}
            if not folder.rows(**row):
                yield {**row, **part.measure(trained.task, trained.model, seed), "command": typed}


def tested(corpus: Corpus) -> list[Pair]:
    """Return the sentences of the test split with their references."""
    return [corpus.example("test", index) for index in range(corpus.size("test") or 0)]


def whole_test(corpus: Corpus, _: Trained) -> list[Part]:
    """Return the score of each model on the whole test split, as the only part."""
    return [scored({"measured": "score"}, tested(corpus))]


def scored(about: Mapping[str, Any], pairs: Sequence[Pair], **columns: Any) -> Part:
    """Return the score of each model on sentences, beside columns of any value."""
    return Part(about, lambda task, model, seed: {**columns, **measured(task, model, pairs, seed)})


def settings(
    options: Seeded, variant: Variant, seed: int, folder: Path, minutes: float, kind: Kind = TRANSLATE
) -> Options:
    """Return the options of one run."""
    flat = options_class(kind, variant.model)
    recipe = recipe_of(kind, variant.recipe or variant.model, options.data)
    data = {name: getattr(options, name) for name in ("data", "source", "target") if hasattr(options, name)}
    run = {"model": variant.model, "run": str(folder), "seed": seed, "device": options.device}
    run |= {} if options.threads is None else {"threads": options.threads}
    budget = {"max_steps": options.max_steps, "max_minutes": options.max_minutes}
    if not any(budget.values()):
        budget = {"max_steps": recipe.get("max_steps"), "max_minutes": minutes}
    values = {**recipe, **budget, **data, **run, **variant.values}
    names = {field.name for field in fields(flat)}
    return flat(**{name: value for name, value in values.items() if name in names})


def scheduled(options: Seeded) -> dict[str, Any]:
    """Return the options of a schedule that ends with the budget.

    >>> scheduled(Trained(data="d", max_steps=500)), scheduled(Trained(quick=True))
    ({'schedule_steps': 500, 'warmup_steps': 50}, {'max_steps': None})
    """
    if options.quick:
        return {"max_steps": None}  # the minutes are planned
    if options.max_steps is None:
        return {}
    steps = max(2, options.max_steps)
    return {"schedule_steps": steps, "warmup_steps": max(1, min(100, steps // 10))}


def _command(kind: Kind, options: Options, plan: Mapping[str, Any], chosen: Collection[str]) -> str:
    """The command that trains the same run without the study."""
    suited = None if options.data in kind.builtin else kind.suited(options.model, asdict(options)).options
    flat = options_class(kind, options.model, checked=False)
    names, defaults = {field.name for field in fields(flat)}, []
    for recipe in (recipe_of(kind, options.model, options.data), *(() if suited is None else (suited,))):
        values = {name: value for name, value in recipe.items() if name in names}
        if options.max_minutes is not None:  # minutes alone lift the recipe's steps, and are never the default
            values |= {"max_steps": None, "max_minutes": 2 * options.max_minutes}
        defaults.append(flat(**values))
    return command(f"saccade train {kind.name}", fitted(options, plan, chosen), *defaults, always=plan)
