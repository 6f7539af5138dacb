"""Answering questions about images: an image and a question in, an answer out, learned from examples of all three."""

from saccade.tasks.answer.task import AnswerQuestions

__all__ = ["AnswerQuestions"]
