"""Answers are their lines, whoever prints them."""

from dataclasses import dataclass

import torch

from saccade.tasks.answered import Answered


@dataclass(frozen=True, repr=False)
class Several(Answered):
    """Lines beside a tensor that nobody wants to see."""

    texts: tuple[str, ...]
    weights: torch.Tensor

    def lines(self):
        return list(self.texts)


def test_an_answer_prints_as_lines_without_tensors():
    answer = Several(("one", "", "two"), torch.zeros(100, 100))
    assert str(answer) == "one\n\ntwo" and answer.remark == ""
    assert repr([answer]) == "[Several('one\\n\\ntwo')]"
