"""The laws' entry of `transcribe`."""

from saccade.tasks.transcribe import codec, task
from saccade.tasks.transcribe.data import tones
from saccade.tasks.transcribe.metrics import word_errors
from tasks.laws.entry import HELD_OUT, LEARNED_FROM, Entry, repeated

ENTRY = Entry(
    options={"batch_tokens": 300, "mels": 12, "label_smoothing": 0.1},
    models={"las": {"hidden_dim": 8, "embedding_dim": 4, "layers": 2, "dropout": 0.2, "ctc_weight": 0.3}},
    row=lambda recording: (recording.signal, recording.text),
    columns=("audio", "text"),
    by_hand=lambda predictions, labels: 1 - word_errors(predictions, labels),
    small=(
        (tones.Tones, "held_out", HELD_OUT),
        (tones, "LONGEST", 3),
        (codec, "_ENDLESS", LEARNED_FROM),
        (task, "_ENDLESS", LEARNED_FROM),
    ),
    object_options={"rate": 8000},
    content="frames",
    asked=({"sample": True}, {"beam_size": 3, "ctc_rescoring": 0.5}),
    looked=({}, {"by": "jacobian"}),
    omitted=(("weights",),),
    joined={"weights": repeated},
    incompatible=({"mels": 11}, "the features of RUN"),
    light=False,
)
