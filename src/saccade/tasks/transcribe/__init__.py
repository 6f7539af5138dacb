"""Speech recognition: a recording in, its text out; learned from transcribed recordings."""

from saccade.tasks.transcribe.task import TRANSCRIBE

__all__ = ["TRANSCRIBE"]
