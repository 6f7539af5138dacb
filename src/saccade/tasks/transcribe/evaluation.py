"""How well a model transcribes a split, and what it makes of one utterance."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from saccade.tasks.transcribe.health import Health, health, overall
from saccade.tasks.transcribe.transcription import transcribe, weights_of
from saccade.train.randomness import derive
from saccade.train.task import Evaluation, Metric

if TYPE_CHECKING:
    from saccade.tasks.transcribe.task import Transcribe

__all__ = ["HEADLINE", "character_errors", "evaluate", "sample", "word_errors"]

HEADLINE = "word_accuracy"
_ALIGNED = 50  # utterances whose alignments are looked at: enough to see a collapse
_AT_ONCE = 512


def word_errors(outputs: Sequence[str], references: Sequence[str]) -> float:
    r"""Return the word error rate, (substitutions + deletions + insertions) / words of the references; jiwer counts.

    >>> word_errors(["one two", "three"], ["one too", "three"])
    0.3333333333333333
    """
    import jiwer

    return float(jiwer.wer(list(references), list(outputs)))


def character_errors(outputs: Sequence[str], references: Sequence[str]) -> float:
    """Return the character error rate, spaces among the characters; jiwer counts.

    >>> character_errors(["one two"], ["one too"])
    0.14285714285714285
    """
    import jiwer

    return float(jiwer.cer(list(references), list(outputs)))


def evaluate(task: "Transcribe", model: Any, split: str, limit: int | None) -> Evaluation:
    """Transcribe a split, or its first `limit` utterances, and measure it, as a whole and by groups.

    The metric that counts is word accuracy, 1 − WER. Beside it how the alignments of the true texts run: see `Health`.
    """
    size = task.corpus.size(split)
    indices = range(min(number for number in (size, limit) if number is not None))
    groups, references, outputs, runs = list[str](), list[str](), list[str](), list[Health]()
    frames, seconds = 0, 0.0
    for first in range(0, len(indices), _AT_ONCE):  # no more of a large split is in memory
        utterances = [task.corpus.example(split, index) for index in indices[first : first + _AT_ONCE]]
        heard = [task.heard(utterance) for utterance in utterances]
        groups += [utterance.group for utterance in utterances]
        references += [" ".join(utterance.text.split()) for utterance in utterances]
        began = time.perf_counter()
        numbers = range(first + 1, first + 1 + len(heard))
        outputs += [found[0].text if found else "" for found in transcribe(task, model, heard, numbers=numbers)]
        seconds += time.perf_counter() - began
        frames += sum(one.size for one in heard)
        runs += [health(weights) for weights in weights_of(model, heard[: max(0, _ALIGNED - first)])]
    wer, aligned = word_errors(outputs, references), overall(runs)
    metrics: dict[str, Metric] = {HEADLINE: 1 - wer, "wer": wer, "cer": character_errors(outputs, references)}
    metrics |= {f"alignment_{name}": number for name, number in aligned._asdict().items()}
    return Evaluation(metrics, _by_group(groups, outputs, references), len(outputs), frames, seconds)


def sample(task: "Transcribe", model: Any, step: int) -> str:
    """Return an utterance of validation, its text, what it should be and how its alignment runs, in a line."""
    size = task.corpus.size("validation") or 1
    utterance = task.corpus.example("validation", derive(task.settings.seed, "sample", step) % size)
    [found] = transcribe(task, model, [task.heard(utterance)], attended=True)
    weights = found[0].weights
    assert weights is not None
    runs = health(weights)
    how = f"monotonic {runs.monotonicity:.2f}, covers {runs.coverage:.2f} of the audio"
    return " ".join(f"{utterance.name} → {found[0].text} (expected: {utterance.text}; {how})".split())


def _by_group(groups: Sequence[str], outputs: Sequence[str], references: Sequence[str]) -> dict[str, dict[str, float]]:
    """The word error rate of each speaker, where they are known."""
    if not any(groups):
        return {}
    found: dict[str, float] = {}
    for name in sorted(set(groups)):
        own = [place for place, group in enumerate(groups) if group == name]
        found[name] = word_errors([outputs[place] for place in own], [references[place] for place in own])
    return {"wer": found}
