"""What is measured of captions: how much they have in common with their references, and what is exactly true.

Only free-running output may be measured so: a caption whose every word was written behind the reference's is no output.
"""

from collections.abc import Sequence

from saccade.tasks.generate.baselines import most_frequent
from saccade.tasks.groups import by_group
from saccade.tasks.image.scenes.judging import exact_match
from saccade.tasks.image.scenes.scene import Scene
from saccade.tasks.text.overlap import References, bleu, bleus, cider, rouge_l
from saccade.train.task import Baseline, Metric, value

__all__ = ["baseline", "headline", "measured"]


def headline(data: str) -> str:
    """Return the metric that counts for a data set.

    >>> headline("scenes"), headline("flickr8k")
    ('exact_match', 'bleu4')
    """
    return "exact_match" if data == "scenes" else "bleu4"


def measured(
    outputs: Sequence[str], references: References, groups: Sequence[str], scenes: Sequence[Scene] | None = None
) -> tuple[dict[str, Metric], dict[str, dict[str, float]]]:
    """Return all that is measured of captions, and the metric that counts by group, where there are groups.

    Args:
        outputs: what the model wrote, free-running.
        references: of each, all captions of its image.
        groups: of each, "" if none.
        scenes: of each what it is about, where that is known; then what is exactly true is measured too, and counts.

    Returns:
        The metrics by their names, and by the name of one of them its values by group.

    Raises:
        ArgumentError: if there are not as many references, or an image has none.

    Example:
        >>> metrics, parts = measured(["a dog runs over grass"], [["A dog runs over grass.", "a dog"]], [""])
        >>> list(metrics), round(metrics["bleu4"]["score"]), parts
        (['bleu4', 'bleu1', 'bleu2', 'bleu3', 'cider', 'rouge_l'], 100, {})
    """
    scores: dict[str, Metric] = {
        f"bleu{order}": score for order, score in bleus(outputs, references, (4, 1, 2, 3)).items()
    }
    scores |= {"cider": cider(outputs, references), "rouge_l": rouge_l(outputs, references)}
    if scenes is None:
        if not any(groups):
            return scores, {}

        def scored(own: Sequence[str], true: References) -> float:
            return value(bleu(own, true))

        return scores, {"bleu4": by_group(scored, outputs, references, groups)}
    parts = by_group(exact_match, outputs, scenes, groups) if any(groups) else {}
    return {"exact_match": exact_match(outputs, scenes), **scores}, {"exact_match": parts} if parts else {}


def baseline(
    train: Sequence[str], references: Sequence[Sequence[str]], scenes: Sequence[Scene] | None = None
) -> Baseline:
    """Return what writing the most frequent caption whatever is seen comes to.

    Args:
        train: training captions.
        references: of each image that is measured.
        scenes: that they show, where that is known.

    Example:
        >>> baseline(["a dog", "a cat", "a dog"], [["a dog runs"]]).about
        "always 'a dog'"
    """
    count = len(references)
    return most_frequent(train, lambda text: measured([text] * count, references, [""] * count, scenes)[0])
