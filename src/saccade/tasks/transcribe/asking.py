"""What a speech task refuses to be asked for, in one line that names the option as it is typed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from saccade.errors import ArgumentError
from saccade.tasks.generate import Decoding
from saccade.tasks.text.tokenizer import UNKNOWN
from saccade.tasks.transcribe.options import Options
from saccade.train.options import flag

if TYPE_CHECKING:
    from saccade.tasks.transcribe.task import Transcribe
    from saccade.train.trained import Trained

__all__ = ["check", "check_alike", "check_features", "check_settings"]


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
    if (share := task.settings.ctc_rescoring) and decoding.sample:
        raise ArgumentError(f"--sample: expected with --ctc-rescoring 0, as draws are not ranked, got {share}")
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
    if share := task.settings.ctc_rescoring:
        raise ArgumentError(f"--ensemble: expected with --ctc-rescoring 0, as each model has its own, got {share}")
    for other in others:
        its: Any = other.task
        if its.name != task.name:
            raise ArgumentError(f"--ensemble {other.run.folder}: expected a run of {task.name}, got one of {its.name}")
        if its.target.to_json() != task.target.to_json():
            got = f"another, of {len(its.target)} tokens"
            raise ArgumentError(f"--ensemble {other.run.folder}: expected the tokenizer of RUN, got {got}")
        if its.settings.step_frames != task.settings.step_frames:
            got = f"{its.settings.step_frames}, where RUN has {task.settings.step_frames} (--pyramid)"
            raise ArgumentError(f"--ensemble {other.run.folder}: expected as many frames a step as in RUN, got {got}")
        if its.signals != task.signals:
            raise ArgumentError(f"--ensemble {other.run.folder}: expected features as RUN has them, got others")


def check_features(dim: int | None, options: Any) -> None:
    """Check that nothing is said of features that come as they are.

    Args:
        dim: of the features, None where they are computed.
        options: of the run.

    Raises:
        ArgumentError: naming the option.
    """
    for name in ("mels", "window_ms", "hop_ms"):
        if dim is not None and (value := getattr(options, name)) != Options.__dataclass_fields__[name].default:
            raise ArgumentError(f"{flag(name)}: expected only with recordings, as these data are features, got {value}")


def check_settings(settings: Any, sizes: Any) -> None:
    """Check that ranking by CTC is asked of a model that has learned it.

    Raises:
        ArgumentError: if it has not.
    """
    if settings.ctc_rescoring and not sizes.ctc_weight:
        raise ArgumentError(f"--ctc-rescoring: expected a --ctc-weight above 0, got {sizes.ctc_weight}")
