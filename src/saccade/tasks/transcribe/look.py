"""Where in a recording each token of its text is heard, over its spectrogram."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from saccade.errors import ArgumentError
from saccade.look import spectrogram as pictures
from saccade.look.files import file_name
from saccade.tasks.transcribe.batches import Heard
from saccade.tasks.transcribe.health import health
from saccade.tasks.transcribe.transcription import complain, heard_files, tokens_of, transcribe

if TYPE_CHECKING:
    from saccade.tasks.transcribe.task import Transcribe

__all__ = ["draw"]


def draw(task: "Transcribe", model: Any, inputs: Iterable[str], folder: Path) -> Iterator[Path]:
    """Transcribe files and draw where each token of the best text was heard.

    Args:
        task: the task.
        model: its model.
        inputs: paths of files; of those that cannot be read it is said why, and there is an error at the end.
        folder: where the pictures go; made if it is not there.

    Returns:
        The paths of the pictures.

    Raises:
        ArgumentError: if a file could not be read.
    """
    number = failed = 0
    for number, (path, heard) in enumerate(heard_files(task, inputs), 1):
        if isinstance(heard, ArgumentError):
            failed += 1
        else:
            yield from _draw(task, model, path, heard, folder, number)
    complain(number, failed)


def _draw(task: "Transcribe", model: Any, path: str, heard: Heard, folder: Path, number: int) -> Iterator[Path]:
    with torch.inference_mode():
        [found] = transcribe(task, model, [heard], attended=True, numbers=[number])
    weights, times = found[0].weights, (heard.size * task.signals.frame_seconds, task.step_seconds)
    assert weights is not None
    runs = health(weights)
    title = f"{found[0].text or 'nothing heard'} (monotonic {runs.monotonicity:.2f}, covers {runs.coverage:.2f})"
    name = file_name("speech" if path == "-" else Path(path).stem)
    yield from pictures.draw(weights, heard.frames, tokens_of(task, found[0]), times, folder / name, title=title)
