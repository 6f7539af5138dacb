"""Explanations of a run's answers, from Python."""

from typing import Any

import torch

from saccade.tasks.explaining import Scores, Subject
from saccade.tasks.inputs import Inputs, input_lines
from saccade.tasks.looking import By

__all__ = ["Explains"]


class Explains:
    """Methods of a run (`saccade.runs.Run`) that explain its answers."""

    def explain(
        self: Any, inputs: Inputs, by: By = "attention", *, faithful: bool = False, **request: Any
    ) -> list[Scores]:
        """Score the parts of each input by a method, as `saccade look --by` draws them.

        Args:
            inputs: as for `predict`. None may be blank.
            by: "attention", "rollout", "flow", "gradient", "grad-cam", "jacobian" or "integrated-gradients".
                [Looking](../looking.md#why-this-answer) says which model has which.
            faithful: whether to measure the faithfulness of a classifier's scores.
            request: other options of `saccade look RUN`.

        Raises:
            SaccadeError: if the method means nothing for the run, or an input is blank or unreadable.

        Example:
            >>> from saccade.runs import load
            >>> run = load("runs/reviews")  # doctest: +SKIP
            >>> scores = run.explain("a fine film", by="integrated-gradients")[0]  # doctest: +SKIP
            >>> scores.tokens, scores.values.shape  # doctest: +SKIP
            (('a', 'fine', 'film'), torch.Size([1, 3]))
        """
        signed = request.get("signed", False)
        return [
            subject.scores(by, signed=signed, faithfulness=faithful)
            for subject in self.subjects(inputs, by=by, **request)
        ]

    def subjects(self: Any, inputs: Inputs, **request: Any) -> list[Subject]:
        """Return inputs with their answers, for several methods or measures of your own.

        Args:
            inputs: as for `explain`.
            request: options of `saccade look RUN`.

        Raises:
            SaccadeError: as for `explain`.
        """
        checked = self.request("look", request)
        with torch.no_grad():
            subjects: list[Subject] = self.task.subjects(self.model, input_lines(self.task, inputs), checked)
        return subjects
