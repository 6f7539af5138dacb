"""What is measured of answers to questions about images: how right they are, and where was looked."""

from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean
from typing import Any

from torch import Tensor

from saccade.models.answerer import Looked
from saccade.models.padded import Padded
from saccade.tasks.answer.batches import Batch
from saccade.tasks.answer.data import Asked, Posed
from saccade.tasks.answer.data.agreement import agreement
from saccade.tasks.groups import means
from saccade.tasks.image.influence import images_of, moved
from saccade.tasks.image.pointing import Pointing, metrics_of
from saccade.train.task import Metric

__all__ = ["HEADLINE", "measured", "pointing"]

HEADLINE = "accuracy"


def pointing(
    model: Any,
    batch: Batch,
    asked: Sequence[Asked],
    looked: Looked | None,
    log_probs: Callable[..., Tensor],
    said: Sequence[str],
) -> list[Pointing]:
    """Return where a model pointed, of those questions of a batch whose things are known.

    Of a model that attends its weights count; of one that does not, how much each cell moves the answer.

    Args:
        model: in evaluation mode.
        batch: the questions.
        asked: the same, as the data have them; fewer are looked at if there are fewer.
        looked: what was looked at; None of a model that does not attend.
        log_probs: of some answers and what they are to.
        said: the model's answers to the questions of the batch.
    """
    if not (rows := [row for row, one in enumerate(asked) if one.boxes]):
        return []
    if looked is None:
        source, question = images_of(batch.visual, rows), Padded(*(part[rows] for part in batch.question))
        weights, shape = moved(model, source, partial(log_probs, [said[row] for row in rows]), question)
    else:
        weights, shape = None if looked.weights is None else looked.weights[rows], looked.shape
    if weights is None or shape is None:
        return []
    height, width = batch.visual.values.shape[2:]
    pairs = zip((asked[row] for row in rows), weights.reshape(len(rows), -1, *shape).cpu(), strict=True)
    return [Pointing.of(one.posed.group, maps, one.boxes, (height, width)) for one, maps in pairs]


def measured(
    found: Sequence[str], posed: Sequence[Posed], seen: Sequence[Pointing] = ()
) -> tuple[dict[str, Metric], dict[str, dict[str, float]]]:
    """Return the accuracy of answers, as a whole and by kind of question, and how often reads pointed at what matters.

    Args:
        found: the answers.
        posed: the questions with the true answers.
        seen: where reads pointed, of those questions whose things are known: see
            `saccade.tasks.image.pointing.metrics_of`.

    Example:
        >>> posed = [Posed("is it?", ("yes",), "is"), Posed("how many?", ("2",), "how many")]
        >>> measured(["yes", "3"], posed, [Pointing("is", [False, True], [0.1, 0.5])])[0]
        {'accuracy': 0.5, 'pointing': 1.0, 'pointing_mean': 0.5, 'weight_inside': 0.5}
    """
    right = [agreement(answer, one.answers) for answer, one in zip(found, posed, strict=True)]
    metrics, groups = metrics_of(seen)
    return {HEADLINE: fmean(right), **metrics}, {HEADLINE: means([one.group for one in posed], right), **groups}
