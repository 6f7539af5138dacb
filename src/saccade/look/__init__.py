"""Recording of attention in any model, pictures of it, and gradients as pictures show them.

`import saccade` does not import it, and matplotlib is imported when the first picture is drawn.
"""

from saccade.look._alignment import alignment
from saccade.look._answered import answered
from saccade.look._blocks import blocks
from saccade.look._charts import Curve, Dots, Point, bars, curves, dots, scatter
from saccade.look._fits import Fit, Prediction, bandwidths, fit
from saccade.look._glimpses import glimpses
from saccade.look._gradients import grad_cam, saliency
from saccade.look._grid import grid
from saccade.look._highlights import highlights
from saccade.look._jacobian import sequential_jacobian, shares
from saccade.look._overlays import overlays
from saccade.look._recording import Coverage, Record, Recording, load, record
from saccade.look._spectrogram import spectrogram
from saccade.look._traces import Band, traces

__all__ = [
    "Band",
    "Coverage",
    "Curve",
    "Dots",
    "Fit",
    "Point",
    "Prediction",
    "Record",
    "Recording",
    "alignment",
    "answered",
    "bandwidths",
    "bars",
    "blocks",
    "curves",
    "dots",
    "fit",
    "glimpses",
    "grad_cam",
    "grid",
    "highlights",
    "load",
    "overlays",
    "record",
    "saliency",
    "scatter",
    "sequential_jacobian",
    "shares",
    "spectrogram",
    "traces",
]
