"""What was attended to: recording it in any model, and pictures of it. Nothing here is imported by `import saccade`."""

from saccade.look import blocks, pictures
from saccade.look.recording import record

__all__ = ["blocks", "pictures", "record"]
