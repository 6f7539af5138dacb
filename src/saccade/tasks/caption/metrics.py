"""Metrics of captions: overlaps, exact matches with scenes, and valid questions."""

from collections.abc import Sequence

from saccade.tasks.generate.baselines import most_frequent
from saccade.tasks.groups import by_group
from saccade.tasks.image.scenes.judging import exact_match
from saccade.tasks.image.scenes.scene import Scene
from saccade.tasks.text.overlap import References, bleu, bleus, cider, rouge_l
from saccade.train.task import Baseline, Metric, value

__all__ = ["baseline", "headline", "measured", "valid"]


def headline(data: str) -> str:
    """Return the headline metric of a data set.

    >>> headline("scenes"), headline("scenes-questions"), headline("flickr8k")
    ('exact_match', 'valid', 'bleu4')
    """
    return {"scenes": "exact_match", "scenes-questions": "valid"}.get(data, "bleu4")


def measured(
    outputs: Sequence[str],
    references: References,
    groups: Sequence[str],
    scenes: Sequence[Scene] | None = None,
    *,
    complete: bool = False,
) -> tuple[dict[str, Metric], dict[str, dict[str, float]]]:
    """Return all metrics of captions, and the headline metric by group.

    Metrics by group need groups.

    Args:
        outputs: of the model, each word after its own words.
        references: all captions of the image of each output.
        groups: of each output, "" if none.
        scenes: of each output, for exact matches, which are then the headline.
        complete: whether the references are all valid outputs. The share of valid outputs is then the headline, and the
            number of different outputs over all outputs is beside it.

    Example:
        >>> metrics, parts = measured(["a dog runs over grass"], [["A dog runs over grass.", "a dog"]], [""])
        >>> list(metrics), round(metrics["bleu4"]["score"]), parts
        (['bleu4', 'bleu1', 'bleu2', 'bleu3', 'cider', 'rouge_l'], 100, {})
    """
    scores: dict[str, Metric] = {
        f"bleu{order}": score for order, score in bleus(outputs, references, (4, 1, 2, 3)).items()
    }
    scores |= {"cider": cider(outputs, references), "rouge_l": rouge_l(outputs, references)}
    if complete:
        shares = {"valid": valid(outputs, references), "different": len(set(outputs)) / max(1, len(outputs))}
        return {**shares, **scores}, {"valid": by_group(valid, outputs, references, groups)} if any(groups) else {}
    if scenes is None:
        if not any(groups):
            return scores, {}

        parts = by_group(lambda captions, true: value(bleu(captions, true)), outputs, references, groups)
        return scores, {"bleu4": parts}
    parts = by_group(exact_match, outputs, scenes, groups) if any(groups) else {}
    return {"exact_match": exact_match(outputs, scenes), **scores}, {"exact_match": parts} if parts else {}


def valid(outputs: Sequence[str], references: References) -> float:
    """Share of outputs equal to one of their references.

    >>> valid(["a", "b"], [["a", "c"], ["a"]])
    0.5
    """
    return sum(output in texts for output, texts in zip(outputs, references, strict=True)) / max(1, len(outputs))


def baseline(
    train: Sequence[str],
    references: Sequence[Sequence[str]],
    scenes: Sequence[Scene] | None = None,
    *,
    complete: bool = False,
) -> Baseline:
    """Measure the most frequent training caption as a baseline.

    It is measured on images with references, as `measured` does.

    Example:
        >>> baseline(["a dog", "a cat", "a dog"], [["a dog runs"]]).about
        "always 'a dog'"
    """
    count = len(references)
    return most_frequent(
        train, lambda text: measured([text] * count, references, [""] * count, scenes, complete=complete)[0]
    )
