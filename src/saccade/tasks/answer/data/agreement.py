"""Agreement of an answer with the answers of several people."""

from collections.abc import Sequence

__all__ = ["agreement"]

_ENOUGH = 3  # annotators with the same answer, for an accuracy of 1


def agreement(answer: str, answers: Sequence[str]) -> float:
    r"""Return the accuracy of an answer, as VQA measures it.

    .. math::
        \frac{1}{K} \sum_{k=1}^{K} \min\Big(\tfrac{1}{3} \textstyle\sum_{j \ne k} [a_j = a],\ 1\Big)

    for the answers of K people, each left out once, because people are measured too. With fewer than four people, any
    of their answers has an accuracy of 1.

    Args:
        answer: a.
        answers: the K answers.

    Source:
        Antol et al. 2015, section 3 (https://arxiv.org/abs/1505.00468), averaged over all sets of nine as
        https://visualqa.org/evaluation.html has it.

    Example:
        >>> ten = ["yes"] * 2 + ["no"] * 8
        >>> agreement("no", ten), round(agreement("yes", ten), 4), agreement("2", ["2"])
        (1.0, 0.6, 1.0)
    """
    equal, count = answers.count(answer), len(answers)
    if count <= _ENOUGH:
        return float(equal > 0)
    without, others = min(equal / _ENOUGH, 1.0), min(max(0, equal - 1) / _ENOUGH, 1.0)
    return ((count - equal) * without + equal * others) / count
