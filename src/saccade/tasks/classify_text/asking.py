"""What this task refuses to be asked for, in one line that names the option as it is typed."""

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

from saccade.errors import ArgumentError
from saccade.tasks.generate import Decoding
from saccade.train.options import flag

if TYPE_CHECKING:
    from saccade.tasks.classify_text.task import ClassifyText
    from saccade.train.trained import Trained

__all__ = ["check", "check_alike"]


def check(task: "ClassifyText", decoding: Decoding, count: int) -> None:
    """Check that what is asked means something: nothing is written step by step here, and labels are few.

    Args:
        task: the task.
        decoding: how answers shall be written.
        count: how many labels of each text are asked for.

    Raises:
        ArgumentError: if it does not.
    """
    for field in fields(Decoding):
        if getattr(decoding, field.name) != field.default:
            way_out = "leave it out; --nbest gives the likeliest labels"
            raise ArgumentError(f"{flag(field.name)}: expected a task that writes texts, got {task.name}; {way_out}")
    if count > len(task.labels):
        raise ArgumentError(f"--nbest: expected at most {len(task.labels)}, as many labels as there are, got {count}")


def check_alike(task: "ClassifyText", others: Sequence["Trained"]) -> None:
    """Check that other runs know the same words and labels as a task.

    Raises:
        ArgumentError: naming the first that does not, and what differs.
    """
    for other in others:
        if other.task.name != task.name:
            raise ArgumentError(f"--ensemble {other.run.folder}: expected a task {task.name}, got {other.task.name}")
        labels = getattr(other.task, "labels", ())
        if labels != task.labels:
            shown = ", ".join(labels)
            raise ArgumentError(f"--ensemble {other.run.folder}: expected the labels of RUN, got {shown:.80}")
        words = getattr(other.task, "words", None)
        if words is None or words.words != task.words.words:
            got = "got others; train both on the same data with the same --vocabulary-size and --min-count"
            raise ArgumentError(f"--ensemble {other.run.folder}: expected the words of RUN, {got}")
