"""The report `length`: does a translation get worse with the length of its source, with attention and without?"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from saccade.errors import ArgumentError
from saccade.reports import Made
from saccade.reports.buckets import Bucket, by_source_length, measured, unit
from saccade.reports.commands import command, train_command
from saccade.reports.findings import summary
from saccade.reports.folder import Folder
from saccade.reports.page import write_page
from saccade.tasks.translate import Translate
from saccade.tasks.translate.corpora import BUILTIN, open_corpus
from saccade.train.environment import choose_device
from saccade.train.fit import train
from saccade.train.notes import say
from saccade.train.options import Options as TrainOptions
from saccade.train.options import flag
from saccade.train.trained import load_trained

__all__ = ["MODELS", "Length", "Options"]

MODELS = ("rnnsearch", "encoder-decoder")  # with attention, and the same without
_QUICK = "several-dates"
_MINUTES = 40.0
_MAY_DIFFER = ("output", "resume", "device")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What can be said about the report.

    >>> Options(data="dates").seeds
    1
    """

    data: str = ""
    """Parallel corpus, as `saccade train translate` takes it: a folder, a file of pairs, or dates."""

    source: str | None = None
    """Language to translate from, where the corpus is a folder."""

    target: str | None = None
    """Language to translate into, where the corpus is a folder."""

    output: str = ""
    """Folder of the report: made when it is not there, continued when it is. Default: reports/length-DATA."""

    seeds: int = 1
    """Train each model so often, with the seeds 1, 2, 3, ...; a larger number goes on with a report."""

    max_steps: int | None = None
    """Train each model for so many steps. Without a budget: as the recipe for the data has it, else 40 minutes."""

    max_minutes: float | None = None
    """Train each model for so many minutes."""

    quick: bool = False
    """Try the claim in a few minutes on built-in data: rows of one to three dates, or single ones with --data dates."""

    resume: bool = True
    """Continue the report if it exists; with --no-resume start a new one beside it."""

    device: str = "auto"
    """Where to compute: cpu, cuda, cuda:1, or auto (a GPU if there is one)."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        if not 0 < self.seeds <= 1000:
            raise ArgumentError(f"--seeds: expected a number from 1 to 1000, got {self.seeds}")
        for name in ("max_steps", "max_minutes"):
            if (value := getattr(self, name)) is not None and not 0 < value < math.inf:
                raise ArgumentError(f"{flag(name)}: expected a number above 0, got {value}")
        if self.quick and (self.data not in ("", *BUILTIN) or self.max_steps or self.max_minutes):
            beside = f"no --data but {' or '.join(BUILTIN)} and no budget beside it"
            raise ArgumentError(f"--quick: expected {beside}, got some; leave one out")


class Length:
    """With attention, a translation does not get worse with the length of its source; without, it does.

    Both models are trained from one recipe: the same data, batches, sizes, budget and seeds. The test sentences are
    grouped by the length of their source, and each group is scored as a corpus of its own.

    Source:
        Bahdanau, Cho, Bengio 2015, figure 2 (https://arxiv.org/abs/1409.0473).
    """

    sentence: ClassVar[str] = "BLEU by source length with and without attention (Bahdanau, Cho, Bengio 2015, figure 2)"
    Options: TypeAlias = Options

    @classmethod
    def make(cls, options: Options) -> Made:
        """Train both models with every seed, measure every group of lengths, and write the page.

        Raises:
            ReportError: if the folder belongs to something else.
            SaccadeError: if the data cannot be read, or there is no such device.
        """
        typed = command("saccade report length", options, Options())
        options = _whole(options)
        choose_device(options.device)
        path = Path(options.output or _default_folder(options))
        corpus = open_corpus(options.data, options.source, options.target)
        counted = unit(options.data, options.source)
        if not (buckets := by_source_length(corpus, "test", counted)):
            raise ArgumentError(f"--data: expected sentences in the test split of {options.data}, got none")
        arguments = {name: value for name, value in asdict(options).items() if name not in _MAY_DIFFER}
        arguments["data"] = corpus.fingerprint  # another folder may hold the same data
        folder = Folder.open(path, "length", arguments, typed, resume=options.resume)
        with folder.locked():
            return _make(folder, options, buckets, counted)


def _whole(options: Options) -> Options:
    """The options with what --quick means said."""
    if not options.quick and not options.data:
        raise ArgumentError("--data: expected a corpus, got none; --quick tries the claim on built-in data")
    if not options.quick:
        return options
    data = options.data or _QUICK
    say(f"trying the claim on {data}: {BUILTIN[data]}")
    return replace(options, data=data)


def _default_folder(options: Options) -> str:
    pair = [language for language in (options.source, options.target) if language]
    return "-".join([f"reports/length-{Path(options.data).name}", *pair, *(["quick"] if options.quick else [])])


def _make(folder: Folder, options: Options, buckets: Sequence[Bucket], counted: str) -> Made:
    """Do what is not done yet."""
    folder.content.setdefault("data", options.data)
    jobs = [(model, seed) for seed in range(1, options.seeds + 1) for model in MODELS]
    left = [job for job in jobs if len(folder.rows(*job)) < len(buckets)]
    for model, seed in left:
        say(f"{model}, seed {seed}: run {jobs.index((model, seed)) + 1} of {len(jobs)}")
        if not _one(folder, options, model, seed, buckets, counted):
            return Made(folder.path, None, fresh=True)
    if folder.content.get("page") != len(folder.content["rows"]) or not (folder.path / "index.html").exists():
        write_page(folder.path, folder.content)
        folder.content["page"] = len(folder.content["rows"])  # that it is of; more seeds add some
        folder.commit()
    return Made(folder.path, summary(folder.content), fresh=bool(left))


def _one(folder: Folder, options: Options, model: str, seed: int, buckets: Sequence[Bucket], counted: str) -> bool:
    """Train one model unless it is trained, and measure what is not measured; False if the user stopped it."""
    settings = _settings(options, model, seed, folder.path / "runs" / f"{model}-{seed}")
    outcome = train(Translate, settings)
    if outcome.results is None:
        return False
    typed = train_command(Translate, settings)
    about = {key: outcome.results[key] for key in ("steps", "seconds", "parameters", "metrics", "hardware", "versions")}
    folder.content["runs"][f"{model}-{seed}"] = {"model": model, "seed": seed, **about, "command": typed}
    folder.commit()
    trained = load_trained(Translate, outcome.run, choose_device(options.device))
    assert isinstance(trained.task, Translate)
    done = {row["lengths"] for row in folder.rows(model, seed)}
    for bucket in (bucket for bucket in buckets if bucket.name not in done):
        row = measured(trained.task, trained.model, bucket, seed)
        folder.content["rows"].append({"model": model, "seed": seed, "unit": counted, **row, "command": typed})
        folder.commit()
    return True


def _settings(options: Options, model: str, seed: int, folder: Path) -> TrainOptions:
    """The options of one run: the recipe is that of the model with attention for both."""
    flat = Translate.options(model)
    recipe = Translate.recipe(MODELS[0], options.data)
    corpus = {"data": options.data, "source": options.source, "target": options.target}
    own = {"model": model, "run": str(folder), "seed": seed, "device": options.device}
    values = {**recipe, **_budget(options, recipe), **corpus, **own}
    names = {field.name for field in fields(flat)}
    return flat(**{name: value for name, value in values.items() if name in names})


def _budget(options: Options, recipe: dict[str, Any]) -> dict[str, Any]:
    """How long a model is trained, as `saccade train` reads the same options."""
    if options.max_steps is not None:
        return {"max_steps": options.max_steps}
    if options.max_minutes is not None or not {"max_steps", "max_minutes"} & recipe.keys():
        return {"max_steps": None, "max_minutes": options.max_minutes or _MINUTES}
    return {}
