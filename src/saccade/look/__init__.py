"""Recording of attention in any model, and pictures of it. `import saccade` does not import it."""

from saccade.look import blocks, pictures
from saccade.look._recording import Coverage, Record, Recording, load, record

__all__ = ["Coverage", "Record", "Recording", "blocks", "load", "pictures", "record"]
