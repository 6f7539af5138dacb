"""Evaluations of a trained run, and their files in its folder."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from saccade._system.files import read_json, write, write_json
from saccade._system.notes import say
from saccade.errors import ArgumentError
from saccade.tasks.other_data import OtherData
from saccade.tasks.request import changes, results_name
from saccade.train.card import confusion_matrix
from saccade.train.results import baselines, measure, split_results
from saccade.train.task import Baseline, Evaluation
from saccade.train.trained import Trained

__all__ = ["measured", "name_of", "save_results"]


def name_of(data: Any, split: str) -> str:
    """Return the name of a split for people, with name and size of other data."""
    return data.called(split) if isinstance(data, OtherData) else split


def measured(trained: Trained, split: str, request: Any = None) -> Evaluation:
    """Measure a run and its baselines on a split, with a note if the data changed."""
    data, old = trained.task.data, trained.run.config["data"]
    if not isinstance(data, OtherData) and data.fingerprint != old:
        changed = f"{data.fingerprint}, where those were {old}"
        say(f"the data are not those that {trained.run.folder} was trained on: {changed}")
    evaluation = measure(trained.task, trained.model, split, trained.options.seed, request=request)
    return replace(evaluation, baselines=_baselines(trained, split))


def _baselines(trained: Trained, split: str) -> dict[str, Baseline]:
    """Baselines of a split, none if the data that they would learn from are gone."""
    if isinstance(trained.task.data, OtherData):
        try:
            trained.task.data.training()
        except ArgumentError as error:
            say(f"no baselines: {error}")
            return {}
    return baselines(trained.run, trained.task, split)


def save_results(
    trained: Trained, split: str, evaluation: Evaluation, request: Any = None, ensemble: Sequence[str] = ()
) -> Path:
    """Write results-SPLIT.json and, for a classifier, confusion-SPLIT.png.

    They are in the folder of the run. Their names have an unusual request, further runs, and the path of
    other data than those of training. Results of data of the same name with other content stay.
    """
    data, folder = trained.task.data, trained.run.folder
    explicit, whole = (data.given, data.whole) if isinstance(data, OtherData) else ({}, False)
    unusual = {} if request is None else changes(request)
    unusual = {**unusual, **({"ensemble": ensemble} if ensemble else {}), **explicit}
    unusual = {name: value for name, value in unusual.items() if value is not None}
    content = {"measured": data.fingerprint} if explicit else {}
    results = split_results(
        trained.run,
        trained.options,
        trained.model,
        evaluation,
        split=split,
        examples=evaluation.examples,
        asked=unusual,
    )
    path = _free(folder / f"{results_name('all' if whole else split, unusual, folder)}.json", content)
    write_json(path, {**results, **content})
    if evaluation.confusion:
        picture = path.with_name(f"confusion{path.stem.removeprefix('results')}.png")
        write(picture, confusion_matrix(evaluation.confusion))
    return path


def _free(path: Path, content: Mapping[str, Any]) -> Path:
    """Return a path for results, or a free one if it has results of other data."""
    candidate, count = path, 1
    while content and candidate.exists():
        with suppress(ValueError, AttributeError):
            if content.items() <= read_json(candidate).items():
                break
        count += 1
        candidate = path.with_name(f"{path.stem}-{count}.json")
    return candidate
