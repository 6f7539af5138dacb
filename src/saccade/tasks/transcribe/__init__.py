"""Speech recognition: a recording in, its text out."""

from saccade.tasks.transcribe.task import TRANSCRIBE

__all__ = ["TRANSCRIBE"]
