"""Recording of attention in any model, pictures of it, and attributions.

`import saccade` does not import it, and matplotlib is imported when the first picture is drawn.

Every picture is written as PNG and SVG, and its numbers as JSON with `json=True`. Its function returns their paths.
`path` is without a suffix, and `title` a line above the picture. A name that is taken gets -2, -3, ... appended, unless
the files have the same contents. `OSError` is raised if a file cannot be written.
"""

from saccade.look import attribute
from saccade.look._alignment import alignment
from saccade.look._blocks import blocks
from saccade.look._charts import Curve, Dots, Fit, Prediction, curves, dots, fit
from saccade.look._explorer.widget import Explorer
from saccade.look._faithful import Faithfulness, Mean, faithful
from saccade.look._glimpses import glimpses
from saccade.look._gradients import grad_cam, saliency
from saccade.look._highlights import highlights
from saccade.look._jacobian import sequential_jacobian, shares
from saccade.look._monitor import Monitor
from saccade.look._overlays import overlays
from saccade.look._recording import record
from saccade.look._records import Coverage, Record, Recording, load
from saccade.look._spectrogram import spectrogram
from saccade.look._traces import Band, traces

__all__ = [
    "Band",
    "Coverage",
    "Curve",
    "Dots",
    "Explorer",
    "Faithfulness",
    "Fit",
    "Mean",
    "Monitor",
    "Prediction",
    "Record",
    "Recording",
    "alignment",
    "attribute",
    "blocks",
    "curves",
    "dots",
    "faithful",
    "fit",
    "glimpses",
    "grad_cam",
    "highlights",
    "load",
    "overlays",
    "record",
    "saliency",
    "sequential_jacobian",
    "shares",
    "spectrogram",
    "traces",
]
