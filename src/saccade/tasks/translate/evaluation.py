"""How well a model translates a split, and what it makes of one sentence."""

import time
from typing import TYPE_CHECKING, Any

from saccade.tasks.translate.corpora import BUILTIN, group_names
from saccade.tasks.translate.corpus import Pair
from saccade.tasks.translate.metrics import bleu, by_group, chrf, exact_match, length_groups, length_unit
from saccade.tasks.translate.translation import Source, Translation, encode_sources, mention, translate
from saccade.train.randomness import derive
from saccade.train.task import Evaluation, Metric, value

if TYPE_CHECKING:
    from saccade.tasks.translate.task import Translate

__all__ = ["evaluate", "headline", "sample", "score"]


def headline(data: str) -> str:
    """Return the metric that counts for a data set.

    >>> headline("dates"), headline("folder/of/files")
    ('exact_match', 'bleu')
    """
    return "exact_match" if data in BUILTIN else "bleu"


def score(task: "Translate", outputs: list[str], references: list[str]) -> Metric:
    """Return the metric that counts for the task's data."""
    if headline(task.settings.data) == "exact_match":
        return exact_match(outputs, references)
    return bleu(outputs, references, task.settings.target)


def evaluate(task: "Translate", model: Any, split: str, limit: int | None) -> Evaluation:
    """Translate a split, or its first `limit` pairs, and measure it, as a whole and by groups."""
    size = task.corpus.size(split)
    pairs = [task.corpus.example(split, index) for index in range(min(n for n in (size, limit) if n is not None))]
    sources = _sources(task, split, pairs)
    began = time.perf_counter()
    best = [found[0] if found else Translation("", [], float("-inf")) for found in translate(task, model, sources)]
    seconds = time.perf_counter() - began
    outputs, references = [translation.text for translation in best], [pair.target for pair in pairs]
    name = headline(task.settings.data)
    metrics = {name: score(task, outputs, references), **_others(task, outputs, references)}
    groups = by_group(lambda *texts: value(score(task, *texts)), outputs, references, _groups(task, pairs))
    tokens = sum(1 + len(translation.ids) for translation in best)
    return Evaluation(metrics, {name: groups}, len(pairs), tokens, seconds)


def sample(task: "Translate", model: Any, step: int) -> str:
    """Return a sentence of the validation split, its translation and what it should be, in a line."""
    size = task.corpus.size("validation") or 1
    pair = task.corpus.example("validation", derive(task.settings.seed, "sample", step) % size)
    [found] = translate(task, model, encode_sources(task, [pair.source]))
    output = found[0].text if found else ""
    return " ".join(f"{pair.source} → {output} (expected: {pair.target})".split())


def _sources(task: "Translate", split: str, pairs: list[Pair]) -> list[Source]:
    sources = encode_sources(task, [pair.source for pair in pairs])
    for number, source in enumerate(sources, 1):
        mention(task, f"{split}, line {number}", source)
    return sources


def _others(task: "Translate", outputs: list[str], references: list[str]) -> dict[str, Metric]:
    """What is measured beside the metric that counts."""
    if headline(task.settings.data) == "exact_match":
        return {}
    lower = bleu(outputs, references, task.settings.target, lowercase=True)
    return {"bleu_lowercase": lower, "chrf": chrf(outputs, references)}


def _groups(task: "Translate", pairs: list[Pair]) -> list[str]:
    """The group of each pair: the one that it carries, else by the length of its source."""
    if task.settings.data in BUILTIN:
        names = group_names(task.settings.data)
        return [names.get(pair.group, pair.group) for pair in pairs]
    return length_groups([pair.source for pair in pairs], length_unit(task.settings.source))
