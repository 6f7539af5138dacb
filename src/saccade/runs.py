"""The shell's verbs in Python: train a task, load a run, answer, look inside.

    >>> import saccade.runs as runs
    >>> run = runs.train("translate", data="dates", run="runs/dates", seed=1, max_steps=600)  # doctest: +SKIP
    >>> run.predict("mercredi 18 juin 2025")[0].lines()  # doctest: +SKIP
    ['2025-06-18']

Threads may share a run: `predict` and `align` answer side by side, with the answers of one thread. Calls that use
the process's own state take turns: pictures (matplotlib's settings) with pictures, and `train`, `load` and `evaluate`
(torch's generators) with each other. So a `load` waits for a training in another thread.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

import torch
from torch import nn

from saccade._definitions.argument_hints import choose
from saccade._system.environment import choose_device
from saccade._system.files import check_folder
from saccade._system.notes import say
from saccade.data.objects import OBJECTS, kept
from saccade.errors import ArgumentError
from saccade.tasks import TASKS, load_task
from saccade.tasks.explaining import Scores, Subject
from saccade.tasks.export import check_path, export, signature_of
from saccade.tasks.inputs import Inputs, input_lines
from saccade.tasks.looking import By, Pictures
from saccade.tasks.measuring import measured, save_results
from saccade.tasks.other_data import measured_on, reading_options
from saccade.tasks.stream import stream
from saccade.tasks.task import Hard, Job
from saccade.tasks.text.tokenizer import Tokenizer
from saccade.train.fit import train as fit
from saccade.train.folds import cross_validate, stored_folds
from saccade.train.options import Options, check_named, flag
from saccade.train.randomness import undisturbed
from saccade.train.recipes import data_of, resolve, suit, usual
from saccade.train.results import undisturbed as in_evaluation
from saccade.train.run import Run as Folder
from saccade.train.task import Answer, Evaluation, Example, Form, Kind, Suited, choose_model, options_class
from saccade.train.trained import Trained, load_trained

if TYPE_CHECKING:
    from saccade import _keywords as keywords

__all__ = ["Pictures", "Run", "examples", "load", "options", "train"]

_AHEAD = 512  # inputs that are read at once: large batches of like length are the fastest


@cast("Callable[[Any], keywords.Train]", lambda function: function)
def train(
    task: str,
    *,
    data: Any = None,
    model: str | None = None,
    run: str | Path | None = None,
    loggers: Sequence[Any] = (),
    **more: Any,
) -> "Run":
    """Train or continue a model as `saccade train`. Torch's generators stay untouched.

    Args:
        task: its name, as `saccade list` has it.
        data: a built-in data set's name, the path of a folder or file, or Python objects. These are rows of (input,
            answer), mappings, a data frame of pandas or polars, an Arrow table, a pair (X, y) as scikit-learn has it,
            or a mapping of "train", "validation" and "test" to such rows. Default: the first built-in one.
        model: its name. Default: the task's first one.
        run: the folder, made if necessary, and continued if it is there. Default: runs/TASK-DATA-MODEL.
        loggers: Lightning's (`lightning.pytorch.loggers`), which receive the numbers of metrics.jsonl.
        more: any other option of `saccade train TASK --model MODEL`, with _ in the place of -. With `folds`, a number
            of runs is trained, each tested on another part of the data.

    Returns:
        The run, with the trained model loaded. With `folds`, the run of the first fold; `Run.folds` has the results.

    Raises:
        SaccadeError: in one line, if something means nothing or does not fit the run that is there.
        OSError: if the folder cannot be written.
        KeyboardInterrupt: if it was interrupted. The last checkpoint is kept, and the same call goes on from there.
        SystemExit: with 0, once it is trained, in each process of torchrun but the first.
    """
    began, kind = time.perf_counter(), load_task(choose("task", task, TASKS))
    usual_model, usual_data = usual(kind, None if run is None else str(run))
    name, objects = (usual_data, None) if data is None else _source(kind, kept(data))
    if data is None and not (run and (Path(run) / "config.json").exists()):
        say(f"data: got none, so {usual_data} is taken, which is built in")
    if objects is not None and more.get("processes", 1) != 1:
        raise ArgumentError("processes: expected 1 where data are Python objects, got more; write them to files")
    named_options = {**({} if run is None else {"run": str(run)}), **more}
    model = _checked(kind, usual_model if model is None else model, named_options)
    with undisturbed():
        threads, folder = torch.get_num_threads(), None
        try:
            if named_options.get("folds"):
                folds = cross_validate(kind, model, name, named_options, objects, began, loggers=loggers)
                outcome, folder, settings = folds.last, folds.folder / "fold-1", folds.settings
            else:
                suited = suit(kind, model, name, named_options, objects)
                settings = resolve(kind, model, name, named_options, suited)
                outcome = fit(kind, settings, suited.data, suited, named_options, loggers=loggers, began=began)
        finally:
            torch.set_num_threads(threads)  # those of the caller
    if outcome.follows or outcome.results is None:
        raise SystemExit(0) if outcome.follows else KeyboardInterrupt
    return load(folder or outcome.run.folder, device=settings.device, data=objects)


def _source(kind: Kind, data: Any) -> tuple[str, Any]:
    """The name of data, and the Python objects if they are some."""
    return (data_of(kind, data), None) if isinstance(data, str | Path) else (OBJECTS, data)


def load(
    folder: str | Path, *, device: str = "auto", ensemble: Sequence[str | Path] = (), data: Any = None, **reading: Any
) -> "Run":
    """Load a run with its trained model.

    Args:
        folder: of the run.
        device: where to compute: cpu, cuda, cuda:1, or auto (a GPU if there is one).
        ensemble: folders of further runs, whose probabilities are averaged with those of the first.
        data: of `evaluate`: Python objects that it was trained on, a path of moved files, or other data. Those without
            splits of their own are measured as a whole.
        reading: options that say how `data` are read: `encoding`, names of columns and splits.

    Raises:
        SaccadeError: if it is no run, or has nothing trained, or the runs cannot be one.
    """
    first, folders = _loaded(folder, device, "RUN", data, reading), {os.path.realpath(folder)}
    for other in ensemble:
        if (path := os.path.realpath(other)) in folders:
            raise ArgumentError(f"--ensemble {other}: expected each run once, got it again")
        folders.add(path)
    if ensemble:
        others = [_loaded(other, device, "--ensemble") for other in ensemble]
        task, model = first.task.join(first.model, others)
        first = replace(first, task=task, model=model.eval())
    return Run(first, tuple(map(str, ensemble)))


def _loaded(
    folder: str | Path, device: str, option: str, data: Any = None, reading: Mapping[str, Any] | None = None
) -> Trained:
    if not str(folder):
        raise ArgumentError(f"{option}: expected the folder of a run, got an empty name")
    run = Folder.open(Path(folder))
    kind = load_task(choose(f"{run.folder}: task", run.config["task"], TASKS))
    if data is None:
        if reading:
            raise ArgumentError(f"{flag(next(iter(reading)))}: expected with --data, got no data; leave it out")
        return load_trained(kind, run, choose_device(device))
    check_named(reading or {}, reading_options(kind.Options), f"reading data of {kind.name}")
    name, objects = (str(data), None) if isinstance(data, str | Path) else (OBJECTS, kept(data))
    given = {"data": name, **({} if objects is None else {"encoding": None}), **(reading or {})}
    trained = load_trained(kind, run, choose_device(device), objects, given)
    if not isinstance(trained.task, Job):
        return trained
    located = run.located(trained.options, kind.builtin)
    return replace(trained, task=measured_on(trained.task, located, given, objects, run.config["data"]))


def options(
    kind: Kind, data: str | None, model: str | None, given: Mapping[str, Any], suited: Suited | None = None
) -> Options:
    """Return all options of a run: the given ones, and its recipes for the rest.

    Args:
        kind: the task.
        data: as `--data` names them. The first built-in data set if None.
        model: its name. The task's first one if None.
        given: others by their names.
        suited: recipes suitable for data that were read. Without them nothing is read.

    Raises:
        ArgumentError: an option that there is not, or a value that means nothing.
    """
    model = _checked(kind, model, given)
    return resolve(kind, model, next(iter(kind.builtin)) if data is None else data, given, suited)


def _checked(kind: Kind, model: str | None, named: Mapping[str, Any]) -> str:
    """Name of the model, after a check of the named options."""
    model = next(iter(kind.models)) if model is None else choose_model(kind, model)
    check_named(named, options_class(kind, model), f"{kind.name} with the model {model}")
    return model


def examples(task: str | Kind, split: str, count: int, *, data: Any = None, **more: Any) -> Iterator[Example]:
    """Give the first examples of a data set as the task reads it.

    Args:
        task: its name.
        split: "train", "validation" or "test".
        count: how many; fewer where there are fewer.
        data: as for `train`.
        more: options of the task that say how data are read.
    """
    kind = load_task(choose("task", task, TASKS)) if isinstance(task, str) else task
    name, objects = _source(kind, next(iter(kind.builtin)) if data is None else data)
    prepared = kind.prepare(options(kind, name, None, more), objects)
    size = prepared.data.size(split)
    return (prepared.example(split, index) for index in range(count if size is None else min(count, size)))


@dataclass(frozen=True)
class Run:
    """A run with its trained model, or several runs as one.

    Args:
        trained: the first run, its task and its model, which is that of all of them.
        ensemble: folders of the others.
    """

    trained: Trained
    ensemble: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<run {self.folder}: {self.trained.run.config['task']} by {self.trained.options.model}>"

    @property
    def folder(self) -> Path:
        """Folder of the run."""
        return self.trained.run.folder

    @property
    def task(self) -> Job:
        """Task of the run, with everything learned of the data beside weights."""
        return cast("Job", self.trained.task)

    @property
    def model(self) -> nn.Module:
        """The trained model, in evaluation mode."""
        return self.trained.model

    @property
    def tokenizer(self) -> Tokenizer:
        """Tokenizer of the input texts, or of the written texts if inputs are files."""
        return self.task.tokenizer

    @property
    def results(self) -> dict[str, Any] | None:
        """Content of results.json, or None before the end of training."""
        return self.trained.run.results()

    @property
    def folds(self) -> dict[str, Any] | None:
        """Content of folds.json, or None if there is none or folds changed since."""
        return stored_folds(self.folder.parent)

    def predict(self, inputs: Inputs, **request: "Unpack[keywords.Predict]") -> list[Answer]:
        """Answer inputs as `saccade predict` does. `str` of an answer is its printed text.

        Args:
            inputs: a text, or several. If the task reads files, the path of a file or of a folder, or several. Or rows,
                whose columns have the names of the data: a list of dicts, a data frame, an Arrow table, or the `Path`
                of a file: a table (.csv, .tsv, .jsonl, .parquet), or a text of an input a line.
            request: any option of `saccade predict RUN`, with _ in the place of -, such as nbest=3.

        Raises:
            SaccadeError: if an option means nothing here, or an input could not be read.

        Example:
            >>> run = load("runs/dates")  # doctest: +SKIP
            >>> run.predict(Path("dates.csv"), nbest=3)[0].lines()  # doctest: +SKIP
            ['2025-06-18', '2025-06-28', '2025-08-18']
        """
        return list(self.answers(input_lines(self.task, inputs), self.request("predict", request)))

    def encode(self, inputs: Inputs) -> tuple[Any, ...]:
        """Return the arguments of the model for inputs as of `predict`: one batch.

        Example:
            >>> logits = run.model(*run.encode(["a fine film", "dull"]))  # doctest: +SKIP
        """
        return self.task.encode(input_lines(self.task, inputs), next(self.model.parameters()).device)

    def align(self, inputs: Inputs, **request: "Unpack[keywords.Predict]") -> list[dict[str, Any]]:
        """Answer inputs with their attention, as `saccade predict --json` does."""
        answers = self.answers(input_lines(self.task, inputs), self.request("predict", request), "json")
        return [answer.to_json() for answer in answers]

    def explain(self, inputs: Inputs, by: By = "attention", *, faithful: bool = False, **request: Any) -> list[Scores]:
        """Score the parts of each input by a method, as `saccade look --by` draws them.

        Args:
            inputs: as for `predict`. None may be blank.
            by: "attention", "rollout", "flow", "gradient", "grad-cam", "jacobian" or "integrated-gradients".
                [Looking](../looking.md#why-this-answer) says which model has which.
            faithful: whether to measure the faithfulness of a classifier's scores.
            request: other options of `saccade look RUN`.

        Raises:
            SaccadeError: if the method means nothing for the run, or an input is blank or unreadable.

        Example:
            >>> run = load("runs/reviews")  # doctest: +SKIP
            >>> scores = run.explain("a fine film", by="integrated-gradients")[0]  # doctest: +SKIP
            >>> scores.tokens, scores.values.shape  # doctest: +SKIP
            (('a', 'fine', 'film'), torch.Size([1, 3]))
        """
        signed = request.get("signed", False)
        return [
            subject.scores(by, signed=signed, faithfulness=faithful)
            for subject in self.subjects(inputs, by=by, **request)
        ]

    def subjects(self, inputs: Inputs, **request: Any) -> list[Subject]:
        """Return inputs with their answers, for several methods or measures of your own.

        Args:
            inputs: as for `explain`.
            request: options of `saccade look RUN`.

        Raises:
            SaccadeError: as for `explain`.
        """
        checked = self.request("look", request)
        with torch.no_grad():
            return self.task.subjects(self.model, input_lines(self.task, inputs), checked)

    def draw(
        self,
        inputs: Inputs,
        output: str | Path | None = None,
        *,
        json: bool = False,
        **request: "Unpack[keywords.Look]",
    ) -> Pictures:
        """Draw what the model attends to, as `saccade look` does, and return the paths.

        Args:
            inputs: as for `predict`.
            output: folder for the pictures; the run's pictures/ if not given. Nothing in it is overwritten.
            json: whether the numbers behind each picture are written beside it.
            request: any option of `saccade look RUN`.
        """
        return Pictures(self.pictures(input_lines(self.task, inputs), self.request("look", request), output, json=json))

    def evaluate(self, split: str = "test", **request: "Unpack[keywords.Eval]") -> Evaluation:
        """Measure the model on a split of its data, as `saccade eval` does.

        Args:
            split: "test" or "validation".
            request: any option of `saccade eval RUN` that says how answers are found.

        Raises:
            SaccadeError: if there is no such split, or an option means nothing here.
        """
        choose("split", split, ("test", "validation"))
        return self.measure(split, self.request("eval", request))

    def hardest(self, split: str = "test", count: int = 20, request: Any = None) -> list[Hard]:
        """Return the examples with the largest losses, as `saccade eval --errors` does."""
        task = self.task
        if self.ensemble or not isinstance(task, Job):
            got = "an ensemble, which has none" if self.ensemble else f"one of {task.name}, a task without a codec"
            raise ArgumentError(f"--errors: expected one run whose examples have a loss each, got {got}")
        with in_evaluation(self.model, self.trained.options.seed, split):
            return task.hardest(self.model, split, count, request)

    def export(self, path: str | Path) -> Path:
        """Write the model to a file that runs without Saccade, as `saccade export` does.

        Args:
            path: a new file, of ONNX (.onnx) or of `torch.export` (.pt2).
        """
        check_path(path := Path(path))
        if self.ensemble:
            raise ArgumentError("RUN: expected one run, got an ensemble, which has no export")
        with undisturbed():
            export(signature_of(self.task, self.model), path)
        return path

    def request(self, verb: str, values: Mapping[str, Any]) -> Any:
        """Return options as a checked request: the task's dataclass for a verb.

        Raises:
            SaccadeError: if there is no such option, or it means nothing to the run.
        """
        kind = self.task.requests[verb]
        check_named(values, kind, f"saccade {verb} with a run of {self.task.name}")
        return self.checked(kind(**values))

    def checked(self, request: Any) -> Any:
        """Return a request after a check by the task and the model."""
        with torch.inference_mode():
            self.task.check(self.model, request)
        return request

    def answers(
        self, lines: Iterable[str], request: Any, form: Form = "lines", ahead: int = _AHEAD, *, typed: bool = False
    ) -> Iterator[Answer]:
        """Answer lines as they come, in order, reading at most `ahead` before an answer.

        An unreadable line is reported at once if lines are `typed`.
        """

        def answer(inputs: Sequence[Any]) -> Sequence[Answer]:
            # Pictures may show gradients, which tensors that are made for inference alone have not.
            with torch.no_grad() if form == "pictures" else torch.inference_mode():
                return self.task.answer(self.model, inputs, request, form)

        return stream(self.task.read, answer, lines, ahead, typed=typed)

    def pictures(
        self,
        lines: Iterable[str],
        request: Any,
        output: str | Path | None = None,
        *,
        json: bool = False,
        typed: bool = False,
    ) -> Iterator[Path]:
        """Draw lines as they come, with `json` their numbers too, and give the paths."""
        folder = Path(output) if output else self.folder / "pictures"
        check_folder("--output", folder)  # before there is an answer, which takes a while
        for answer in self.answers(lines, request, "pictures", 1, typed=typed):
            yield from answer.draw(folder, json=json)

    def measure(self, split: str, request: Any = None) -> Evaluation:
        """Measure the model on a split by a request, with a note if the data changed."""
        return measured(self.trained, split, request)

    def save_results(self, split: str, found: Evaluation, request: Any = None) -> Path:
        """Write results-SPLIT.json, and confusion-SPLIT.png of a classifier.

        Their names have an unusual request, and the path of other data than those of training. Results of data of the
        same name with other content stay.
        """
        return save_results(self.trained, split, found, request, self.ensemble)
