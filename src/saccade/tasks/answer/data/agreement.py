"""How right an answer is that several people gave too."""

from collections.abc import Sequence

__all__ = ["agreement"]

_ENOUGH = 3  # people who give an answer, of those but one, for it to be right


def agreement(answer: str, answers: Sequence[str]) -> float:
    r"""Return how right an answer is: where there is one true answer 1 if it is that, else what VQA's accuracy is.

    .. math::
        \frac{1}{K} \sum_{k=1}^{K} \min\Big(\tfrac{1}{3} \textstyle\sum_{j \ne k} [a_j = a],\ 1\Big)

    over K people's answers, each left out once, so that people are measured as machines are. Of fewer than four, where
    three others cannot agree, one that somebody gave is right.

    Args:
        answer: a.
        answers: those that people gave.

    Source:
        Antol et al. 2015, section 3 (https://arxiv.org/abs/1505.00468), averaged over all sets of nine as
        https://visualqa.org/evaluation.html has it.

    Example:
        >>> ten = ["yes"] * 2 + ["no"] * 8
        >>> agreement("no", ten), round(agreement("yes", ten), 4), agreement("2", ["2"])
        (1.0, 0.6, 1.0)
    """
    said, count = sum(one == answer for one in answers), len(answers)
    if count <= _ENOUGH:
        return float(said > 0)
    without, others = min(said / _ENOUGH, 1.0), min(max(0, said - 1) / _ENOUGH, 1.0)
    return ((count - said) * without + said * others) / count
