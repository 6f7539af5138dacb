"""The report `alignment`: what a translator attends to in one sentence, or what moves its words, and their order."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import torch

from saccade.errors import ArgumentError
from saccade.reports import Made
from saccade.reports.alignment.findings import summary
from saccade.reports.alignment.page import write_page
from saccade.reports.commands import command
from saccade.reports.folder import Folder
from saccade.reports.making import Design, Step, finish
from saccade.reports.options import Shared, Trained, arguments
from saccade.reports.training import QUICK_MINUTES, Variant, settings
from saccade.tasks.looking import By, LookRequest
from saccade.tasks.translate import Translate
from saccade.tasks.translate.translation import Translation, attends
from saccade.train.environment import choose_device, hardware, versions
from saccade.train.fit import train
from saccade.train.run import Run
from saccade.train.trained import Trained as TrainedRun
from saccade.train.trained import load_trained

__all__ = ["Alignment", "Options"]

_TEXT = "This agreement on the European Economic Area was signed in August 1992."
_DATE = "mercredi 18 juin 2025"
_PIECES = "bpe"  # of which words are put together again


@dataclass(frozen=True, kw_only=True)
class Options(Shared):
    """What can be said about the report.

    >>> Options(run="runs/fr", text="Good morning.").text
    'Good morning.'
    """

    run: str = ""
    """Folder of a translation run; with --quick none: one is trained on dates."""

    text: str = ""
    """What is translated: the sentence of Bahdanau et al.'s figure if not given, with --quick a date."""

    by: By | None = None
    """What is looked at: what each word attended to (attention), or how much each part of the source moves it
    (jacobian), which any model has. If not given, attention where the model attends, else jacobian."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        super().__post_init__()
        if self.text and not self.text.strip():
            raise ArgumentError("--text: expected a sentence, got spaces")
        LookRequest(by=self.by)  # which refuses another way


class Alignment:
    """What is read for each word runs along a sentence, and jumps where the other language has another order of words.

    One sentence is translated by a trained run. What each word of the translation attended to is drawn as in the
    paper, or what moves it, by the sequential Jacobian, which any model has. Beside it stand the share of the weight
    that is away from the diagonal, and each group of words that is read in another order than it is written: adjectives
    and nouns, in French and English.

    Source:
        Bahdanau, Cho, Bengio 2015, section 5.2.1 and figure 3 (https://arxiv.org/abs/1409.0473); of a model without
        attention Kalchbrenner et al. 2016, figure 6 (https://arxiv.org/abs/1610.10099).
    """

    sentence: ClassVar[str] = (
        "one sentence's alignment, by attention or the Jacobian, and what it reorders (Bahdanau, Cho, Bengio 2015, "
        "figure 3)"
    )
    Options: TypeAlias = Options

    @classmethod
    def make(cls, options: Options) -> Made:
        """Translate the sentence, training a translator of dates first with --quick, and write the page."""
        if options.quick == bool(options.run):
            got = "both" if options.quick else "neither"
            raise ArgumentError(f"--run: expected the folder of a translation run, or --quick, got {got}")
        typed = command("saccade report alignment", options, Options())
        text = options.text or (_DATE if options.quick else _TEXT)
        if options.threads is not None:
            torch.set_num_threads(options.threads)
        trained = None if options.quick else _loaded(Path(options.run), options.device)
        by = _by(options.by, trained)
        decided = {**arguments(options), "text": text, "by": by, "steps": _steps(trained)}
        path = Path(options.output or _default_folder(trained, by))
        folder = Folder.open(path, "alignment", decided, typed, resume=options.resume, unsaid={"by": "attention"})
        with folder.locked():
            for key, found in (("hardware", hardware(choose_device(options.device))), ("versions", versions())):
                folder.content.setdefault(key, found)
            step = Step("the sentence", [{"text": text}], partial(_translate, options, text, by, trained))
            return finish(folder, Design("alignment", write_page, summary), [step])


def _loaded(folder: Path, device: str) -> TrainedRun:
    """A run of a translator.

    Raises:
        ArgumentError: if it is another.
    """
    run = Run.open(folder)
    if run.config["task"] != Translate.name:
        raise ArgumentError(f"--run: expected a run of {Translate.name}, got one of {run.config['task']}")
    return load_trained(Translate, run, choose_device(device))


def _by(asked: By | None, trained: TrainedRun | None) -> By:
    """What is looked at: what was asked for, else attention where the model attends, as that of --quick does.

    Raises:
        ArgumentError: if attention is asked of a model without.
    """
    has_attention = trained is None or attends(trained.model)
    LookRequest(by=asked).check_attends(has_attention)
    return asked or ("attention" if has_attention else "jacobian")


def _default_folder(trained: TrainedRun | None, by: By) -> str:
    """Where the report is made if nothing is said: one folder for each run and way to look."""
    name = "quick" if trained is None else trained.run.folder.name
    return f"reports/alignment-{name}{'' if by == 'attention' else f'-{by}'}"


def _steps(trained: TrainedRun | None) -> int | None:
    """How many steps a run that has come to its end was trained for: with more, another report is made of it."""
    results = None if trained is None else trained.run.results()
    return None if results is None else int(results["steps"])


def _translate(options: Options, text: str, by: By, trained: TrainedRun | None, folder: Folder) -> bool:
    """Translate the sentence and write the row; False if the user stopped the training before it."""
    if trained is None:
        plan = Trained(quick=True, data="dates", device=options.device, threads=options.threads)
        chosen = settings(plan, Variant("rnnsearch", "rnnsearch"), 1, folder.path / "runs/rnnsearch-1", QUICK_MINUTES)
        outcome = train(Translate, chosen)
        if outcome.results is None:
            return False
        trained = load_trained(Translate, outcome.run, choose_device(options.device))
    task: Any = trained.task
    with torch.inference_mode():
        [found] = task.answer(trained.model, [task.read(text, 1)], LookRequest(by=by), "pictures")
    folder.content["rows"].append({"text": text, "by": by, **_row(found, task.settings), "steps": _steps(trained)})
    folder.commit()
    return True


def _row(found: Translation, settings: Any) -> dict[str, Any]:
    """What report.json says of a translation.

    Raises:
        ArgumentError: if nothing was written.
    """
    if not found.outputs or not found.outputs[0].ids:
        raise ArgumentError(f"--text: expected a sentence of which the run makes something, got {found.source.text!r}")
    best = found.outputs[0]
    looked = best.weights if found.influence is None else found.influence[0]
    assert looked is not None  # of a model that does not attend gradients were asked for
    weights = [[round(weight, 5) for weight in row[:-1]] for row in looked.tolist()[:-1]]
    about = {"model": settings.model, "data": settings.data, "pieces": settings.tokenizer == _PIECES}
    sides = {"source": list(found.source_tokens[:-1]), "target": list(best.tokens[:-1])}
    return {**about, "translation": best.text, "score": round(best.score, 5), **sides, "weights": weights}
