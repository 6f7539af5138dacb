"""Speech recognition: a recording in, its text out; learned from transcribed recordings."""

from saccade.tasks.transcribe.task import Transcribe

__all__ = ["Transcribe"]
