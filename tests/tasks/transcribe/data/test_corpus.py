from saccade.tasks.transcribe.data.an4 import Census
from saccade.tasks.transcribe.data.corpus import Corpus, Recording
from saccade.tasks.transcribe.data.fsdd import Digits
from saccade.tasks.transcribe.data.recordings import Recordings
from saccade.tasks.transcribe.data.tones import Tones


def test_corpora_have_all_that_one_must_have():
    members = {name for name in dir(Corpus) if not name.startswith("_")}
    assert members == {"example", "text", "size", "rate", "dim", "fingerprint", "note"}
    for kind in (Tones, Digits, Census, Recordings):
        fields = set(getattr(kind, "__dataclass_fields__", ())) | kind.__annotations__.keys()
        assert members <= fields | set(dir(kind)), kind
        assert kind.example.__annotations__["return"] is Recording
