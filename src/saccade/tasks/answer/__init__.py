"""Visual question answering: an image and a question in, an answer out."""

from saccade.tasks.answer.task import ANSWER

__all__ = ["ANSWER"]
