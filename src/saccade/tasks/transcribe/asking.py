"""What a speech task refuses to be asked for, in one line that names the option as it is typed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from saccade.errors import ArgumentError
from saccade.tasks.decoding import Decoding
from saccade.tasks.text.tokenizer import UNKNOWN

if TYPE_CHECKING:
    from saccade.tasks.transcribe.task import Transcribe
    from saccade.train.trained import Trained

__all__ = ["check", "check_alike", "check_settings"]


def check(task: "Transcribe", decoding: Decoding) -> None:
    """Check that a manner of decoding means something here.

    Raises:
        ArgumentError: if it does not.
    """
    for option, given in (
        ("--replace-unknown", decoding.replace_unknown),
        ("--coverage-penalty", decoding.coverage_penalty > 0),
    ):
        if given:
            raise ArgumentError(f"{option}: expected a run that reads text, got transcribe, which hears; leave it out")
    if task.settings.ctc_rescoring and decoding.sample:
        raise ArgumentError("--sample: expected without --ctc-rescoring, got both; draws are not ranked")
    ids = [] if decoding.prefix is None else task.target.encode(decoding.prefix.strip())
    if len(ids) > (most := 2 * task.longest):
        raise ArgumentError(f"--prefix: expected at most {most} tokens, as many as an output may have, got {len(ids)}")
    if UNKNOWN in ids:
        strange = task.target.pieces((decoding.prefix or "").strip())[ids.index(UNKNOWN)]
        raise ArgumentError(f"--prefix: expected words that the run can write, got {strange!r}")


def check_alike(task: "Transcribe", others: Sequence["Trained"]) -> None:
    """Check that other runs hear and write the same as a task.

    Raises:
        ArgumentError: naming the first that does not, and what differs.
    """
    for other in others:
        its: Any = other.task
        if its.name != task.name:
            raise ArgumentError(f"--ensemble {other.run.folder}: expected a run of {task.name}, got one of {its.name}")
        if its.target.to_json() != task.target.to_json():
            got = f"another, of {len(its.target)} tokens"
            raise ArgumentError(f"--ensemble {other.run.folder}: expected the tokenizer of RUN, got {got}")
        if its.signals != task.signals:
            raise ArgumentError(f"--ensemble {other.run.folder}: expected features as RUN has them, got others")


def check_settings(settings: Any, sizes: Any) -> None:
    """Check that ranking by CTC is asked of a model that has learned it.

    Raises:
        ArgumentError: if it has not.
    """
    if settings.ctc_rescoring and not sizes.ctc_weight:
        raise ArgumentError(f"--ctc-rescoring: expected a --ctc-weight above 0, got {sizes.ctc_weight}")
