"""What a translation task refuses to be asked for, in one line that names the option as it is typed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from saccade.errors import ArgumentError
from saccade.tasks.generate import Decoding
from saccade.tasks.text.tokenizer import UNKNOWN
from saccade.tasks.translate.attention import attends

if TYPE_CHECKING:
    from saccade.tasks.translate.task import Translate
    from saccade.train.trained import Trained

__all__ = ["check", "check_alike"]


def check(task: "Translate", model: Any, decoding: Decoding, count: int) -> None:
    """Check that a manner of decoding means something here.

    Args:
        task: the task.
        model: its model.
        decoding: the manner.
        count: how many outputs of each source will be asked for.

    Raises:
        ArgumentError: if it does not.
    """
    if decoding.replace_unknown and not task.target.unknowns:
        got = f"--tokenizer {task.settings.tokenizer}, whose tokens can write any text"
        raise ArgumentError(f"--replace-unknown: expected a tokenizer that does not know every text, got {got}")
    for option, asked in (
        ("--replace-unknown", decoding.replace_unknown),
        ("--coverage-penalty", decoding.coverage_penalty > 0),
    ):
        if asked and not attends(model):
            raise ArgumentError(f"{option}: expected a model that attends to the source, got {task.settings.model}")
    if decoding.coverage_penalty and max(count, task.settings.beam_size) == 1:
        raise ArgumentError("--coverage-penalty: expected a --beam-size above 1, got 1, which leaves nothing to rank")
    _check_prefix(task, decoding.prefix)


def _check_prefix(task: "Translate", prefix: str | None) -> None:
    ids, most = [] if prefix is None else task.target.encode(prefix.strip()), 2 * task.longest
    if len(ids) > most:
        raise ArgumentError(f"--prefix: expected at most {most} tokens, as many as an output may have, got {len(ids)}")
    if UNKNOWN in ids:
        strange = task.target.pieces((prefix or "").strip())[ids.index(UNKNOWN)]
        raise ArgumentError(f"--prefix: expected characters that the run can write, got {strange!r}")


def check_alike(task: "Translate", others: Sequence["Trained"]) -> None:
    """Check that other runs read and write the same tokens as a task.

    Raises:
        ArgumentError: naming the first that does not, and what differs.
    """
    for other in others:
        for side in ("source", "target"):
            own, its = getattr(task, side), getattr(other.task, side, None)
            if its is None or own.to_json() != its.to_json():
                got = f"a task {other.task.name}" if its is None else f"another, of {len(its)} tokens"
                raise ArgumentError(f"--ensemble {other.run.folder}: expected the {side} tokenizer of RUN, got {got}")
