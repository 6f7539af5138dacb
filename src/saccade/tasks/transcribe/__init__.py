"""Speech recognition: a recording in, its text out, learned from recordings with their texts."""

from saccade.tasks.transcribe.task import Transcribe

__all__ = ["Transcribe"]
