import pytest

from saccade.tasks.classify_text import vocabulary as words
from saccade.tasks.classify_text.data import reviews
from saccade.tasks.transcribe import vocabulary as spoken
from saccade.tasks.transcribe.data import tones
from saccade.tasks.translate import vocabulary as tokens
from saccade.tasks.translate.data import dates
from tiny import train


@pytest.fixture(scope="package", autouse=True)
def few():
    """Built-in data cut down: making and measuring all examples would take most of the time of a tiny training."""
    with pytest.MonkeyPatch.context() as patch:
        for module, size in ((dates, 100), (reviews, 100), (tones, 20)):
            patch.setattr(module, "HELD_OUT", size)
        for module in (tokens, words, spoken):
            patch.setattr(module, "_ENDLESS", 1000)
        yield


@pytest.fixture(scope="package")
def run(few, tmp_path_factory):
    """A translator of a few steps, not to be changed."""
    folder = tmp_path_factory.mktemp("cli") / "run"
    assert train(folder, "--max-steps", 20) == 0
    return folder
