"""Write down what is said, from recordings and their texts."""

from saccade.tasks.transcribe.task import Transcribe

__all__ = ["Transcribe"]
